"""The first revision of a range at which the core builds or behaves otherwise than at its start.

Each step builds (and checks) one revision as `build` and `check` do. Cores, and checks that passed,
are kept by content, so a bisection that was interrupted goes on where it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tracker import upstream
from tracker.config import Config
from tracker.cores import VARIANTS, check_cores, sources
from tracker.evidence.build import BuildDocument
from tracker.evidence.check import CheckDocument, CheckRow
from tracker.evidence.sweep import BisectDocument
from tracker.evidence.verdict import Verdict, worst
from tracker.progress import Progress
from tracker.series.history import list_range, names_of, refuse_another_line
from tracker.series.sweeping import commit_of

CHECK_RECIPE = "check"
Until = Literal["build", "check"]

_DID = {True: "right", False: "wrong", None: "not proven"}
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Said:
    """Of one item. ``why`` tells no answers apart: it names lines and numbers of one revision."""

    verdict: Verdict
    did: str = ""
    why: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.verdict} ({self.did or self.why})" if self.did or self.why else self.verdict


#: By item, e.g. ``check:image-512/patched``.
Answer = Mapping[str, Said]


def bisect(config: Config, until: Until, from_: str, to: str, progress: Progress) -> BisectDocument:
    """The first revision whose answer is not the start's, at a logarithmic number of builds.

    Finds the first change of an answer that stays changed; if it comes and goes, one of its
    changes. A core that cannot be built is an answer of its own.

    Raises:
        UsageError: a revision is unknown, or ``from_`` does not lead to ``to``.
        EnvironmentFault: no compiler, a full or read-only disk.
    """
    with upstream.open_repository(config) as repository:
        start = upstream.resolve(repository, from_, config).commit
        end = upstream.resolve(repository, to, config).commit
        line = list_range(repository, start, end, ())
        refuse_another_line(line, start, end)
        revisions = [start, *(revision.commit for revision in line)]
        tried: dict[int, Answer] = {}

        def answer(number: int) -> Answer:
            if number not in tried:
                progress.step(len(tried), None, f"tried, now {revisions[number][:12]}")
                tried[number] = _try(config, until, revisions[number], progress)
            return tried[number]

        good, bad = 0, len(line)
        before, changed = answer(good), answer(good) != answer(bad)
        while changed and bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if answer(middle) == before else (good, middle)
        after, first = answer(bad), revisions[bad]
        items = [item for item in {**before, **after} if before.get(item) != after.get(item)]
        subject, _date = names_of(repository, [first])[first]
        return BisectDocument(
            verdict=_verdict(before, after, items),
            until=until,
            from_=start,
            to=end,
            commit=commit_of(repository, first, subject) if changed else None,
            first=first if changed else None,
            last_before=revisions[bad - 1] if changed else None,
            before=_shown(before, items),
            after=_shown(after, items),
            tried=len(tried),
            revisions=len(line),
            items=tuple(items),
        )


def _try(config: Config, until: Until, commit: str, progress: Progress) -> Answer:
    with sources(config, commit, VARIANTS, progress) as found:
        built, cores = found.build(CHECK_RECIPE, progress)
        if until == "build" or not cores:
            return _built(built)
        done = check_cores(config, cores, found.revision.commit, found.claimed, progress)
    unbuilt = {item: said for item, said in _built(built).items() if said.verdict is not Verdict.OK}
    return {**unbuilt, **_checked(done)}


def _built(document: BuildDocument) -> Answer:
    found = {
        f"build:{one.variant}": Said(one.verdict, why=next(iter(one.errors), one.why))
        for one in document.variants
    }
    for built in document.downstream:
        found[f"build:{built.name}"] = Said(built.verdict, why=built.why)
    return found


def _checked(document: CheckDocument) -> Answer:
    groups: dict[str, list[CheckRow]] = {}
    for row in document.rows:
        groups.setdefault(f"check:{row.scenario}/{row.variant}", []).append(row)
    return {
        item: Said(worst(row.verdict for row in rows), _DID[_right([row.right for row in rows])])
        for item, rows in groups.items()
    }


def _right(rows: list[bool | None]) -> bool | None:
    """Of all models: wrong if one was, proven only if all were."""
    if False in rows:
        return False
    return None if None in rows else True


def _verdict(before: Answer, after: Answer, items: list[str]) -> Verdict:
    """A change that rests on an answer which is unknown is not known to be one."""
    if not items:
        whole = worst(said.verdict for said in after.values())
        return whole if whole in (Verdict.OK, Verdict.UNKNOWN) else Verdict.ATTENTION
    sides = (answer[item].verdict for answer in (before, after) for item in items if item in answer)
    return Verdict.UNKNOWN if Verdict.UNKNOWN in sides else Verdict.ATTENTION


def _shown(answer: Answer, items: list[str]) -> str:
    """The items that differ; where none does, those that are not ok."""
    bad = [item for item, said in answer.items() if said.verdict is not Verdict.OK]
    told = items or bad
    parts = [f"{item} {answer.get(item, 'not there')}" for item in told[:_SHOWN]]
    more = [f"{len(told) - _SHOWN} more"] if len(told) > _SHOWN else []
    return "; ".join([*parts, *more]) or "ok"
