"""Reading git objects through one persistent ``cat-file --batch``, and writing loose ones.

The reader is GitPython's object database, started once in the sealed environment. The writer makes
loose objects only, by content: the same bytes give the same id and the same file.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from tracker.errors import EnvironmentFault, UsageError
from tracker.git.calls import run_git, sealed_environment, without_inherited_git

if TYPE_CHECKING:
    from git.cmd import Git


class ObjectReader:
    """Reads objects of one object store; the child starts at the first read.

    ``environment``: ``GIT_DIR`` and the object directories, on top of the sealed one. Not for use
    by several threads at once.
    """

    def __init__(self, environment: Mapping[str, str], where: str) -> None:
        self._environment = environment
        self._where = where
        self._git: Git | None = None

    def find(self, name: str) -> tuple[str, str, bytes] | None:
        """``(id, type, content)`` of the object that ``name`` names, None if there is none."""
        if "\n" in name or not name:
            return None
        child = self._child()
        try:
            oid, kind, _size, content = child.get_object_data(name)
        except ValueError:
            return None  # "missing" or "ambiguous", as cat-file says it
        return _text(oid), _text(kind), content

    def find_path(self, treeish: str, path: str) -> tuple[str, str, bytes] | None:
        """Like :meth:`find` for the file or folder at ``path`` of a commit or tree."""
        if "\n" in path or not path.isascii():
            # cat-file reads one name a line, GitPython encodes it as text: ask by id instead.
            listed = run_git(["ls-tree", "-z", treeish, "--", path], extra_env=self._environment)
            oid = listed.stdout.partition(b"\t")[0].rpartition(b" ")[2].decode("ascii")
            return self.find(oid)
        return self.find(f"{treeish}:{path}")

    def read(self, oid: str) -> bytes:
        """The content of ``oid``.

        Raises:
            UsageError: the store has no such object.
        """
        found = self.find(oid)
        if found is None:
            raise UsageError(
                "git object is missing",
                where=f"{self._where}: {oid}",
                next_step="bring the clone up to date with `lloyal-track upstream fetch`",
            )
        return found[2]

    def close(self) -> None:
        """End the child; a later read starts a new one."""
        if self._git is not None:
            self._git.clear_cache()
            self._git = None

    def _child(self) -> Git:
        if self._git is None:
            with without_inherited_git():
                from git.cmd import Git  # here: the import costs a tenth of a second

                child = Git()
                child.update_environment(**sealed_environment(self._environment))
                with suppress(ValueError):
                    child.get_object_data("0" * 40)  # starts the child while the seal holds
            self._git = child
        return self._git


def _text(field: str | bytes) -> str:
    """GitPython says text and hands over bytes."""
    return field.decode("ascii") if isinstance(field, bytes) else field


def write_loose(objects: Path, kind: str, content: bytes) -> str:
    """Write one object under ``objects``; returns its id. An object that is there is kept.

    Raises:
        EnvironmentFault: the disk is full or read-only.
    """
    whole = f"{kind} {len(content)}\0".encode() + content
    oid = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    target = objects / oid[:2] / oid[2:]
    if target.exists():
        return oid
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=target.parent, prefix="tmp_obj_", delete=False) as file:
            file.write(zlib.compress(whole, 1))
        Path(file.name).chmod(0o444)
        os.replace(file.name, target)  # noqa: PTH105  same call, the pair of names reads better
    except OSError as fault:
        raise EnvironmentFault(f"cannot write a git object: {fault}", where=str(objects)) from None
    return oid
