"""The series on one revision, in memory: the rebase document.

Reads upstream's repository, writes only to the quarantine. Every patch is judged in series and
alone, so one conflict hides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from tracker.evidence.rebase import (
    Conflict,
    Culprit,
    Flag,
    Note,
    Outcome,
    PatchResult,
    RebaseDocument,
)
from tracker.evidence.verdict import Verdict, worst
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.progress import Progress
from tracker.series.cards import conflict_file
from tracker.series.culprits import Culprits
from tracker.series.engine import Engine, MemberJudged, Target
from tracker.series.exporting import diff_between
from tracker.series.history import leads_to
from tracker.series.mentions import definers, lacks
from tracker.series.pinned import Base
from tracker.series.reading import Series
from tracker.series.renames import Move, Trail, moves_of
from tracker.series.resolutions import Resolutions, text_to_settle
from tracker.series.trees import read_tree, written
from tracker.series.verdicts import FileJudged, Judged


@dataclass(frozen=True, slots=True)
class Rebased:
    """A rebase with what is needed to go on from it: refreshing the files, or resolving."""

    document: RebaseDocument
    engine: Engine
    judged: tuple[MemberJudged, ...]
    target_tree: str


def rebase(
    repository: Repository,
    series: Series,
    *,
    from_: str,
    onto: str,
    quarantine: Quarantine,
    progress: Progress,
    program: str = "lloyal-track",
) -> RebaseDocument:
    """Judge ``series``, written for ``from_``, on ``onto``; both are revisions of ``repository``.

    ``program``: how the commands that a conflict prints begin, with the configuration in use.

    Raises:
        UsageError: one of the revisions is unknown.
    """
    return rebase_with_engine(
        repository,
        series,
        from_=from_,
        onto=onto,
        quarantine=quarantine,
        progress=progress,
        command=f"{program} rebase --onto {onto}",
    ).document


def rebase_with_engine(
    repository: Repository,
    series: Series,
    *,
    from_: str,
    onto: str,
    quarantine: Quarantine,
    progress: Progress,
    command: str = "",
) -> Rebased:
    """Like :func:`rebase`, for callers that go on from the result.

    ``command``: the command line that a conflict tells to repeat with ``--write``.
    """
    start, target = repository.resolve(from_), repository.resolve(onto)
    pin_tree, target_tree = repository.tree(start), repository.tree(target)
    engine = Engine(quarantine, series, pin_tree, Resolutions(series.folder))
    connected = leads_to(repository, start, target)
    there = look_at(engine, repository, start, target, connected=connected)
    judged = engine.judge_all([there], progress)[0]
    culprits = Culprits(repository, start, target, connected=connected)
    repeat = command or f"lloyal-track rebase --onto {target}"
    results = [_result(engine, member, culprits, repeat) for member in judged]
    progress.step(len(judged), len(judged), "rebased")
    whole = bool(judged) and all(_settled(result.outcome) for result in results)
    after = judged[-1].in_series.after if judged else None
    document = RebaseDocument(
        verdict=worst(result.verdict for result in results) if results else Verdict.OK,
        from_=start,
        onto=target,
        tree=written(quarantine, target_tree, after) if whole and after is not None else None,
        patches=tuple(results),
        unnamed=series.unnamed,
    )
    return Rebased(document, engine, tuple(judged), target_tree)


def look_at(
    engine: Engine, repository: Repository, start: str, target: str, *, connected: bool
) -> Target:
    """The target with the paths that the series needs, wherever upstream moved them.

    ``connected``: the history leads from ``start`` to ``target``.
    """
    quarantine = engine.quarantine
    target_tree = repository.tree(target)
    tree = read_tree(quarantine, target_tree, engine.paths)
    missing = engine.missing(tree)
    moves: Mapping[str, Move] = {}
    if missing and connected:
        steps = Trail(repository, quarantine, start, target).walk(missing)
        moves = steps[-1][1] if steps else {}
    elif missing:
        moves = moves_of(quarantine, repository.tree(start), target_tree, missing)
    if moves:
        tree = read_tree(quarantine, target_tree, engine.paths_with(moves))
    return Target(
        tree,
        moves,
        lambda symbol: lacks(quarantine, target_tree, symbol),
        cache(lambda function: definers(quarantine, target_tree, function)),
    )


def _settled(outcome: Outcome) -> bool:
    """The patch stands in the tree, or nothing of it is left to carry."""
    return outcome not in (Outcome.CONFLICT, Outcome.UNUSABLE)


def _result(engine: Engine, member: MemberJudged, culprits: Culprits, command: str) -> PatchResult:
    judged, alone = member.in_series, member.alone
    patch, step = member.member.patch, member.step
    in_conflict = [file for file in judged.files if file.outcome is Outcome.CONFLICT]
    stands = judged.outcome.clean or judged.outcome is Outcome.PARTLY_UPSTREAMED
    why = list(judged.why)
    if alone is not None and alone.outcome is not judged.outcome:
        why.append(f"alone: {alone.outcome}")
    why += step.patch.remarks
    return PatchResult(
        name=patch.name,
        subject=patch.subject,
        form=step.patch.name,
        requires=member.member.entry.requires,
        outcome=judged.outcome,
        flags=judged.flags,
        notes=_notes(member),
        alone=alone.outcome if alone is not None else None,
        files=tuple(file.result for file in judged.files),
        culprit=_culprit(engine, judged, in_conflict, culprits),
        conflict=_conflict(engine, in_conflict, command) if in_conflict else None,
        why="; ".join(why),
        diff=diff_between(engine.quarantine, member.before, judged.after) if stands else "",
    )


def _notes(member: MemberJudged) -> tuple[Note, ...]:
    judged = member.in_series
    notes: list[Note] = []
    based = member.step.base is Base.PIN or member.form
    if judged.stale or (judged.outcome.clean and not based):
        notes.append(Note.REFRESH_NEEDED)
    if any(file.resolved for file in judged.files):
        notes.append(Note.RESOLUTION_USED)
    if member.form:
        notes.append(Note.FORM)
    return tuple(notes)


def _culprit(
    engine: Engine, judged: Judged, in_conflict: list[FileJudged], culprits: Culprits
) -> Culprit | Literal["unknown"] | None:
    """The commit behind the first conflict; None if nothing is to blame."""
    if Flag.NO_BASE in judged.flags and in_conflict:
        return "unknown"
    for file in in_conflict:
        path, now = file.result.path, file.result.new_path
        found = culprits.find(engine.judge.merger, path, now, file.triple)
        if found != "unknown":
            return found
    return "unknown" if in_conflict else None


def _conflict(engine: Engine, files: list[FileJudged], command: str) -> Conflict:
    merger = engine.judge.merger
    cards = []
    for file in files:
        path = file.result.new_path or file.result.path
        if file.triple is not None:
            cards.append(conflict_file(merger, path, file.triple))
        else:
            cards.append(file.card())
    resume = command.partition(" rebase ")[0] + " resume"
    settled = text_to_settle(merger, files) is not None
    return Conflict(files=tuple(cards), commands=(f"{command} --write", resume) if settled else ())
