"""The first revision at which the series is not clean any more, at logarithmic cost."""

from __future__ import annotations

from dataclasses import replace

from tracker.evidence.sweep import BisectDocument
from tracker.evidence.verdict import Verdict
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.progress import Progress
from tracker.series.engine import Engine
from tracker.series.history import names_of
from tracker.series.mentions import Mentions, definers
from tracker.series.places import Place, places_of
from tracker.series.reading import Series
from tracker.series.resolutions import Resolutions
from tracker.series.sweeping import Answers, answers_of, commit_of


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
    places = places_of(repository, engine, start, end, Mentions(quarantine, start, end))
    cuts = [
        n for n, p in enumerate(places) if not p.parents or p.contents != places[n - 1].contents
    ]
    tried: dict[int, Answers] = {}

    def clean(number: int) -> bool:
        if number not in tried:
            progress.step(len(tried), None, "revisions tried")
            tried[number] = _judged(engine, repository, places[cuts[number]])
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
            revisions=len(places) - 1,
        )
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if clean(middle) else (good, middle)
    index = cuts[bad]
    first = places[index].commit
    subject, _date = names_of(repository, [first])[first]
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
        commit=commit_of(repository, first, subject),
        first=first,
        last_before=places[index - 1].commit,
        before="clean",
        after=shown(bad),
        tried=len(tried),
        revisions=len(places) - 1,
        items=tuple(broken),
    )


def _judged(engine: Engine, repository: Repository, place: Place) -> Answers:
    """Where a function left its file, the files that define it at this very commit are found.

    Between two cuts others may come to define it; that changes a conflict into `structural` or
    back, and neither is clean, so no break is missed.
    """
    tree = repository.tree(place.commit)
    target = replace(
        place.contents.target(), find=lambda name: definers(engine.quarantine, tree, name)
    )
    return answers_of(engine.judge_all([target])[0])


def _first_bad(series: Series, answers: Answers) -> str:
    pairs = zip(series.members, answers, strict=True)
    return "; ".join(f"{m.patch.name}: {a.text}" for m, a in pairs if not a.clean)
