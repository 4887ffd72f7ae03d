"""Regions and routing between two revisions -> the watch document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tracker.config import RegionTable, RoutingTable, WatchTable
from tracker.errors import ConfigError
from tracker.evidence.verdict import Verdict, worst
from tracker.evidence.watch import (
    MemoryClass,
    RegionResult,
    RegionStatus,
    RoutingResult,
    RoutingStatus,
    WatchDocument,
)
from tracker.git.repository import Repository
from tracker.progress import Progress
from tracker.watch import routing, selector
from tracker.watch.commits import with_commits
from tracker.watch.compare import compare
from tracker.watch.dependencies import Touched, dependencies
from tracker.watch.follow import Candidate, follow
from tracker.watch.locate import Absent, Region, locate
from tracker.watch.selector import Selector
from tracker.watch.snapshot import Files, Snapshot

_REGION_VERDICT = {
    RegionStatus.UNCHANGED: Verdict.OK,
    RegionStatus.COSMETIC: Verdict.OK,
    RegionStatus.MOVED: Verdict.OK,
    RegionStatus.CHANGED: Verdict.ATTENTION,
    RegionStatus.MOVED_AND_CHANGED: Verdict.ATTENTION,
    RegionStatus.MISSING: Verdict.FAIL,
    RegionStatus.UNPARSED: Verdict.UNKNOWN,
}
_ROUTING_VERDICT = {
    RoutingStatus.SAME: Verdict.OK,
    RoutingStatus.SAME_ANSWER_NEW_CODE: Verdict.ATTENTION,
    RoutingStatus.CHANGED: Verdict.ATTENTION,
    RoutingStatus.UNRESOLVED: Verdict.UNKNOWN,
}


def watch(
    repository: Repository,
    table: WatchTable,
    *,
    from_: str,
    to: str,
    progress: Progress,
    touched: Sequence[Touched] = (),
) -> WatchDocument:
    """Compare everything that ``table`` names between the commits ``from_`` and ``to``.

    ``touched``: the lines that the carried patches change; what they call and whose fields they use
    is watched too, as regions named ``called:NAME``.

    Raises:
        ConfigError: a selector or a situation in ``table`` cannot be used.
    """
    before, after = Snapshot(repository, from_, to), Snapshot(repository, to, from_)
    found = compare_files(table, before, after, progress=progress, touched=touched)
    return WatchDocument(
        verdict=found.verdict,
        from_=from_,
        to=to,
        regions=tuple(with_commits(repository, found.regions, from_=from_, to=to)),
        routing=found.routing,
        classes=found.classes,
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sets of files compared; the regions without their commits."""

    regions: tuple[RegionResult, ...]
    routing: tuple[RoutingResult, ...]
    classes: tuple[MemoryClass, ...]

    @property
    def verdict(self) -> Verdict:
        verdicts = [_REGION_VERDICT[found.status] for found in self.regions]
        verdicts += [_ROUTING_VERDICT[found.status] for found in self.routing]
        verdicts += [Verdict.ATTENTION for _ in self.classes]
        return worst(verdicts)


def compare_files(
    table: WatchTable,
    before: Files,
    after: Files,
    *,
    progress: Progress,
    touched: Sequence[Touched] = (),
) -> Comparison:
    """Everything that ``table`` names, between two sets of files.

    Raises:
        ConfigError: a selector or a situation in ``table`` cannot be used.
    """
    tables = (*table.regions, *(dependencies(before, touched) if table.called else ()))
    chosen = [(region, selector.parse(region.selector, region.name)) for region in tables]
    rows = [(question, situation(table, question)) for question in table.routing]
    total = len(chosen) + len(rows)
    regions: list[RegionResult] = []
    for done, (region, wanted) in enumerate(chosen):
        progress.step(done, total, region.name)
        regions.append(_region(region, wanted, before, after))
    routers = _routers(table, before, after) if rows else None
    answers = _routing(rows, routers, len(chosen), progress) if routers else ()
    classes = _classes(*routers) if routers else ()
    progress.step(total, total, "regions and routing")
    return Comparison(tuple(regions), answers, classes)


def _region(table: RegionTable, wanted: Selector, before: Files, after: Files) -> RegionResult:
    old, new = locate(wanted, before), locate(wanted, after)
    if isinstance(old, Region) and isinstance(new, Absent):
        # The name is gone; its content may stand elsewhere under another one.
        found = follow(old, wanted, _candidates(after, before))
        new = found[1] if found is not None else new
    elif isinstance(old, Absent) and isinstance(new, Region):
        found = follow(new, wanted, _candidates(before, after))
        old = found[1] if found is not None else old
    return compare(table, old, new)


def _candidates(there: Files, here: Files) -> Iterator[Candidate]:
    """The files that differ, as they are ``there``, where a region that is ``here`` is missing."""
    for path in there.differing():
        source = there.read(path)
        if source is not None:
            yield Candidate(path, source, here.read(path))


def situation(table: WatchTable, question: RoutingTable) -> dict[str, bool]:
    """What is assumed for a routing question.

    Raises:
        ConfigError: it names a situation that is not configured.
    """
    known = table.situations.get(question.when)
    if known is None and question.when != "default":
        raise ConfigError(
            f"unknown situation {question.when!r}",
            where=f"watch.routing {question.name!r}",
            next_step=f"add a table [watch.situations.{question.when}]",
        )
    return {**(known or {}), **question.assume}


def routing_function(table: WatchTable) -> Selector:
    """The selector of the function that answers the routing questions.

    Raises:
        ConfigError: none is configured, or it is none.
    """
    if table.routing_function is None:
        raise ConfigError(
            "routing questions need the function that answers them",
            where="watch.routing_function",
            next_step='name it, e.g. "src/llama-model.cpp::llama_model::create_memory"',
        )
    return selector.parse(table.routing_function, "routing_function")


def _routers(
    table: WatchTable, before: Files, after: Files
) -> tuple[routing.Router, routing.Router]:
    function = routing_function(table)
    subject = table.routing_subject
    return routing.Router(before, function, subject), routing.Router(after, function, subject)


def _routing(
    rows: list[tuple[RoutingTable, dict[str, bool]]],
    routers: tuple[routing.Router, routing.Router],
    done: int,
    progress: Progress,
) -> tuple[RoutingResult, ...]:
    found: list[RoutingResult] = []
    for place, (question, assume) in enumerate(rows):
        progress.step(done + place, done + len(rows), f"{question.name}/{question.when}")
        before, after = (router.row(question.arch, assume) for router in routers)
        found.append(routing.result(question, before, after))
    return tuple(found)


def _classes(before: routing.Router, after: routing.Router) -> tuple[MemoryClass, ...]:
    """Classes that only one of the two routing functions can construct."""
    if before.fault or after.fault:
        return ()  # the rows say that nothing is known
    old, new = before.constructed(), after.constructed()
    appeared: list[tuple[str, Literal["new", "gone"], tuple[str, ...]]] = [
        (name, "new", new[name]) for name in sorted(new.keys() - old.keys())
    ]
    vanished: list[tuple[str, Literal["new", "gone"], tuple[str, ...]]] = [
        (name, "gone", old[name]) for name in sorted(old.keys() - new.keys())
    ]
    return tuple(
        MemoryClass(name=name, change=change, evidence=places)
        for name, change, places in (*appeared, *vanished)
    )
