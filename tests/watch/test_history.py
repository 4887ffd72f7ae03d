"""Break points over a range of real commits."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests.support.repos import Step, build, git, state
from tests.support.upstream_like import ARCH_H, FILES, KV, MODEL, RECURRENT, changed
from tests.watch.support import FIND_SLOT, table
from tracker.config import RoutingTable, WatchTable
from tracker.errors import UsageError
from tracker.evidence.history import WatchHistoryDocument
from tracker.evidence.verdict import Verdict
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.watch import first_break, watch, watch_range
from tracker.watch.routing_walk import RoutingWalk

WARN = f'{FIND_SLOT} @if "odd token position"'
OURS = RoutingTable(name="ours", arch="ARCH_OURS")
KINDS: tuple[Literal["region", "routing"], ...] = ("region", "routing")
SPLIT = "src/rs/slots.cpp"


def walk(
    folder: Path, wanted: WatchTable, ids: list[str], *, start: int = 0
) -> WatchHistoryDocument:
    with Repository.open(folder) as repository:
        return watch_range(repository, wanted, from_=ids[start], to=ids[-1], progress=SILENT)


def test_each_break_point_names_its_commit(tmp_path: Path) -> None:
    """A change, a move and a rename come out with commit, pull request and both places."""
    edited = FILES[RECURRENT].replace("cell.pos >= 0", "cell.pos > 0")
    renamed = edited.replace("memory_recurrent::find_slot", "memory_rs::find_slot")
    ids = build(
        tmp_path / "up",
        [
            FILES,
            Step({KV: FILES[KV] + "// later\n"}, "docs: a comment"),
            Step({RECURRENT: edited}, "slots : stricter (#12)"),
            Step({RECURRENT: None, SPLIT: edited}, "split slots (#34)"),
            Step({SPLIT: "// moved here\n" + edited}, "shift lines"),
            Step({SPLIT: renamed}, "rename the class"),
        ],
    )
    selector = f"{SPLIT}::memory_rs::find_slot"
    document = walk(tmp_path / "up", table(selector), ids)
    assert document.revisions == 5
    assert [(p.to, p.status) for p in document.breaks] == [
        (ids[2], "changed"),
        (ids[3], "moved"),
        (ids[5], "moved"),
    ]
    moved = document.breaks[1]
    assert moved.commit != "unknown"
    assert (moved.commit.pr, moved.from_) == (34, ids[2])
    assert (moved.before, moved.after) == (
        f"{RECURRENT}::memory_recurrent::find_slot",
        f"{SPLIT}::memory_recurrent::find_slot",
    )
    assert document.verdict is Verdict.ATTENTION


def test_routing_breaks_where_the_answer_changes(tmp_path: Path) -> None:
    """Only commits that change an answer are break points; rewrites and other archs are none."""
    other = FILES[MODEL].replace("case ARCH_BERT:", "case ARCH_UNKNOWN:\n        case ARCH_BERT:")
    rewritten = other.replace("&& !draft", "&& draft == false")
    migrated = rewritten.replace("new memory_hybrid(", "new memory_hybrid_idx(")
    ids = build(
        tmp_path / "up",
        [FILES, {MODEL: other}, {MODEL: rewritten}, {MODEL: migrated}, {KV: "int x;\n"}],
    )
    document = walk(tmp_path / "up", table(routing=(OURS,)), ids)
    (point,) = document.breaks
    assert (point.item, point.to) == ("routing:ours/default", ids[3])
    assert (point.before, point.after) == ("memory_hybrid", "memory_hybrid_idx")


def test_an_architecture_is_born(tmp_path: Path) -> None:
    """The commit that adds an architecture is its first break point."""
    without = FILES[ARCH_H].replace("    ARCH_OURS,\n", "")
    ids = build(
        tmp_path / "up", [{**FILES, ARCH_H: without}, {KV: "int x;\n"}, {ARCH_H: FILES[ARCH_H]}]
    )
    document = walk(tmp_path / "up", table(routing=(OURS,)), ids)
    (point,) = document.breaks
    assert (point.to, point.before) == (ids[2], "no such architecture")


def test_an_unreadable_stretch_is_unknown(tmp_path: Path) -> None:
    """Where the router cannot be followed the verdict is unknown, not silence."""
    loop = FILES[MODEL].replace("    return res;", "    for (;;) { return make(arch); }")
    ids = build(tmp_path / "up", [FILES, {MODEL: loop}, {MODEL: FILES[MODEL]}])
    document = walk(tmp_path / "up", table(routing=(OURS,)), ids)
    assert [point.status for point in document.breaks] == ["unresolved", "unresolved"]
    assert document.verdict is Verdict.UNKNOWN


def test_a_region_that_was_never_there_is_told(tmp_path: Path) -> None:
    """A selector that matches nothing in the whole range is unknown, with the reason."""
    ids = build(tmp_path / "up", [FILES, {KV: "int x;\n"}])
    document = walk(tmp_path / "up", table(f"{RECURRENT}::nothing"), ids)
    assert document.breaks == ()
    assert document.verdict is Verdict.UNKNOWN
    assert "defines no nothing" in document.unknown[0]


@pytest.mark.parametrize("until", [None, "region", "routing"])
def test_where_nothing_is_watched_nothing_is_proven(
    tmp_path: Path, until: Literal["region", "routing"] | None
) -> None:
    """No region that changed is not the same as no region."""
    ids = build(tmp_path / "up", [{"a.cpp": "1\n"}, {"a.cpp": "2\n"}])
    with Repository.open(tmp_path / "up") as repository:
        ends = {"from_": ids[0], "to": ids[1]}
        if until is None:
            found = watch_range(repository, WatchTable(), **ends, progress=SILENT)
            assert found.unknown == (
                "nothing is watched: add [[watch.regions]] to the configuration",
            )
            assert found.verdict is Verdict.UNKNOWN
        else:
            asked = first_break(repository, WatchTable(), until=until, **ends, progress=SILENT)
            assert asked.verdict is Verdict.UNKNOWN


def test_removal_and_return_are_both_break_points(tmp_path: Path) -> None:
    """Code that goes and comes back is not reported as unchanged in between."""
    gone = FILES[RECURRENT].partition("bool memory_recurrent::find_slot")[0]
    ids = build(tmp_path / "up", [FILES, {RECURRENT: gone}, {RECURRENT: FILES[RECURRENT]}])
    document = walk(tmp_path / "up", table(FIND_SLOT), ids)
    assert [point.status for point in document.breaks] == ["missing", "changed"]


def test_contents_are_read_once(tmp_path: Path) -> None:
    """Forty commits elsewhere cost no reading of the watched file."""
    steps: list[dict[str, str]] = [dict(FILES)]
    steps += [{"README.md": f"{number}\n"} for number in range(40)]
    ids = build(tmp_path / "up", steps)
    assert walk(tmp_path / "up", table(FIND_SLOT), ids).contents <= 1


def test_two_revisions_name_the_commits_of_each_change(tmp_path: Path) -> None:
    """A changed region lists the commits that changed it, newest first, and no others."""
    one = changed(RECURRENT, "cell.pos >= 0", "cell.pos > 0")
    two = {RECURRENT: one[RECURRENT].replace("return true;", "return found;")}
    shifted = {RECURRENT: "\n" + two[RECURRENT]}
    ids = build(
        tmp_path / "up",
        [FILES, Step(one, "first (#1)"), {KV: "int x;\n"}, Step(two, "second"), shifted],
    )
    with Repository.open(tmp_path / "up") as repository:
        document = watch(
            repository, table(FIND_SLOT, WARN), from_=ids[0], to=ids[-1], progress=SILENT
        )
    whole, warn = document.regions
    assert whole.commits != "unknown"
    assert warn.commits != "unknown"
    assert [(c.commit, c.pr) for c in whole.commits] == [(ids[3], None), (ids[1], 1)]
    assert [c.commit for c in warn.commits] == [ids[1]]


def test_a_snapshot_history_blames_nobody(tmp_path: Path) -> None:
    """In a mirror made from archives the commits of a change are unknown, never none."""
    ids = build(tmp_path / "up", [FILES, changed(RECURRENT, "cell.pos >= 0", "cell.pos > 0")])
    git(tmp_path / "up", "config", "lloyal-track.source", "archive")
    with Repository.open(tmp_path / "up") as repository:
        document = watch(repository, table(FIND_SLOT), from_=ids[0], to=ids[1], progress=SILENT)
        history = watch_range(
            repository, table(FIND_SLOT), from_=ids[0], to=ids[1], progress=SILENT
        )
    assert document.regions[0].commits == "unknown"
    assert history.breaks[0].commit == "unknown"


def test_a_backward_range_is_a_usage_error(tmp_path: Path) -> None:
    """A range whose start is newer than its end stops with the reason."""
    ids = build(tmp_path / "up", [FILES, {KV: "int x;\n"}])
    with pytest.raises(UsageError, match="not an ancestor"):
        walk(tmp_path / "up", table(FIND_SLOT), ids[::-1])


def test_nothing_is_written(tmp_path: Path) -> None:
    """The watch leaves the repository as it was, byte for byte."""
    ids = build(tmp_path / "up", [FILES, {RECURRENT: None, SPLIT: FILES[RECURRENT]}])
    before = state(tmp_path / "up")
    walk(tmp_path / "up", table(FIND_SLOT, routing=(OURS,)), ids)
    assert state(tmp_path / "up") == before


def test_a_bisection_names_the_first_break_of_its_kind(tmp_path: Path) -> None:
    """The oldest commit that changed a region, or an answer, though it was taken back later."""
    edited = FILES[RECURRENT].replace("cell.pos >= 0", "cell.pos > 0")
    migrated = FILES[MODEL].replace("new memory_hybrid(", "new memory_hybrid_idx(")
    ids = build(
        tmp_path / "up",
        [
            FILES,
            {KV: "int x;\n"},
            Step({RECURRENT: edited}, "stricter (#7)"),
            {RECURRENT: FILES[RECURRENT]},
            {MODEL: migrated},
        ],
    )
    with Repository.open(tmp_path / "up") as repository:
        region, routing = (
            first_break(
                repository,
                table(FIND_SLOT, routing=(OURS,)),
                until=until,
                from_=ids[0],
                to=ids[-1],
                progress=SILENT,
            )
            for until in KINDS
        )
        nothing = first_break(
            repository, table(FIND_SLOT), until="region", from_=ids[0], to=ids[1], progress=SILENT
        )
    assert region.first == ids[2]
    assert region.last_before == ids[1]
    assert region.commit not in (None, "unknown")
    assert routing.first == ids[4]
    assert routing.items == ("routing:ours/default",)
    assert "memory_hybrid_idx" in routing.after
    assert (nothing.commit, nothing.first, nothing.verdict) == (None, None, Verdict.OK)


def test_a_walk_that_went_astray_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The start of the range is read directly too: a walk that missed a step is unknown."""
    migrated = FILES[MODEL].replace("new memory_hybrid(", "new memory_hybrid_idx(")
    ids = build(tmp_path / "up", [FILES, {MODEL: migrated}])
    monkeypatch.setattr(RoutingWalk, "back", lambda _walk, _commit: [])
    document = walk(tmp_path / "up", table(routing=(OURS,)), ids)
    assert document.verdict is Verdict.UNKNOWN
    assert "disagree" in document.unknown[0]
