"""Reading a repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.repos import Step, build, git, state
from tracker.errors import UsageError
from tracker.git.repository import Repository


def test_an_annotated_tag_means_its_commit(tmp_path: Path) -> None:
    """Ids are peeled, so a pin that names the commit equals the tag (G19)."""
    ids = build(tmp_path / "r", [{"a": "1"}])
    git(tmp_path / "r", "-c", "user.name=x", "-c", "user.email=x", "tag", "-am", "note", "v1")
    with Repository.open(tmp_path / "r") as repository:
        assert repository.resolve("v1") == ids[0]
        assert repository.resolve(ids[0][:9]) == ids[0]
        assert repository.tags_at(ids[0]) == ["v1"]


@pytest.mark.parametrize("name", ["nonsense", "--all", "", "master:a", "0" * 40, "-h"])
def test_an_unknown_revision_is_a_usage_error(tmp_path: Path, name: str) -> None:
    """Also names that look like options, and things that are no commits."""
    build(tmp_path / "r", [{"a": "1"}])
    with Repository.open(tmp_path / "r") as repository:
        with pytest.raises(UsageError, match="unknown revision"):
            repository.resolve(name)


def test_a_folder_inside_another_checkout_is_no_repository(tmp_path: Path) -> None:
    """git would climb to the parent and answer for it (P39)."""
    build(tmp_path / "r", [{"vendor/dep/x.c": "1"}], bare=False)
    with pytest.raises(UsageError, match="not a git repository"):
        Repository.open(tmp_path / "r/vendor/dep")


@pytest.mark.parametrize("name", ["plain", "missing"])
def test_what_is_no_repository_is_a_usage_error(tmp_path: Path, name: str) -> None:
    """An empty folder and no folder at all."""
    (tmp_path / "plain").mkdir()
    with pytest.raises(UsageError):
        Repository.open(tmp_path / name)


def test_a_checkout_and_a_linked_worktree_open(tmp_path: Path) -> None:
    """Both lead to the shared object store."""
    ids = build(tmp_path / "r", [{"a": "1"}, {"a": "2"}], bare=False)
    git(tmp_path / "r", "worktree", "add", "-q", "--detach", str(tmp_path / "w"), ids[0])
    for folder in ("r", "w"):
        with Repository.open(tmp_path / folder) as repository:
            assert repository.read_path(ids[1], "a") == b"2"
            assert repository.objects == (tmp_path / "r/.git/objects").resolve()


def test_files_are_read_by_path_and_by_id(tmp_path: Path) -> None:
    """Names with blanks, accents and odd bytes included; a folder is not a file."""
    names = ["a b/c.txt", "caf\u00e9.txt", "tab\there", "x:y"]
    ids = build(tmp_path / "r", [dict.fromkeys(names, "text\n")])
    with Repository.open(tmp_path / "r") as repository:
        entries = repository.list_tree(ids[0])
        assert sorted(entry.path for entry in entries) == sorted(names)
        for entry in entries:
            assert repository.blob_id(ids[0], entry.path) == entry.oid
            assert repository.read_path(ids[0], entry.path) == b"text\n"
        assert repository.read(entries[0].oid) == b"text\n"
        assert repository.blob_id(ids[0], "a b") is None
        assert repository.blob_id(ids[0], "missing") is None
        assert repository.read_path(ids[0], "miss\u00eeng") is None
        assert repository.find_blob(entries[0].oid[:8]) == (entries[0].oid, b"text\n")
        with pytest.raises(UsageError, match="missing"):
            repository.read("1" * 40)


def test_commits_are_listed_newest_first_and_by_path(tmp_path: Path) -> None:
    """A signature display or a body with odd lines cannot shift the fields (G04)."""
    ids = build(
        tmp_path / "r",
        [
            {"a": "1"},
            Step({"a": "2"}, subject="one (#12)\n\nbody\n\nwith commit 123 lines"),
            Step({"b": "1"}, subject="two"),
        ],
    )
    git(tmp_path / "r", "config", "log.showSignature", "true")
    with Repository.open(tmp_path / "r") as repository:
        found = repository.commits(ids[0], "master")
        assert [commit.oid for commit in found] == [ids[2], ids[1]]
        assert found[1].subject == "one (#12)"
        assert found[1].body == "body\n\nwith commit 123 lines"
        assert found[1].date == "2023-11-14T22:15:20Z"
        assert [c.oid for c in repository.commits(ids[0], ids[2], ["a"])] == [ids[1]]
        assert repository.commits(ids[2], ids[2]) == []


def test_a_snapshot_history_says_so(tmp_path: Path) -> None:
    """The mirror made from archives is told by its own configuration."""
    build(tmp_path / "r", [{"a": "1"}])
    with Repository.open(tmp_path / "r") as repository:
        assert not repository.is_snapshot
        git(tmp_path / "r", "config", "lloyal-track.source", "archive")
        assert repository.is_snapshot


def test_reading_leaves_the_repository_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a stale index and with GIT_DIR pointing elsewhere."""
    ids = build(tmp_path / "r", [{"a": "1"}, {"a": "2"}], bare=False)
    os.utime(tmp_path / "r/a", (1, 1))
    before = state(tmp_path / "r")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "nowhere"))
    with Repository.open(tmp_path / "r") as repository:
        repository.list_tree(repository.resolve("master"))
        assert repository.read_path(ids[0], "a") == b"1"
        repository.commits(ids[0], ids[1])
    assert state(tmp_path / "r") == before


def test_a_repository_that_git_refuses_is_told_with_its_reason(tmp_path: Path) -> None:
    """It is one; "not a git repository" would send people looking in the wrong place."""
    build(tmp_path / "r", [{"a": "1"}])
    git(tmp_path / "r", "config", "core.repositoryformatversion", "1")
    git(tmp_path / "r", "config", "extensions.fromTheFuture", "1")
    with pytest.raises(UsageError, match="unknown repository extension"):
        Repository.open(tmp_path / "r")
