"""Makes a folder of ours equal to a tree, touching only what differs.

Unchanged files keep their time stamps, so a build in or beside the folder stays incremental. Never
writes through a symbolic link, never makes a ``.git``, and must only be given a folder that is
ours: whatever the tree does not hold is deleted.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path, PurePosixPath
from typing import Protocol

from tracker.errors import EnvironmentFault, TrackError
from tracker.git.repository import TreeEntry

_SYMLINK = "120000"
_SUBMODULE = "160000"
_EXECUTABLE = "100755"


class TreeSource(Protocol):
    """A repository or a quarantine."""

    def list_tree(self, treeish: str) -> list[TreeEntry]: ...

    def read(self, oid: str) -> bytes: ...

    def ensure_tree(self, treeish: str) -> None: ...


def sync(source: TreeSource, tree: str, folder: Path) -> list[str]:
    """Make ``folder`` equal to ``tree``; returns the paths written or deleted, sorted.

    A symbolic link that leaves the folder becomes a plain file with the link's text, as git does
    where links are unsupported. A submodule becomes an empty folder.

    Raises:
        TrackError: the tree holds a path that leaves the folder or reaches ``.git``.
        EnvironmentFault: the folder cannot be written, or a filtered clone cannot be completed.
    """
    entries = source.list_tree(tree)
    for entry in entries:
        _refuse_bad_path(entry.path)
    source.ensure_tree(tree)
    try:
        return sorted(_sync(source, entries, folder))
    except OSError as fault:
        raise EnvironmentFault(
            f"cannot bring the worktree up to date: {fault.strerror or fault}",
            where=str(fault.filename or folder),
            next_step="check free space and permissions",
        ) from None


def _sync(source: TreeSource, entries: list[TreeEntry], folder: Path) -> set[str]:
    if folder.is_symlink():
        folder.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    changed = _delete_others(folder, entries)
    for entry in entries:
        file = folder / entry.path
        if entry.mode == _SUBMODULE:
            file.mkdir(parents=True, exist_ok=True)
            continue
        link = entry.mode == _SYMLINK and _stays_inside(entry.path, source.read(entry.oid))
        if _is_current(file, entry, link=link):
            continue
        _write(file, source.read(entry.oid), executable=entry.mode == _EXECUTABLE, link=link)
        changed.add(entry.path)
    return changed


def _delete_others(folder: Path, entries: list[TreeEntry]) -> set[str]:
    """Remove what the tree does not hold, and what stands where a folder or a file must be."""
    files = {entry.path for entry in entries if entry.mode != _SUBMODULE}
    folders = {entry.path for entry in entries if entry.mode == _SUBMODULE}
    for path in files | folders:
        folders.update(str(parent) for parent in PurePosixPath(path).parents)
    deleted = set()
    stack = [folder]
    while stack:
        for item in os.scandir(stack.pop()):
            path = Path(item.path).relative_to(folder).as_posix()
            is_folder = item.is_dir(follow_symlinks=False)
            if is_folder and path in folders:
                stack.append(Path(item.path))
            elif is_folder:
                shutil.rmtree(item.path)
                deleted.add(path)
            elif path not in files:
                Path(item.path).unlink()
                deleted.add(path)
    return deleted


def _is_current(file: Path, entry: TreeEntry, *, link: bool) -> bool:
    try:
        if file.is_symlink():
            return link and _blob_id(os.fsencode(file.readlink())) == entry.oid
        if link or not file.is_file():
            return False
        executable = bool(file.stat().st_mode & 0o100)
        return (
            executable == (entry.mode == _EXECUTABLE) and _blob_id(file.read_bytes()) == entry.oid
        )
    except FileNotFoundError:
        return False


def _write(file: Path, content: bytes, *, executable: bool, link: bool) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)  # never through a link or into a hard link's other name
    if link:
        file.symlink_to(os.fsdecode(content))
        return
    with file.open("xb") as out:
        out.write(content)
    file.chmod(0o755 if executable else 0o644)


def _stays_inside(path: str, target: bytes) -> bool:
    text = os.fsdecode(target)
    if "\0" in text or text.startswith("/") or not text:
        return False
    depth = len(PurePosixPath(path).parent.parts)
    for part in text.split("/"):
        if part == "..":
            depth -= 1
        elif part not in ("", "."):
            depth += 1
        if depth < 0:
            return False
    return True


def _refuse_bad_path(path: str) -> None:
    parts = path.split("/")
    if path.startswith("/") or any(p in ("", ".", "..") or p.lower() == ".git" for p in parts):
        raise TrackError(
            "upstream's tree holds a path that we refuse to write",
            where=repr(path),
            next_step="look at that revision; it is damaged or hostile",
        )


def _blob_id(content: bytes) -> str:
    header = f"blob {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()
