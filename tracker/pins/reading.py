"""What every configured pin says, which commit that means, and whether it could name another."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import TypeVar

from msgspec.structs import replace

from tracker.config import Config, PinTable
from tracker.errors import ConfigError, TrackError, UsageError
from tracker.evidence.pins import PinRead
from tracker.evidence.revision import Revision
from tracker.git.calls import run_git
from tracker.git.range_log import is_ancestor, is_on_a_ref, same_files
from tracker.git.repository import Repository
from tracker.git.revision import describe
from tracker.pins import kinds, submodule, track
from tracker.pins.forms import Form, form_of, in_same_form
from tracker.statedir import StateDir

_UNCOMMITTED = "the file has changes that are not committed: commit or restore them first"


def path_of(config: Config, table: PinTable) -> Path:
    """The pin's file; for a submodule its folder."""
    return config.base / table.repository / table.path


def read_pins(
    config: Config, repository: Repository | None = None, to: Revision | None = None
) -> tuple[PinRead, ...]:
    """What every configured pin says; one that cannot be read is a value with its reason.

    After a submodule comes the ``branch`` that .gitmodules names for it, if that is no pin itself.
    ``repository``: upstream, to tell which commit a tag means and so whether the pins agree.
    ``to``: the revision that they may be moved to, to tell what stands in the way.
    """
    reads = []
    for table in config.pins:
        reads.append(_read(config, table, repository, to))
        if table.kind == "submodule":
            reads += _branch(config, table, repository)
    measure = next((read for read in _ours_first(reads) if read.value and not read.fixed), None)
    return tuple(_compared(read, measure) for read in reads)


def pinned_revision(config: Config, repository: Repository) -> Revision:
    """The revision that the first readable pin names; ours (kind ``track``) before others.

    In a mirror made from archives without a pin file yet it is the first archive.

    Raises:
        ConfigError: there is no pin, or none that can be read.
        UsageError: the commit is not in this repository.
    """
    tables = _ours_first(config.pins)
    for table in tables:
        value, lines = _value(config, table)
        if value is not None:
            return describe(repository, _resolved(repository, table, value, lines))
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


def read_pins_offline(config: Config) -> tuple[PinRead, ...]:
    """As ``read_pins``, with upstream's copy if there is a sound one; contacts nobody."""
    try:
        repository = Repository.open(StateDir(config.state_dir).upstream)
    except TrackError:
        return read_pins(config)
    with repository:
        return read_pins(config, repository)


_Kind = TypeVar("_Kind", PinTable, PinRead)


def _ours_first(pins: Iterable[_Kind]) -> list[_Kind]:
    return sorted(pins, key=lambda pin: pin.kind != "track")


def _resolved(repository: Repository, table: PinTable, value: str, lines: tuple[int, ...]) -> str:
    try:
        return repository.resolve(_named(value))
    except UsageError:
        line = f":{lines[0]}" if lines else ""
        raise UsageError(
            f"the pin `{table.name}` says {value}, and our copy of upstream has no such revision",
            where=f"{table.path}{line}",
            next_step="correct the pin; or, if upstream has it, `lloyal-track upstream fetch`",
        ) from None


def _named(value: str) -> str:
    """``value`` as git is to look it up: an id or a tag, never a branch that moves on."""
    is_id = form_of(value) in (Form.FULL_ID, Form.SHORT_ID)
    return value if is_id else f"refs/tags/{value}"


def _value(config: Config, table: PinTable) -> tuple[str | None, tuple[int, ...]]:
    """What the pin says and on which lines; None if our own pin file does not exist yet.

    Raises:
        ConfigError: it cannot be read.
    """
    path = path_of(config, table)
    if table.kind == "track":
        return track.commit_in(path)
    if table.kind == "submodule":
        return submodule.gitlink(config.base / table.repository, table.path), ()
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise ConfigError(
            f"cannot read the pin: {fault.strerror or fault}", where=str(path)
        ) from None
    return kinds.value_of(table, content), kinds.lines_of(table, content)


def _read(
    config: Config, table: PinTable, repository: Repository | None, to: Revision | None
) -> PinRead:
    path = (PurePath(table.repository) / table.path).as_posix()
    read = PinRead(name=table.name, path=path, kind=table.kind, value=None)
    try:
        value, lines = _value(config, table)
    except TrackError as fault:
        return replace(read, why=fault.what)
    if value is None:
        if config.upstream.source != "registry" or not config.upstream.archives:
            return replace(read, why="there is no such file")
        value = config.upstream.archives[0].version
        commit, why = _meant(repository, f"refs/tags/archive-{value}")
    else:
        commit, why = _meant(repository, _named(value))
    if commit and not why and repository is not None:
        why = _rewritten(repository, commit, to)
    return replace(
        read,
        value=value,
        lines=lines,
        commit=commit,
        why=why,
        obstacle=_obstacle(config, table, value, commit, to) if to else "",
    )


def _branch(config: Config, table: PinTable, repository: Repository | None) -> list[PinRead]:
    """The branch that .gitmodules names for a submodule: none, or one read."""
    file = os.path.normpath(config.base / table.repository / submodule.GITMODULES)
    if any(os.path.normpath(path_of(config, pin)) == file for pin in config.pins):
        return []
    found = submodule.branch(config.base / table.repository, table.path)
    if found is None:
        return []
    value, lines = found
    commit, why = None, ""
    if form_of(value) is not Form.OTHER:
        commit, why = _meant(repository, _named(value))
    elif value not in (".", config.upstream.branch):
        why = f"is not upstream's configured branch {config.upstream.branch}"
    return [
        PinRead(
            name=f"{table.name} branch",
            path=(PurePath(table.repository) / submodule.GITMODULES).as_posix(),
            kind=table.kind,
            value=value,
            commit=commit,
            why=why,
            lines=lines,
            fixed=True,
        )
    ]


def _meant(repository: Repository | None, named: str) -> tuple[str | None, str]:
    """The commit that a value means, and why there is none in upstream's history."""
    full = named if form_of(named) is Form.FULL_ID else None
    if repository is None:
        return full, ""
    try:
        return repository.resolve(named), ""
    except UsageError:
        return full, "which our copy of upstream does not have"


def _rewritten(repository: Repository, commit: str, to: Revision | None) -> str:
    """That upstream has thrown the commit away (our copy keeps it), and what stands for it now."""
    if repository.is_snapshot or (to is not None and is_ancestor(repository, commit, to.commit)):
        return ""
    if is_on_a_ref(repository, commit):
        return ""
    twin = same_files(repository, commit)
    instead = f"{twin[:12]} holds the same files" if twin else "no commit there holds its files"
    return f"which is on no branch or tag of upstream any more; {instead}"


def _obstacle(config: Config, table: PinTable, value: str, commit: str | None, to: Revision) -> str:
    """Why this pin could not name ``to``: its form, or changes of the user's in the same file."""
    if table.kind != "track":
        try:
            in_same_form(value, to, table.path)
        except ConfigError as fault:
            return fault.what
    if commit == to.commit:
        return ""  # what names it already is not written
    folder = config.base / table.repository
    if not folder.is_dir():
        return f"the repository {table.repository} is not here"
    if table.kind == "submodule":
        # What is checked out there is none of the pin's business, what is staged is.
        return _UNCOMMITTED if _state_in_git(folder, table.path)[:1].strip() else ""
    # Of a link it is the file behind it that changes, wherever that lies.
    file = (folder / table.path).resolve()
    if file.exists() and not file.stat().st_mode & 0o222:
        return "the file is read-only"
    changed = file.parent.is_dir() and _state_in_git(file.parent, file.name)
    return _UNCOMMITTED if changed and changed not in ("??", "!!") else ""


def _state_in_git(folder: Path, name: str) -> str:
    """The two letters of ``git status``; "" if nothing changed, or nothing is tracked there."""
    said = run_git(
        ["status", "--porcelain", "-z", "--", name],
        cwd=folder,
        extra_env={"GIT_LITERAL_PATHSPECS": "1"},
        check=False,
    )
    return said.stdout.decode("utf-8", "replace")[:2] if said.code == 0 else ""


def _compared(read: PinRead, measure: PinRead | None) -> PinRead:
    """``read``, and that it disagrees with ``measure``.

    Two tags are compared as commits where those are known, else as they are written.
    """
    if measure is None or measure.value is None or read.value in (None, measure.value):
        return read
    if read.commit and measure.commit:
        differs = read.commit != measure.commit
    else:
        form = form_of(read.value or "")
        differs = form is not Form.OTHER and form is form_of(measure.value)
    if not differs:
        return read
    why = f"disagrees with {measure.place}, which says {measure.value}"
    return replace(read, why=f"{read.why}; {why}" if read.why else why)
