"""The series on one revision."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.series.rebases import judge
from tests.support.patches import diff, numbered, series_of
from tests.support.repos import build, state
from tracker.errors import UsageError
from tracker.evidence.rebase import Flag, Note, Outcome
from tracker.evidence.verdict import Verdict
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.series import read_series, rebase


def test_an_untouched_file_leaves_the_patch_unchanged(tmp_path: Path) -> None:
    """Same lines, same place; the resulting tree holds the change and upstream's."""
    pin = {"a": numbered(1, 20), "b": "1\n"}
    patch = diff(pin, {"a": numbered(1, 20, L10="mine")})
    document = judge(tmp_path, pin, {"b": "2\n"}, patch)
    result = document.patches[0]
    assert (document.verdict, result.outcome, result.alone) == (
        Verdict.OK,
        Outcome.UNCHANGED,
        Outcome.UNCHANGED,
    )
    assert not result.flags
    assert not result.notes
    assert state(tmp_path / "out") == {"a": numbered(1, 20, L10="mine").encode(), "b": b"2\n"}


def test_lines_added_above_make_an_offset(tmp_path: Path) -> None:
    """Exact context on other lines; the stored file wants a refresh."""
    pin = {"a": numbered(1, 20)}
    patch = diff(pin, {"a": numbered(1, 20, L10="mine")})
    document = judge(tmp_path, pin, {"a": numbered(1, 20, L2="line 2\nx\ny")}, patch)
    result = document.patches[0]
    assert result.outcome is Outcome.OFFSET
    assert result.notes == (Note.REFRESH_NEEDED,)
    assert result.files[0].hunks[0].old_start == 7
    assert result.files[0].hunks[0].new_start == 9
    assert document.verdict is Verdict.OK


def test_a_changed_context_line_makes_it_merged(tmp_path: Path) -> None:
    """git apply refuses, the three-way merge is clean (P35)."""
    pin = {"a": numbered(1, 20)}
    patch = diff(pin, {"a": numbered(1, 20, L10="mine")})
    document = judge(tmp_path, pin, {"a": numbered(1, 20, L8="  line 8")}, patch)
    assert document.patches[0].outcome is Outcome.MERGED
    assert document.patches[0].notes == (Note.REFRESH_NEEDED,)
    expected = numbered(1, 20, L8="  line 8", L10="mine").encode()
    assert (tmp_path / "out/a").read_bytes() == expected


def test_the_same_change_upstream_leaves_nothing(tmp_path: Path) -> None:
    """Found by content, also when upstream changed more at once (P34)."""
    pin = {"a": numbered(1, 30)}
    patch = diff(pin, {"a": numbered(1, 30, L10="mine")})
    document = judge(tmp_path, pin, {"a": numbered(1, 30, L10="mine", L25="theirs")}, patch)
    assert document.patches[0].outcome is Outcome.UPSTREAMED
    assert document.verdict is Verdict.ATTENTION
    assert (tmp_path / "out/a").read_text() == numbered(1, 30, L10="mine", L25="theirs")


def test_a_conflict_is_a_value_and_hides_nothing(tmp_path: Path) -> None:
    """The patches behind it are judged all the same, nothing of it stays in the tree, and the
    conflicting files are listed (P41, P42).
    """
    pin = {"a": numbered(1, 20), "b": numbered(1, 20), "c": "1\n"}
    first = diff(pin, {"a": numbered(1, 20, L10="mine"), "c": "2\n"})
    second = diff(pin, {"b": numbered(1, 20, L10="mine")})
    document = judge(tmp_path, pin, {"a": numbered(1, 20, L10="other")}, first, second)
    outcomes = [(p.outcome, p.alone) for p in document.patches]
    assert outcomes == [
        (Outcome.CONFLICT, Outcome.CONFLICT),
        (Outcome.UNCHANGED, Outcome.UNCHANGED),
    ]
    assert document.verdict is Verdict.CONFLICT
    assert document.tree is None
    conflict = document.patches[0].conflict
    assert conflict is not None
    assert [file.path for file in conflict.files] == ["a"]


def test_a_renamed_function_around_the_change_is_landed_elsewhere(tmp_path: Path) -> None:
    """The text merges, the meaning is a human's to confirm."""
    body = "".join(f"    step({n});\n" for n in range(12))
    pin = {"a.cpp": "int f() {\n" + body + "}\n"}
    patch = diff(pin, {"a.cpp": "int f() {\n" + body.replace("step(9);", "mine(9);") + "}\n"})
    document = judge(tmp_path, pin, {"a.cpp": "int g() {\n" + body + "}\n"}, patch)
    result = document.patches[0]
    assert result.outcome.clean
    assert Flag.LANDED_ELSEWHERE in result.flags
    assert result.files[0].hunks[0].function == "f"
    assert result.files[0].hunks[0].landed_in == "g"
    assert document.verdict is Verdict.ATTENTION


def test_an_unknown_revision_stops_the_command(tmp_path: Path) -> None:
    """It is no verdict."""
    build(tmp_path / "up", [{"a": "1\n"}])
    series = read_series(series_of(tmp_path / "p"))
    with Repository.open(tmp_path / "up") as repository:
        with Quarantine(repository, tmp_path / "q") as quarantine:
            with pytest.raises(UsageError, match="unknown revision"):
                rebase(
                    repository,
                    series,
                    from_="master",
                    onto="nonsense",
                    quarantine=quarantine,
                    progress=SILENT,
                )


def test_the_users_repository_is_not_written(tmp_path: Path) -> None:
    """Refs, index, stash and objects are as before."""
    pin = {"a": numbered(1, 20)}
    patch = diff(pin, {"a": numbered(1, 20, L10="mine")})
    ids = build(tmp_path / "up", [pin, {"a": numbered(1, 20, L8="x")}], bare=False)
    (tmp_path / "up/a").write_text("edited\n")
    before = state(tmp_path / "up")
    series = read_series(series_of(tmp_path / "p", patch))
    with Repository.open(tmp_path / "up") as repository:
        with Quarantine(repository, tmp_path / "q") as quarantine:
            rebase(
                repository,
                series,
                from_=ids[0],
                onto=ids[1],
                quarantine=quarantine,
                progress=SILENT,
            )
    assert state(tmp_path / "up") == before
