"""The words for outcomes, and which of several is the worst."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """What a stage or a command concluded. Never better than what was proven."""

    OK = "ok"
    ATTENTION = "attention"
    UNKNOWN = "unknown"
    FAIL = "fail"
    CONFLICT = "conflict"
    ERROR = "error"

    @property
    def exit_code(self) -> int:
        """The process status of a command that ends with this verdict.

        A document says ``error`` of an input that cannot be used (a truncated patch): that is 2, as
        for a configuration. What stops a command carries a status of its own (``TrackError``).
        """
        return {Verdict.OK: 0, Verdict.CONFLICT: 3, Verdict.ERROR: 2}.get(self, 1)


class Status(StrEnum):
    """What the checklist says of one item."""

    PASS = "pass"  # noqa: S105  (not a password)
    ATTENTION = "attention"
    FAIL = "fail"
    UNKNOWN = "unknown"
    HUMAN = "human"


_BADNESS = (
    Verdict.OK,
    Verdict.ATTENTION,
    Verdict.UNKNOWN,
    Verdict.FAIL,
    Verdict.CONFLICT,
    Verdict.ERROR,
)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of ``verdicts``; of none at all it is ``UNKNOWN``, because nothing was proven."""
    found = list(verdicts)
    return max(found, key=_BADNESS.index) if found else Verdict.UNKNOWN
