"""Writes whole trees as commits into a repository of ours, through one git fast-import child.

Content goes from the caller to git as it is: no work tree, no index, so ignore rules, attributes,
line-end settings and the file system's view of names and modes play no role. References change
only when everything arrived: a stream cut short leaves the old ones.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tracker.errors import EnvironmentFault
from tracker.git.calls import sealed_environment


@dataclass(frozen=True, slots=True)
class Signature:
    """Author or committer. ``seconds``: since the epoch; the zone is UTC."""

    name: str
    email: str
    seconds: int

    def line(self, role: str) -> bytes:
        return f"{role} {self.name} <{self.email}> {self.seconds} +0000\n".encode()


class FastImport:
    """A running import into the bare repository ``git_dir``; use as a context manager.

    Leaving it without an exception finishes the import; with one, nothing of it counts.
    """

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self._marks = 0
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the child)
        # Speed over size: deltas between neighbouring files are rare and cost more than the rest.
        command = ["git", "-c", "core.compression=1", "fast-import"]
        command += ["--quiet", "--done", "--depth=0", "--date-format=raw", "--force"]
        try:
            self._child = subprocess.Popen(
                command,
                env=sealed_environment({"GIT_DIR": str(git_dir)}),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=self._complaints,
                start_new_session=True,
            )
        except OSError as fault:
            self._complaints.close()
            raise EnvironmentFault(
                f"cannot start git: {fault}", where="git fast-import", next_step="install git"
            ) from None

    def begin_commit(self, ref: str, message: str, who: Signature, *, parent: str | None) -> str:
        """Start a commit on ``ref``, empty whatever its parent held; returns its mark.

        ``parent``: a mark or a full id, None for a root. Its files follow with :meth:`file`.
        """
        self._marks += 1
        text = message.encode()
        self._send(
            b"reset %s\n\ncommit %s\nmark :%d\n" % (ref.encode(), ref.encode(), self._marks),
            who.line("author"),
            who.line("committer"),
            b"data %d\n%s\n" % (len(text), text),
        )
        if parent is not None:
            self._send(b"from %s\n" % parent.encode())
        self._send(b"deleteall\n")
        return f":{self._marks}"

    def file(self, path: bytes, mode: int, size: int, content: IO[bytes]) -> None:
        """A file of the commit that was begun. ``mode``: 0o100644 or 0o100755.

        ``size``: bytes to take from ``content``.

        Raises:
            EnvironmentFault: ``content`` ends early, or git stopped.
        """
        self._send(b"M %o inline %s\ndata %d\n" % (mode, quoted(path), size))
        left = size
        while left:
            block = content.read(min(left, 1 << 20))
            if not block:
                raise EnvironmentFault(
                    "a file ends before its announced size", where=path.decode("utf-8", "replace")
                )
            left -= len(block)
            self._send(block)
        self._send(b"\n")

    def link(self, path: bytes, target: bytes) -> None:
        """A symbolic link of the commit that was begun."""
        self.file(path, 0o120000, len(target), io.BytesIO(target))

    def point(self, ref: str, commit: str) -> None:
        """Let ``ref`` name ``commit`` (a mark or a full id) when the import ends."""
        self._send(b"reset %s\nfrom %s\n\n" % (ref.encode(), commit.encode()))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            self._kill()
            self._complaints.close()

    def _send(self, *parts: bytes) -> None:
        assert self._child.stdin is not None  # noqa: S101  (opened as a pipe)
        try:
            for part in parts:
                self._child.stdin.write(part)
        except BrokenPipeError:
            raise self._stopped() from None

    def _finish(self) -> None:
        self._send(b"done\n")
        assert self._child.stdin is not None  # noqa: S101  (opened as a pipe)
        try:
            self._child.stdin.close()
        except BrokenPipeError:
            raise self._stopped() from None
        if self._child.wait() != 0:
            raise self._stopped()

    def _stopped(self) -> EnvironmentFault:
        code = self._child.wait()
        self._complaints.seek(0)
        lines = self._complaints.read().decode("utf-8", "replace").strip().splitlines()
        said = next((line for line in lines if line.startswith(("fatal:", "error:"))), "")
        return EnvironmentFault(
            f"git fast-import stopped (status {code}): {said or 'no message'}",
            where=str(self._git_dir),
            next_step="check free space and permissions there, then run the command again",
        )

    def _kill(self) -> None:
        if self._child.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.pid, signal.SIGKILL)
        if self._child.stdin is not None:
            with suppress(OSError):
                self._child.stdin.close()
        self._child.wait()


def quoted(path: bytes) -> bytes:
    """``path`` as fast-import reads it (git-fast-import(1), <path>)."""
    if not path.startswith(b'"') and b"\n" not in path and b"\\" not in path:
        return path
    escaped = path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + escaped + b'"'
