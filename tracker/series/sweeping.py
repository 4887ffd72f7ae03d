"""The series on every revision of a range, at the price of the distinct contents in it.

Each new combination of contents is judged once; the merges of all combinations share their git
processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tracker.evidence.rebase import Outcome
from tracker.evidence.sweep import Drift, Furthest, PatchBreak, SweepDocument
from tracker.evidence.verdict import Verdict, worst
from tracker.evidence.watch import UpstreamCommit
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.progress import Progress
from tracker.series.engine import Engine, MemberJudged
from tracker.series.history import names_of, pull_request
from tracker.series.mentions import Definers, Mentions
from tracker.series.pinned import touched_paths
from tracker.series.places import Contents, Place, distinct, first_parents, places_of
from tracker.series.reading import Series
from tracker.series.resolutions import Resolutions

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


Answers = tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Swept:
    """The whole range. ``answers``: of every patch, by commit, those of forks too."""

    places: tuple[Place, ...]
    answers: Mapping[str, Answers]
    contents: int
    merges: int

    def answers_at(self, index: int) -> Answers:
        """Of every patch at the revision with that index; 0 is the start."""
        return self.answers[self.places[index].commit]

    def clean(self, index: int) -> bool:
        return all(answer.clean for answer in self.answers_at(index))


def sweep(
    repository: Repository,
    series: Series,
    *,
    from_: str,
    to: str,
    quarantine: Quarantine,
    progress: Progress,
    merges: bool = False,
) -> SweepDocument:
    """Judge ``series``, written for ``from_``, on each first-parent revision up to ``to``.

    ``merges``: on the revisions of merged branches too.

    Raises:
        UsageError: a revision is unknown, or ``from_`` does not lead to ``to``.
    """
    start, end = repository.resolve(from_), repository.resolve(to)
    swept = sweep_range(repository, series, start, end, quarantine, progress, merges=merges)
    return _document(repository, series, start, end, swept, merges=merges)


def sweep_range(
    repository: Repository,
    series: Series,
    start: str,
    end: str,
    quarantine: Quarantine,
    progress: Progress,
    *,
    merges: bool = False,
) -> Swept:
    """Like :func:`sweep` with full ids, returning every revision's answers."""
    engine = Engine(quarantine, series, repository.tree(start), Resolutions(series.folder))
    mentions = Mentions(quarantine, start, end, merges=merges)
    places = places_of(repository, engine, start, end, mentions, merges=merges)
    known: dict[Contents, Answers] = {}
    while True:
        wanted = [contents for contents in distinct(places) if contents not in known]
        asked = _judge(engine, wanted, known, progress)
        if not asked:
            break
        places = _with_definers(places, asked, mentions)
    by_identity = {id(place.contents): place.contents for place in places}
    answers = {number: known[contents] for number, contents in by_identity.items()}
    inside = tuple(place for place in places if not place.fork)
    return Swept(
        places=inside,
        answers={place.commit: answers[id(place.contents)] for place in places},
        contents=len(distinct(inside)),
        merges=engine.judge.merger.merges,
    )


def _judge(
    engine: Engine, wanted: list[Contents], known: dict[Contents, Answers], progress: Progress
) -> dict[Contents, set[str]]:
    """Add the answers; returns the functions that were looked for and are not in the contents."""
    asked: dict[Contents, set[str]] = {}
    for at in range(0, len(wanted), _BATCH):
        progress.step(at, len(wanted), "distinct contents")
        batch = wanted[at : at + _BATCH]
        targets = [replace(one.target(), find=_Recorder(one, asked)) for one in batch]
        for contents, judged in zip(batch, engine.judge_all(targets), strict=True):
            known[contents] = answers_of(judged)
    progress.step(len(wanted), len(wanted), "distinct contents")
    return asked


@dataclass(frozen=True, slots=True)
class _Recorder:
    """Finds what the contents name, and keeps the names that they do not."""

    contents: Contents
    asked: dict[Contents, set[str]]

    def __call__(self, function: str) -> Definers:
        if function not in dict(self.contents.definers):
            self.asked.setdefault(self.contents, set()).add(function)
        return self.contents.find(function)


def _with_definers(
    places: Sequence[Place], asked: dict[Contents, set[str]], mentions: Mentions
) -> list[Place]:
    """The places whose answer looked for a function, with the files that define it there."""
    found = list(places)
    for name in sorted(set().union(*asked.values())):
        concerned = [n for n, p in enumerate(places) if name in asked.get(p.contents, ())]
        files = mentions.definers(name, [places[n].commit for n in concerned])
        for n in concerned:
            contents = found[n].contents
            defined = (*contents.definers, (name, files[places[n].commit]))
            found[n] = replace(found[n], contents=replace(contents, definers=defined))
    return found


def answers_of(judged: Sequence[MemberJudged]) -> Answers:
    return tuple(_answer(member) for member in judged)


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


def commit_of(
    repository: Repository, commit: str, subject: str
) -> UpstreamCommit | Literal["unknown"]:
    """Who changed something; unknown in a history of snapshots."""
    if repository.is_snapshot:
        return "unknown"
    return UpstreamCommit(commit=commit, subject=subject, pr=pull_request(subject))


def _document(
    repository: Repository, series: Series, start: str, end: str, swept: Swept, *, merges: bool
) -> SweepDocument:
    furthest, again = _furthest(swept)
    last = swept.answers[end]
    return SweepDocument(
        verdict=worst(answer.verdict for answer in last) if last else Verdict.OK,
        from_=start,
        to=end,
        revisions=len(swept.places) - 1,
        contents=swept.contents,
        merges=swept.merges,
        breaks=tuple(_breaks(repository, series, swept)),
        furthest=furthest,
        clean_again=again,
        drift=_drift(series, swept),
        snapshot=repository.is_snapshot,
        first_parent=not merges,
    )


def _breaks(repository: Repository, series: Series, swept: Swept) -> list[PatchBreak]:
    """What a merge has from one of its parents is that parent's doing, not the merge's."""
    answers = swept.answers
    turns = [
        (index, member)
        for index, place in enumerate(swept.places)
        if place.parents and all(answers[p] is not answers[place.commit] for p in place.parents)
        for member, after in enumerate(answers[place.commit])
        if after.text not in {answers[p][member].text for p in place.parents}
    ]
    commits = dict.fromkeys(swept.places[index].commit for index, _member in turns)
    named = names_of(repository, list(commits))
    found: list[PatchBreak] = []
    for index, member in turns:
        place = swept.places[index]
        subject, date = named[place.commit]
        before, after = answers[place.parents[0]][member], answers[place.commit][member]
        found.append(
            PatchBreak(
                item=f"patch:{series.members[member].patch.name}",
                from_=place.parents[0],
                to=place.commit,
                commit=commit_of(repository, place.commit, subject),
                date=date,
                before=before.text,
                after=after.text,
                alone=after.alone == after.outcome,
                worse=before.clean if before.clean != after.clean else None,
                why=after.why,
                index=index,
            )
        )
    return found


def _furthest(swept: Swept) -> tuple[Furthest | None, int]:
    """The end of the clean run that begins at the start, and the clean revisions behind it."""
    line = first_parents(swept.places)
    clean = [swept.clean(index) for index in line]
    run = clean.index(False) if False in clean else len(clean)
    if run == 0:
        return None, sum(clean)
    index = line[run - 1]
    return Furthest(commit=swept.places[index].commit, index=index), sum(clean[run:])


def _drift(series: Series, swept: Swept) -> tuple[Drift, ...]:
    files = [dict(contents.files) for contents in distinct(swept.places)]
    found = []
    for number, member in enumerate(series.members):
        paths = sorted(touched_paths([member.patch]))
        touched = [p for p in swept.places if not p.changes.keys().isdisjoint(paths)]
        found.append(
            Drift(
                item=f"patch:{member.patch.name}",
                touched=len(touched),
                contents=len({tuple(map(state.get, paths)) for state in files}),
                answers=len({swept.answers_at(n)[number].text for n in range(len(swept.places))}),
                now=swept.answers_at(-1)[number].text,
            )
        )
    return tuple(found)
