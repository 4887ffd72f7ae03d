"""The series on one revision, in memory: the rebase document.

Reads upstream's repository, writes only to the quarantine. Every patch is judged in series and
alone, so one conflict hides nothing.
"""

from __future__ import annotations

from tracker.evidence.rebase import (
    Note,
    Outcome,
    PatchResult,
    RebaseDocument,
)
from tracker.evidence.verdict import worst
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.progress import Progress
from tracker.series.judging import Job, Judge, Judged
from tracker.series.merging import Merger
from tracker.series.pinned import Base, Step, step_on, touched_paths
from tracker.series.reading import Member, Series
from tracker.series.trees import read_tree, written


def rebase(
    repository: Repository,
    series: Series,
    *,
    from_: str,
    onto: str,
    quarantine: Quarantine,
    progress: Progress,
) -> RebaseDocument:
    """Judge ``series``, written for ``from_``, on ``onto``; both are revisions of ``repository``.

    Raises:
        UsageError: one of the revisions is unknown.
    """
    start, target = repository.resolve(from_), repository.resolve(onto)
    pin_tree, target_tree = repository.tree(start), repository.tree(target)
    paths = touched_paths(form for member in series.members for form in member.forms)
    pin = read_tree(quarantine, pin_tree, paths)
    tree = read_tree(quarantine, target_tree, paths)
    steps: list[Step] = []
    here = pin
    for member in series.members:
        step, here = step_on(quarantine, member.patch, here)
        steps.append(step)
    judge = Judge(Merger(quarantine))
    judge.prepare([Job(step, tree) for step in steps])
    results: list[PatchResult] = []
    here = tree
    for number, (member, step) in enumerate(zip(series.members, steps, strict=True)):
        progress.step(number, len(steps), member.patch.subject)
        in_series = judge.judge(Job(step, here))
        here = in_series.after
        alone = None if member.entry.requires else judge.judge(Job(step, tree))
        results.append(_result(member, step, in_series, alone))
    progress.step(len(steps), len(steps), "rebased")
    whole = all(result.outcome.clean or _left_out(result.outcome) for result in results)
    return RebaseDocument(
        verdict=worst(result.verdict for result in results),
        from_=start,
        onto=target,
        tree=written(quarantine, target_tree, here) if whole and results else None,
        patches=tuple(results),
    )


def _left_out(outcome: Outcome) -> bool:
    """Nothing of the patch is left to apply, or the rest of it was applied."""
    return outcome in (
        Outcome.UPSTREAMED,
        Outcome.PARTLY_UPSTREAMED,
        Outcome.NOT_APPLICABLE,
        Outcome.STRUCTURAL,
    )


def _result(member: Member, step: Step, judged: Judged, alone: Judged | None) -> PatchResult:
    notes: list[Note] = []
    stale = judged.outcome in (Outcome.OFFSET, Outcome.MERGED, Outcome.PARTLY_UPSTREAMED)
    if stale or (step.base is not Base.PIN and judged.outcome.clean):
        notes.append(Note.REFRESH_NEEDED)
    return PatchResult(
        name=member.patch.name,
        subject=member.patch.subject,
        form=step.patch.name,
        requires=member.entry.requires,
        outcome=judged.outcome,
        flags=judged.flags,
        notes=tuple(notes),
        alone=alone.outcome if alone is not None else None,
        files=tuple(file.result for file in judged.files),
        culprit=None,
        conflict=None,
        why="; ".join((*judged.why, *step.patch.remarks)),
    )
