"""Watch document -> items: what upstream did to regions and routing."""

from __future__ import annotations

from tracker.config import Config
from tracker.evidence.base import digest
from tracker.evidence.item import Item
from tracker.evidence.verdict import Status
from tracker.evidence.watch import (
    RegionResult,
    RegionStatus,
    RoutingAnswer,
    RoutingResult,
    RoutingStatus,
    Span,
    WatchDocument,
)
from tracker.report.gathered import Stages
from tracker.report.stages import check

STATUS_OF_REGION = {
    RegionStatus.UNCHANGED: Status.PASS,
    RegionStatus.COSMETIC: Status.PASS,
    RegionStatus.MOVED: Status.PASS,
    RegionStatus.CHANGED: Status.ATTENTION,
    RegionStatus.MOVED_AND_CHANGED: Status.ATTENTION,
    RegionStatus.MISSING: Status.FAIL,
    RegionStatus.UNPARSED: Status.UNKNOWN,
}
_ROUTING = {
    RoutingStatus.SAME: Status.PASS,
    RoutingStatus.SAME_ANSWER_NEW_CODE: Status.ATTENTION,
    RoutingStatus.CHANGED: Status.ATTENTION,
    RoutingStatus.UNRESOLVED: Status.UNKNOWN,
}
_COMMITS_SHOWN = 10
_NONE = "none"


def items(config: Config, stages: Stages) -> tuple[Item, ...]:
    """Regions, then routing questions: those of the document, then configured ones it lacks."""
    command = stages.command("watch --from {start} --to {target}")
    document = stages.watch
    why = (
        f"not compared: {stages.why_not('watch')}"
        if document is None
        else "configured, but the watch document does not answer it"
    )
    regions = document.regions if document else ()
    routing = document.routing if document else ()
    real = check.real_classes(stages.check)
    seen = {f"region:{found.name}" for found in regions} | {_routing_id(found) for found in routing}
    unjudged = [
        (f"region:{table.name}", table.selector, table.blocking) for table in config.watch.regions
    ] + [
        (f"routing:{table.name}/{table.when}", _question(table.arch, table.when), table.blocking)
        for table in config.watch.routing
    ]
    return (
        *(_region(found, command) for found in regions),
        *(_routing(found, command, real) for found in routing),
        *(_classes_item(document, command) if document and config.watch.routing_function else ()),
        *(
            Item(
                id=name,
                title=title,
                status=Status.UNKNOWN,
                blocking=blocking,
                summary=why,
                reproduce=command,
            )
            for name, title, blocking in unjudged
            if name not in seen
        ),
    )


def _region(region: RegionResult, command: str) -> Item:
    added, removed = diff_size(region.diff)
    evidence = [f"selector {region.selector}"]
    details = []
    if region.diff:
        # Line numbers move with every revision; the changed lines themselves are what was judged.
        body = [line for line in region.diff.splitlines() if line[:1] in "+-"]
        evidence.append(f"change {digest(body)}")
    if region.from_ or region.to:
        details.append(f"{span(region.from_)} -> {span(region.to)}")
    if region.commits == "unknown":
        if STATUS_OF_REGION[region.status] is not Status.PASS:
            details.append("changed by: unknown, the history is a snapshot")
    else:
        details += [
            f"changed by {commit.commit[:12]} {commit.subject}"
            for commit in region.commits[:_COMMITS_SHOWN]
        ]
        if len(region.commits) > _COMMITS_SHOWN:
            details.append(f"and {len(region.commits) - _COMMITS_SHOWN} older commits")
    return Item(
        id=f"region:{region.name}",
        title=region.selector,
        status=STATUS_OF_REGION[region.status],
        blocking=region.blocking,
        summary=_region_said(region, added, removed),
        evidence=tuple(evidence),
        details=tuple(details),
        reproduce=command,
    )


def _region_said(region: RegionResult, added: int, removed: int) -> str:
    size = f", +{added} -{removed} lines" if region.diff else ""
    said = {
        RegionStatus.UNCHANGED: "unchanged",
        RegionStatus.COSMETIC: "unchanged but for comments or white space",
        RegionStatus.MOVED: "unchanged, moved",
        RegionStatus.CHANGED: f"changed{size}",
        RegionStatus.MOVED_AND_CHANGED: f"moved and changed{size}",
        RegionStatus.MISSING: "gone",
        RegionStatus.UNPARSED: "could not be parsed",
    }[region.status]
    if region.status in (RegionStatus.MISSING, RegionStatus.UNPARSED) and region.why:
        said += f": {region.why}"
    return said


def _routing(found: RoutingResult, command: str, real: dict[str, tuple[str, ...]]) -> Item:
    status = _ROUTING[found.status]
    before, after = classes(found.from_), classes(found.to)
    said = {
        RoutingStatus.SAME: f"still {after}",
        RoutingStatus.SAME_ANSWER_NEW_CODE: f"still {after}, but from new code",
        RoutingStatus.CHANGED: _change(before, after),
        RoutingStatus.UNRESOLVED: "could not be resolved",
    }[found.status]
    if found.status is RoutingStatus.UNRESOLVED and found.why:
        said += f": {found.why}"
    evidence = [
        f"{answer.class_} if {' and '.join(answer.conditions)}"
        for answer in found.to
        if answer.conditions
    ]
    if found.status is RoutingStatus.CHANGED and found.from_ and found.to:
        evidence.append(
            "another class does not make the patch unneeded by itself: only the check of the "
            "unpatched target can show that"
        )
    measured = real.get(short_arch(found.arch), ()) if found.when == "default" else ()
    disagrees = bool(measured) and bool(found.to) and not _agree(found.to, measured)
    if disagrees:
        status = Status.FAIL
        said += f"; the built core disagrees: {', '.join(measured)}"
    elif measured:
        evidence.append(f"the built core says the same: {', '.join(measured)}")
    return Item(
        id=_routing_id(found),
        title=_question(found.arch, found.when),
        status=status,
        # The same answer from new code is worth reading; it is no reason to stay where we are.
        blocking=found.blocking
        and (disagrees or found.status is not RoutingStatus.SAME_ANSWER_NEW_CODE),
        summary=said,
        evidence=tuple(evidence),
        details=tuple(f"decided at {line}" for answer in found.to for line in answer.evidence),
        reproduce=command,
    )


def _classes_item(document: WatchDocument, command: str) -> tuple[Item, ...]:
    """Which classes the routing function knows now: a new one is where an arch may go next."""
    names = {
        change: [found.name for found in document.classes if found.change == change]
        for change in ("new", "gone")
    }
    said = "; ".join(f"{change}: {', '.join(listed)}" for change, listed in names.items() if listed)
    item = Item(
        id="routing:classes",
        title="classes that the routing function constructs",
        status=Status.ATTENTION if said else Status.PASS,
        blocking=False,
        summary=said or "no class came or went",
        details=tuple(
            f"{found.name} at {line}" for found in document.classes for line in found.evidence
        ),
        reproduce=command,
    )
    return (item,)


def _change(before: str, after: str) -> str:
    if before == _NONE:
        return f"new: {after}"
    return f"gone, was {before}" if after == _NONE else f"changed: {before} -> {after}"


def _agree(answers: tuple[RoutingAnswer, ...], measured: tuple[str, ...]) -> bool:
    return set(measured) <= {answer.class_ for answer in answers}


def short_arch(arch: str) -> str:
    """``qwen35`` of ``LLM_ARCH_QWEN35``: as the check and a reader call it."""
    return arch.removeprefix("LLM_ARCH_").lower()


def _routing_id(found: RoutingResult) -> str:
    return f"routing:{found.name}/{found.when}"


def _question(arch: str, when: str) -> str:
    return f"memory class of {short_arch(arch)}" + ("" if when == "default" else f" ({when})")


def classes(answers: tuple[RoutingAnswer, ...]) -> str:
    """The classes of a routing answer, each once; "none" if there is none."""
    return " or ".join(dict.fromkeys(answer.class_ for answer in answers)) or _NONE


def span(place: Span | None) -> str:
    """``path:start-end``, or "nowhere"."""
    return f"{place.path}:{place.start}-{place.end}" if place else "nowhere"


def diff_size(diff: str) -> tuple[int, int]:
    """Lines that a unified diff adds and removes."""
    body = [line for line in diff.splitlines() if not line.startswith(("+++", "---"))]
    return (
        sum(line.startswith("+") for line in body),
        sum(line.startswith("-") for line in body),
    )
