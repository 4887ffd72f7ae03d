"""The watch document: what upstream did to the code we depend on."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.verdict import Verdict


class RegionStatus(StrEnum):
    """How a region at the target compares with the same region at the start."""

    UNCHANGED = "unchanged"
    COSMETIC = "cosmetic"
    MOVED = "moved"
    CHANGED = "changed"
    MOVED_AND_CHANGED = "moved-and-changed"
    MISSING = "missing"
    UNPARSED = "unparsed"


class RoutingStatus(StrEnum):
    """How the constructed class at the target compares with the one at the start."""

    SAME = "same"
    SAME_ANSWER_NEW_CODE = "same-answer-new-code"
    CHANGED = "changed"
    UNRESOLVED = "unresolved"


class Span(Value, frozen=True, kw_only=True):
    """Lines ``start``..``end`` of ``path``, 1-based, inclusive."""

    path: str
    start: int
    end: int


class UpstreamCommit(Value, frozen=True, kw_only=True):
    """An upstream commit, as far as a reader needs it."""

    commit: str
    subject: str
    pr: int | None


class RegionResult(Value, frozen=True, kw_only=True, rename={"from_": "from"}):
    """One watched region. ``commits``: newest first, "unknown" on a snapshot history.

    ``diff``: unified diff of that region only, "" when equal. ``why``: one sentence.
    """

    name: str
    selector: str
    status: RegionStatus
    from_: Span | None
    to: Span | None
    commits: tuple[UpstreamCommit, ...] | Literal["unknown"]
    why: str
    blocking: bool = False
    diff: str = ""


class RoutingAnswer(Value, frozen=True, kw_only=True, rename={"class_": "class"}):
    """A class that the code constructs, the conditions assumed for it, and the lines that decide.

    ``evidence``: ``path:line`` strings, in the order they were evaluated.
    """

    class_: str
    conditions: tuple[str, ...]
    evidence: tuple[str, ...]


class RoutingResult(Value, frozen=True, kw_only=True, rename={"from_": "from"}):
    """Which class an architecture gets in one situation (``when``), at both revisions."""

    name: str
    arch: str
    when: str
    from_: tuple[RoutingAnswer, ...]
    to: tuple[RoutingAnswer, ...]
    status: RoutingStatus
    why: str = ""
    blocking: bool = True


class MemoryClass(Value, frozen=True, kw_only=True):
    """A class that the routing function constructs at one of the two revisions only.

    ``evidence``: ``path:line`` of each place that constructs it.
    """

    name: str
    change: Literal["new", "gone"]
    evidence: tuple[str, ...]


class WatchDocument(
    Value, frozen=True, kw_only=True, rename={"from_": "from", "schema_": "schema"}
):
    """Regions and routing between two revisions."""

    schema_: Literal["lloyal-track/watch/1"] = "lloyal-track/watch/1"
    verdict: Verdict
    from_: str
    to: str
    regions: tuple[RegionResult, ...]
    routing: tuple[RoutingResult, ...]
    classes: tuple[MemoryClass, ...] = ()
