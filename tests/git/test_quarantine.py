"""Our own object store over the user's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.repos import File, build, git, state
from tracker.errors import EnvironmentFault, UsageError
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository


def test_new_objects_stay_out_of_the_users_store(tmp_path: Path) -> None:
    """Both stores are read, only ours is written."""
    ids = build(tmp_path / "r", [{"a": "1\n", "d/e": "2\n"}])
    before = state(tmp_path / "r")
    with Repository.open(tmp_path / "r") as repository:
        with Quarantine(repository, tmp_path / "q") as quarantine:
            blob = quarantine.write_blob(b"new\n")
            tree = quarantine.write_tree({"d/e": ("100644", blob)}, quarantine.tree(ids[0]))
            commit = quarantine.write_commit(tree, [ids[0]], "message")
            assert quarantine.read(blob) == b"new\n"
            assert quarantine.read_path(commit, "d/e") == b"new\n"
            assert quarantine.read_path(commit, "a") == b"1\n"
            assert quarantine.git(["fsck", "--strict", commit]).code == 0
            with pytest.raises(UsageError):
                quarantine.read("1" * 40)
        with pytest.raises(UsageError):
            repository.read(blob)
    assert state(tmp_path / "r") == before


def test_trees_are_those_that_git_would_write(tmp_path: Path) -> None:
    """Adding, replacing, removing, files that become folders and the other way round."""
    steps: list[Mapping[str, File]] = [
        {"a": "1", "a.b": "2", "d/x/y": "3", "d/z": "4"},
        {"d/x/y": None, "a": None, "a/new": "5", "d/z": ("100755", b"6"), "\u00e9": "7"},
        {"a/new": None, "a": "8", "d/z": None},
    ]
    ids = build(tmp_path / "r", steps)
    with Repository.open(tmp_path / "r") as repository:
        with Quarantine(repository, tmp_path / "q") as quarantine:
            tree = None
            for files, commit in zip(steps, ids, strict=True):
                changes: dict[str, tuple[str, str] | None] = {}
                for path, content in files.items():
                    if content is None:
                        changes[path] = None
                        continue
                    mode, text = content if isinstance(content, tuple) else ("100644", content)
                    raw = text if isinstance(text, bytes) else text.encode()
                    changes[path] = (mode, quarantine.write_blob(raw))
                tree = quarantine.write_tree(changes, tree)
                assert tree == repository.tree(commit)


def test_the_users_settings_do_not_reach_inside(tmp_path: Path) -> None:
    """Attributes and drivers of the repository are its own affair."""
    build(tmp_path / "r", [{"a": "1\n"}])
    git(tmp_path / "r", "config", "merge.default", "nonsense")
    (tmp_path / "r/info").mkdir(exist_ok=True)
    (tmp_path / "r/info/attributes").write_text("* merge=union\n")
    with Repository.open(tmp_path / "r") as repository:
        with Quarantine(repository, tmp_path / "q") as quarantine:
            asked = quarantine.git(["config", "--get", "merge.default"], check=False)
            assert asked.stdout == b""


def test_a_second_quarantine_finds_the_objects_again(tmp_path: Path) -> None:
    """Content decides: the same object is written once."""
    build(tmp_path / "r", [{"a": "1\n"}])
    with Repository.open(tmp_path / "r") as repository:
        with Quarantine(repository, tmp_path / "q") as first:
            blob = first.write_blob(b"x")
        before = state(tmp_path / "q")
        with Quarantine(repository, tmp_path / "q") as second:
            assert second.write_blob(b"x") == blob
            assert second.read(blob) == b"x"
    assert state(tmp_path / "q") == before


def test_a_place_that_cannot_be_written_is_an_environment_fault(tmp_path: Path) -> None:
    """A file stands where the folder should be."""
    build(tmp_path / "r", [{"a": "1\n"}])
    (tmp_path / "q").write_text("")
    with Repository.open(tmp_path / "r") as repository:
        with pytest.raises(EnvironmentFault, match="cannot write our object store"):
            Quarantine(repository, tmp_path / "q")
