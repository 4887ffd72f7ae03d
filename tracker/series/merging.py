"""Three-way merges and line differences of many files in one git process each.

git merges trees, so files with nothing in common travel together as the numbered files of one tree.
The merge is git's own (merge-tree, histogram); a change that touches no upstream change needs no
process: the result is forced, and equal to what git makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tracker.errors import EnvironmentFault
from tracker.git.quarantine import Quarantine
from tracker.series.placing import split_lines

_FILE = "100644"
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_DIFF = (
    "diff-tree",
    "-r",
    "-p",
    "-U0",
    "--no-renames",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--diff-algorithm=histogram",
    "--no-indent-heuristic",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)


@dataclass(frozen=True, slots=True)
class Change:
    """Old lines ``start..end`` became new lines ``new_start..new_end`` (0-based, half-open)."""

    start: int
    end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class Triple:
    """Blob ids of a merge: ``base`` became ``ours`` upstream and ``theirs`` with the patch."""

    base: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class Merged:
    """``oid``: the result; with conflict markers if not ``clean``."""

    oid: str
    clean: bool


class Merger:
    """Remembers by content: the same ids are never compared or merged twice."""

    def __init__(self, quarantine: Quarantine) -> None:
        self.quarantine = quarantine
        self._changes: dict[tuple[str, str], tuple[Change, ...] | None] = {}
        self._merged: dict[Triple, Merged] = {}
        self.lines = lru_cache(maxsize=64)(self._lines)

    @property
    def merges(self) -> int:
        """How many different merges were asked for."""
        return len(self._merged)

    def _lines(self, oid: str) -> list[bytes]:
        return split_lines(self.quarantine.read(oid))

    def changes(self, old: str, new: str) -> tuple[Change, ...] | None:
        """The line changes from ``old`` to ``new``, in order; None if one of them is binary."""
        self.compare([(old, new)])
        return self._changes[old, new] if old != new else ()

    def compare(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Compute the changes of many pairs at once."""
        wanted = sorted({p for p in pairs if p[0] != p[1] and p not in self._changes})
        if not wanted:
            return
        sides = [self._tree(dict(enumerate(pair[side] for pair in wanted))) for side in (0, 1)]
        output = self.quarantine.git([*_DIFF, *sides]).stdout
        found: dict[int, list[Change] | None] = {number: [] for number in range(len(wanted))}
        number = -1
        for line in output.split(b"\n"):
            if line.startswith(b"diff --git a/"):
                number = int(line.rpartition(b"/")[2])
            elif line.startswith(b"Binary files "):
                found[number] = None
            elif line.startswith(b"@@ "):
                changes = found[number]
                if changes is not None:
                    changes.append(_change(line))
        for index, pair in enumerate(wanted):
            result = found[index]
            self._changes[pair] = tuple(result) if result is not None else None

    def merge(self, triples: Iterable[Triple]) -> Mapping[Triple, Merged]:
        """Merge many at once; the mapping holds every triple ever merged."""
        wanted = sorted(
            {t for t in triples if t not in self._merged}, key=lambda t: (t.base, t.ours, t.theirs)
        )
        self.compare(pair for t in wanted for pair in ((t.base, t.ours), (t.base, t.theirs)))
        hard = []
        for triple in wanted:
            simple = self._simple(triple)
            if simple is None:
                hard.append(triple)
            else:
                self._merged[triple] = Merged(simple, clean=True)
        if hard:
            self._merge_with_git(hard)
        return self._merged

    def _simple(self, triple: Triple) -> str | None:
        """The result where it is forced: one side unchanged, or no two changes touch."""
        if triple.ours in (triple.base, triple.theirs):
            return triple.theirs
        if triple.base == triple.theirs:
            return triple.ours
        upstream = self._changes[triple.base, triple.ours]
        carried = self._changes[triple.base, triple.theirs]
        if upstream is None or carried is None or any(touching(upstream, c) for c in carried):
            return None
        ours, theirs = self.lines(triple.ours), self.lines(triple.theirs)
        out: list[bytes] = []
        position = 0
        for change in carried:
            start = to_new(upstream, change.start)
            out += ours[position:start]
            out += theirs[change.new_start : change.new_end]
            position = start + (change.end - change.start)
        out += ours[position:]
        return self.quarantine.write_blob(b"".join(out))

    def _merge_with_git(self, triples: Sequence[Triple]) -> None:
        git = self.quarantine
        trees = [
            self._tree(dict(enumerate(side)))
            for side in zip(*((t.base, t.ours, t.theirs) for t in triples), strict=True)
        ]
        base = git.write_commit(trees[0], (), "base")
        ours = git.write_commit(trees[1], (base,), "ours")
        theirs = git.write_commit(trees[2], (base,), "theirs")
        args = ["merge-tree", "--write-tree", "-z", "--no-messages", ours, theirs]
        asked = git.git(args, check=False)
        if asked.code not in (0, 1):
            raise EnvironmentFault(
                f"git merge-tree failed (status {asked.code}): {asked.complaint}",
                where="git merge-tree",
            )
        head, *records = asked.stdout.split(b"\0")
        conflicted = {int(r.rpartition(b"\t")[2]) for r in records if b"\t" in r}
        results = {int(e.path): e.oid for e in git.list_tree(head.decode("ascii").strip())}
        for index, triple in enumerate(triples):
            self._merged[triple] = Merged(results[index], clean=index not in conflicted)

    def _tree(self, files: Mapping[int, str]) -> str:
        return self.quarantine.write_tree(
            {f"{number:06}": (_FILE, oid) for number, oid in files.items()}
        )


def _change(header: bytes) -> Change:
    found = _HUNK.match(header)
    assert found is not None  # noqa: S101  (git wrote it)
    old, new = int(found[1]), int(found[3])
    old_count = int(found[2]) if found[2] is not None else 1
    new_count = int(found[4]) if found[4] is not None else 1
    # With a count of 0 git names the line before the place.
    start = old - 1 if old_count else old
    new_start = new - 1 if new_count else new
    return Change(start, start + old_count, new_start, new_start + new_count)


def touching(changes: Sequence[Change], other: Change) -> bool:
    """Some change overlaps ``other`` or stands directly beside it, as git's merge counts it."""
    return any(not (c.end < other.start or other.end < c.start) for c in changes)


def overlapping(changes: Sequence[Change], start: int, end: int) -> list[Change]:
    """The changes that alter a line of ``start..end`` or insert strictly inside of it."""
    return [c for c in changes if c.start < end and c.end > start]


def to_new(changes: Sequence[Change], index: int) -> int:
    """Where old line ``index`` stands in the new text; inside a change: where the change starts."""
    shift = 0
    for change in changes:
        if change.end <= index:
            shift = change.new_end - change.end
        elif change.start <= index:
            return change.new_start
        else:
            break
    return index + shift
