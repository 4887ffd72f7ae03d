"""Moves every configured pin to one revision, in one transaction."""

from __future__ import annotations

import os
from difflib import unified_diff
from pathlib import Path
from typing import Literal

from tracker.config import Config, PinTable
from tracker.errors import ConfigError, OperationOpen, TrackError
from tracker.evidence.pins import PinChange
from tracker.evidence.revision import Revision
from tracker.pins import kinds, submodule, track, transaction
from tracker.pins.forms import in_same_form
from tracker.pins.reading import path_of
from tracker.statedir import StateDir


def refuse_open_operation(state: StateDir) -> None:
    """What was interrupted is finished or undone before anything else.

    Raises:
        OperationOpen: ``operation.json`` is there.
    """
    if state.operation.exists():
        raise OperationOpen(
            "an operation was not finished",
            where=str(state.operation),
            next_step="`lloyal-track resume` finishes it, `lloyal-track abort` undoes it",
        )


def move_pins(
    config: Config, state: StateDir, to: Revision, series_digest: str, moved: str
) -> None:
    """Every pin names ``to``, or every pin is as it was. ``moved``: now, ISO 8601.

    Raises:
        ConfigError: a pin cannot name ``to`` in its form, or cannot be read.
        EnvironmentFault: a pin cannot be written.
    """
    for folder in sorted({config.base / table.repository for table in config.pins}):
        submodule.refuse_locked(folder)
    transaction.commit(state, _planned(config, to, series_digest, moved), to.name)


def preview(config: Config, to: Revision, series_digest: str, moved: str) -> tuple[PinChange, ...]:
    """What ``move_pins`` would change; nothing if a pin could not be moved (its read says why)."""
    try:
        planned = _planned(config, to, series_digest, moved)
    except TrackError:
        return ()
    return tuple(_shown(config, change) for change in planned)


def _planned(
    config: Config, to: Revision, series_digest: str, moved: str
) -> list[transaction.Change | transaction.GitlinkChange]:
    changes: list[transaction.Change | transaction.GitlinkChange] = []
    old: dict[Path, bytes | None] = {}
    new: dict[Path, bytes] = {}
    for table in config.pins:
        if table.kind == "submodule":
            changes += _gitlink_change(config, table, to)
            continue
        path, content = _content_now(path_of(config, table))
        old.setdefault(path, content)
        # Several pins may stand in one file: each goes on from what the one before made of it.
        content = new.get(path, old[path])
        new[path] = _content(table, path, content, to, series_digest, moved)
    changes += [
        transaction.Change(path, old[path], content)
        for path, content in new.items()
        if content != old[path]
    ]
    return changes


def _shown(config: Config, change: transaction.Change | transaction.GitlinkChange) -> PinChange:
    if isinstance(change, transaction.GitlinkChange):
        place = change.repository / change.path
        old, new = (f"Subproject commit {commit}" for commit in (change.old, change.new))
    else:
        place = change.path
        old, new = ((side or b"").decode("utf-8", "replace") for side in (change.old, change.new))
    base = config.base.resolve()
    path = os.path.relpath(place, base)
    lines = unified_diff(
        [line.rstrip("\r") for line in old.removesuffix("\n").split("\n")],
        [line.rstrip("\r") for line in new.removesuffix("\n").split("\n")],
        f"a/{path}",
        f"b/{path}",
        n=0,
        lineterm="",
    )
    return PinChange(path=path, diff="\n".join(lines))


def resume(state: StateDir) -> transaction.Journal | None:
    """Finish an interrupted move and say which, None if there is none.

    Raises:
        UsageError: a pin was changed by somebody else since, or the journal is damaged.
        EnvironmentFault: a pin cannot be written.
    """
    return _settled(state, "new")


def abort(state: StateDir) -> transaction.Journal | None:
    """Undo an interrupted move; as ``resume``."""
    return _settled(state, "old")


def _settled(state: StateDir, side: Literal["old", "new"]) -> transaction.Journal | None:
    journal = transaction.open_journal(state)
    if journal is not None:
        transaction.finish(state, journal, side)
    return journal


def _content_now(path: Path) -> tuple[Path, bytes | None]:
    """The file behind a link, so that a link stays a link, and what it holds; None: no file.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        behind = path.resolve()
        return behind, behind.read_bytes()
    except FileNotFoundError:
        return behind, None
    except (OSError, RuntimeError) as fault:  # RuntimeError: links in a circle, before Python 3.13
        raise ConfigError(f"cannot read the pin: {fault}", where=str(path)) from None


def _gitlink_change(
    config: Config, table: PinTable, to: Revision
) -> list[transaction.GitlinkChange]:
    repository = (config.base / table.repository).resolve()
    old = submodule.gitlink(repository, table.path)
    new = in_same_form(old, to, table.path)
    return [transaction.GitlinkChange(repository, table.path, old, new)] if new != old else []


def _content(
    table: PinTable,
    path: Path,
    content: bytes | None,
    to: Revision,
    series_digest: str,
    moved: str,
) -> bytes:
    if table.kind == "track":
        if content is not None and track.commit_in(path)[0] == to.commit:
            return content
        return track.content_after(path, content, to, series_digest, moved)
    value = kinds.value_of(table, content or b"")
    return kinds.rewritten(table, content or b"", in_same_form(value, to, str(path)))
