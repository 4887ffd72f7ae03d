"""Four-way proof -> three items: are the patches still needed, still enough, harmless?

Answered from {pin, target} x {baseline, patched}. A run that is missing, or proves nothing, makes
an answer unknown; what was seen to be wrong counts all the same. Advisory: what the target itself
shows is judged, and forbids, in the items of the check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tracker.evidence.build import Variant
from tracker.evidence.check import CheckRow
from tracker.evidence.item import Item
from tracker.evidence.verdict import Status
from tracker.report.gathered import Stages
from tracker.report.standing import plural

_SHOWN = 4
# Scenario, model, way in: what the four runs have in common.
_Run = tuple[str, str, str]
_Answer = tuple[Status, str]


@dataclass(frozen=True, slots=True)
class _Side:
    """One revision. ``due``: every run that the proof needs here."""

    name: str
    due: tuple[_Run, ...]
    rows: Mapping[tuple[Variant, _Run], CheckRow]

    def right(self, variant: Variant, run: _Run) -> bool | None:
        """None: no such run, or it proves nothing."""
        row = self.rows.get((variant, run))
        return row.right if row else None

    def having(self, variant: Variant, right: bool | None) -> list[_Run]:
        return [run for run in self.due if self.right(variant, run) is right]

    def cured(self) -> list[_Run]:
        """Wrong without the patches, right with them."""
        return [run for run in self.having("baseline", False) if self.right("patched", run)]

    def insufficient(self) -> list[_Run]:
        """Wrong with the patches, or not even at its end, where they promise better."""
        return [run for run in self.due if _fails(self.rows.get(("patched", run)))]

    def compared(self) -> list[_Run]:
        """The runs whose logits must be, and were, compared with the baseline's."""
        return [run for (variant, run), row in self.rows.items() if _compared(variant, row)]

    def harmed(self) -> list[_Run]:
        """Worse with the patches than without."""
        return [run for run in self.due if self._harmed(run)]

    def _harmed(self, run: _Run) -> bool:
        with_, without = self.rows.get(("patched", run)), self.rows.get(("baseline", run))
        if with_ is None or without is None:
            return False
        differs = _compared("patched", with_) and with_.max_abs_diff != 0
        ended_only_without = without.rc == 0 and with_.rc != 0
        newly = _places(with_) - _places(without) or (without.right and with_.right is False)
        return differs or ended_only_without or bool(newly)

    def counted(self) -> str:
        """``0.3.29: without the patches 41 wrong, 11 right; with them 52 right``."""
        return f"{self.name}: without the patches {self._of('baseline')}; with them " + self._of(
            "patched"
        )

    def _of(self, variant: Variant) -> str:
        words = {False: "wrong", True: "right", None: "unproven"}
        counts = {word: len(self.having(variant, right)) for right, word in words.items()}
        return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "no run"


def items(stages: Stages) -> tuple[Item, ...]:
    """None unless a four-way proof was asked for."""
    if stages.proof is None:
        return ()
    rows = stages.check.rows if stages.check else ()
    due = tuple(dict.fromkeys(_run(row) for row in rows))
    pin, target = (
        _Side(
            revision.name,
            due,
            {(row.variant, _run(row)): row for row in rows if row.revision == revision.commit},
        )
        for revision in (stages.start, stages.target)
    )
    why = stages.proof.why or ("" if rows else stages.why_not("check"))
    questions: tuple[tuple[str, str, tuple[Variant, ...], Callable[[_Side, _Side], _Answer]], ...]
    questions = (
        ("needed", "are the patches still needed?", ("baseline", "patched"), _needed),
        ("enough", "are they still enough?", ("patched",), _enough),
        ("harmless", "are they harmless?", ("baseline", "patched"), _harmless),
    )
    return tuple(
        _item(name, title, _doubted(answer(pin, target), pin, target, variants, why), pin, target)
        for name, title, variants, answer in questions
    )


def _item(name: str, title: str, answer: _Answer, pin: _Side, target: _Side) -> Item:
    return Item(
        id=f"proof:{name}",
        title=title,
        status=answer[0],
        blocking=False,
        summary=answer[1],
        evidence=(pin.counted(), target.counted()),
    )


def _doubted(
    answer: _Answer, pin: _Side, target: _Side, variants: tuple[Variant, ...], why: str
) -> _Answer:
    """``answer``, unless runs that it stands on are missing or prove nothing; a failure stays."""
    if answer[0] is Status.FAIL:
        return answer
    if why:
        return Status.UNKNOWN, why
    gaps = [
        f"{len(missing)} at {side.name}: {_named(missing)}"
        for side in ((pin,) if pin == target else (pin, target))
        if (missing := [run for run in side.due if None in (side.right(v, run) for v in variants)])
    ]
    if gaps:
        return Status.UNKNOWN, f"runs are missing or prove nothing, {', '.join(gaps)}"
    return answer


def _needed(pin: _Side, target: _Side) -> _Answer:
    cured = dict.fromkeys((*pin.cured(), *target.cured()))
    wrong = set(target.having("baseline", False))
    left = [run for run in cured if run in wrong]
    gone = [run for run in cured if run not in wrong]
    if not left:
        return Status.ATTENTION, (
            f"no longer needed: {target.name} is right by itself in all "
            f"{plural(len(gone), 'run')} that the patches cured at {pin.name}"
            if gone
            else "they cure nothing, at the pin as at the target"
        )
    if gone:
        return Status.ATTENTION, (
            f"needed for {plural(len(left), 'run')}, no longer for {len(gone)} that went wrong at "
            f"{pin.name}: {_named(gone)}"
        )
    return Status.PASS, (
        f"without them {len(left)} of {plural(len(target.due), 'run')} go wrong that "
        f"are right with them ({len(pin.cured())} at {pin.name})"
    )


def _enough(pin: _Side, target: _Side) -> _Answer:
    short = target.insufficient()
    if short:
        before = set(pin.insufficient())
        new = [run for run in short if run not in before]
        if new:
            return Status.FAIL, f"no longer enough, wrong since {pin.name}: {_named(new)}"
        return Status.FAIL, f"not enough, as at {pin.name}: {_named(short)}"
    upstreams_own = target.having("patched", False)
    if upstreams_own:
        return Status.ATTENTION, (
            f"enough for what they claim; {plural(len(upstreams_own), 'run')} of "
            f"{len(target.due)} keep a fault of upstream's own "
            f"({len(pin.having('patched', False))} at {pin.name}): {_named(upstreams_own)}"
        )
    return Status.PASS, f"all {plural(len(target.due), 'run')} are right with them"


def _harmless(pin: _Side, target: _Side) -> _Answer:
    harmed = target.harmed()
    if harmed:
        return Status.FAIL, f"worse with them than without: {_named(harmed)}"
    if pin.harmed():
        return (
            Status.ATTENTION,
            f"worse with them at {pin.name}, not now: {_named(pin.harmed())}",
        )
    compared = len(pin.compared()), len(target.compared())
    if not all(compared):
        return Status.UNKNOWN, "no logits were compared with and without them"
    return Status.PASS, (
        f"{plural(compared[1], 'run')} compute the same bits with and without them "
        f"({compared[0]} at {pin.name}), and nothing is wrong only with them"
    )


def _fails(row: CheckRow | None) -> bool:
    """A patched run that shows a wrong result or did not end; upstream's own faults are none."""
    return row is not None and row.claimed and (row.right is False or row.rc != 0)


def _compared(variant: Variant, row: CheckRow) -> bool:
    """Whether the logits were compared with those without the patches."""
    return variant == "patched" and row.compared_with == "baseline"


def _places(row: CheckRow) -> set[str]:
    """What was wrong, without the sizes, which may differ."""
    return {sentence.partition(":")[0] for sentence in row.broken}


def _run(row: CheckRow) -> _Run:
    return row.scenario, row.arch, row.geometry


def _named(runs: Iterable[_Run]) -> str:
    names = list(dict.fromkeys(f"{scenario} ({arch})" for scenario, arch, _ in runs))
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
