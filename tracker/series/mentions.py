"""Which files hold a word: on one tree, and at every revision of a range.

Two answers about a patch depend on files that it does not touch: whether a symbol exists at all,
and which file defines a function that left its own. Over a range only the contents that changed
are searched. A filtered clone holds too few files to tell, so it finds nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TypeGuard

from tracker.errors import EnvironmentFault
from tracker.git.quarantine import Quarantine
from tracker.series.history import Revision, list_range
from tracker.series.placing import split_lines
from tracker.series.relocating import defines
from tracker.series.trees import Slot
from tracker.source.outline import is_cpp

_FILE = "100644"
_REGULAR = "100"

Files = Mapping[str, Slot]
Definers = tuple[tuple[str, Slot], ...]


def _grep(quarantine: Quarantine, tree: str, word: str) -> list[str]:
    """The paths in ``tree``, a full id, whose files hold ``word`` as a word."""
    args = ["grep", "-l", "-z", "-w", "-F", "-e", word, tree, "--"]
    asked = quarantine.git(args, check=False)
    if asked.code not in (0, 1):
        raise EnvironmentFault(
            f"git grep failed (status {asked.code}): {asked.complaint}", where=tree
        )
    listed = asked.stdout.decode("utf-8", "surrogateescape").split("\0")
    return [name.removeprefix(f"{tree}:") for name in listed if name]


def files_with(quarantine: Quarantine, tree: str, word: str) -> Files:
    """The files of ``tree``, a full id, that hold ``word``; none in a filtered clone."""
    if quarantine.repository.is_partial:
        return {}
    found = quarantine.entries(tree, _grep(quarantine, tree, word))
    return {path: Slot(mode, oid) for path, (mode, oid) in found.items()}


def blobs_with(quarantine: Quarantine, blobs: Iterable[str], word: str) -> set[str]:
    """Those of the blobs that hold ``word``, found in one call as the files of one tree.

    git unpacks them fastest if a file's contents come one after the other.
    """
    wanted = {f"{number:07}": oid for number, oid in enumerate(dict.fromkeys(blobs))}
    if not wanted:
        return set()
    tree = quarantine.write_tree({name: (_FILE, oid) for name, oid in wanted.items()})
    return {wanted[name] for name in _grep(quarantine, tree, word)}


def lines_in(quarantine: Quarantine, tree: str, lines: Collection[bytes]) -> set[bytes]:
    """Those of the lines, without their ends, that stand in some file of ``tree``, a full id; none
    in a filtered clone.
    """
    wanted = {line.rstrip(b"\r\n") for line in lines}
    if not wanted or quarantine.repository.is_partial:
        return set()
    args = ["grep", "-h", "-I", "-F", "-f", "-", tree, "--"]
    patterns = b"".join(b"%b\n%b\r\n" % (line, line) for line in sorted(wanted))
    asked = quarantine.git(args, stdin=patterns, check=False)
    if asked.code not in (0, 1):
        raise EnvironmentFault(
            f"git grep failed (status {asked.code}): {asked.complaint}", where=tree
        )
    return wanted & {line.rstrip(b"\r") for line in asked.stdout.split(b"\n")}


def lacks(quarantine: Quarantine, tree: str, symbol: str) -> bool:
    """No file of ``tree`` holds ``symbol``; of a filtered clone that is never said."""
    return not quarantine.repository.is_partial and not files_with(quarantine, tree, symbol)


class Mentions:
    """Words at the revisions of ``start..end``; ``merges``: of merged branches too."""

    def __init__(
        self, quarantine: Quarantine, start: str, end: str, *, merges: bool = False
    ) -> None:
        self._merges = merges
        self._quarantine = quarantine
        self._start, self._end = start, end
        self._defines: dict[tuple[str, str, str], bool] = {}

    @cached_property
    def _revisions(self) -> Mapping[str, Revision]:
        listed = list_range(
            self._quarantine.repository, self._start, self._end, None, merges=self._merges
        )
        return {revision.commit: revision for revision in listed}

    def files(self, word: str, commits: Sequence[str]) -> Mapping[str, Files]:
        """For each of the commits, parents first, the files that hold ``word``.

        One search for all contents that came with a commit whose parent is asked for too; the
        whole tree of each other one.
        """
        wanted = set(commits)
        steps = {
            commit: revision
            for commit in commits
            for revision in [self._revisions.get(commit)]
            if revision is not None and revision.parents and revision.parents[0] in wanted
        }
        came: dict[str, list[str]] = {}
        for revision in steps.values():
            for path, slot in revision.changes.items():
                if _is_file(slot):
                    came.setdefault(path, []).append(slot.oid)
        holding = blobs_with(self._quarantine, chain.from_iterable(came.values()), word)
        found: dict[str, Files] = {}
        for commit in commits:
            step = steps.get(commit)
            if step is None:
                tree = self._quarantine.repository.tree(commit)
                found[commit] = files_with(self._quarantine, tree, word)
                continue
            before = found[step.parents[0]]
            new = {p: s for p, s in step.changes.items() if _is_file(s) and s.oid in holding}
            if new or not before.keys().isdisjoint(step.changes):
                kept = {p: slot for p, slot in before.items() if p not in step.changes}
                before = {**kept, **new}
            found[commit] = before
        return found

    def definers(self, function: str, commits: Sequence[str]) -> Mapping[str, Definers]:
        """For each of the commits, parents first, the C++ files that hold the function's body."""
        if self._quarantine.repository.is_partial:
            return dict.fromkeys(commits, ())
        by_files: dict[int, Definers] = {}
        files = self.files(function.rpartition("::")[2], commits)
        for held in files.values():
            if id(held) not in by_files:
                by_files[id(held)] = tuple(
                    (path, slot)
                    for path, slot in sorted(held.items())
                    if is_cpp(path) and self._is_defined(function, path, slot.oid)
                )
        return {commit: by_files[id(held)] for commit, held in files.items()}

    def _is_defined(self, function: str, path: str, oid: str) -> bool:
        key = (function, path, oid)
        if key not in self._defines:
            self._defines[key] = defines(split_lines(self._quarantine.read(oid)), path, function)
        return self._defines[key]


def definers(quarantine: Quarantine, tree: str, function: str) -> Definers:
    """The C++ files of ``tree`` that hold the body of ``function``."""
    held = files_with(quarantine, tree, function.rpartition("::")[2])
    return tuple(
        (path, slot)
        for path, slot in sorted(held.items())
        if is_cpp(path) and defines(split_lines(quarantine.read(slot.oid)), path, function)
    )


def _is_file(slot: Slot | None) -> TypeGuard[Slot]:
    return slot is not None and slot.mode.startswith(_REGULAR)
