"""Where upstream moved a file that a patch needs: git's rename detection, run only if needed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tracker.git.quarantine import Quarantine

_LIMIT = "-l4000"  # candidates; beyond it git looks for exact copies only


@dataclass(frozen=True, slots=True)
class Move:
    """``path``: where the file is now. ``similarity``: per cent, as git counts it."""

    path: str
    similarity: int


def find_moves(quarantine: Quarantine, old: str, new: str, paths: Iterable[str]) -> dict[str, Move]:
    """The moves from tree ``old`` to tree ``new`` of those ``paths`` that ``new`` lacks."""
    wanted = set(paths)
    if not wanted or old == new:
        return {}
    args = ["diff-tree", "-r", "-z", "-M", _LIMIT, "--diff-filter=R", old, new]
    fields = quarantine.git(args).stdout.split(b"\0")
    moves = {}
    for start in range(0, len(fields) - 2, 3):
        facts, source, target = fields[start : start + 3]
        path = source.decode("utf-8", "surrogateescape")
        if path in wanted:
            similarity = int(facts.rpartition(b" R")[2])
            moves[path] = Move(target.decode("utf-8", "surrogateescape"), similarity)
    return moves
