"""How statuses rank, and how verdicts and statuses translate."""

from __future__ import annotations

from collections.abc import Iterable

from tracker.evidence.verdict import Status, Verdict

STATUS_OF = {
    Verdict.OK: Status.PASS,
    Verdict.ATTENTION: Status.ATTENTION,
    Verdict.UNKNOWN: Status.UNKNOWN,
    Verdict.FAIL: Status.FAIL,
    Verdict.CONFLICT: Status.FAIL,
    Verdict.ERROR: Status.FAIL,
}

# An item waiting for a person has no verdict of its own; it only ever stands in a pin's way when it
# was made blocking, and then it needs attention.
VERDICT_OF = {
    Status.PASS: Verdict.OK,
    Status.HUMAN: Verdict.ATTENTION,
    Status.ATTENTION: Verdict.ATTENTION,
    Status.UNKNOWN: Verdict.UNKNOWN,
    Status.FAIL: Verdict.FAIL,
}

BADNESS = (Status.PASS, Status.HUMAN, Status.ATTENTION, Status.UNKNOWN, Status.FAIL)


def worst_status(statuses: Iterable[Status]) -> Status:
    """The worst of ``statuses``; of none at all ``UNKNOWN``, because nothing was proven."""
    found = list(statuses)
    return max(found, key=BADNESS.index) if found else Status.UNKNOWN


def plural(count: int, noun: str) -> str:
    """``1 patch``, ``2 patches``."""
    if count == 1:
        return f"{count} {noun}"
    return f"{count} {noun}{'es' if noun.endswith(('ch', 's')) else 's'}"
