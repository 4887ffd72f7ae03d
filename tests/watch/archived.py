"""Upstream's own sources out of the package archives, in memory."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tracker.bundled import bundled
from tracker.config import Config, load
from tracker.progress import SILENT
from tracker.upstream.archives import obtain

_FOLDERS = ("src/", "include/", "tools/mtmd/")


@dataclass(frozen=True)
class Tree:
    """Files in memory; ``edited``: the paths in which it differs from what it is compared with."""

    files: dict[str, bytes]
    edited: tuple[str, ...] = ()

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def files_with(self, texts: Sequence[str], *, differing: bool = False) -> list[str]:
        paths = [p for p in self.edited if p in self.files] if differing else sorted(self.files)
        wanted = [text.encode() for text in texts]
        return [path for path in paths if any(text in self.files[path] for text in wanted)]

    def differing(self) -> list[str]:
        return list(self.edited)

    def having(self, path: str, text: bytes) -> Tree:
        return Tree({**self.files, path: text}, (path,))


@cache
def shipped() -> Config:
    """The configuration whose archives these are."""
    return load(bundled("archives.toml"))


@cache
def archived(version: str) -> Tree:
    """The sources of one configured archive that the watch can see."""
    config = shipped()
    (archive,) = [found for found in config.upstream.archives if found.version == version]
    files: dict[str, bytes] = {}
    with tarfile.open(obtain(config.upstream.package or "", archive, progress=SILENT)) as tar:
        for member in tar:
            path = member.name.partition("vendor/llama.cpp/")[2]
            if path.startswith(_FOLDERS) and member.isfile():
                opened = tar.extractfile(member)
                files[path] = opened.read() if opened is not None else b""
    return Tree(files)


def between(before: Tree, after: Tree) -> tuple[Tree, Tree]:
    """The two trees, each knowing where it differs from the other."""
    paths = before.files.keys() | after.files.keys()
    differing = tuple(
        path for path in sorted(paths) if before.files.get(path) != after.files.get(path)
    )
    return Tree(before.files, differing), Tree(after.files, differing)
