"""Running the watch on two small revisions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.support.repos import build
from tests.support.upstream_like import FILES, MODEL, RECURRENT
from tracker.config import RegionTable, RoutingTable, WatchTable
from tracker.evidence.watch import RegionResult, RoutingResult, WatchDocument
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.watch import watch

FIND_SLOT = f"{RECURRENT}::memory_recurrent::find_slot"
CREATE = f"{MODEL}::model::create_memory"
SITUATIONS = {
    "default": {"p.type == TYPE_DRAFT": False, "hparams.swa != SWA_NONE": False},
    "draft": {"p.type == TYPE_DRAFT": True, "hparams.swa != SWA_NONE": False},
    "window": {"p.type == TYPE_DRAFT": False, "hparams.swa != SWA_NONE": True},
    "open": {},
}


def table(*selectors: str, routing: tuple[RoutingTable, ...] = ()) -> WatchTable:
    return WatchTable(
        regions=tuple(RegionTable(name=text, selector=text) for text in selectors),
        routing_function=CREATE,
        situations=SITUATIONS,
        routing=routing,
    )


def run(
    tmp_path: Path,
    wanted: WatchTable,
    after: Mapping[str, str | bytes | None],
    before: Mapping[str, str | bytes | None] | None = None,
) -> WatchDocument:
    """The watch from the small upstream (with ``before`` over it) to the same with ``after``."""
    start, target = build(tmp_path / "up", [{**FILES, **(before or {})}, after])
    with Repository.open(tmp_path / "up") as repository:
        return watch(repository, wanted, from_=start, to=target, progress=SILENT)


def region(
    tmp_path: Path,
    selector: str,
    after: Mapping[str, str | bytes | None],
    before: Mapping[str, str | bytes | None] | None = None,
) -> RegionResult:
    return run(tmp_path, table(selector), after, before).regions[0]


def route(
    tmp_path: Path,
    arch: str,
    after: Mapping[str, str | bytes | None],
    *,
    when: str = "default",
    before: Mapping[str, str | bytes | None] | None = None,
) -> RoutingResult:
    question = RoutingTable(name=arch.lower(), arch=arch, when=when)
    return run(tmp_path, table(routing=(question,)), after, before).routing[0]
