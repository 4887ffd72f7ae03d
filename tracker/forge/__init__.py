"""GitHub's REST API as values: every request ends as an ``Answer`` or as a ``Fault``.

The only room that imports PyGithub. It knows requests, validators, limits and tokens, and nothing
of tickets or pull requests. It never raises for what the network or the server did, never waits
longer than its budget, never repeats a request that writes, and never sends a token over plain HTTP
to another machine.
"""
