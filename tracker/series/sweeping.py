"""The series on every revision of a range, at the price of the distinct contents in it.

The files of the series change rarely: revisions between two changes share one answer. So the range
is listed once, cut at the commits that touch a file of the series, and each new combination of
contents is judged once; the merges of all combinations share their git processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from tracker.errors import UsageError
from tracker.evidence.rebase import Outcome
from tracker.evidence.sweep import BisectDocument, Drift, Furthest, PatchBreak, SweepDocument
from tracker.evidence.verdict import Verdict, worst
from tracker.evidence.watch import UpstreamCommit
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.progress import Progress
from tracker.series.engine import Engine, MemberJudged, Target
from tracker.series.history import Touch
from tracker.series.pinned import touched_paths
from tracker.series.reading import Series
from tracker.series.rebasing import lacks
from tracker.series.renames import Move, Trail
from tracker.series.resolutions import Resolutions
from tracker.series.trees import Slot, Tree, with_parents

_BATCH = 64  # combinations judged together: bounds memory, keeps git processes few


@dataclass(frozen=True, slots=True)
class Answer:
    """One patch at one revision, as far as a break point needs it."""

    outcome: Outcome
    flags: tuple[str, ...]
    alone: str
    verdict: Verdict
    why: str

    @property
    def text(self) -> str:
        return " ".join([self.outcome, *self.flags])

    @property
    def clean(self) -> bool:
        return self.verdict is Verdict.OK


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring revisions whose files of the series are the same.

    ``first``: index in the line of commits; the next stretch's first ends it. ``touch``: the commit
    that began it, None for the start of the range.
    """

    first: int
    touch: Touch | None
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Swept:
    """The whole range. ``commits``: index 0 is the start itself."""

    commits: tuple[str, ...]
    stretches: tuple[Stretch, ...]
    contents: int
    merges: int

    def answers_at(self, index: int) -> tuple[Answer, ...]:
        """Of every patch at the revision ``commits[index]``."""
        return max((s for s in self.stretches if s.first <= index), key=lambda s: s.first).answers


def sweep(
    repository: Repository,
    series: Series,
    *,
    from_: str,
    to: str,
    quarantine: Quarantine,
    progress: Progress,
) -> SweepDocument:
    """Judge ``series``, written for ``from_``, on each first-parent revision up to ``to``.

    Raises:
        UsageError: a revision is unknown, or ``from_`` does not lead to ``to``.
    """
    start, end = repository.resolve(from_), repository.resolve(to)
    swept = sweep_range(repository, series, start, end, quarantine, progress)
    return _document(repository, series, start, end, swept)


def sweep_range(
    repository: Repository,
    series: Series,
    start: str,
    end: str,
    quarantine: Quarantine,
    progress: Progress,
) -> Swept:
    """Like :func:`sweep` with full ids, returning every revision's answers."""
    engine = Engine(quarantine, series, repository.tree(start), Resolutions(series.folder))
    states = _States(repository, engine, start, end)
    cuts = states.cuts()
    commits = states.line()
    index = {commit: number for number, commit in enumerate(commits)}
    wanted: dict[tuple[object, ...], Target] = {}
    keys: list[tuple[int, Touch | None, tuple[object, ...]]] = []
    for touch, target in cuts:
        key = states.key(target)
        wanted.setdefault(key, target)
        keys.append((index[touch.commit] if touch is not None else 0, touch, key))
    answers: dict[tuple[object, ...], tuple[Answer, ...]] = {}
    pending = list(wanted.items())
    for at in range(0, len(pending), _BATCH):
        progress.step(at, len(pending), "distinct contents")
        batch = pending[at : at + _BATCH]
        for (key, _target), judged in zip(
            batch, engine.judge_all([target for _key, target in batch]), strict=True
        ):
            answers[key] = tuple(_answer(member) for member in judged)
    progress.step(len(pending), len(pending), "distinct contents")
    stretches = tuple(Stretch(first, touch, answers[key]) for first, touch, key in keys)
    return Swept(tuple(commits), stretches, len(wanted), engine.judge.merger.merges)


def bisect(
    repository: Repository,
    series: Series,
    *,
    from_: str,
    to: str,
    quarantine: Quarantine,
    progress: Progress,
) -> BisectDocument:
    """The first revision at which the whole series is not clean any more.

    Judges a logarithmic number of the distinct contents. Finds the first break of a series that
    stays broken; if it is clean again in between, one of its breaks.

    Raises:
        UsageError: a revision is unknown, or ``from_`` does not lead to ``to``.
    """
    start, end = repository.resolve(from_), repository.resolve(to)
    engine = Engine(quarantine, series, repository.tree(start), Resolutions(series.folder))
    states = _States(repository, engine, start, end)
    cuts = states.cuts()
    commits = states.line()
    tried: dict[int, tuple[Answer, ...]] = {}

    def clean(number: int) -> bool:
        if number not in tried:
            progress.step(len(tried), None, "revisions tried")
            judged = engine.judge_all([cuts[number][1]])[0]
            tried[number] = tuple(_answer(member) for member in judged)
        return all(answer.clean for answer in tried[number])

    def shown(number: int) -> str:
        return "clean" if clean(number) else _first_bad(series, tried[number])

    good, bad = 0, len(cuts) - 1
    if not clean(good) or clean(bad):
        same = clean(good) == clean(bad)
        return BisectDocument(
            verdict=Verdict.OK if clean(bad) else Verdict.ATTENTION,
            until="rebase",
            from_=start,
            to=end,
            commit=None,
            first=None,
            last_before=None,
            before=shown(good),
            after=shown(good) if same else shown(bad),
            tried=len(tried),
            revisions=len(commits) - 1,
        )
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if clean(middle) else (good, middle)
    touch = cuts[bad][0]
    assert touch is not None  # noqa: S101  (only the first cut has none, and that one is clean)
    place = commits.index(touch.commit)
    broken = [
        f"patch:{member.patch.name}"
        for member, answer in zip(series.members, tried[bad], strict=True)
        if not answer.clean
    ]
    return BisectDocument(
        verdict=Verdict.ATTENTION,
        until="rebase",
        from_=start,
        to=end,
        commit=_commit(repository, touch),
        first=touch.commit,
        last_before=commits[place - 1],
        before="clean",
        after=shown(bad),
        tried=len(tried),
        revisions=len(commits) - 1,
        items=tuple(broken),
    )


class _States:
    """The files of the series along the range, wherever upstream moved them."""

    def __init__(self, repository: Repository, engine: Engine, start: str, end: str) -> None:
        self._repository, self._engine = repository, engine
        self._start, self._end = start, end
        self._trail = Trail(repository, engine.quarantine, start, end)

    def cuts(self) -> list[tuple[Touch | None, Target]]:
        """The start, then every commit that touches a file of the series, with what it left."""
        engine = self._engine
        files: dict[str, Slot | None] = {path: engine.pin.get(path) for path in engine.paths}
        needs = any(member.entry.needs for member in engine.series.members)
        cuts: list[tuple[Touch | None, Target]] = [
            (None, self._target(Tree(files), {}, self._start, needs=needs))
        ]
        for touch, moves in self._trail.walk(engine.paths | self._absent_folders()):
            files = {**files, **touch.changes}
            cuts.append((touch, self._target(Tree(files), moves, touch.commit, needs=needs)))
        return cuts

    def _absent_folders(self) -> set[str]:
        """Folders that added files need and the pin lacks: a file could come to stand there.

        Those that are there must not be asked for: every commit below them would be listed.
        """
        engine = self._engine
        added = {path for path in engine.paths if engine.pin.get(path) is None}
        folders = set(with_parents(added)) - added
        if not folders:
            return set()
        args = ["ls-tree", "-d", "-z", "--name-only", self._repository.tree(self._start), "--"]
        there = engine.quarantine.git([*args, *sorted(folders)]).stdout.split(b"\0")
        return folders - {name.decode("utf-8", "surrogateescape") for name in there}

    def _target(self, tree: Tree, moves: Mapping[str, Move], commit: str, *, needs: bool) -> Target:
        if not needs:
            return Target(tree, moves)
        whole = self._repository.tree(commit)
        return Target(tree, moves, cache(lambda name: lacks(self._engine.quarantine, whole, name)))

    def line(self) -> list[str]:
        """The start and every commit of the range; call ``cuts`` first.

        Raises:
            UsageError: the end is not newer than the start.
        """
        if self._start != self._end and not self._trail.commits:
            raise UsageError(
                "the range is empty: its end is not newer than its start",
                where=f"{self._start}..{self._end}",
                next_step="give the older revision first",
            )
        if self._trail.commits:
            self._refuse_another_line(self._trail.commits[0])
        return [self._start, *self._trail.commits]

    def _refuse_another_line(self, first: str) -> None:
        """The first commit must stand on the start: its changes are counted from there."""
        parent = self._repository.resolve(f"{first}^1")
        if parent != self._start:
            raise UsageError(
                "the start is not on the first-parent line that leads to the end",
                where=f"{self._start}..{self._end}",
                next_step=f"start at {parent}, where the line leaves it; `rebase` judges any "
                "two revisions",
            )

    def key(self, target: Target) -> tuple[object, ...]:
        """Two targets with the same key have the same answer."""
        needs = tuple(
            (name, target.lacks(name))
            for m in self._engine.series.members
            for name in m.entry.needs
        )
        paths = sorted(self._engine.paths | {move.path for move in target.moves.values()})
        blocked = tuple(path for path in paths if target.tree.blocked(path))
        moves = tuple(sorted((old, move.path) for old, move in target.moves.items()))
        return (tuple(target.tree.get(path) for path in paths), blocked, moves, needs)


def _answer(member: MemberJudged) -> Answer:
    judged = member.in_series
    if judged.outcome is Outcome.CONFLICT:
        verdict = Verdict.CONFLICT
    elif judged.outcome is Outcome.UNUSABLE:
        verdict = Verdict.ERROR
    elif judged.outcome is Outcome.NOT_APPLICABLE or (judged.outcome.clean and not judged.flags):
        verdict = Verdict.OK
    else:
        verdict = Verdict.ATTENTION
    alone = member.alone.outcome if member.alone is not None else judged.outcome
    return Answer(judged.outcome, judged.flags, alone, verdict, "; ".join(judged.why))


def _first_bad(series: Series, answers: tuple[Answer, ...]) -> str:
    pairs = zip(series.members, answers, strict=True)
    return "; ".join(f"{m.patch.name}: {a.text}" for m, a in pairs if not a.clean)


def _commit(repository: Repository, touch: Touch) -> UpstreamCommit | Literal["unknown"]:
    if repository.is_snapshot:
        return "unknown"
    return UpstreamCommit(commit=touch.commit, subject=touch.subject, pr=touch.pr)


def _document(
    repository: Repository, series: Series, start: str, end: str, swept: Swept
) -> SweepDocument:
    snapshot = repository.is_snapshot
    breaks: list[PatchBreak] = []
    for old, new in zip(swept.stretches, swept.stretches[1:], strict=False):
        touch = new.touch
        assert touch is not None  # noqa: S101  (only the first stretch has none)
        for member, before, after in zip(series.members, old.answers, new.answers, strict=True):
            if before.text == after.text:
                continue
            commit: UpstreamCommit | Literal["unknown"] = "unknown"
            if not snapshot:
                commit = UpstreamCommit(commit=touch.commit, subject=touch.subject, pr=touch.pr)
            breaks.append(
                PatchBreak(
                    item=f"patch:{member.patch.name}",
                    from_=swept.commits[new.first - 1],
                    to=touch.commit,
                    commit=commit,
                    date=touch.date,
                    before=before.text,
                    after=after.text,
                    alone=after.alone == after.outcome,
                    worse=before.clean if before.clean != after.clean else None,
                    why=after.why,
                    index=new.first,
                )
            )
    furthest, again = _furthest(swept)
    last = swept.stretches[-1].answers
    return SweepDocument(
        verdict=worst(answer.verdict for answer in last) if last else Verdict.OK,
        from_=start,
        to=end,
        revisions=len(swept.commits) - 1,
        contents=swept.contents,
        merges=swept.merges,
        breaks=tuple(breaks),
        furthest=furthest,
        clean_again=again,
        drift=_drift(series, swept),
        snapshot=snapshot,
    )


def _furthest(swept: Swept) -> tuple[Furthest | None, int]:
    """The end of the clean run that begins at the start, and the clean revisions behind it."""
    stretches = swept.stretches
    ends = [*(s.first for s in stretches[1:]), len(swept.commits)]
    clean = [all(answer.clean for answer in s.answers) for s in stretches]
    if not clean[0]:
        return None, sum(
            end - s.first for s, end, ok in zip(stretches, ends, clean, strict=True) if ok
        )
    run = clean.index(False) if False in clean else len(clean)
    index = ends[run - 1] - 1
    rest = zip(stretches[run:], ends[run:], clean[run:], strict=True)
    return Furthest(commit=swept.commits[index], index=index), sum(
        end - s.first for s, end, ok in rest if ok
    )


def _drift(series: Series, swept: Swept) -> tuple[Drift, ...]:
    found = []
    for number, member in enumerate(series.members):
        paths = touched_paths([member.patch])
        touched = [
            s for s in swept.stretches if s.touch is not None and paths & s.touch.changes.keys()
        ]
        states: set[tuple[tuple[str, Slot | None], ...]] = set()
        files: dict[str, Slot | None] = {}
        for stretch in touched:
            assert stretch.touch is not None  # noqa: S101  (filtered above)
            files.update({p: s for p, s in stretch.touch.changes.items() if p in paths})
            states.add(tuple(sorted(files.items(), key=lambda item: item[0])))
        answers = {stretch.answers[number].text for stretch in swept.stretches}
        found.append(
            Drift(
                item=f"patch:{member.patch.name}",
                touched=len(touched),
                contents=len(states) + 1,
                answers=len(answers),
                now=swept.stretches[-1].answers[number].text,
            )
        )
    return tuple(found)
