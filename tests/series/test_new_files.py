"""A new file needs its place: nothing there, no file above it, and no folder of upstream's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.series.rebases import agree, judge_one
from tests.support.patches import diff, series_of
from tests.support.repos import File, build
from tracker.evidence.rebase import Outcome
from tracker.series import read_series

_ADDED = diff({}, {"dir/sub/new": "mine\n"})


@pytest.mark.parametrize("mode", ["100644", "120000"])
def test_a_folder_that_turns_into_something_else_is_noticed(tmp_path: Path, mode: str) -> None:
    """A patch that only adds a file touches no file of upstream's, but needs its folder."""
    other: File = (mode, b"elsewhere")
    steps: list[dict[str, File]] = [
        {"dir/sub/old": "1\n", "dir/old": "1\n"},
        {"dir/sub/old": "2\n"},
        {"dir/sub/old": None, "dir/sub": other},
        {"c": "x\n"},
        {"dir/sub": None, "dir/old": None, "dir": other},
        {"dir": None, "dir/sub/old": "1\n"},
        {"dir/sub/old": None},
    ]
    ids = build(tmp_path / "up", steps)
    answers = agree(tmp_path, ids, read_series(series_of(tmp_path / "p", _ADDED)))
    assert answers == [*["unchanged"] * 2, *["conflict"] * 3, *["unchanged"] * 2]


_AT_DIR = diff({}, {"dir": "mine\n"})
_MOVED_TO_DIR = diff({"c": "1\n" * 9}, {"c": None, "dir": "1\n" * 9}, "-M")


@pytest.mark.parametrize(
    ("patch", "steps", "expected"),
    [
        (_ADDED, [{"dir": "a file\n"}, {"c": "2\n"}], ["conflict", "conflict"]),
        (_ADDED, [{"dir": "a file\n"}, {"dir": None, "dir/x": ""}], ["conflict", "unchanged"]),
        (
            _AT_DIR,
            [{"c": "1\n"}, {"dir/x": ""}, {"dir/x": "2\n", "dir/y": ""}],
            ["unchanged", "conflict", "conflict"],
        ),
        (_AT_DIR, [{"dir/x": ""}, {"dir/x": None}, {}], ["conflict", "unchanged", "unchanged"]),
        (_MOVED_TO_DIR, [{"c": "1\n" * 9}, {"dir/x": ""}], ["unchanged", "conflict"]),
    ],
)
def test_what_stands_in_a_new_files_place_is_seen(
    tmp_path: Path, patch: bytes, steps: list[dict[str, File]], expected: list[str]
) -> None:
    """Also what stood there on the pin already, and a folder: its files would all be lost."""
    ids = build(tmp_path / "up", [{**steps[0], "z": "1\n"}, *steps[1:]])
    assert agree(tmp_path, ids, read_series(series_of(tmp_path / "p", patch))) == expected


@pytest.mark.parametrize(
    ("later", "outcome"),
    [({"c": "2\n"}, Outcome.UNCHANGED), ({"d/y": ""}, Outcome.CONFLICT)],
)
def test_a_patch_that_makes_a_folder_a_file_takes_nothing_of_upstreams_along(
    tmp_path: Path, later: dict[str, File], outcome: Outcome
) -> None:
    """It names the files that it removes; one more of upstream's is in its way."""
    pin: dict[str, File] = {"d/x": "1\n", "c": "1\n"}
    patch = diff(pin, {"d/x": None, "d": "mine\n"})
    result = judge_one(tmp_path, pin, later, patch)
    assert result.outcome is outcome
    assert ("d is a folder there" in result.why) == (outcome is Outcome.CONFLICT)


def test_a_file_that_moves_below_its_own_name_is_not_in_its_own_way(tmp_path: Path) -> None:
    """`d` becomes `d/x`."""
    pin: dict[str, File] = {"d": "1\n" * 9, "c": "1\n"}
    patch = diff(pin, {"d": None, "d/x": "1\n" * 9}, "-M")
    result = judge_one(tmp_path, pin, {"c": "2\n"}, patch)
    assert result.outcome is Outcome.UNCHANGED
    assert (tmp_path / "out/d/x").is_file()
