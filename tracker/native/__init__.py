"""The native core: built by content, checked on an image prefill, soaked, and its logs read.

The only room that runs a compiler or upstream's code; always in child processes, with limits and
without tokens in their environment.
"""
