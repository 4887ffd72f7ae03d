"""Every edit of the real code is detected, every restyling is not: made from a seed, not picked."""

from __future__ import annotations

import random

import pytest

from tests.watch.archived import Tree
from tests.watch.mutations import Edit, change, restyle
from tracker import series
from tracker.bundled import bundled
from tracker.changed_lines import changed_lines
from tracker.config import Config, WatchTable
from tracker.evidence.watch import RegionResult, RegionStatus, RoutingStatus
from tracker.progress import SILENT
from tracker.watch.dependencies import dependencies
from tracker.watch.document import Comparison, compare_files

pytestmark = pytest.mark.archives

SEED = 20261201
CHANGES, RESTYLES, ROUTING = 45, 30, 15


@pytest.fixture(scope="module")
def watched(config: Config, tree: Tree) -> WatchTable:
    """The configured regions and those that the carried patches lean on; no routing."""
    touched = changed_lines(series.read_series(bundled("patchset")))
    regions = (*config.watch.regions, *dependencies(tree, touched))
    assert any(region.name.startswith("called:") for region in regions)
    return WatchTable(regions=regions)


@pytest.fixture(scope="module")
def regions(watched: WatchTable, tree: Tree) -> list[RegionResult]:
    """Every watched region at its place."""
    return list(compared(watched, tree, tree).regions)


def compared(table: WatchTable, before: Tree, after: Tree) -> Comparison:
    return compare_files(table, before, after, progress=SILENT)


def spans(tree: Tree, regions: list[RegionResult]) -> dict[str, tuple[str, int, int]]:
    """Region -> path and byte range; the range of a region with fields covers what is between."""
    found: dict[str, tuple[str, int, int]] = {}
    for region in regions:
        place = region.from_
        assert place is not None, region.name
        lines = tree.files[place.path].splitlines(keepends=True)
        first = sum(map(len, lines[: place.start - 1]))
        found[region.name] = (
            place.path,
            first,
            first + sum(map(len, lines[place.start - 1 : place.end])),
        )
    return found


def edits(
    tree: Tree, regions: list[RegionResult], *, count: int, cosmetic: bool
) -> list[tuple[str, str, Edit]]:
    """``count`` edits spread over the regions: region, path, edit."""
    random_ = random.Random(SEED + cosmetic)  # noqa: S311
    places = spans(tree, regions)
    names = sorted(places)
    made: list[tuple[str, str, Edit]] = []
    for number in range(count):
        name = names[number % len(names)]
        path, first, last = places[name]
        make = restyle if cosmetic else change
        made.append((name, path, make(random_, tree.files[path], first, last)))
    return made


def test_every_change_is_detected_and_nothing_else(
    watched: WatchTable, tree: Tree, regions: list[RegionResult]
) -> None:
    """Each changed region says so; regions that the edit did not touch stay unchanged."""
    places = spans(tree, regions)
    missed: list[str] = []
    for name, path, edit in edits(tree, regions, count=CHANGES, cosmetic=False):
        result = compared(watched, tree, tree.having(path, edit.text))
        found = {region.name: region for region in result.regions}
        own = edit.what.startswith("word") and name.rpartition("::")[2] in edit.what
        if found[name].status is not RegionStatus.CHANGED and not (
            own and found[name].status in (RegionStatus.MOVED, RegionStatus.MISSING)
        ):
            missed.append(f"{name}: {edit.what}: {found[name].status} {found[name].why}")
        for other, (where, first, last) in places.items():
            untouched = where != path or edit.end <= first or edit.start >= last
            if edit.what.startswith("word"):  # a type's new name is that of its members too
                untouched = untouched and edit.what.split("'")[1] not in other.split("::")
            if untouched and found[other].status is not RegionStatus.UNCHANGED:
                missed.append(f"{other} though {name}: {edit.what}: {found[other].status}")
    assert not missed, "\n".join(missed)


def test_every_restyling_is_cosmetic(
    watched: WatchTable, tree: Tree, regions: list[RegionResult]
) -> None:
    """Comments, white space and line breaks are never more than cosmetic."""
    wrong: list[str] = []
    for name, path, edit in edits(tree, regions, count=RESTYLES, cosmetic=True):
        result = compared(watched, tree, tree.having(path, edit.text))
        for region in result.regions:
            quiet = (RegionStatus.COSMETIC, RegionStatus.UNCHANGED)
            whole_text = "@fields" not in region.selector  # between fields nothing is compared
            if region.status not in quiet or (
                region.name == name and whole_text and region.status is not RegionStatus.COSMETIC
            ):
                wrong.append(f"{region.name}: {name}: {edit.what}: {region.status} {region.why}")
    assert not wrong, "\n".join(wrong)


MODEL, ARCH = "src/llama-model.cpp", "src/llama-arch.cpp"


def rerouted(random_: random.Random, tree: Tree, arch: str, built: str) -> tuple[str, str, str]:
    """``(path, new text, class that arch now gets)``: one of five ways to change the routing."""
    model, predicates = tree.files[MODEL].decode(), tree.files[ARCH].decode()
    fresh = f"llama_memory_{random_.choice(['next', 'flat', 'paged'])}_{random_.randint(1, 99)}"
    head, marker, body = model.partition("llama_model::create_memory(")
    way = random_.randrange(5)
    if way == 0:  # the constructed class
        assert f"new {built}(" in body
        return MODEL, head + marker + body.replace(f"new {built}(", f"new {fresh}("), fresh
    if way == 1:  # a case of its own
        first = "    switch (arch) {\n"
        case = f"        case {arch}:\n            res = new {fresh}(*this);\n            break;\n"
        return MODEL, head + marker + body.replace(first, first + case, 1), fresh
    if way == 2:  # no hybrid any more
        before, name, after = predicates.partition("bool llm_arch_is_hybrid(")
        label = f"        case {arch}:\n"
        assert label in after
        return ARCH, before + name + after.replace(label, "", 1), "llama_kv_cache"
    if way == 3:  # recurrent by itself
        before, name, after = predicates.partition("bool llm_arch_is_recurrent(")
        label = "    switch (arch) {\n"
        return (
            ARCH,
            before + name + after.replace(label, f"{label}        case {arch}:\n", 1),
            ("llama_memory_recurrent"),
        )
    early = f"    if (arch == {arch}) {{ return new {fresh}(*this); }}\n    switch (arch) {{\n"
    return MODEL, head + marker + body.replace("    switch (arch) {\n", early, 1), fresh


def test_every_rerouting_is_detected(config: Config, tree: Tree) -> None:
    """However the answer of an architecture changes, the row says so and names the new class."""
    random_ = random.Random(SEED)  # noqa: S311
    table = WatchTable(
        routing_function=config.watch.routing_function,
        situations=config.watch.situations,
        routing=tuple(row for row in config.watch.routing if row.when == "default"),
    )
    rows = {row.arch: row.to[0].class_ for row in compared(table, tree, tree).routing}
    missed: list[str] = []
    for _ in range(ROUTING):
        arch = random_.choice(sorted(rows))
        path, text, now = rerouted(random_, tree, arch, rows[arch])
        after = compared(table, tree, tree.having(path, text.encode()))
        row = next(row for row in after.routing if row.arch == arch)
        got = [answer.class_ for answer in row.to]
        if row.status is not RoutingStatus.CHANGED or got != [now]:
            missed.append(f"{arch}: {now}: {row.status} {got} {row.why}")
    assert not missed, "\n".join(missed)
