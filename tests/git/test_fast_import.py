"""fast-import: whole or not at all, any path, any content."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tracker.errors import EnvironmentFault
from tracker.git.calls import run_git
from tracker.git.fast_import import FastImport, Signature
from tracker.git.repository import Repository

WHO = Signature("A. Tester", "tester@example.invalid", 1_700_000_000)


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "mirror.git"
    run_git(["init", "--quiet", "--bare", "--template=", str(folder)])
    return folder


def _file(out: FastImport, path: bytes, content: bytes) -> None:
    out.file(path, 0o100644, len(content), io.BytesIO(content))


@pytest.mark.parametrize(
    "path",
    [b"plain", b"with space", b'"quoted"', b"back\\slash", b"line\nfeed", b"caf\xe9", b" x "],
)
def test_any_path_and_content_arrive_unchanged(git_dir: Path, path: bytes) -> None:
    """Commands of the stream inside a path or a content are bytes like any other."""
    content = b"done\nreset refs/heads/master\n\0\xff"
    with FastImport(git_dir) as out:
        out.begin_commit("refs/heads/master", "one\n", WHO, parent=None)
        _file(out, path, content)
    with Repository.open(git_dir) as repository:
        (entry,) = repository.list_tree("master")
        assert entry.path.encode("utf-8", "surrogateescape") == path
        assert repository.read(entry.oid) == content


def test_a_commit_starts_empty_whatever_its_parent_held(git_dir: Path) -> None:
    """A file that the next snapshot lacks is gone in it."""
    with FastImport(git_dir) as out:
        first = out.begin_commit("refs/heads/master", "one\n", WHO, parent=None)
        _file(out, b"old", b"1")
        second = out.begin_commit("refs/heads/master", "two\n", WHO, parent=first)
        _file(out, b"new", b"2")
        out.point("refs/tags/first", first)
    with Repository.open(git_dir) as repository:
        assert [entry.path for entry in repository.list_tree("master")] == ["new"]
        assert repository.tags_at(repository.resolve("master~1")) == ["first"]
        assert second == ":2"


def test_an_exception_in_the_middle_changes_no_reference(git_dir: Path) -> None:
    """Leaving the block by an exception is the same as never having started."""
    with pytest.raises(KeyError), FastImport(git_dir) as out:
        out.begin_commit("refs/heads/master", "one\n", WHO, parent=None)
        _file(out, b"a", b"1")
        raise KeyError
    assert run_git(["for-each-ref"], git_dir=git_dir).stdout == b""


def test_content_that_ends_early_is_an_error(git_dir: Path) -> None:
    """A short file never becomes a file of another size."""
    with pytest.raises(EnvironmentFault, match="ends before"), FastImport(git_dir) as out:
        out.begin_commit("refs/heads/master", "one\n", WHO, parent=None)
        out.file(b"a", 0o100644, 10, io.BytesIO(b"short"))
    assert run_git(["for-each-ref"], git_dir=git_dir).stdout == b""


def test_git_s_own_refusal_is_told(git_dir: Path) -> None:
    """A parent that does not exist: git's reason, no hang, no reference."""
    with (
        pytest.raises(EnvironmentFault, match="git fast-import stopped"),
        FastImport(git_dir) as out,
    ):
        out.begin_commit("refs/heads/master", "one\n", WHO, parent="0" * 39 + "1")
        _file(out, b"a", b"x" * (1 << 20))
        _file(out, b"b", b"x" * (1 << 20))
    assert run_git(["for-each-ref"], git_dir=git_dir).stdout == b""
