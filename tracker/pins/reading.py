"""What every configured pin says, which commit that means, and whether it could name another."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from tracker.config import Config, PinTable
from tracker.errors import ConfigError, TrackError, UsageError
from tracker.evidence.pins import PinRead
from tracker.evidence.revision import Revision
from tracker.git.calls import run_git
from tracker.git.repository import Repository
from tracker.git.revision import describe
from tracker.pins import kinds, submodule, track
from tracker.pins.forms import Form, form_of, in_same_form


def path_of(config: Config, table: PinTable) -> Path:
    """The pin's file; for a submodule its folder."""
    return config.base / table.repository / table.path


def read_pins(
    config: Config, repository: Repository | None = None, to: Revision | None = None
) -> tuple[PinRead, ...]:
    """What every configured pin says; one that cannot be read is a value with its reason.

    ``repository``: upstream, to tell which commit a tag means and so whether the pins agree.
    ``to``: the revision that they may be moved to, to tell what stands in the way.
    """
    reads = [_read(config, table, repository, to) for table in config.pins]
    known = next((read for read in reads if read.commit), None)
    return tuple(_compared(read, known) for read in reads)


def pinned_revision(config: Config, repository: Repository) -> Revision:
    """The revision that the first readable pin names; ours (kind ``track``) before others.

    In a mirror made from archives without a pin file yet it is the first archive.

    Raises:
        ConfigError: there is no pin, or none that can be read.
        UsageError: the commit is not in this repository.
    """
    tables = sorted(config.pins, key=lambda table: table.kind != "track")
    for table in tables:
        value = _value(config, table)
        if value is not None:
            return describe(repository, repository.resolve(_named(value)))
    if repository.is_snapshot and config.upstream.archives:
        first = config.upstream.archives[0]
        return describe(repository, repository.resolve(f"refs/tags/archive-{first.version}"))
    raise ConfigError(
        "there is no pin yet",
        where=str(path_of(config, tables[0])) if tables else f"{config.file} pins",
        next_step='write the revision you build on now: commit = "<40 hex digits>"'
        if tables
        else "add [[pins]], or let `lloyal-track init` find yours",
    )


def _named(value: str) -> str:
    return f"refs/tags/{value}" if form_of(value) in (Form.NIGHTLY, Form.RELEASE) else value


def _value(config: Config, table: PinTable) -> str | None:
    """What the pin says; None if our own pin file does not exist yet.

    Raises:
        ConfigError: it cannot be read.
    """
    path = path_of(config, table)
    if table.kind == "track":
        return track.commit_in(path)
    if table.kind == "submodule":
        return submodule.gitlink(config.base / table.repository, table.path)
    try:
        return kinds.value_of(table, path.read_bytes())
    except OSError as fault:
        raise ConfigError(
            f"cannot read the pin: {fault.strerror or fault}", where=str(path)
        ) from None


def _read(
    config: Config, table: PinTable, repository: Repository | None, to: Revision | None
) -> PinRead:
    read = PinRead(name=table.name, path=table.path, kind=table.kind, value=None)
    try:
        value = _value(config, table)
    except TrackError as fault:
        return replace(read, why=fault.what)
    if value is None:
        if config.upstream.source != "registry" or not config.upstream.archives:
            return replace(read, why="there is no such file")
        value = config.upstream.archives[0].version
        named = f"refs/tags/archive-{value}"
    else:
        named = _named(value)
    return replace(
        read,
        value=value,
        commit=_commit(repository, named),
        obstacle=_obstacle(config, table, value, to) if to else "",
    )


def _commit(repository: Repository | None, named: str) -> str | None:
    if repository is None:
        return named if form_of(named) is Form.FULL_ID else None
    try:
        return repository.resolve(named)
    except UsageError:
        return named if form_of(named) is Form.FULL_ID else None


def _obstacle(config: Config, table: PinTable, value: str, to: Revision) -> str:
    """Why this pin could not name ``to``: its form, or changes of the user's in the same file."""
    if table.kind != "track":
        try:
            in_same_form(value, to, table.path)
        except ConfigError as fault:
            return fault.what
    folder = config.base / table.repository
    if not folder.is_dir():
        return f"the repository {table.repository} is not here"
    said = run_git(["status", "--porcelain", "-z", "--", table.path], cwd=folder, check=False)
    changed = said.stdout.decode("utf-8", "replace")[:2]
    if table.kind == "submodule":
        changed = changed[:1]  # what is checked out there is none of the pin's business
    if said.code == 0 and changed.strip() and changed not in ("??", "!!"):
        return "the file has changes that are not committed: commit or restore them first"
    return ""


def _compared(read: PinRead, known: PinRead | None) -> PinRead:
    if known is None or read.commit is None or read.commit == known.commit:
        return read
    return replace(read, why=f"disagrees with pin `{known.name}`, which says {known.value}")
