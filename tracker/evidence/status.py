"""Where we are, from stored evidence alone."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.verdict import Verdict


class StatusDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """The last bump in short.

    ``verdict`` is ``unknown`` if there was no bump. ``pin`` and ``target``: revision names.
    ``at``: ISO 8601, UTC. ``forbidden_by`` and ``open_items``: ids, in checklist order.
    ``operation``: kind of the unfinished operation, "" if there is none. ``elsewhere``: pins that
    do not name what the last bump left, one sentence each.
    """

    schema_: Literal["lloyal-track/status/1"] = "lloyal-track/status/1"
    verdict: Verdict
    summary: str
    pin: str
    target: str
    at: str
    forbidden_by: tuple[str, ...]
    open_items: tuple[str, ...]
    operation: str
    elsewhere: tuple[str, ...] = ()
