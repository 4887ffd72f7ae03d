"""Pins: what each file says, and moving them, last and once.

The only room that writes files of the user's. It is called after the evidence is kept and only when
no item forbids the move.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tracker.config import Config, PinTable
from tracker.errors import ConfigError, EnvironmentFault, OperationOpen, TrackError
from tracker.evidence.pins import PinRead
from tracker.evidence.revision import Revision
from tracker.git.repository import Repository
from tracker.git.revision import describe
from tracker.pins import track
from tracker.statedir import StateDir, write_whole

__all__ = ["move_pins", "pinned_revision", "read_pins", "refuse_open_operation"]


def refuse_open_operation(state: StateDir) -> None:
    """A move that was interrupted is finished or undone before anything else.

    Raises:
        OperationOpen: ``operation.json`` is there.
    """
    if state.operation.exists():
        raise OperationOpen(
            "an operation was not finished",
            where=str(state.operation),
            next_step="`lloyal-track resume` finishes it, `lloyal-track abort` undoes it",
        )


def read_pins(config: Config) -> tuple[PinRead, ...]:
    """What every configured pin says; one that cannot be read is a value with its reason."""
    return tuple(_read(config, table) for table in config.pins)


def pinned_revision(config: Config, repository: Repository) -> Revision:
    """The revision that our pin names; in a mirror without a pin file yet, its first archive.

    Raises:
        ConfigError: no pin of kind ``track`` is configured, or it cannot be read.
        UsageError: the commit is not in this repository.
    """
    path = _track_path(config)
    commit = track.commit_in(path)
    if commit is not None:
        return describe(repository, repository.resolve(commit))
    if repository.is_snapshot and config.upstream.archives:
        first = config.upstream.archives[0]
        return describe(repository, repository.resolve(f"refs/tags/archive-{first.version}"))
    raise ConfigError(
        "there is no pin yet",
        where=str(path),
        next_step='write the revision you build on now: commit = "<40 hex digits>"',
    )


def move_pins(config: Config, to: Revision, series_digest: str) -> None:
    """Every pin names ``to``, or every pin is as it was.

    Raises:
        EnvironmentFault: a pin cannot be written.
    """
    date = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    path = _track_path(config)
    content = track.content_after(path, to, series_digest, date)
    try:
        write_whole(path, content)
    except OSError as fault:
        raise EnvironmentFault(
            f"the pin cannot be written: {fault.strerror or fault}; it is as it was",
            where=str(path),
            next_step="mend that and run the same command again: nothing is built twice",
        ) from fault
    if track.commit_in(path) != to.commit:
        raise EnvironmentFault("the pin was written, but reads back otherwise", where=str(path))


def _track_path(config: Config) -> Path:
    for table in config.pins:
        if table.kind == "track":
            return config.base / table.repository / table.path
    raise ConfigError(
        "no pin of kind `track` is configured",
        where=f"{config.file} pins",
        next_step='add [[pins]] with kind = "track"',
    )


def _read(config: Config, table: PinTable) -> PinRead:
    path = config.base / table.repository / table.path
    value, why = None, ""
    try:
        value = track.commit_in(path) if table.kind == "track" else None
    except TrackError as fault:
        why = fault.what
    else:
        if table.kind != "track":
            why = f"pins of kind {table.kind} are not read yet"
        elif value is None:
            from_mirror = config.upstream.source == "registry" and config.upstream.archives
            value = config.upstream.archives[0].version if from_mirror else None
            why = "" if from_mirror else "there is no such file"
    return PinRead(name=table.name, path=table.path, kind=table.kind, value=value, why=why)
