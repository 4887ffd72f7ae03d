"""The fuzz of the check: random operations on a memory, judged by the rows that should be left.

Draws, plays and shrinks nothing itself: that is the check program's part (build/probe/fuzz.cpp).
Here stands which sequences are played on which contexts, and what the outcome means. A sequence is
named by seed and number: the number tells its context too, however many are played.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import get_args
from uuid import uuid4

from msgspec.structs import replace as with_fields

from tracker.evidence.build import Variant
from tracker.evidence.check import Instrument
from tracker.evidence.fuzz import (
    FuzzDocument,
    FuzzFailure,
    FuzzKind,
    FuzzKindCount,
    FuzzOperation,
    FuzzRow,
)
from tracker.evidence.verdict import Verdict, worst
from tracker.native.check import programs_in, run_all
from tracker.native.core import BuiltCore
from tracker.native.judge import Digests, Judged, doubts_about, ending, loaded_library
from tracker.native.models import tiny_model
from tracker.native.plan import Run, Subject
from tracker.native.probe import (
    Fuzzed,
    FuzzFailed,
    Limits,
    NotCompiled,
    Program,
    Ran,
)
from tracker.native.reports import place_of
from tracker.progress import SILENT, Progress

#: Of all operations, so many must be executed, else the fuzz proves too little.
LEAST_EXECUTED = 0.8

_KINDS: tuple[FuzzKind, ...] = get_args(FuzzKind)
# The tiny models: of their results, rounding must not choose any.
_MODELS = {"qwen35": "qwen35", "qwen35moe": "qwen35moe-all"}
_PER_RUN = 50
_SHRUNK_PER_KIND = 3
_MOST_SHRUNK = 24
# What the patches are about. A failure without it, the same on the baseline, is upstream's own.
_TAKES_BACK = re.compile(r"\b(?:rm|gap)\(")


@dataclass(frozen=True, slots=True)
class Ground:
    """The context of a sequence. ``n_rs``: snapshots; ``unified``: one stream for all sequences."""

    arch: str
    n_rs: int
    n_ubatch: int
    unified: bool


#: Sequence i is played on the ground i modulo their number. Most have snapshots: without any, a
#: partial removal can only be refused.
GROUNDS = tuple(
    Ground(arch, n_rs, n_ubatch, unified)
    for n_rs, n_ubatch, unified in (
        (4, 8, True),
        (4, 16, True),
        (4, 64, True),
        (4, 8, False),
        (4, 16, False),
        (4, 64, False),
        (0, 8, True),
        (0, 16, False),
    )
    for arch in _MODELS
)


def fuzz(
    cores: Mapping[Variant, BuiltCore],
    *,
    revision: str,
    seed: int,
    sequences: int,
    first: int = 0,
    work: Path,
    limits: Limits,
    instruments: Sequence[Instrument] = (),
    settings: Mapping[str, str] | None = None,
    progress: Progress = SILENT,
) -> FuzzDocument:
    """Play sequences ``first`` to ``first + sequences - 1`` of ``seed`` on every core.

    ``work``: a folder of ours that keeps the models. ``instruments``: what the cores were
    built with. ``settings``: more of the program's: ``fault`` is a mistake on purpose, see
    build/probe/fuzz_play.hpp; ``limit``: seconds for one sequence.

    Raises:
        EnvironmentFault: the compiler cannot be started, or the disk is full.
    """
    started = time.monotonic()
    progress.stage("fuzz")
    extra = (("seed", str(seed)), *(settings or {}).items())
    numbers = range(first, first + sequences)
    with programs_in(cores, work) as (programs, place):
        player = _Player(programs, work / "models", place, limits, progress, extra)
        played = {variant: player.play(variant, numbers) for variant in cores}
        known = frozenset(
            place_of(report) for one in played.get("baseline", ()) for report in one.reports
        )
        rows = tuple(
            _row(variant, core, player, played[variant], len(numbers), known)
            for variant, core in cores.items()
        )
    return FuzzDocument(
        verdict=worst(row.verdict for row in rows),
        revision=revision,
        seed=seed,
        first=first,
        sequences=sequences,
        seconds=round(time.monotonic() - started, 3),
        rows=rows,
        instruments=tuple(instruments),
    )


def runs_of(numbers: range) -> tuple[tuple[Ground, Run], ...]:
    """Runs that together play each sequence of ``numbers`` once."""
    runs = []
    for at, ground in enumerate(GROUNDS):
        mine = [number for number in numbers if number % len(GROUNDS) == at]
        runs += [
            (ground, _run(ground, mine[start], len(mine[start : start + _PER_RUN])))
            for start in range(0, len(mine), _PER_RUN)
        ]
    return tuple(runs)


def _run(ground: Ground, first: int, count: int, **more: int) -> Run:
    """``count`` sequences, all on ``ground``, from number ``first`` on."""
    settings = {
        "n_rs": ground.n_rs,
        "unified": int(ground.unified),
        "first": first,
        "stride": len(GROUNDS),
        "count": count,
        **more,
    }
    words = tuple((key, str(value)) for key, value in settings.items())
    return Run("fuzz", "fuzz", "rows", ground.n_ubatch, words)


@dataclass(frozen=True, slots=True)
class _Player:
    programs: Mapping[Variant, Program | NotCompiled]
    models: Path
    place: Path
    limits: Limits
    progress: Progress
    extra: tuple[tuple[str, str], ...]

    def play(self, variant: Variant, numbers: range) -> list[Ran]:
        """Every sequence once, many in a run."""
        return self._run(variant, runs_of(numbers))

    def shrink(self, variant: Variant, numbers: Iterable[int]) -> list[Ran]:
        """Each sequence in a run of its own, made as short as it can be."""
        grounds = [(number, GROUNDS[number % len(GROUNDS)]) for number in numbers]
        wanted = [(ground, _run(ground, number, 1, shrink=1)) for number, ground in grounds]
        return self._run(variant, wanted)

    def replay(self, variant: Variant, failures: Iterable[FuzzFailure]) -> list[Ran]:
        """The moves that are left of each failure."""
        wanted = [
            (ground, replace(run, settings=(*run.settings, ("moves", one.moves))))
            for one in failures
            for ground in (GROUNDS[one.index % len(GROUNDS)],)
            for run in (_run(ground, one.index, 1),)
        ]
        return self._run(variant, wanted)

    def _run(self, variant: Variant, wanted: Sequence[tuple[Ground, Run]]) -> list[Ran]:
        subjects = [
            Subject(arch, tiny_model(name, self.models).path, runs)
            for arch, name in _MODELS.items()
            if (
                runs := tuple(
                    replace(run, settings=run.settings + self.extra)
                    for ground, run in wanted
                    if ground.arch == arch
                )
            )
        ]
        if not subjects:
            return []
        place = self.place / uuid4().hex
        program = {variant: self.programs[variant]}
        ran = run_all(program, subjects, place, self.limits, self.progress)
        return [one for index in range(len(subjects)) for one in ran[variant, index]]


def _row(
    variant: Variant,
    core: BuiltCore,
    player: _Player,
    ran: Sequence[Ran],
    wanted: int,
    known: Collection[str],
) -> FuzzRow:
    told = [one.said.fuzz for one in ran if one.said is not None and one.said.fuzz is not None]
    failed = sorted(_failures(ran), key=lambda one: one.index)
    shrunk = _shrunk(player, variant, failed)
    own = sum(not one.claimed for one in shrunk)
    judged = next(
        chain(
            _unproven(core, ran),
            _failing(variant, failed, wanted, own),
            _reported(variant, ran, known),
            _too_little(told, wanted),
            _proven(variant, failed, wanted),
        )
    )
    wrong = [one.diff for one in failed if one.kind == "wrong" and isinstance(one.diff, float)]
    cpu = sum(one.cpu_seconds for one in told)
    sequences = sum(one.sequences for one in told)
    return FuzzRow(
        variant=variant,
        verdict=judged.verdict,
        why=judged.why,
        sequences=sequences,
        failed=_counted(failed),
        shortest=_shortest(shrunk),
        operations=_operations(told),
        compared=sum(one.compared for one in told),
        rounding=max((one.rounding for one in told), default=0.0),
        tolerance=max((one.tolerance for one in told), default=0.0),
        narrowest=min(wrong, default=None),
        open=sum(one.open for one in told),
        lucky=sum(one.lucky for one in told),
        per_second=round(sequences / cpu, 1) if cpu else 0.0,
        reports=tuple(dict.fromkeys(report for one in ran for report in one.reports)),
    )


def _unproven(core: BuiltCore, ran: Sequence[Ran]) -> Iterator[Judged]:
    """What keeps a run from proving anything, whatever it counted."""
    digests = Digests({})
    for one in ran:
        if one.said is None:
            yield Judged(Verdict.FAIL, ending(one))
        else:
            yield from doubts_about(one.said, loaded_library(one.said, digests), core)


def _reported(variant: Variant, ran: Sequence[Ran], known: Collection[str]) -> Iterator[Judged]:
    reports = [report for one in ran for report in one.reports]
    new = [report for report in reports if place_of(report) not in known]
    if variant == "patched" and new:
        yield Judged(Verdict.FAIL, f"only with the patches, a sanitizer reports: {new[0]}")
    if reports:
        yield Judged(Verdict.ATTENTION, f"a sanitizer reports of upstream's own: {reports[0]}")


def _failing(
    variant: Variant, failed: Sequence[FuzzFailed], wanted: int, own: int
) -> Iterator[Judged]:
    if variant != "patched" or not failed:
        return
    why = f"{len(failed)} of {wanted} sequences fail: {_words(failed)}"
    if own < len(failed):
        also = f"; {own} of them of upstream's own" if own else ""
        yield Judged(Verdict.FAIL, why + also)
    else:
        yield Judged(Verdict.ATTENTION, f"{why}; upstream's own, the same without the patches")


def _proven(variant: Variant, failed: Sequence[FuzzFailed], wanted: int) -> Iterator[Judged]:
    """On the baseline, failures are what the patches are for."""
    if variant == "patched":
        yield Judged(Verdict.OK, f"0 of {wanted} sequences fail")
    elif not failed:
        yield Judged(Verdict.ATTENTION, "right without the patches: they may be unneeded here")
    else:
        silent = sum(one.kind == "wrong" for one in failed)
        why = f"{silent} of {wanted} sequences give wrong results in silence without the patches"
        yield Judged(Verdict.OK, f"{why} ({_words(failed)})")


def _words(failed: Sequence[FuzzFailed]) -> str:
    return ", ".join(f"{one.kind} {one.sequences}" for one in _counted(failed))


def _too_little(told: Sequence[Fuzzed], wanted: int) -> Iterator[Judged]:
    played = sum(one.sequences for one in told)
    if played < wanted:
        yield Judged(Verdict.UNKNOWN, f"only {played} of {wanted} sequences were played")
    tried, done = (sum(sum(counts.values()) for counts in many) for many in _pairs(told))
    if done < max(1, LEAST_EXECUTED * tried):
        yield Judged(Verdict.UNKNOWN, f"only {done} of {tried} operations were executed")


def _pairs(told: Sequence[Fuzzed]) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
    return [one.tried for one in told], [one.done for one in told]


def _counted(failed: Sequence[FuzzFailed]) -> tuple[FuzzKindCount, ...]:
    by_kind = {kind: [one.index for one in failed if one.kind == kind] for kind in _KINDS}
    return tuple(
        FuzzKindCount(kind=kind, sequences=len(found), first=min(found))
        for kind, found in by_kind.items()
        if found
    )


def _shrunk(
    player: _Player, variant: Variant, failed: Sequence[FuzzFailed]
) -> tuple[FuzzFailure, ...]:
    """Failures made small: of each kind the first few; with the patches all, if not too many."""
    few = failed
    if variant == "baseline" or len(failed) > _MOST_SHRUNK:
        few = [
            one
            for kind in _KINDS
            for one in [one for one in failed if one.kind == kind][:_SHRUNK_PER_KIND]
        ]
    again = {
        one.index: one for one in _failures(player.shrink(variant, [one.index for one in few]))
    }
    found = tuple(_failure(one, again.get(one.index)) for one in few)
    if variant == "baseline" or "baseline" not in player.programs:
        return found
    suspects = [one for one in found if not _TAKES_BACK.search(one.moves)]
    without = {one.index: one for one in _failures(player.replay("baseline", suspects))}
    return tuple(
        with_fields(one, claimed=False)
        if one in suspects and _alike(one, without.get(one.index))
        else one
        for one in found
    )


def _alike(one: FuzzFailure, without: FuzzFailed | None) -> bool:
    return without is not None and (without.kind, without.text) == (one.kind, one.what)


def _failures(ran: Iterable[Ran]) -> list[FuzzFailed]:
    told = [one.said.fuzz for one in ran if one.said is not None and one.said.fuzz is not None]
    return [failure for one in told for failure in one.failures]


def _shortest(found: Sequence[FuzzFailure]) -> tuple[FuzzFailure, ...]:
    """One of each kind, claimed and not."""
    best: dict[tuple[bool, FuzzKind], FuzzFailure] = {}
    for one in sorted(found, key=lambda one: (one.moves.count(";"), one.index)):
        best.setdefault((not one.claimed, one.kind), one)
    return tuple(best[key] for key in sorted(best, key=lambda key: (key[0], _KINDS.index(key[1]))))


def _failure(one: FuzzFailed, again: FuzzFailed | None) -> FuzzFailure:
    ground = GROUNDS[one.index % len(GROUNDS)]
    short = again.shortest if again is not None and again.kind == one.kind else None
    if short is None:
        short, what = one, f"{one.text} (only behind the sequences that were played before)"
    else:
        what = short.text
    return FuzzFailure(
        kind=one.kind,
        index=one.index,
        arch=ground.arch,
        n_rs=ground.n_rs,
        n_ubatch=ground.n_ubatch,
        unified=ground.unified,
        what=what,
        diff=short.diff if isinstance(short.diff, float) and short.diff else None,
        moves=short.moves,
        story=short.story,
    )


def _operations(told: Sequence[Fuzzed]) -> tuple[FuzzOperation, ...]:
    tried, done = _pairs(told)
    names = tried[0] if tried else {}
    return tuple(
        FuzzOperation(
            name=name,
            tried=sum(counts.get(name, 0) for counts in tried),
            done=sum(counts.get(name, 0) for counts in done),
        )
        for name in names
    )
