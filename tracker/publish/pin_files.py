"""The files of this repository that a bump may change: its pins, and nothing else.

What comes from the job that ran upstream's code is not trusted: only configured paths are read,
only regular files of text, and such a file may differ from ours in versions and commit ids, not in
anything else that a build tool or a workflow would read.
"""

from __future__ import annotations

import re
import stat
import tomllib
from pathlib import Path

from tracker.config import Config, PinTable
from tracker.errors import ConfigError, UsageError
from tracker.evidence.bump import BumpDocument
from tracker.git.calls import run_git
from tracker.publish.proposal import FileChange

_MOST_BYTES = 1 << 20
_VERSION = re.compile(
    r"(?<![A-Za-z0-9])(b[0-9]+|v?[0-9]+(\.[0-9]+)*|[0-9a-f]{7,40})(?![A-Za-z0-9])"
)
# When the pin moved: another time in every run until the move is merged.
_MOVED = re.compile(rb"^moved = .*\n", re.MULTILINE)
_FULL_ID = re.compile(r"[0-9a-f]{40}")


def top_of(folder: Path) -> Path:
    """The top of the checkout that ``folder`` is in.

    Raises:
        UsageError: it is in none.
    """
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists():
            return candidate
    raise UsageError(
        "not inside a git repository, so there is nothing to publish to", where=str(folder)
    )


def tracked_pins(config: Config, top: Path) -> tuple[tuple[PinTable, str], ...]:
    """The configured pins that this repository itself tracks, with their paths from its top.

    A pin of another repository, or one that git ignores (a scratch state folder), is none of them.
    """
    found = []
    for table in config.pins:
        folder = (config.base / table.repository).resolve()
        file = folder / table.path
        if not file.is_relative_to(top):
            continue
        path = file.relative_to(top).as_posix()
        asked = run_git(["ls-files", "--error-unmatch", "--", path], cwd=top, check=False)
        if asked.code == 0:
            found.append((table, path))
    return tuple(found)


def left_out(config: Config, top: Path) -> tuple[str, ...]:
    """A note for each pin that a pull request to this repository cannot move."""
    here = {table.name for table, _ in tracked_pins(config, top)}
    return tuple(
        f"the pin {table.name} ({table.path}) is not in this repository's git: move it there"
        for table in config.pins
        if table.name not in here
    )


def changes(
    config: Config, document: BumpDocument, top: Path, handed_over: Path | None
) -> tuple[FileChange, ...]:
    """The pins as they shall be: from the work tree, or from what another job handed over.

    Raises:
        ConfigError: a handed-over file is not what a bump makes of ours.
    """
    made = []
    for table, path in tracked_pins(config, top):
        if table.kind == "submodule":
            commit = document.to.upstream_commit or ""
            if _FULL_ID.fullmatch(commit):
                made.append(FileChange(path, gitlink=commit))
            continue
        ours = top / path
        source = handed_over / "files" / path if handed_over else ours
        if handed_over and not source.exists():
            continue
        content = _text(source, path)
        if handed_over:
            _refuse_other_shape(table, path, ours.read_bytes(), content)
        executable = bool(ours.stat().st_mode & stat.S_IXUSR)
        undated = _MOVED.sub(b"", content) if table.kind == "track" else None
        made.append(FileChange(path, content, executable=executable, undated=undated))
    return tuple(made)


def _text(file: Path, path: str) -> bytes:
    mode = file.lstat().st_mode
    if not stat.S_ISREG(mode) or file.stat().st_size > _MOST_BYTES:
        raise ConfigError("a pin file is no regular file of less than 1 MiB", where=path)
    content = file.read_bytes()
    if b"\0" in content:
        raise ConfigError("a pin file is no text", where=path)
    return content


def _refuse_other_shape(table: PinTable, path: str, old: bytes, new: bytes) -> None:
    if table.kind == "track":
        try:
            tomllib.loads(new.decode())
        except ValueError as fault:
            raise ConfigError(f"the handed-over pin is no TOML: {fault}", where=path) from None
        return
    if not only_versions_differ(old, new):
        raise ConfigError(
            "the handed-over file differs from ours in more than a version",
            where=path,
            next_step="look at the job that made it before anything is merged",
        )


def only_versions_differ(old: bytes, new: bytes) -> bool:
    """The same text but for versions and commit ids in the places of versions and commit ids."""
    before, after = (
        _VERSION.sub("V", text.decode("utf-8", "surrogateescape")) for text in (old, new)
    )
    return before == after
