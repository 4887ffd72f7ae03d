"""The values of judging: what is asked of one patch on one tree, and what is answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tracker.evidence.rebase import ConflictFile, FileResult, Flag, Outcome
from tracker.series.merging import Triple
from tracker.series.pinned import Step, leaving
from tracker.series.relocating import Finder
from tracker.series.renames import Move
from tracker.series.trees import Slot, Tree

_WORST = (
    Outcome.UNCHANGED,
    Outcome.OFFSET,
    Outcome.MERGED,
    Outcome.STRUCTURAL,
    Outcome.CONFLICT,
)


@dataclass(frozen=True, slots=True)
class FileJudged:
    """One file. ``changes``: what it does to the tree's paths. ``triple``: the merge behind it.

    ``based``: the patch was written for this very file, as its ``index`` line says.
    ``source``: where the file that it changes, renames or copies stands; None: it needs none.
    """

    result: FileResult
    outcome: Outcome
    changes: Mapping[str, Slot | None]
    flags: tuple[Flag, ...] = ()
    why: tuple[str, ...] = ()
    triple: Triple | None = None
    resolved: bool = False
    sides: tuple[str | None, str | None, str | None] = (None, None, None)
    based: bool = False
    source: str | None = None

    @property
    def moved(self) -> bool:
        """Upstream gave the file another name than the patch has for it."""
        return self.source is not None and self.source != self.result.path

    def card(self) -> ConflictFile:
        """The conflict of a file that is judged as a whole: its three blobs, no places."""
        base, ours, theirs = self.sides
        path = self.result.new_path or self.result.path
        return ConflictFile(path=path, base=base, ours=ours, theirs=theirs, hunks=())


@dataclass(frozen=True, slots=True)
class Judged:
    """One patch on one tree. ``after``: the tree with the patch, as it was if it did not apply."""

    outcome: Outcome
    flags: tuple[Flag, ...]
    why: tuple[str, ...]
    files: tuple[FileJudged, ...]
    after: Tree

    @property
    def stale(self) -> bool:
        """It stands, but not as its file has it: under another name, or on other lines."""
        moved = self.outcome in (Outcome.OFFSET, Outcome.MERGED, Outcome.PARTLY_UPSTREAMED)
        return moved or (self.outcome.clean and any(file.moved for file in self.files))


@dataclass(frozen=True, slots=True)
class Job:
    """A step to judge on a tree. ``moves``: by pin path, of files that upstream renamed.

    ``find``: the files that define a function, None where nobody looks for it.
    """

    step: Step
    tree: Tree
    moves: Mapping[str, Move] = field(default_factory=dict)
    find: Finder | None = None

    def place(self, path: str) -> str:
        """Where the pin's ``path`` is on this tree."""
        if self.tree.get(path) is None and path not in self.tree.changed:
            move = self.moves.get(path)
            return move.path if move is not None else path
        return path

    def occupied(self, path: str) -> str:
        """Why no new file can stand at ``path``; "" if one can."""
        gone = {self.place(old) for old in leaving(self.step.patch)}
        return self.tree.occupied(path, gone)

    def likeness(self, path: str) -> str:
        """How much of a moved file stayed, for a human."""
        move = self.moves.get(path)
        return f" ({move.similarity}% similar)" if move is not None else ""


def combined(outcomes: list[Outcome]) -> Outcome:
    """The outcome of a whole from its parts; of no part at all: unchanged."""
    if Outcome.CONFLICT in outcomes:
        return Outcome.CONFLICT
    here = [Outcome.UPSTREAMED, Outcome.PARTLY_UPSTREAMED]
    if any(outcome in here for outcome in outcomes):
        if all(outcome is Outcome.UPSTREAMED for outcome in outcomes):
            return Outcome.UPSTREAMED
        return Outcome.PARTLY_UPSTREAMED
    return max(outcomes, key=_WORST.index, default=Outcome.UNCHANGED)
