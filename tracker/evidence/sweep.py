"""The sweep document: the series on every revision of a range; and what a bisection found."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.verdict import Verdict
from tracker.evidence.watch import UpstreamCommit


class PatchBreak(Value, frozen=True, kw_only=True, rename={"from_": "from"}):
    """Between two neighbouring revisions the answer of one patch changed.

    ``item``: ``patch:FILE``. ``index``: of ``to`` in the range, 0 is its start. ``from_``: the last
    revision with ``before`` (of a merge: its first parent), ``to``: the first with ``after``.
    ``before``, ``after``: outcome in series, then flags, e.g. "offset" or "merged scope-changed".
    ``alone``: the patch by itself gives the answer ``after`` too. ``commit``: what made the
    difference, "unknown" on a snapshot history. ``date``: its committer date, ISO 8601, UTC.
    ``worse``: the series was clean there before and is not any more, or the other way round
    (False), None if that did not change.
    """

    item: str
    from_: str
    to: str
    commit: UpstreamCommit | Literal["unknown"]
    date: str
    before: str
    after: str
    alone: bool
    worse: bool | None = None
    why: str = ""
    index: int = -1


class Drift(Value, frozen=True, kw_only=True):
    """How often upstream touched what a patch needs.

    ``touched``: revisions that changed one of its files. ``contents``: distinct combinations of
    their contents. ``answers``: distinct answers of the patch over the range; ``now``: the answer
    at its end.
    """

    item: str
    touched: int
    contents: int
    answers: int
    now: str = ""


class Furthest(Value, frozen=True, kw_only=True):
    """The newest revision up to which the whole series is clean. ``index``: 0 is the start."""

    commit: str
    index: int
    subject: str = ""
    date: str = ""


class SweepDocument(
    Value, frozen=True, kw_only=True, rename={"from_": "from", "schema_": "schema"}
):
    """The series on the first-parent revisions after ``from_`` up to ``to``.

    ``first_parent`` False: on those of merged branches too, parents first. Then a break is a commit
    whose answer none of its parents has, and the next two are still told of the first-parent line.

    ``revisions``: how many were judged. ``contents``: distinct combinations of file contents,
    ``merges``: file merges done for them. ``breaks``: oldest first. ``furthest``: "furthest clean
    pin", None if even the start is not clean; ``clean_again``: revisions after it that are clean.
    ``verdict``: of the newest revision.
    """

    schema_: Literal["lloyal-track/sweep/1"] = "lloyal-track/sweep/1"
    verdict: Verdict
    from_: str
    to: str
    revisions: int
    contents: int
    merges: int
    breaks: tuple[PatchBreak, ...]
    furthest: Furthest | None
    clean_again: int
    drift: tuple[Drift, ...]
    snapshot: bool = False
    first_parent: bool = True


class BisectDocument(
    Value, frozen=True, kw_only=True, rename={"from_": "from", "schema_": "schema"}
):
    """The first revision of ``from_..to`` where the answer to ``until`` is no longer the start's.

    ``commit`` None: the answer at ``to`` is the start's. ``before``, ``after``: the two answers, of
    a build or check only the items that differ. ``tried``: revisions that were judged. ``verdict``
    unknown: one of the two answers is.
    """

    schema_: Literal["lloyal-track/bisect/1"] = "lloyal-track/bisect/1"
    verdict: Verdict
    until: Literal["rebase", "region", "routing", "build", "check"]
    from_: str
    to: str
    commit: UpstreamCommit | Literal["unknown"] | None
    first: str | None
    last_before: str | None
    before: str
    after: str
    tried: int
    revisions: int
    items: tuple[str, ...] = ()
