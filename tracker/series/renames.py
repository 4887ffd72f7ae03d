"""Where upstream moved a file that a patch needs.

Along a line of commits a file is followed from name to name: the commit that takes the old name
away is asked once, with git's own rename detection. So the answer at a revision depends on what
happened before it only, and a sweep and a rebase agree. Between revisions that no line connects,
the two trees are compared.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.series.history import Revision, list_range

_LIMIT = "-l4000"  # candidates; beyond it git looks for exact copies only


@dataclass(frozen=True, slots=True)
class Move:
    """``path``: where the file is now. ``similarity``: per cent, as git counts it."""

    path: str
    similarity: int


def between_trees(quarantine: Quarantine, old: str, new: str) -> dict[str, Move]:
    """Every move from tree ``old`` to tree ``new``, by old path."""
    if quarantine.repository.is_partial:
        quarantine.ensure(_candidates(quarantine, old, new))
    args = ["diff-tree", "-r", "-z", "-M", _LIMIT, "--diff-filter=R", old, new]
    fields = quarantine.git(args).stdout.split(b"\0")
    moves = {}
    for start in range(0, len(fields) - 2, 3):
        facts, source, target = fields[start : start + 3]
        similarity = int(facts.rpartition(b" R")[2])
        path = source.decode("utf-8", "surrogateescape")
        moves[path] = Move(target.decode("utf-8", "surrogateescape"), similarity)
    return moves


def moves_of(quarantine: Quarantine, old: str, new: str, paths: Container[str]) -> dict[str, Move]:
    """The moves of ``paths`` from tree ``old`` to tree ``new``."""
    found = between_trees(quarantine, old, new)
    return {path: move for path, move in found.items() if path in paths}


def _candidates(quarantine: Quarantine, old: str, new: str) -> list[str]:
    """The blobs that rename detection reads: of files that were added or deleted."""
    args = ["diff-tree", "-r", "-z", "--no-renames", "--diff-filter=AD", old, new]
    records = quarantine.git(args).stdout.split(b"\0")[::2]
    ids = [oid.decode("ascii") for record in records for oid in record.split(b" ")[2:4]]
    return [oid for oid in ids if oid.strip("0")]


_NONE: Mapping[str, Move] = {}


class Trail:
    """Follows files from first parent to child, over ``start..end``.

    ``merges``: over the commits of merged branches too.
    """

    def __init__(
        self,
        repository: Repository,
        quarantine: Quarantine,
        start: str,
        end: str,
        *,
        merges: bool = False,
    ) -> None:
        self._merges = merges
        self._repository, self._quarantine = repository, quarantine
        self._start, self._end = start, end
        self._at: dict[str, dict[str, Move]] = {}

    def walk(self, paths: Iterable[str]) -> list[tuple[Revision, Mapping[str, Move]]]:
        """Every commit, parents first, with what it does to ``paths`` under whatever name, and the
        moves that hold after it. A path that is gone, or has its own name again, has no move.
        """
        wanted = set(paths)
        names = set(wanted)
        while True:
            listed = list_range(
                self._repository, self._start, self._end, names, merges=self._merges
            )
            steps, met = self._follow(listed, wanted)
            if met <= names:
                return steps
            names |= met

    def _follow(
        self, listed: Sequence[Revision], wanted: set[str]
    ) -> tuple[list[tuple[Revision, Mapping[str, Move]]], set[str]]:
        after: dict[str, Mapping[str, Move]] = {}
        steps: list[tuple[Revision, Mapping[str, Move]]] = []
        met: set[str] = set()
        for revision in listed:
            moves = next((after[p] for p in revision.parents[:1] if p in after), _NONE)
            if revision.changes:
                moves = self._after(revision, wanted, moves)
                met.update(move.path for move in moves.values())
            after[revision.commit] = moves
            steps.append((revision, moves))
        return steps, met

    def _after(
        self, revision: Revision, wanted: set[str], before: Mapping[str, Move]
    ) -> Mapping[str, Move]:
        moves = dict(before)
        for path in sorted(wanted):
            now = moves[path].path if path in moves else path
            if revision.changes.get(path) is not None:
                moves.pop(path, None)  # its own name wins
            elif now in revision.changes and revision.changes[now] is None:
                move = self._moves_in(revision.commit).get(now)
                moves.pop(path, None)
                if move is not None:
                    moves[path] = move
        return moves

    def _moves_in(self, commit: str) -> dict[str, Move]:
        if commit not in self._at:
            trees = [self._repository.tree(rev) for rev in (f"{commit}^1", commit)]
            self._at[commit] = between_trees(self._quarantine, *trees)
        return self._at[commit]
