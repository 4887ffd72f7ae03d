"""Filtered clones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repos import build, git, state
from tracker.errors import EnvironmentFault
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.git.worktree import sync


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A bare clone with commits and trees but without any file's content."""
    build(tmp_path / "up", [{"a": "1\n", "d/b": "2\n"}, {"a": "one\n"}])
    git(tmp_path / "up", "config", "uploadpack.allowFilter", "true")
    git(tmp_path / "up", "config", "uploadpack.allowAnySHA1InWant", "true")
    url = f"file://{tmp_path / 'up'}"
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", url, str(tmp_path / "clone"))
    return tmp_path / "clone"


def test_missing_files_are_fetched_into_our_own_store(clone: Path, tmp_path: Path) -> None:
    """The user's clone stays as it is, also its objects."""
    before = state(clone)
    with Repository.open(clone) as repository:
        assert repository.is_partial
        with Quarantine(repository, tmp_path / "q") as store:
            entries = {
                entry.path: entry.oid for entry in store.list_tree(repository.tree("master~1"))
            }
            store.ensure(entries.values())
            assert store.read(entries["a"]) == b"1\n"
            assert store.read(entries["d/b"]) == b"2\n"
            store.ensure(entries.values())
    assert state(clone) == before


def test_one_that_was_not_foreseen_is_fetched_when_it_is_read(clone: Path, tmp_path: Path) -> None:
    """Never taken for a file that is not there."""
    before = state(clone)
    with Repository.open(clone) as repository:
        with Quarantine(repository, tmp_path / "q") as store:
            entries = store.list_tree(repository.tree("master"))
            assert [store.read(entry.oid) for entry in entries] == [b"one\n", b"2\n"]
            old = repository.tree("master~1")
            assert store.read_path(old, "a") == b"1\n"
            oid = store.blob_id(old, "a") or ""
            assert store.find_blob(oid[:7], "a") == (oid, b"1\n")
            assert store.read_path(old, "none") is None
    assert state(clone) == before


def test_git_fetches_into_our_own_store_too(clone: Path, tmp_path: Path) -> None:
    """A promised content is fetched by whatever git command reads it, and by ``ensure_*``."""
    before = state(clone)
    with Repository.open(clone) as repository:
        with Quarantine(repository, tmp_path / "q") as store:
            repository.fetch_into(store.objects)
        assert repository.read_path("master~1", "a") == b"1\n"
        assert b"one" in repository.git(["grep", "-e", "one", "master"]).stdout
        repository.ensure_range("master~1", "master", ["d"])
        repository.ensure_tree("master")
        (tmp_path / "up").rename(tmp_path / "away")
        assert repository.read_path("master", "d/b") == b"2\n"
    assert state(clone) == before


def test_a_worktree_is_filled_from_a_filtered_clone(clone: Path, tmp_path: Path) -> None:
    """In one fetch, from the clone itself and from a quarantine over it."""
    with Repository.open(clone) as repository:
        sync(repository, repository.tree("master"), tmp_path / "w1")
        with Quarantine(repository, tmp_path / "q") as store:
            sync(store, repository.tree("master~1"), tmp_path / "w2")
    assert state(tmp_path / "w1") == {"a": b"one\n", "d/b": b"2\n"}
    assert state(tmp_path / "w2") == {"a": b"1\n", "d/b": b"2\n"}


def test_a_remote_that_is_gone_is_an_environment_fault(clone: Path, tmp_path: Path) -> None:
    """It says that the clone is filtered, and what to do."""
    (tmp_path / "up").rename(tmp_path / "away")
    with Repository.open(clone) as repository:
        with Quarantine(repository, tmp_path / "q") as store:
            oids = [entry.oid for entry in store.list_tree(repository.tree("master"))]
            with pytest.raises(EnvironmentFault, match="filtered") as caught:
                store.ensure(oids)
    assert caught.value.next_step


def test_a_clone_without_trees_is_refused(tmp_path: Path) -> None:
    """Listing files would fetch tree after tree."""
    build(tmp_path / "up", [{"a": "1\n"}])
    git(tmp_path / "up", "config", "uploadpack.allowFilter", "true")
    url = f"file://{tmp_path / 'up'}"
    git(tmp_path, "clone", "-q", "--bare", "--filter=tree:0", url, str(tmp_path / "clone"))
    with Repository.open(tmp_path / "clone") as repository:
        with pytest.raises(EnvironmentFault, match="tree:0"):
            Quarantine(repository, tmp_path / "q")
