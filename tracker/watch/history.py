"""Regions and routing over every revision of a range -> break points.

The range is walked backwards once, commit by commit; contents are read when a commit touches a file
that matters, each once.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from tracker.config import WatchTable
from tracker.errors import UsageError
from tracker.evidence.history import BreakPoint, WatchHistoryDocument
from tracker.evidence.verdict import Verdict
from tracker.evidence.watch import RegionStatus, RoutingStatus
from tracker.git.range_log import is_ancestor, range_log
from tracker.git.repository import Repository
from tracker.progress import Progress
from tracker.watch import selector
from tracker.watch.commits import upstream_commit
from tracker.watch.compare import span
from tracker.watch.document import named_paths, routing_function, situation
from tracker.watch.locate import Absent, Region
from tracker.watch.routing import Row
from tracker.watch.routing_walk import Question, RoutingStep, RoutingWalk
from tracker.watch.snapshot import Contents, Rewound, bring, ids_at
from tracker.watch.walk import RegionWalk, Step

_UNKNOWN = frozenset({RegionStatus.UNPARSED.value, RoutingStatus.UNRESOLVED.value})


def watch_range(
    repository: Repository, table: WatchTable, *, from_: str, to: str, progress: Progress
) -> WatchHistoryDocument:
    """Where in ``(from_, to]``, along first parents, an answer of ``table`` changes.

    Raises:
        ConfigError: a selector or a situation in ``table`` cannot be used.
        UsageError: ``from_`` is no ancestor of ``to``.
    """
    if not is_ancestor(repository, from_, to):
        raise UsageError(
            "the range goes nowhere: its start is not an ancestor of its end",
            where=f"{from_}..{to}",
            next_step="name the older revision first",
        )
    log = range_log(repository, from_, to)
    read = Contents(repository)
    bring(repository, from_, to, named_paths(table))
    files = Rewound(repository, to, ids_at(repository, to), read)
    regions = [
        (region.name, RegionWalk(wanted, files.ids.get(wanted.path), read))
        for region in table.regions
        for wanted in [selector.parse(region.selector, region.name)]
    ]
    routing = _routing(table, files)
    breaks: list[BreakPoint] = []
    snapshot = repository.is_snapshot
    parents = [commit.oid for commit in log[1:]] + [from_]
    for done, (commit, parent) in enumerate(zip(log, parents, strict=True)):
        if done % 50 == 0:
            progress.step(done, len(log), commit.date[:10])
        for name, walk in regions:
            step = walk.back(commit)
            if step is not None:
                breaks.append(_region_break(name, step, parent, snapshot=snapshot))
        files.rewind(commit.changes, parent)
        if routing is not None:
            breaks += [
                _routing_break(found, parent, snapshot=snapshot) for found in routing.back(commit)
            ]
    progress.step(len(log), len(log), "revisions")
    places = {commit.oid: len(log) - newer for newer, commit in enumerate(log)}
    unknown = [*_absent(regions, breaks)]
    if not regions and routing is None:
        unknown.append("nothing is watched: add [[watch.regions]] to the configuration")
    if routing is not None and not routing.agrees():
        unknown.append("routing: the walk and a direct reading of its start disagree")
    return WatchHistoryDocument(
        verdict=_verdict(breaks, unknown),
        from_=from_,
        to=to,
        revisions=len(log),
        contents=len(read.asked),
        breaks=tuple(replace(found, index=places[found.to]) for found in reversed(breaks)),
        unknown=tuple(unknown),
    )


def _routing(table: WatchTable, files: Rewound) -> RoutingWalk | None:
    questions = [
        Question(f"{question.name}/{question.when}", question.arch, situation(table, question))
        for question in table.routing
    ]
    if not questions:
        return None
    return RoutingWalk(routing_function(table), table.routing_subject, questions, files)


def _absent(regions: Iterable[tuple[str, RegionWalk]], breaks: list[BreakPoint]) -> list[str]:
    """Regions that were nowhere in the whole range: silence would look like no change."""
    told = {point.item for point in breaks}
    return [
        f"region:{name}: {state.why}"
        for name, walk in regions
        if f"region:{name}" not in told and isinstance(state := walk.region(), Absent)
    ]


def _verdict(breaks: list[BreakPoint], unknown: list[str]) -> Verdict:
    if unknown or any(point.status in _UNKNOWN for point in breaks):
        return Verdict.UNKNOWN
    return Verdict.ATTENTION if breaks else Verdict.OK


def _region_break(name: str, step: Step, parent: str, *, snapshot: bool) -> BreakPoint:
    return BreakPoint(
        item=f"region:{name}",
        from_=parent,
        to=step.commit.oid,
        commit="unknown" if snapshot else upstream_commit(step.commit.oid, step.commit.subject),
        date=step.commit.date,
        status=step.status.value,
        before=_place(step.before),
        after=_place(step.after),
        why=step.why,
        span_before=span(step.before),
        span_after=span(step.after),
    )


def _routing_break(step: RoutingStep, parent: str, *, snapshot: bool) -> BreakPoint:
    return BreakPoint(
        item=f"routing:{step.question.key}",
        from_=parent,
        to=step.commit.oid,
        commit="unknown" if snapshot else upstream_commit(step.commit.oid, step.commit.subject),
        date=step.commit.date,
        status=step.status.value,
        before=_classes(step.before),
        after=_classes(step.after),
        why=step.why,
    )


def _place(region: Region | Absent) -> str:
    if isinstance(region, Absent):
        return "absent"
    return f"{region.path}::{region.name}" if region.name else region.path


def _classes(row: Row) -> str:
    if not row.exists:
        return "no such architecture"
    return " or ".join(sorted(row.classes)) or f"unresolved: {row.fault}"
