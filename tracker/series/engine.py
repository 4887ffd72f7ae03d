"""The whole series on any number of upstream trees at once.

Patch by patch over all trees, so that the merges of one patch on a thousand revisions share one git
process. Knows nothing of commits: a tree's answer depends on its files only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tracker.evidence.rebase import Flag, Outcome
from tracker.git.quarantine import Quarantine
from tracker.progress import SILENT, Progress
from tracker.series.judging import Judge
from tracker.series.merging import Merger
from tracker.series.pinned import Base, Step, new_paths, step_on, touched_paths
from tracker.series.reading import Member, Series
from tracker.series.relocating import Finder
from tracker.series.renames import Move
from tracker.series.resolutions import Resolutions
from tracker.series.trees import Tree, read_tree
from tracker.series.verdicts import Job, Judged

# The best answer first: what is compared when no form of a patch is clean and unflagged.
_RANK = tuple(Outcome)


@dataclass(frozen=True, slots=True)
class Target:
    """An upstream tree. ``lacks``: whether none of its files holds the symbol.

    ``find``: its files that define a function; None: a patch does not follow a function into
    another file, because the answer would depend on every file of the tree.
    """

    tree: Tree
    moves: Mapping[str, Move] = field(default_factory=dict)
    lacks: Callable[[str], bool] = lambda _symbol: False
    find: Finder | None = None


@dataclass(frozen=True, slots=True)
class MemberJudged:
    """One patch of the series on one target. ``form``: index of the form that was used.

    ``before``: the tree that it met in series. ``alone`` None: it requires another.
    ``absent``: the symbol without which it is not applicable, "" if it is.
    """

    member: Member
    step: Step
    form: int
    before: Tree
    in_series: Judged
    alone: Judged | None
    absent: str = ""


class Engine:
    """A series prepared on its pin."""

    def __init__(
        self,
        quarantine: Quarantine,
        series: Series,
        pin_tree: str,
        resolutions: Resolutions | None = None,
    ) -> None:
        self.quarantine = quarantine
        self.series = series
        self.paths = touched_paths(form for m in series.members for form in m.forms)
        self.arrivals = new_paths(form for m in series.members for form in m.forms)
        self.pin = read_tree(quarantine, pin_tree, self.paths)
        quarantine.ensure(self.pin.blobs())
        self.judge = Judge(Merger(quarantine), resolutions, self.pin, pin_tree)
        self.steps: list[tuple[Step, ...]] = []
        here = self.pin
        for member in series.members:
            tried = [step_on(quarantine, form, here) for form in member.forms]
            self.steps.append(
                tuple(replace(step, is_form=n > 0) for n, (step, _after) in enumerate(tried))
            )
            fitting = (after for step, after in tried if step.base is Base.PIN)
            here = next(fitting, here)
        self.carried = here

    def missing(self, tree: Tree) -> set[str]:
        """The pin's files that ``tree`` has not under the same name."""
        return {path for path in self.paths if self.pin.get(path) and not tree.get(path)}

    def paths_with(self, moves: Mapping[str, Move]) -> set[str]:
        """The series' paths, and where upstream moved them."""
        return self.paths | {move.path for move in moves.values()}

    def judge_all(
        self, targets: Sequence[Target], progress: Progress = SILENT
    ) -> list[list[MemberJudged]]:
        """One list per target, one entry per patch, in series order."""
        self.quarantine.ensure(oid for target in targets for oid in target.tree.blobs())
        results: list[list[MemberJudged]] = [[] for _ in targets]
        here = [target.tree for target in targets]
        for done, (member, steps) in enumerate(zip(self.series.members, self.steps, strict=True)):
            progress.step(done, len(self.steps), member.patch.name)
            trees = [(number, tree) for number, tree in enumerate(here)]
            trees += [(number, target.tree) for number, target in enumerate(targets)]
            self.judge.prepare(
                [Job(step, tree, targets[number].moves) for number, tree in trees for step in steps]
            )
            for number, target in enumerate(targets):
                judged = self._member(member, steps, here[number], target)
                results[number].append(judged)
                here[number] = judged.in_series.after
        return results

    def _member(
        self, member: Member, steps: tuple[Step, ...], here: Tree, target: Target
    ) -> MemberJudged:
        absent = next((name for name in member.entry.needs if target.lacks(name)), "")
        if absent:
            gone = Judged(Outcome.NOT_APPLICABLE, (), (f"{absent} does not exist there",), (), here)
            return MemberJudged(member, steps[0], 0, here, gone, gone, absent)
        tried = [self._form(index, step, here, target) for index, step in enumerate(steps)]
        good = (i for i, j in enumerate(tried) if j.outcome.clean and not j.flags)
        best = min(range(len(tried)), key=lambda i: (_RANK.index(tried[i].outcome), i))
        form = next(good, best)
        alone = None
        if not member.entry.requires:
            alone = self._form(form, steps[form], target.tree, target)
        return MemberJudged(member, steps[form], form, here, tried[form], alone)

    def _form(self, index: int, step: Step, tree: Tree, target: Target) -> Judged:
        judged = self.judge.judge(Job(step, tree, target.moves, target.find))
        if index == 0 or step.base is not Base.NONE:
            return judged
        # Another form is written for another shape of the code, so the pin is no base for it. Its
        # exact context, once, in the function that its hunks name, is proof enough.
        named = all(
            not hunk.label or landed.landed_in is None or _names(hunk.label, landed.landed_in)
            for file, result in zip(step.patch.files, judged.files, strict=True)
            for hunk, landed in zip(file.hunks, result.result.hunks, strict=True)
        )
        if named and judged.outcome.clean:
            flags = tuple(flag for flag in judged.flags if flag is not Flag.NO_BASE)
            return replace(judged, flags=flags)
        return judged


def _names(label: bytes, function: str) -> bool:
    """The text behind ``@@`` mentions the function."""
    return function.rpartition("::")[2].encode() in label
