"""A tree as the engine sees it: files by path, read when asked, with our changes on top."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from tracker.git.quarantine import Quarantine

_SUBMODULE = "160000"
_FOLDER = "040000"


@dataclass(frozen=True, slots=True)
class Slot:
    """A file in a tree. ``mode``: six octal digits."""

    mode: str
    oid: str


class Tree:
    """An upstream tree with changed files over it; changing makes a new value."""

    def __init__(
        self,
        files: Mapping[str, Slot | None],
        changed: Mapping[str, Slot | None] | None = None,
        folders: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        """``files``: every path that will ever be asked for, None where there is no file.

        ``folders``: those that are a folder instead, with the paths of the files in it.
        """
        self.files = files
        self.folders: Mapping[str, Collection[str]] = folders or {}
        self.changed: Mapping[str, Slot | None] = changed or {}

    def get(self, path: str) -> Slot | None:
        """The file at ``path``, None if there is none."""
        if path in self.changed:
            return self.changed[path]
        return self.files.get(path)

    def blobs(self) -> list[str]:
        """The ids of upstream's own files."""
        return [s.oid for s in self.files.values() if s is not None and s.mode != _SUBMODULE]

    def with_changes(self, changes: Mapping[str, Slot | None]) -> Tree:
        return Tree(self.files, {**self.changed, **changes}, self.folders)

    def occupied(self, path: str, leaving: Collection[str] = ()) -> str:
        """Why no new file can stand at ``path``; "" if one can.

        ``leaving``: files that the same patch takes away; a folder may turn into a file, and back.
        """
        if self.get(path) is not None:
            return f"{path} is there already"
        for parent in map(str, PurePosixPath(path).parents):
            if self.get(parent) is not None and parent not in leaving:
                return f"{parent} is a file there"
        new = (p for p, slot in self.changed.items() if slot is not None)
        inside = {p for p in self.folders.get(path, ()) if p not in self.changed}
        inside |= {p for p in new if p.startswith(f"{path}/")}
        return f"{path} is a folder there" if inside - set(leaving) else ""


def with_parents(paths: Iterable[str]) -> list[str]:
    """``paths`` and every folder above them, sorted: what ``Tree.occupied`` will ask for."""
    found: set[str] = set()
    for path in paths:
        found.add(path)
        found.update(str(parent) for parent in PurePosixPath(path).parents)
    found.discard(".")
    return sorted(found)


def read_tree(quarantine: Quarantine, tree: str, paths: Iterable[str]) -> Tree:
    """``paths`` of ``tree``, in one call; one more where one of them is a folder."""
    asked = set(paths)
    found = quarantine.listing(tree, with_parents(asked))
    files = {entry.path: Slot(entry.mode, entry.oid) for entry in found if entry.type != "tree"}
    folders = {
        entry.path: files_below(quarantine, entry.path, entry.oid)
        for entry in found
        if entry.type == "tree" and entry.path in asked
    }
    return Tree(files, folders=folders)


def files_below(quarantine: Quarantine, path: str, tree: str) -> tuple[str, ...]:
    """The paths of the files in the folder ``path``, whose tree is ``tree``."""
    return tuple(f"{path}/{entry.path}" for entry in quarantine.list_tree(tree))


def folders_at(
    quarantine: Quarantine, commits: Sequence[str], paths: Iterable[str]
) -> dict[str, dict[str, str]]:
    """For each of ``paths``, the commits in whose tree it is a folder, with its tree; in one call.

    A name with a line break cannot be asked for in that call, and costs one for each commit.
    """
    found: dict[str, dict[str, str]] = {path: {} for path in paths}
    asked = [(path, commit) for path in found if "\n" not in path for commit in commits]
    if not found:
        return {}
    lines = b"".join(os.fsencode(f"{commit}:{path}\n") for path, commit in asked)
    args = ["cat-file", "--batch-check=%(objecttype) %(objectname)", "--buffer"]
    answers = quarantine.git(args, stdin=lines).stdout.split(b"\n")[:-1]
    for (path, commit), answer in zip(asked, answers, strict=True):
        if answer.startswith(b"tree "):
            found[path][commit] = answer[5:].decode("ascii")
    for path, trees in found.items():
        for commit in commits if "\n" in path else ():
            for entry in quarantine.listing(commit, [path]):
                if entry.path == path and entry.mode == _FOLDER:
                    trees[commit] = entry.oid
    return found


def written(quarantine: Quarantine, base: str, tree: Tree) -> str:
    """The id of ``base`` with the changed files of ``tree``."""
    changes = {
        path: (slot.mode, slot.oid) if slot is not None else None
        for path, slot in tree.changed.items()
    }
    return quarantine.write_tree(changes, base) if changes else base
