"""Regions and routing between two revisions -> the watch document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
from tracker.watch.follow import Candidate, Several, follow
from tracker.watch.locate import Absent, Region, anywhere, locate
from tracker.watch.selector import Selector
from tracker.watch.snapshot import Files, Snapshot, bring

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
    bring(repository, from_, to, [*named_paths(table), *(item.path for item in touched)])
    found = compare_files(table, before, after, progress=progress, touched=touched)
    return WatchDocument(
        verdict=found.verdict,
        from_=from_,
        to=to,
        regions=tuple(with_commits(repository, found.regions, from_=from_, to=to)),
        routing=found.routing,
        classes=found.classes,
    )


def named_paths(table: WatchTable) -> list[str]:
    """The files that are named, and so will be read."""
    found = [selector.parse(region.selector, region.name).path for region in table.regions]
    return [*found, routing_function(table).path] if table.routing_function else found


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
    regions = _regions(chosen, before, after, progress)
    routers = _routers(table, before, after) if rows else None
    answers = _routing(rows, routers, len(chosen), progress) if routers else ()
    classes = _classes(*routers) if routers else ()
    progress.step(total, total, "regions and routing")
    return Comparison(tuple(regions), answers, classes)


def _regions(
    chosen: list[tuple[RegionTable, Selector]], before: Files, after: Files, progress: Progress
) -> list[RegionResult]:
    found: list[tuple[Region | Absent, Region | Absent]] = []
    for done, (table, wanted) in enumerate(chosen):
        progress.step(done, len(chosen), table.name)
        found.append(_both(wanted, before, after))
    # What stands at neither place may stand elsewhere at both: one search for all of them.
    lost = [
        wanted.last_name
        for (_, wanted), (old, new) in zip(chosen, found, strict=True)
        if isinstance(old, Absent) and isinstance(new, Absent) and wanted.last_name
    ]
    if lost:
        old_paths, new_paths = before.files_with(lost), after.files_with(lost)
        for place, ((_, wanted), (old, new)) in enumerate(zip(chosen, found, strict=True)):
            if isinstance(old, Absent) and isinstance(new, Absent):
                found[place] = (
                    anywhere(wanted, before, old, old_paths),
                    anywhere(wanted, after, new, new_paths),
                )
    return [compare(table, *sides) for (table, _), sides in zip(chosen, found, strict=True)]


def _both(wanted: Selector, before: Files, after: Files) -> tuple[Region | Absent, Region | Absent]:
    """The region on both sides; where one side lacks it, what the other side's became."""
    old, new = locate(wanted, before), locate(wanted, after)
    if isinstance(old, Region) and isinstance(new, Absent):
        new = _followed(old, wanted, new, Differing(there=after, here=before))
    elif isinstance(old, Absent) and isinstance(new, Region):
        old = _followed(new, wanted, old, Differing(there=before, here=after))
    return old, new


def _followed(
    known: Region, wanted: Selector, absent: Absent, search: Differing
) -> Region | Absent:
    """Where ``known`` stands on the side that lacks it, if that is certain."""
    found = follow(known, wanted, search)
    if isinstance(found, Several):
        return replace(
            absent, why=f"{absent.why}; several files define it: {', '.join(found.paths)}"
        )
    return found[1] if found is not None else absent


@dataclass(frozen=True, slots=True)
class Differing:
    """The files that differ between two revisions: ``there`` is searched, ``here`` knows."""

    there: Files
    here: Files

    def holding(self, texts: Sequence[str]) -> Iterator[Candidate]:
        """Those that hold one of ``texts`` there; all of them if ``texts`` is empty."""
        chosen = self.there.files_with(texts, differing=True) if texts else self.there.differing()
        for path in chosen:
            source = self.there.read(path)
            if source is not None:
                yield Candidate(path, source, self.here.read(path))


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
