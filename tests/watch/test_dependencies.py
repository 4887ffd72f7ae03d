"""What a patch leans on is watched without being configured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repos import build
from tests.watch.support import table
from tracker.evidence.watch import RegionResult, RegionStatus
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.watch import Touched, watch

CPP = "src/slots.cpp"
HEADER = "src/slots.h"
BATCH = "src/batch.h"
BEFORE = {
    CPP: """\
#include "slots.h"
#include "batch.h"

static int local(int a) { return a; }

bool slots::find(const ubatch & ub) {
    auto & cell = cells[0];
    return cell.pos == ub.pos[0] && ub.is_2d() && rank_of(cell.pos, 1) && local(1);
}
""",
    HEADER: """\
#pragma once
struct slots {
    struct cell_t {
        int pos = -1;
        bool used() const;
    };
    bool find(const struct ubatch & ub);
    int size;
};
int rank_of(int pos, int base = 0);
""",
    BATCH: """\
#pragma once
struct ubatch {
    bool is_2d() const {
        return n_pos > 1;
    }
    int * pos;
    int n_pos;
};
struct other {
    bool is_2d() const { return false; }
    int rank_of(int pos) const { return pos; }
};
""",
}
LINES = (
    b"    if (cell.pos >= 0 && ub.is_2d()) { // pos(1) in a comment calls nothing\n",
    b'        LOG("size(%d)", ub.pos[0]); int fresh(int x);\n',
    b"        return rank_of(cell.pos, 2) == std::max(1, local(2));\n",
)
TOUCHED = (Touched(patch="0001-x.patch", path=CPP, lines=LINES),)


def run(tmp_path: Path, after: dict[str, str]) -> dict[str, RegionResult]:
    start, target = build(tmp_path / "up", [BEFORE, after])
    with Repository.open(tmp_path / "up") as repository:
        document = watch(
            repository, table(), from_=start, to=target, progress=SILENT, touched=TOUCHED
        )
    return {found.name: found for found in document.regions}


def test_callees_and_touched_types_are_found(tmp_path: Path) -> None:
    """Functions by the owner's type, types by their fields; what the patch adds is not watched."""
    found = run(tmp_path, {"x.txt": ""})
    assert {name: region.selector for name, region in found.items()} == {
        "called:local": f"{CPP}::local @signature",
        "called:rank_of": f"{HEADER}::rank_of @signature",
        "called:slots::cell_t": f"{HEADER}::slots::cell_t @fields",
        "called:ubatch": f"{BATCH}::ubatch @fields",
        "called:ubatch::is_2d": f"{BATCH}::ubatch::is_2d",
    }
    assert {region.status for region in found.values()} == {RegionStatus.UNCHANGED}
    assert not any(region.blocking for region in found.values())


@pytest.mark.parametrize(
    ("path", "old", "new", "name"),
    [
        (HEADER, "int base = 0", "int base = 1", "called:rank_of"),
        (HEADER, "int rank_of(int pos", "int rank_of(long pos", "called:rank_of"),
        (HEADER, "int pos = -1", "long pos = -1", "called:slots::cell_t"),
        (HEADER, "int pos = -1;", "int seq; int pos = -1;", "called:slots::cell_t"),
        (BATCH, "n_pos > 1", "n_pos > 2", "called:ubatch::is_2d"),
        (BATCH, "int n_pos;", "unsigned n_pos;", "called:ubatch"),
        (CPP, "local(int a)", "local(int a, int b = 0)", "called:local"),
    ],
)
def test_a_moved_meaning_is_a_change_of_that_name_only(
    tmp_path: Path, path: str, old: str, new: str, name: str
) -> None:
    """Another signature, default, field type or order, or inline body is told, and nothing else."""
    assert BEFORE[path].count(old) == 1
    found = run(tmp_path, {path: BEFORE[path].replace(old, new)})
    changed = {n for n, region in found.items() if region.status is RegionStatus.CHANGED}
    assert changed == {name}


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (CPP, "{ return a; }", "{ return a + 1; }"),
        (HEADER, "    bool find(", "    bool other();\n    bool find("),
        (HEADER, "    int size;", "    long size;"),
        (BATCH, "{ return false; }", "{ return true; }"),
    ],
)
def test_what_a_caller_does_not_see_is_no_change(
    tmp_path: Path, path: str, old: str, new: str
) -> None:
    """A body behind a signature, another method, another type: no change of ours."""
    found = run(tmp_path, {path: BEFORE[path].replace(old, new)})
    assert {region.status for region in found.values()} == {RegionStatus.UNCHANGED}
