"""The fuzz finds what is known to be wrong, makes it small, and says the same every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.real_cores import Cores
from tracker.cli.fuzz_text import text
from tracker.evidence.fuzz import FuzzDocument, FuzzFailure, FuzzRow
from tracker.evidence.verdict import Verdict
from tracker.native.fuzz import GROUNDS, fuzz, runs_of
from tracker.native.probe import Limits


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all: the models are made once."""
    return tmp_path_factory.mktemp("fuzz")


def play(
    cores: Cores, work: Path, numbers: range, *, seed: int = 1, **settings: str
) -> FuzzDocument:
    return fuzz(
        cores,
        revision="r",
        seed=seed,
        sequences=len(numbers),
        first=numbers.start,
        work=work,
        limits=Limits(),
        settings=settings,
    )


def only(document: FuzzDocument) -> FuzzRow:
    (row,) = document.rows
    return row


def shortest(row: FuzzRow, kind: str) -> FuzzFailure:
    (found,) = [one for one in row.shortest if one.kind == kind]
    return found


def test_a_number_names_a_sequence_and_its_context() -> None:
    """Each number is played once, on the same ground however many are played and from where on."""
    few, many = runs_of(range(1000, 1100)), runs_of(range(2000))
    for runs, numbers in ((few, range(1000, 1100)), (many, range(2000))):
        played: dict[int, object] = {}
        for ground, run in runs:
            settings = dict(run.settings)
            first, stride, count = (int(settings[key]) for key in ("first", "stride", "count"))
            played |= dict.fromkeys(range(first, first + stride * count, stride), ground)
            assert count <= 50
        assert sorted(played) == list(numbers)
        assert all(ground == GROUNDS[number % len(GROUNDS)] for number, ground in played.items())
    assert sum(int(dict(run.settings)["count"]) for _, run in many) == 2000


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.native
@pytest.mark.archives
@pytest.mark.xdist_group("native")
def test_patched_is_right_where_the_baseline_is_not(cores: Cores, work: Path, seed: int) -> None:
    """The faults that are known: silent wrong results, refused though held, the storm."""
    document = play(cores, work, range(160), seed=seed)
    baseline, patched = document.rows
    assert document.verdict is Verdict.OK, text(document, "r")
    assert (patched.sequences, patched.failed, patched.shortest) == (160, (), ())
    assert baseline.count("wrong") >= 16
    assert baseline.count("refused") >= 8
    assert baseline.count("warned") >= 16
    for row in document.rows:
        assert row.executed >= 0.8
        assert all(one.done for one in row.operations), row.operations
        assert row.rounding < row.tolerance
    assert baseline.narrowest is not None
    assert baseline.narrowest > 5 * baseline.tolerance
    # the smallest: two calls, and a rollback or a fork of it
    wrong = shortest(baseline, "wrong")
    assert wrong.moves.count(";") <= 3, wrong
    assert wrong.diff is not None
    assert any("seq_rm" in line and line.endswith("is true") for line in wrong.story), wrong


@pytest.mark.native
@pytest.mark.archives
@pytest.mark.xdist_group("native")
def test_the_seed_decides(cores: Cores, work: Path) -> None:
    """The same seed gives the same failures, counts and shortest sequences; another gives others.

    A failing sequence fails alone too: that is what the report tells a reader to run.
    """
    baseline: Cores = {"baseline": cores["baseline"]}
    once, again = (only(play(baseline, work, range(32))) for _ in range(2))
    other = only(play(baseline, work, range(32), seed=9))

    def said(row: FuzzRow) -> object:
        return row.failed, row.shortest, row.operations, row.rounding, row.compared

    assert said(once) == said(again)
    assert said(once) != said(other)
    found = shortest(once, "wrong")
    alone = only(play(baseline, work, range(found.index, found.index + 1)))
    assert shortest(alone, "wrong") == found


@pytest.mark.native
@pytest.mark.archives
@pytest.mark.xdist_group("native")
@pytest.mark.parametrize(
    ("fault", "kind", "moves", "word"),
    [
        ("row", "wrong", 1, "are not those of its rows"),
        ("held", "refused", 3, "that the snapshots hold"),
        ("crash", "crashed", 1, "Aborted"),
    ],
)
def test_a_fault_made_on_purpose_is_found_and_shrunk(
    cores: Cores, work: Path, fault: str, kind: str, moves: int, word: str
) -> None:
    """A wrong oracle, a core that aborts: told with a number and hardly more than the cause."""
    patched: Cores = {"patched": cores["patched"]}
    row = only(play(patched, work, range(32), fault=fault))
    assert row.verdict is Verdict.FAIL
    assert [one.kind for one in row.failed] == [kind]
    found = shortest(row, kind)
    assert word in found.what
    assert found.moves.count(";") + 1 <= moves, found
    assert found.index in range(32)


@pytest.mark.native
@pytest.mark.archives
@pytest.mark.xdist_group("native")
def test_a_hanging_core_is_a_failure_with_its_number(cores: Cores, work: Path) -> None:
    """It is ended, told, and costs its limit once a run; what was not played is no pass."""
    patched: Cores = {"patched": cores["patched"]}
    document = play(patched, work, range(0, 1), fault="hang", limit="1")
    row = only(document)
    assert row.verdict is Verdict.FAIL
    found = shortest(row, "hung")
    assert (found.index, found.what[:18]) == (0, "did not end in 1 s")
    assert "--seed 1 --from 0" in text(document, "r")


@pytest.mark.native
@pytest.mark.archives
@pytest.mark.xdist_group("native")
@pytest.mark.parametrize(
    ("fault", "verdict", "word"),
    [("row", Verdict.ATTENTION, "upstream's own"), ("held", Verdict.FAIL, "refused")],
)
def test_upstreams_own_is_what_takes_nothing_back(
    cores: Cores, work: Path, fault: str, verdict: Verdict, word: str
) -> None:
    """A failure that is the same on both sides is the patches' own if they are about it."""
    document = play(cores, work, range(16), fault=fault)
    baseline, patched = document.rows
    assert patched.verdict is verdict, text(document, "r")
    assert word in patched.why
    assert all(one.claimed for one in baseline.shortest)
    assert {one.claimed for one in patched.shortest} == {fault == "held"}
    assert ("upstream's own:" in text(document, "r")) == (fault == "row")
