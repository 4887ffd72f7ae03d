"""The one folder that holds all state: its layout, its lock, and writing a file whole or not.

Everything here is ours to rewrite; nothing outside the folder is touched, except by ``pins``.
"""

from __future__ import annotations

import contextlib
import glob
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tracker.errors import OperationOpen


class StateDir:
    """Names inside ``folder``; nothing is created before it is needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def upstream(self) -> Path:
        """Bare git repository: the clone, or the mirror made from archives."""
        return self.folder / "upstream.git"

    @property
    def quarantine(self) -> Path:
        """Our own object store over the upstream repository."""
        return self.folder / "objects"

    def objects_over(self, git_dir: Path) -> Path:
        """Like ``quarantine`` over another repository: a store reads through to one only."""
        from tracker.evidence.base import digest

        return self.work / f"objects-{digest(str(git_dir))}"

    @property
    def work(self) -> Path:
        """Source trees and build folders."""
        return self.folder / "work"

    @property
    def evidence(self) -> Path:
        """Documents and reports of the last run."""
        return self.folder / "evidence"

    @property
    def bump(self) -> Path:
        return self.evidence / "bump.json"

    @property
    def tickets(self) -> Path:
        return self.folder / "tickets.json"

    @property
    def operation(self) -> Path:
        """The one unfinished operation, if there is one."""
        return self.folder / "operation.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one run.

        Raises:
            OperationOpen: another run holds it.
        """
        from filelock import FileLock, Timeout

        self.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder / "lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise OperationOpen(
                "another run of lloyal-track is at work here",
                where=str(self.folder),
                next_step="wait until it ends, or use another state_dir",
            ) from None
        try:
            yield
        finally:
            lock.release()


def write_whole(path: Path, content: bytes) -> None:
    """Replace ``path`` by ``content``, durably; a reader sees the old file or the new one.

    Raises:
        OSError: as the file system says; the old file is intact, nothing is left beside it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        Path(beside).chmod(mode)
        Path(beside).replace(path)
    except BaseException as fault:
        Path(beside).unlink(missing_ok=True)
        if isinstance(fault, OSError):
            # What a full disk says names no file, and this one has a name of no meaning.
            fault.filename, fault.filename2 = str(path), None
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def sweep_leavings(path: Path) -> None:
    """Remove what a killed ``write_whole`` left beside ``path``."""
    for file in path.parent.glob(f".{glob.escape(path.name)}.*.new"):
        file.unlink(missing_ok=True)
