"""The only room that runs git: sealed calls, object reader, quarantine, worktree.

The user's repositories are read, never written: new objects go to a store of our own.
"""
