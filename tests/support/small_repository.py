"""A small real git repository that a test fills commit by commit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_WHO = "A. Tester <tester@example.invalid>"


class SmallRepository:
    """``folder``: a work tree with its .git. Dates count up, so ids are always the same."""

    def __init__(self, folder: Path, *, branch: str = "master") -> None:
        self.folder = folder
        self._minute = 0
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", branch, "--template=", ".")

    @property
    def git_dir(self) -> Path:
        return self.folder / ".git"

    def git(self, *arguments: str, stdin: bytes | None = None) -> str:
        """What git prints, without the last newline; a failure is the test's failure."""
        date = f"2026-01-01T{self._minute // 60:02}:{self._minute % 60:02}:00Z"
        name, _, mail = _WHO.rstrip(">").partition(" <")
        done = subprocess.run(
            ["git", "-c", "commit.gpgSign=false", "-c", "core.autocrlf=false", *arguments],
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            check=False,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.folder),
                "GIT_CONFIG_GLOBAL": "/dev/null",
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_AUTHOR_NAME": name,
                "GIT_AUTHOR_EMAIL": mail,
                "GIT_AUTHOR_DATE": date,
                "GIT_COMMITTER_NAME": name,
                "GIT_COMMITTER_EMAIL": mail,
                "GIT_COMMITTER_DATE": date,
                "LC_ALL": "C.UTF-8",
            },
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout.decode(errors="surrogateescape").removesuffix("\n")

    def commit(
        self, files: Mapping[str, str | bytes | None], message: str = "change", *, tag: str = ""
    ) -> str:
        """Write ``files`` (None: delete), commit everything, and return the full id."""
        for path, content in files.items():
            file = self.folder / path
            if content is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "-A", "-f", ".")
        self._minute += 1
        self.git("commit", "-q", "--allow-empty", "-m", message)
        if tag:
            self.git("tag", tag)
        return self.git("rev-parse", "HEAD")
