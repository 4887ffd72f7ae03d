"""The tickets document: upstream issues and pull requests, as last seen."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.verdict import Verdict


class TicketOutcome(StrEnum):
    """How polling one ticket ended; only ``POLLED`` and ``UNCHANGED`` are news about the ticket."""

    POLLED = "polled"
    UNCHANGED = "unchanged"
    NOT_POLLED = "not-polled"
    GONE = "gone"
    TRANSFERRED = "transferred"
    REFUSED = "refused"


class TicketState(Value, frozen=True, kw_only=True):
    """What upstream said of a ticket at ``polled_at`` (ISO 8601, UTC)."""

    polled_at: str
    kind: Literal["issue", "pull"]
    title: str
    state: Literal["open", "closed"]
    state_reason: str | None
    labels: tuple[str, ...]
    updated_at: str
    acknowledged: bool | None
    merged: bool | None = None
    merge_commit: str | None = None
    linked: tuple[str, ...] = ()


class TicketResult(Value, frozen=True, kw_only=True):
    """One watched ticket: what is known now, what was known before, and what changed.

    ``key``: ``owner/repo#number``. ``state`` None: never seen. ``changes``: one phrase each, e.g.
    "open -> closed (not planned)"; meaningful only if ``outcome`` is ``polled``.
    ``why``: the reason of an outcome that is not news ("not polled, because ...").
    """

    key: str
    why_watched: str
    outcome: TicketOutcome
    state: TicketState | None
    previous: TicketState | None
    changes: tuple[str, ...]
    why: str = ""
    in_target: Literal["yes", "no", "unknown"] = "unknown"
    mentions: tuple[str, ...] | Literal["unknown"] = "unknown"


class TicketsDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """All watched tickets."""

    schema_: Literal["lloyal-track/poll/1"] = "lloyal-track/poll/1"
    verdict: Verdict
    polled: bool
    tickets: tuple[TicketResult, ...]
