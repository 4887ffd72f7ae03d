"""The tickets document: upstream issues and pull requests, as last seen."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.verdict import Verdict

Known = Literal["yes", "no", "unknown"]


class TicketOutcome(StrEnum):
    """How polling one ticket ended; only ``POLLED`` and ``UNCHANGED`` are news about the ticket."""

    POLLED = "polled"
    UNCHANGED = "unchanged"
    NOT_POLLED = "not-polled"
    GONE = "gone"
    TRANSFERRED = "transferred"
    REFUSED = "refused"


class FaultKind(StrEnum):
    """Why a request brought no answer; each asks for another step of the reader."""

    NO_NETWORK = "no-network"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate-limited"
    SECONDARY_LIMIT = "secondary-limit"
    TOKEN_REFUSED = "token-refused"  # noqa: S105
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not-found"
    GONE = "gone"
    ISSUES_DISABLED = "issues-disabled"
    BLOCKED = "blocked"
    SERVER_ERROR = "server-error"
    NOT_GITHUB = "not-github"
    MALFORMED = "malformed"
    REDIRECTED_AWAY = "redirected-away"
    REJECTED = "rejected"
    BUDGET = "budget"


class LinkedPull(Value, frozen=True, kw_only=True):
    """A pull request that refers to the ticket.

    ``closing``: its text says that it closes the ticket. ``merge_commit``: full id, None unless
    merged. ``in_target``: whether that commit, or its content, is in the target. ``first_tag``:
    the oldest nightly tag that contains it, None if unknown. ``touches_ours``: whether it changed a
    file that a watched region, the routing function or a carried patch lives in.
    """

    key: str
    title: str
    state: Literal["open", "closed"]
    merged: bool
    closing: bool
    merge_commit: str | None = None
    in_target: Known = "unknown"
    first_tag: str | None = None
    touches_ours: Known = "unknown"


class TicketState(Value, frozen=True, kw_only=True):
    """What upstream said of a ticket at ``polled_at`` (ISO 8601, UTC).

    ``origin`` "reported": written down from a published report of that date, not asked from
    upstream; then ``title`` and ``updated_at`` are "". ``acknowledged``: it has an assignee, or a
    comment by an owner, member or collaborator that is not a bot. ``merged`` None: not a pull
    request. ``linked``: keys of the pull requests that refer to it; ``closing``: those of them that
    say they close it. ``closed_by``: the commit that closed it.
    """

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
    closing: tuple[str, ...] = ()
    closed_by: str | None = None
    origin: Literal["polled", "reported"] = "polled"


class Resolution(StrEnum):
    """What a closed or merged ticket means for the target; the worst that was not disproved."""

    OPEN = "open"
    FIXED_IN_TARGET = "fixed-in-target"
    FIXED_NOT_IN_TARGET = "fixed-not-in-target"
    MERGED_NOT_OURS = "merged-not-fixed-for-us"
    CONTENT_PRESENT = "closed-content-present"
    CONTENT_ABSENT = "closed-content-absent"
    NO_FIX = "closed-without-fix"
    NOT_PLANNED = "not-planned"
    UNKNOWN = "unknown"


class TicketResult(Value, frozen=True, kw_only=True):
    """One watched ticket: what is known now, what was known before, and what changed.

    ``key``: ``owner/repo#number``, as configured; ``canonical``: what upstream calls it now, "" if
    not asked; ``also``: other configured keys of the same ticket. ``state`` None: never seen.
    ``changes``: one phrase each, e.g. "open -> closed (not planned)"; meaningful only if
    ``outcome`` is ``polled``. ``fault`` and ``why``: the reason of an outcome that is not news
    ("not polled, because ..."). ``mentions``: upstream commits in pin..target that name it,
    "unknown" on a snapshot history.
    """

    key: str
    why_watched: str
    outcome: TicketOutcome
    state: TicketState | None
    previous: TicketState | None
    changes: tuple[str, ...]
    why: str = ""
    fault: FaultKind | None = None
    canonical: str = ""
    also: tuple[str, ...] = ()
    in_target: Known = "unknown"
    first_tag: str | None = None
    mentions: tuple[str, ...] | Literal["unknown"] = "unknown"
    pulls: tuple[LinkedPull, ...] = ()
    resolution: Resolution = Resolution.UNKNOWN
    resolution_why: str = ""


class RequestCount(Value, frozen=True, kw_only=True):
    """What a poll cost: requests sent, those that asked for changes only, those that said none."""

    sent: int = 0
    conditional: int = 0
    not_modified: int = 0


class TicketsDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """All watched tickets. ``notes``: what the reader should know of the poll as a whole."""

    schema_: Literal["lloyal-track/poll/1"] = "lloyal-track/poll/1"
    verdict: Verdict
    polled: bool
    tickets: tuple[TicketResult, ...]
    notes: tuple[str, ...] = ()
    requests: RequestCount = RequestCount()
