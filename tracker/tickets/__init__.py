"""Upstream issues and pull requests: what they say now, and what that means for the target.

``poll`` never raises for what the network, GitHub or a ticket did: each is an outcome of that
ticket, and the last known state stays, with its date. "Nothing new" is said only of a ticket that
was read completely. A dry run writes nothing.
"""

from __future__ import annotations

from tracker.tickets.history import LocalHistory
from tracker.tickets.polling import poll

__all__ = ["LocalHistory", "poll"]
