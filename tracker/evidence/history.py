"""Break points: where along a range of revisions an answer changes."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.verdict import Verdict
from tracker.evidence.watch import Span, UpstreamCommit


class BreakPoint(Value, frozen=True, kw_only=True, rename={"from_": "from"}):
    """Between two neighbouring revisions of the range an item's answer changed.

    ``item``: e.g. ``region:find_slot``, ``routing:qwen35/default``. ``index``: of ``to`` in the
    range, 0 is its start. ``from_``: the last revision with the answer ``before``; ``to``: the
    first with ``after``. ``commit``: what made the difference, "unknown" on a snapshot history.
    ``date``: its committer date, ISO 8601, UTC. ``status``: a region's or routing question's word
    for the step. ``span_before``, ``span_after``: where the code stood, None if it was not there.
    """

    item: str
    from_: str
    to: str
    commit: UpstreamCommit | Literal["unknown"]
    date: str
    status: str
    before: str
    after: str
    why: str
    span_before: Span | None = None
    span_after: Span | None = None
    index: int = -1


class WatchHistoryDocument(
    Value, frozen=True, kw_only=True, rename={"from_": "from", "schema_": "schema"}
):
    """Regions and routing over every revision of ``from_..to``; break points oldest first.

    ``revisions``: how many were judged. ``contents``: how many distinct file contents were read for
    it. ``unknown``: items that could not be judged at some revision, with the reason.
    """

    schema_: Literal["lloyal-track/watch-history/1"] = "lloyal-track/watch-history/1"
    verdict: Verdict
    from_: str
    to: str
    revisions: int
    contents: int
    breaks: tuple[BreakPoint, ...]
    unknown: tuple[str, ...] = ()
