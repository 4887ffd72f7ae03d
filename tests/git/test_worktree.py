"""A folder made equal to a tree."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.support.repos import build, git, state
from tracker.errors import EnvironmentFault, TrackError
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.git.worktree import sync


def test_only_files_that_differ_are_written(tmp_path: Path) -> None:
    """Unchanged files keep their time stamps, so a build stays incremental."""
    ids = build(tmp_path / "r", [{"a": "1", "d/b": "2"}, {"a": "one", "d/c": "3"}])
    work = tmp_path / "w"
    with Repository.open(tmp_path / "r") as repository:
        assert sync(repository, ids[0], work) == ["a", "d/b"]
        os.utime(work / "d/b", (1, 1))
        assert sync(repository, ids[1], work) == ["a", "d/c"]
        assert (work / "d/b").stat().st_mtime == 1
        assert sync(repository, ids[1], work) == []
        (work / "d/b").write_text("edited")
        assert sync(repository, ids[1], work) == ["d/b"]
    assert state(work) == {"a": b"one", "d/b": b"2", "d/c": b"3"}


def test_what_the_tree_lacks_is_deleted(tmp_path: Path) -> None:
    """Stray files and folders, a stray .git, and a folder where a file must be."""
    ids = build(tmp_path / "r", [{"a": "1", "d/b": "2"}])
    work = tmp_path / "w"
    (work / "a/deep").mkdir(parents=True)
    (work / "a/deep/x").write_text("x")
    (work / "d").mkdir()
    (work / "d/stray").write_text("x")
    (work / ".git").write_text("gitdir: elsewhere")
    with Repository.open(tmp_path / "r") as repository:
        sync(repository, ids[0], work)
    assert state(work) == {"a": b"1", "d/b": b"2"}


def test_nothing_is_written_or_deleted_through_a_link(tmp_path: Path) -> None:
    """A link where a folder or file must be is replaced; what it points at stays."""
    ids = build(tmp_path / "r", [{"a": "1", "d/b": "2"}])
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b").write_text("mine")
    work = tmp_path / "w"
    work.mkdir()
    (work / "d").symlink_to(outside)
    (work / "a").symlink_to(outside / "b")
    (work / "stray").symlink_to(outside)
    with Repository.open(tmp_path / "r") as repository:
        sync(repository, ids[0], work)
    assert state(outside) == {"b": b"mine"}
    assert state(work) == {"a": b"1", "d/b": b"2"}
    assert not (work / "d").is_symlink()


def test_modes_and_links_are_kept_and_leaving_links_are_not_made(tmp_path: Path) -> None:
    """A link out of the folder becomes a plain file with the link's text."""
    files = {
        "run": ("100755", b"#!"),
        "d/in": ("120000", b"../run"),
        "d/out": ("120000", b"../../etc"),
        "abs": ("120000", b"/etc/passwd"),
    }
    ids = build(tmp_path / "r", [files, {"run": ("100644", b"#!")}])
    work = tmp_path / "w"
    with Repository.open(tmp_path / "r") as repository:
        assert sync(repository, ids[0], work) == ["abs", "d/in", "d/out", "run"]
        assert sync(repository, ids[0], work) == []
        assert (work / "run").stat().st_mode & stat.S_IXUSR
        assert (work / "d/in").readlink() == Path("../run")
        assert (work / "d/out").read_bytes() == b"../../etc"
        assert not (work / "abs").is_symlink()
        assert sync(repository, ids[1], work) == ["run"]
        assert not (work / "run").stat().st_mode & stat.S_IXUSR


@pytest.mark.parametrize("path", [".git/hooks/x", "d/.GIT/config", "../x"])
def test_a_hostile_path_is_refused_before_anything_is_written(tmp_path: Path, path: str) -> None:
    """Such trees cannot be committed with git, but can be received."""
    build(tmp_path / "r", [{"a": "1"}])
    work = tmp_path / "w"
    with Repository.open(tmp_path / "r") as repository:
        with Quarantine(repository, tmp_path / "q") as quarantine:
            blob = quarantine.write_blob(b"x")
            tree = quarantine.write_tree({"a": ("100644", blob), path: ("100644", blob)})
            with pytest.raises(TrackError, match="refuse"):
                sync(quarantine, tree, work)
    assert not work.exists()
    assert not (tmp_path / "x").exists()


def test_a_submodule_becomes_an_empty_folder(tmp_path: Path) -> None:
    """Its content is another repository's."""
    build(tmp_path / "r", [{"a": "1"}])
    with Repository.open(tmp_path / "r") as repository:
        with Quarantine(repository, tmp_path / "q") as quarantine:
            tree = quarantine.write_tree({"s/m": ("160000", "1" * 40)})
            sync(quarantine, tree, tmp_path / "w")
            assert sync(quarantine, tree, tmp_path / "w") == []
    assert list((tmp_path / "w/s/m").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_an_environment_fault(tmp_path: Path) -> None:
    """The fault names the path."""
    ids = build(tmp_path / "r", [{"a": "1"}])
    (tmp_path / "w").write_text("a file")
    with Repository.open(tmp_path / "r") as repository:
        with pytest.raises(EnvironmentFault) as caught:
            sync(repository, ids[0], tmp_path / "w")
    assert str(tmp_path / "w") in caught.value.where
    git(tmp_path / "r", "fsck")
