"""The revisions of a range, each with everything that the series' answer depends on there.

The files of the series change rarely, so most revisions share their contents with the one before,
and a sweep judges contents, not revisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tracker.errors import UsageError
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.series.engine import Engine, Target
from tracker.series.mentions import Definers, Mentions, blobs_with
from tracker.series.renames import Move, Trail
from tracker.series.trees import Slot, Tree, with_parents


@dataclass(frozen=True, slots=True)
class Contents:
    """Equal contents have equal answers.

    ``files``: those of the series, wherever upstream moved them, and those that stand where a
    folder is needed. ``absent``: symbols that patches need and the revision lacks. ``definers``: of
    functions that were looked for, the files that define them.
    """

    files: tuple[tuple[str, Slot], ...]
    moves: tuple[tuple[str, Move], ...]
    absent: frozenset[str] = frozenset()
    definers: tuple[tuple[str, Definers], ...] = ()

    def target(self) -> Target:
        """What the engine judges; without looking into files that are not named here."""
        return Target(Tree(dict(self.files)), dict(self.moves), self.absent.__contains__, self.find)

    def find(self, function: str) -> Definers:
        return next((files for name, files in self.definers if name == function), ())


@dataclass(frozen=True, slots=True)
class Place:
    """One revision. ``parents``: indices of the places it is compared with, none for the first.

    ``changes``: what it did to the series' files.
    """

    commit: str
    parents: tuple[int, ...]
    changes: Mapping[str, Slot | None]
    contents: Contents


def distinct(places: Sequence[Place]) -> list[Contents]:
    """Every contents once, in order. Most places share theirs, which costs nothing to tell."""
    shared = {id(place.contents): place.contents for place in places}
    return list(dict.fromkeys(shared.values()))


def places_of(
    repository: Repository, engine: Engine, start: str, end: str, mentions: Mentions
) -> list[Place]:
    """The start and every first-parent commit up to the end, oldest first.

    Raises:
        UsageError: the start is not on the first-parent line that leads to the end.
    """
    files: dict[str, Slot | None] = {path: engine.pin.get(path) for path in engine.paths}
    contents = _contents(engine, files, {})
    places = [Place(start, (), {}, contents)]
    wanted = engine.paths | _absent_folders(engine, repository.tree(start))
    for revision, moves in Trail(repository, engine.quarantine, start, end).walk(wanted):
        if len(places) == 1 and start not in revision.parents[:1]:
            _refuse(repository, start, end, revision.commit)
        if revision.changes:
            files = {**files, **revision.changes}
            contents = _contents(engine, files, moves)
        places.append(Place(revision.commit, (len(places) - 1,), revision.changes, contents))
    if len(places) == 1 and start != end:
        raise UsageError(
            "the range is empty: its end is not newer than its start",
            where=f"{start}..{end}",
            next_step="give the older revision first",
        )
    return _with_needs(engine, places, mentions)


def _refuse(repository: Repository, start: str, end: str, first: str) -> None:
    """The first commit must stand on the start: its changes are counted from there."""
    raise UsageError(
        "the start is not on the first-parent line that leads to the end",
        where=f"{start}..{end}",
        next_step=f"start at {repository.resolve(f'{first}^1')}, where the line leaves it; "
        "`rebase` judges any two revisions",
    )


def _absent_folders(engine: Engine, tree: str) -> set[str]:
    """Folders that added files need and the pin lacks: a file could come to stand there.

    Those that are there must not be asked for: every commit below them would be listed.
    """
    added = {path for path in engine.paths if engine.pin.get(path) is None}
    folders = set(with_parents(added)) - added
    if not folders:
        return set()
    args = ["ls-tree", "-d", "-z", "--name-only", tree, "--"]
    there = engine.quarantine.git([*args, *sorted(folders)]).stdout.split(b"\0")
    return folders - {name.decode("utf-8", "surrogateescape") for name in there}


def _contents(
    engine: Engine, files: Mapping[str, Slot | None], moves: Mapping[str, Move]
) -> Contents:
    paths = with_parents(engine.paths | {move.path for move in moves.values()})
    there = ((path, files.get(path)) for path in paths)
    return Contents(
        tuple((path, slot) for path, slot in there if slot is not None),
        tuple(sorted(moves.items())),
    )


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
