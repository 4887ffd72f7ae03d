"""The commits of a range with what each changed."""

from __future__ import annotations

from pathlib import Path

from tests.support.repos import Step, build, git
from tracker.git.range_log import Change, is_ancestor, range_log
from tracker.git.repository import Repository


def test_each_commit_lists_its_own_changes(tmp_path: Path) -> None:
    """Added, changed, removed and renamed files by blob id, newest commit first."""
    folder = tmp_path / "up"
    ids = build(
        folder,
        [
            {"a.txt": "1\n", "b c.txt": "x\n", "ü.txt": "u\n"},
            Step({"a.txt": "2\n", "new.txt": "n\n"}, "two\x01: subject"),
            Step({"b c.txt": None}, ""),
            Step({}, "moved", renames={"a.txt": "dir/a.txt"}),
            Step({"ü.txt": "v\n"}, "umlaut"),
        ],
    )
    with Repository.open(folder) as repository:
        found = range_log(repository, ids[0], ids[-1])
        blob = {
            (place, path): repository.blob_id(commit, path)
            for place, commit in enumerate(ids)
            for path in ("a.txt", "b c.txt", "new.txt", "dir/a.txt", "ü.txt")
        }
    assert [commit.oid for commit in found] == ids[:0:-1]
    assert [set(commit.changes) for commit in found] == [
        {Change("ü.txt", blob[0, "ü.txt"], blob[4, "ü.txt"])},
        {Change("a.txt", blob[1, "a.txt"], None), Change("dir/a.txt", None, blob[1, "a.txt"])},
        {Change("b c.txt", blob[0, "b c.txt"], None)},
        {
            Change("a.txt", blob[0, "a.txt"], blob[1, "a.txt"]),
            Change("new.txt", None, blob[1, "new.txt"]),
        },
    ]
    assert found[-1].subject == "two\x01: subject"
    assert found[0].date == "2023-11-14T22:18:20Z"


def test_a_merge_is_compared_with_its_first_parent(tmp_path: Path) -> None:
    """The side branch's commits do not appear; their changes are the merge's."""
    folder = tmp_path / "up"
    ids = build(folder, [{"a.txt": "1\n"}, {"main.txt": "m\n"}], bare=False)
    git(folder, "config", "user.name", "x")
    git(folder, "config", "user.email", "x@example.org")
    git(folder, "checkout", "-q", "-b", "side", ids[0])
    (folder / "side.txt").write_text("s\n")
    git(folder, "add", "side.txt")
    git(folder, "commit", "-q", "-m", "side work")
    git(folder, "checkout", "-q", "master")
    git(folder, "merge", "-q", "--no-ff", "-m", "Merge pull request #9 from x", "side")
    with Repository.open(folder) as repository:
        merge, main = range_log(repository, ids[0], "master")
        assert [change.path for change in merge.changes] == ["side.txt"]
        assert [change.path for change in main.changes] == ["main.txt"]
        assert is_ancestor(repository, ids[0], merge.oid)
        assert not is_ancestor(repository, merge.oid, ids[1])


def test_what_is_no_regular_file_has_no_content(tmp_path: Path) -> None:
    """A submodule or a symbolic link counts as no file on its side."""
    folder = tmp_path / "up"
    ids = build(folder, [{"a.txt": "1\n", "link": "x\n"}, {"link": ("120000", b"a.txt")}])
    with Repository.open(folder) as repository:
        (commit,) = range_log(repository, ids[0], ids[1])
    assert [(change.path, change.new) for change in commit.changes] == [("link", None)]


def test_an_empty_range_is_empty(tmp_path: Path) -> None:
    """From a commit to itself there is nothing."""
    ids = build(tmp_path / "up", [{"a.txt": "1\n"}])
    with Repository.open(tmp_path / "up") as repository:
        assert range_log(repository, ids[0], ids[0]) == []
