"""A tree as the engine sees it: files by path, read when asked, with our changes on top."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from tracker.git.quarantine import Quarantine

_SUBMODULE = "160000"


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
    ) -> None:
        """``files``: every path that will ever be asked for, None where there is no file."""
        self.files = files
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
        return Tree(self.files, {**self.changed, **changes})

    def blocked(self, path: str) -> str | None:
        """A file that stands where ``path`` needs a folder."""
        for parent in PurePosixPath(path).parents:
            if self.get(str(parent)) is not None:
                return str(parent)
        return None


def with_parents(paths: Iterable[str]) -> list[str]:
    """``paths`` and every folder above them, sorted: what ``Tree.blocked`` will ask for."""
    found: set[str] = set()
    for path in paths:
        found.add(path)
        found.update(str(parent) for parent in PurePosixPath(path).parents)
    found.discard(".")
    return sorted(found)


def read_tree(quarantine: Quarantine, tree: str, paths: Iterable[str]) -> Tree:
    """``paths`` of ``tree``, in one call."""
    found = quarantine.entries(tree, with_parents(paths))
    return Tree({path: Slot(mode, oid) for path, (mode, oid) in found.items()})


def not_folders_everywhere(
    quarantine: Quarantine, commits: Sequence[str], paths: Collection[str]
) -> set[str]:
    """Those of ``paths`` that are no folder in the tree of at least one commit; in one call.

    A name with a line break cannot be asked for, and counts as one of them.
    """
    asked = [(commit, path) for path in paths if "\n" not in path for commit in commits]
    lines = b"".join(os.fsencode(f"{commit}:{path}\n") for commit, path in asked)
    args = ["cat-file", "--batch-check=%(objecttype)", "--buffer"]
    types = quarantine.git(args, stdin=lines).stdout.split(b"\n")[:-1]
    found = {path for (_, path), type_ in zip(asked, types, strict=True) if type_ != b"tree"}
    return found | {path for path in paths if "\n" in path}


def written(quarantine: Quarantine, base: str, tree: Tree) -> str:
    """The id of ``base`` with the changed files of ``tree``."""
    changes = {
        path: (slot.mode, slot.oid) if slot is not None else None
        for path, slot in tree.changed.items()
    }
    return quarantine.write_tree(changes, base) if changes else base
