"""Several files and gitlinks change together or not at all, whatever kills the process.

    journal (names, digests, both contents) -> write beside, fsync -> rename -> verify -> closed

The journal is ``operation.json`` of the state folder, with the old and new contents in a folder
beside it. While it exists, ``resume`` makes every file new and ``abort`` makes every file old; both
may be killed and called again. A file that holds neither its old nor its new content was changed by
somebody else: that is told, and nothing is written. Of an index only the gitlink counts: git
rewrites the rest whenever it looks at the work tree.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from tracker.errors import EnvironmentFault, OperationOpen, UsageError
from tracker.pins import submodule
from tracker.statedir import StateDir, sweep_leavings, write_whole


@dataclass(frozen=True, slots=True)
class Change:
    """``path`` gets ``new``; ``old`` is its content now, None if there is no file."""

    path: Path
    old: bytes | None
    new: bytes


@dataclass(frozen=True, slots=True)
class GitlinkChange:
    """The index of ``repository`` gets commit ``new`` for the submodule at ``path``."""

    repository: Path
    path: str
    old: str
    new: str


class _Kind(msgspec.Struct, frozen=True):
    """Any operation, as far as its kind."""

    kind: str


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of the journal. Digests are sha256; ``old`` None: there was no file.

    With ``repository`` it is a submodule there: ``old`` and ``new`` are commit ids.
    """

    path: str
    old: str | None
    new: str
    repository: str = ""

    @property
    def place(self) -> Path:
        return Path(self.repository, self.path)

    def held(self) -> str | None:
        """What is there now: a digest or a commit id; None if there is no file."""
        if self.repository:
            return submodule.gitlink(Path(self.repository), self.path)
        return _digest_of(Path(self.path))


class Journal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``to``: what the move leads to, for people."""

    kind: Literal["pin"]
    to: str
    steps: tuple[Step, ...]

    @property
    def places(self) -> tuple[str, ...]:
        """The files and submodules, absolute, each once."""
        return tuple(dict.fromkeys(str(step.place) for step in self.steps))


def commit(
    state: StateDir,
    changes: Sequence[Change | GitlinkChange],
    to: str,
) -> None:
    """Make every change, durably.

    Raises:
        OperationOpen: an earlier operation was not finished.
        EnvironmentFault: a file cannot be written; every file is as it was.
    """
    if state.operation.exists():
        raise _unfinished(state)
    for change in changes:
        if isinstance(change, Change):
            _refuse_read_only(change.path)
    vault = _vault(state)
    shutil.rmtree(vault, ignore_errors=True)
    sweep_leavings(state.operation)
    steps = []
    try:
        vault.mkdir(parents=True)
        for number, change in enumerate(changes):
            if isinstance(change, GitlinkChange):
                steps.append(Step(change.path, change.old, change.new, str(change.repository)))
                continue
            if change.old is not None:
                write_whole(vault / f"{number}.old", change.old)
            write_whole(vault / f"{number}.new", change.new)
            old = _sha256(change.old) if change.old is not None else None
            steps.append(Step(str(change.path), old, _sha256(change.new)))
        journal = Journal("pin", to, tuple(steps))
        write_whole(state.operation, msgspec.json.format(msgspec.json.encode(journal)))
    except OSError as fault:
        shutil.rmtree(vault, ignore_errors=True)
        raise _cannot_write(fault, state.folder) from fault
    try:
        _roll(journal, vault, "new")
    except BaseException as fault:  # Ctrl-C and SIGTERM too: what is told then is "nothing moved"
        _undo(state, journal, fault)
        raise
    _close(state)


def _refuse_read_only(path: Path) -> None:
    """A rename would replace a file that its owner closed against writing."""
    if path.exists() and not path.stat().st_mode & 0o222:
        raise EnvironmentFault(
            "the pin file is read-only; every pin is as it was",
            where=str(path),
            next_step=f"chmod u+w {path}, then run the same command again",
        )


def _undo(state: StateDir, journal: Journal, cause: BaseException) -> None:
    """Every file that we made new is old again after ``cause``.

    Raises:
        EnvironmentFault: not even that can be written; the journal stays.
    """
    try:
        ours = tuple(step for step in journal.steps if step.held() == step.new)
        _roll(journal, _vault(state), "old", ours)
    except EnvironmentFault as fault:
        raise EnvironmentFault(
            "some pins are new and some are old: one cannot be written, nor the others restored",
            where=", ".join(sorted({str(getattr(cause, "where", "")), fault.where} - {""})),
            next_step="mend that, then `lloyal-track resume` or `lloyal-track abort`",
        ) from fault
    _close(state)


def open_journal(state: StateDir) -> Journal | None:
    """The unfinished move of pins; None if there is none, or the operation is of another kind.

    Raises:
        UsageError: the file is damaged.
    """
    try:
        content = state.operation.read_bytes()
    except FileNotFoundError:
        return None
    try:
        if msgspec.json.decode(content, type=_Kind).kind != "pin":
            return None
        return msgspec.json.decode(content, type=Journal)
    except msgspec.DecodeError as fault:
        raise UsageError(
            f"the unfinished operation cannot be read: {fault}",
            where=str(state.operation),
            next_step=f"compare your pins with {_vault(state)}, then remove both",
        ) from None


def finish(
    state: StateDir,
    journal: Journal,
    side: Literal["old", "new"],
) -> None:
    """Bring every file to ``side`` and close the journal.

    Raises:
        UsageError: a file was changed by somebody else; nothing is written.
        EnvironmentFault: a file cannot be written; the journal stays.
    """
    for step in journal.steps:
        if step.repository:
            submodule.clear(Path(step.repository), _vault(state))
        else:
            sweep_leavings(Path(step.path))
    for step in journal.steps:
        if step.held() not in (step.old, step.new):
            raise UsageError(
                "a pin was changed by somebody else since",
                where=str(step.place),
                next_step=f"let it name {step.old} or {step.new} again, then run this again"
                if step.repository
                else f"restore it (its old and new content are in {_vault(state)}), then "
                "run this again",
            )
    _roll(journal, _vault(state), side)
    _close(state)


def _roll(
    journal: Journal,
    vault: Path,
    side: Literal["old", "new"],
    only: Collection[Step] | None = None,
) -> None:
    for number, step in enumerate(journal.steps):
        if only is not None and step not in only:
            continue
        wanted = step.old if side == "old" else step.new
        held = step.held()
        if held == wanted:
            continue
        if held not in (step.old, step.new):
            raise EnvironmentFault(
                "somebody else changed a pin at this moment", where=str(step.place)
            )
        try:
            if step.repository:
                submodule.point(Path(step.repository), step.path, str(held), str(wanted), vault)
            elif wanted is None:
                Path(step.path).unlink()
            else:
                write_whole(Path(step.path), (vault / f"{number}.{side}").read_bytes())
        except OSError as fault:
            raise _cannot_write(fault, step.place) from fault
        if step.held() != wanted:
            raise EnvironmentFault(
                "the pin reads back otherwise than written", where=str(step.place)
            )


def _close(state: StateDir) -> None:
    state.operation.unlink()
    shutil.rmtree(_vault(state), ignore_errors=True)


def _vault(state: StateDir) -> Path:
    return state.folder / "operation"


def _digest_of(path: Path) -> str | None:
    try:
        return _sha256(path.read_bytes())
    except FileNotFoundError:
        return None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _unfinished(state: StateDir) -> OperationOpen:
    return OperationOpen(
        "an operation was not finished",
        where=str(state.operation),
        next_step="`lloyal-track resume` finishes it, `lloyal-track abort` undoes it",
    )


def _cannot_write(fault: OSError, path: Path) -> EnvironmentFault:
    return EnvironmentFault(
        f"the pin cannot be written: {fault.strerror or os.strerror(fault.errno or 0)}; "
        "every pin is as it was",
        where=str(path),
        next_step="mend that and run the same command again: nothing is built twice",
    )
