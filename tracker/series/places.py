"""The revisions of a range, each with everything that the series' answer depends on there.

The files of the series change rarely, so most revisions share their contents with the one before,
and a sweep judges contents, not revisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.series.engine import Engine, Target
from tracker.series.history import Revision, commits_of, refuse_another_line
from tracker.series.mentions import Definers, Mentions, blobs_with
from tracker.series.renames import Move, Trail, moves_of
from tracker.series.trees import Slot, Tree, files_below, folders_at, read_tree, with_parents


@dataclass(frozen=True, slots=True)
class Contents:
    """Equal contents have equal answers.

    ``files``: those of the series, wherever upstream moved them, and those that stand where a
    folder is needed. ``folders``: of the series' paths, those that are a folder, with the files in
    it. ``absent``: symbols that patches need and the revision lacks. ``definers``: of
    functions that were looked for, the files that define them.
    """

    files: tuple[tuple[str, Slot], ...]
    moves: tuple[tuple[str, Move], ...]
    folders: tuple[tuple[str, tuple[str, ...]], ...] = ()
    absent: frozenset[str] = frozenset()
    definers: tuple[tuple[str, Definers], ...] = ()

    def target(self) -> Target:
        """What the engine judges; without looking into files that are not named here."""
        tree = Tree(dict(self.files), folders=dict(self.folders))
        return Target(tree, dict(self.moves), self.absent.__contains__, self.find)

    def find(self, function: str) -> Definers:
        return next((files for name, files in self.definers if name == function), ())


@dataclass(frozen=True, slots=True)
class Place:
    """One revision. ``parents``: full ids of those that it is compared with, none for the first.

    ``changes``: what it did to the series' files. ``fork``: it is outside of the range, and a
    parent of one of its revisions.
    """

    commit: str
    parents: tuple[str, ...]
    changes: Mapping[str, Slot | None]
    contents: Contents
    fork: bool = False


def distinct(places: Sequence[Place]) -> list[Contents]:
    """Every contents once, in order. Most places share theirs, which costs nothing to tell."""
    shared = {id(place.contents): place.contents for place in places}
    return list(dict.fromkeys(shared.values()))


def places_of(
    repository: Repository,
    engine: Engine,
    start: str,
    end: str,
    mentions: Mentions,
    *,
    merges: bool = False,
) -> list[Place]:
    """The start and every first-parent commit up to the end, parents first.

    ``merges``: the commits of merged branches too; where such a branch left the line before the
    start, the commit that it left from comes first of all, as a fork.

    Raises:
        UsageError: the start is not on the first-parent line that leads to the end.
    """
    trail = Trail(repository, engine.quarantine, start, end, merges=merges)
    commits = [start, *commits_of(repository, start, end, merges=merges)] if engine.arrivals else []
    folders = _Folders(engine, commits)
    steps = trail.walk(engine.paths | folders.unsteady)
    refuse_another_line([revision for revision, _moves in steps], start, end)
    reader = _Reader(repository, engine, start, folders)
    forks: dict[str, Place] = {}
    places = [Place(start, (), {}, reader.begin())]
    for revision, moves in steps:
        parents = revision.parents if merges else revision.parents[:1]
        for parent in parents:
            if parent not in reader.files:
                forks[parent] = Place(parent, (), {}, reader.outside(parent), fork=True)
        contents = reader.contents(revision, moves)
        places.append(Place(revision.commit, parents, revision.changes, contents))
    return _with_needs(engine, [*forks.values(), *places], mentions)


def first_parents(places: Sequence[Place]) -> list[int]:
    """The indices of the places on the line that ends at the last one, oldest first."""
    index = {place.commit: number for number, place in enumerate(places)}
    found = [len(places) - 1]
    while places[found[-1]].parents:
        found.append(index[places[found[-1]].parents[0]])
    return found[::-1]


class _Reader:
    """The series' files at one revision after the other, as a rebase onto each finds them.

    ``files``: of every commit met so far, by commit.
    """

    def __init__(
        self, repository: Repository, engine: Engine, start: str, folders: _Folders
    ) -> None:
        self._repository, self._engine, self._start = repository, engine, start
        self._folders = folders
        self.files: dict[str, Mapping[str, Slot | None]] = {}
        self._contents: dict[str, Contents] = {}
        self._newer = {start}  # the start and what came from it

    def begin(self) -> Contents:
        pin = self._engine.pin
        there = with_parents(self._engine.paths)
        self.files[self._start] = {path: pin.get(path) for path in there}
        return self._keep(self._start, {})

    def outside(self, commit: str) -> Contents:
        """Of a commit that does not come from the start; read from its tree."""
        tree = read_tree(self._engine.quarantine, self._repository.tree(commit), self._engine.paths)
        self.files[commit] = tree.files
        self._folders.add(commit, tree)
        return self._beside(commit)

    def contents(self, revision: Revision, moves: Mapping[str, Move]) -> Contents:
        """Its parents must have been asked for before. ``moves``: along its first parents."""
        commit = revision.commit
        first = revision.parents[0] if revision.parents else None
        before = self.files[first] if first is not None else {}
        self.files[commit] = {**before, **revision.changes} if revision.changes else before
        if self._newer.isdisjoint(revision.parents):
            return self._beside(commit)
        self._newer.add(commit)
        if first in self._newer and not revision.changes:
            self._contents[commit] = self._contents[first]
            return self._contents[commit]
        return self._keep(commit, moves)

    def _beside(self, commit: str) -> Contents:
        """No line connects it with the start, so the two trees tell what moved."""
        missing = self._engine.missing(Tree(self.files[commit]))
        if not missing:
            return self._keep(commit, {})
        quarantine, here = self._engine.quarantine, self._repository.tree(commit)
        moves = moves_of(quarantine, self._repository.tree(self._start), here, missing)
        tree = read_tree(quarantine, here, self._engine.paths_with(moves))
        return self._made(commit, tree.files, moves)

    def _keep(self, commit: str, moves: Mapping[str, Move]) -> Contents:
        return self._made(commit, self.files[commit], moves)

    def _made(
        self, commit: str, files: Mapping[str, Slot | None], moves: Mapping[str, Move]
    ) -> Contents:
        moved = {path: move for path, move in moves.items() if self._engine.pin.get(path)}
        there = ((path, files.get(path)) for path in with_parents(self._engine.paths_with(moved)))
        self._contents[commit] = Contents(
            tuple((path, slot) for path, slot in there if slot is not None),
            tuple(sorted(moved.items())),
            self._folders.at(commit),
        )
        return self._contents[commit]


class _Folders:
    """Where new files of the series meet a folder, or need one.

    ``unsteady``: folders that they need and that some revision lacks: a file may stand there. The
    others must not be asked for: every commit below them would be listed.
    """

    def __init__(self, engine: Engine, commits: Sequence[str]) -> None:
        self._quarantine = engine.quarantine
        needed = set(with_parents(engine.arrivals)) - engine.arrivals
        found = folders_at(engine.quarantine, commits, {*engine.arrivals, *needed})
        self.unsteady = {path for path in needed if len(found[path]) < len(commits)}
        self._trees = {path: found[path] for path in sorted(engine.arrivals) if found[path]}
        self._files: dict[tuple[str, str], tuple[str, ...]] = {}
        self._read: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {}

    def add(self, commit: str, tree: Tree) -> None:
        """One more commit, read from its tree."""
        self._read[commit] = tuple(sorted((p, tuple(inside)) for p, inside in tree.folders.items()))

    def at(self, commit: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The new files' paths that are folders in that commit, with the files in each."""
        if commit in self._read:
            return self._read[commit]
        there = ((path, trees[commit]) for path, trees in self._trees.items() if commit in trees)
        return tuple((path, self._below(path, tree)) for path, tree in there)

    def _below(self, path: str, tree: str) -> tuple[str, ...]:
        if (path, tree) not in self._files:
            self._files[path, tree] = files_below(self._quarantine, path, tree)
        return self._files[path, tree]


def _with_needs(engine: Engine, places: Sequence[Place], mentions: Mentions) -> list[Place]:
    """The places with the symbols that they lack.

    Most often a file of the series holds the symbol, so no other has to be looked at.
    """
    names = {name for member in engine.series.members for name in member.entry.needs}
    absent: dict[str, set[str]] = {}
    if not engine.quarantine.repository.is_partial:
        for name in sorted(names):
            holding = _holding(engine.quarantine, places, name)
            unsure = [p.commit for p in places if holding.isdisjoint(p.contents.files)]
            for commit, held in mentions.files(name, unsure).items():
                if not held:
                    absent.setdefault(commit, set()).add(name)
    if not absent:
        return list(places)
    return [
        replace(place, contents=replace(place.contents, absent=frozenset(absent[place.commit])))
        if place.commit in absent
        else place
        for place in places
    ]


def _holding(quarantine: Quarantine, places: Sequence[Place], name: str) -> set[tuple[str, Slot]]:
    """The files of the series, in whatever content, that hold ``name``."""
    files = {item for contents in distinct(places) for item in contents.files}
    regular = {(path, slot) for path, slot in files if slot.mode.startswith("100")}
    blobs = blobs_with(quarantine, (slot.oid for _path, slot in regular), name)
    return {(path, slot) for path, slot in regular if slot.oid in blobs}
