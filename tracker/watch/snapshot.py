"""One upstream revision as the watch sees it: files by path, searched by word.

The only file of this room that asks the repository for content. Reads; never writes.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from tracker.git.range_log import Change
from tracker.git.repository import Repository
from tracker.source import is_cpp

_KEPT = 512
_ALWAYS = ("include", "src")  # what a routing function includes stands there


class Files(Protocol):
    """The files of one revision."""

    def read(self, path: str) -> bytes | None:
        """The file's content, None if there is no such file."""

    def files_with(self, texts: Sequence[str], *, differing: bool = False) -> list[str]:
        """The C++ files that hold one of ``texts``, in git's order; all, or those that differ."""

    def differing(self) -> list[str]:
        """The paths that differ from the revision this one is compared with; may be empty."""


@dataclass(slots=True)
class Snapshot:
    """``treeish``: a commit or tree id. Files are read once and kept for the snapshot's life.

    ``other``: the revision it is compared with; narrows a search where reading is expensive.
    """

    repository: Repository
    treeish: str
    other: str | None = None
    _files: dict[str, bytes | None] = field(default_factory=dict)
    _differing: list[str] | None = None
    _ids: dict[str, str] | None = None

    def read(self, path: str) -> bytes | None:
        """The file's content, None if there is no such file.

        Raises:
            UsageError: there is one, but the repository lacks its content.
        """
        if path not in self._files:
            content = self.repository.read_path(self.treeish, path)
            if content is None and path in self.ids:
                content = self.repository.read(self.ids[path])
            self._files[path] = content
        return self._files[path]

    @property
    def ids(self) -> dict[str, str]:
        """Path -> blob id of every file; asked for when something is not found."""
        if self._ids is None:
            self._ids = ids_at(self.repository, self.treeish)
        return self._ids

    def files_with(self, texts: Sequence[str], *, differing: bool = False) -> list[str]:
        """The C++ files that hold one of ``texts``, in git's order; all, or those that differ.

        In a blob-filtered clone only files that differ are read: reading the others would fetch
        them all.
        """
        if not differing and not (self.other is not None and self.repository.is_partial):
            return grep(self.repository, self.treeish, texts)
        return grep(
            self.repository, self.treeish, texts, [p for p in self.differing() if is_cpp(p)]
        )

    def differing(self) -> list[str]:
        """The paths that differ from ``other``."""
        if self._differing is None:
            self._differing = self._listed() if self.other is not None else []
        return self._differing

    def _listed(self) -> list[str]:
        listed = self.repository.git(
            ["diff-tree", "-r", "-z", "--name-only", "--no-renames", str(self.other), self.treeish]
        )
        return [
            name for name in listed.stdout.decode("utf-8", "surrogateescape").split("\0") if name
        ]


class Contents:
    """Blob contents by id, the last few kept. ``asked``: the distinct blobs read so far."""

    def __init__(self, repository: Repository) -> None:
        self.asked: set[str] = set()
        self._repository = repository
        self._kept = lru_cache(maxsize=_KEPT)(self._read)

    def __call__(self, oid: str) -> bytes | None:
        """The content, None if the repository lacks it."""
        return self._kept(oid)

    def _read(self, oid: str) -> bytes | None:
        self.asked.add(oid)
        found = self._repository.find_blob(oid)
        return found[1] if found is not None else None


@dataclass(slots=True)
class Rewound:
    """A revision inside a range, told by its blob ids.

    ``commit`` and ``ids`` (path -> blob id) change in place while the range is walked. ``blob``:
    the content of a blob id, None if the repository lacks it.
    """

    repository: Repository
    commit: str
    ids: dict[str, str]
    blob: Callable[[str], bytes | None]

    def read(self, path: str) -> bytes | None:
        """The file's content, None if there is no such file or its content is missing."""
        oid = self.ids.get(path)
        return self.blob(oid) if oid is not None else None

    def files_with(self, texts: Sequence[str], *, differing: bool = False) -> list[str]:
        """The C++ files that hold one of ``texts``, in git's order."""
        return [] if differing else grep(self.repository, self.commit, texts)

    def differing(self) -> list[str]:
        """A walk asks for each commit's own changes instead."""
        return []

    def rewind(self, changes: Iterable[Change], parent: str) -> None:
        """Go from a commit that made ``changes`` to its ``parent``."""
        self.commit = parent
        for change in changes:
            if change.old is None:
                self.ids.pop(change.path, None)
            else:
                self.ids[change.path] = change.old


def bring(repository: Repository, from_: str, to: str, paths: Iterable[str]) -> None:
    """In a filtered clone, have the folders of ``paths`` at hand over a range, in one call.

    Raises:
        EnvironmentFault: they cannot be fetched.
    """
    if repository.is_partial:
        folders = {posixpath.dirname(path) for path in paths} | set(_ALWAYS)
        repository.ensure_range(from_, to, sorted(folder for folder in folders if folder))


def ids_at(repository: Repository, treeish: str) -> dict[str, str]:
    """Path -> blob id of every file."""
    return {e.path: e.oid for e in repository.list_tree(treeish) if e.type == "blob"}


def grep(
    repository: Repository, treeish: str, texts: Sequence[str], paths: Sequence[str] | None = None
) -> list[str]:
    """The C++ files of ``treeish`` (of ``paths``, if given) that hold one of ``texts``."""
    if paths is not None and not paths:
        return []
    patterns = [word for text in texts for word in ("-e", text)]
    places = paths if paths is not None else []  # taken literally: the sealed environment says so
    found = repository.git(
        ["grep", "-l", "-z", "-F", "--full-name", *patterns, treeish, "--", *places], check=False
    )
    names = found.stdout.decode("utf-8", "surrogateescape").split("\0")
    prefix = f"{treeish}:"
    return [path for name in names if name and is_cpp(path := name.removeprefix(prefix))]
