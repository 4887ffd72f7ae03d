"""Tells upstream's own faults from failures of the patch set. Pure.

A patch names the scenarios that prove it (``proof`` in series.toml). A scenario that goes wrong in
the same places with and without the patches, and that no carried patch is for, says nothing against
the patches: it is told as what it is, never as a pass. So are upstream's warnings where no patch of
the series is for anything that the check looks at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from msgspec.structs import replace

from tracker.evidence.check import CheckDocument, CheckRow
from tracker.evidence.verdict import Verdict, worst


def with_claims(document: CheckDocument, claimed: Collection[str]) -> CheckDocument:
    """``document`` with upstream's own faults marked; ``claimed``: scenarios by name.

    A claim on ``rollback`` holds for both ways in (``rollback-mtmd`` too).
    """
    baselines = {_run(row): row for row in document.rows if row.variant == "baseline"}
    rows = tuple(
        _marked(row, baselines.get(_run(row)), warns=not claimed)
        if row.scenario.removesuffix("-mtmd") not in claimed
        else row
        for row in document.rows
    )
    return replace(document, rows=rows, verdict=worst(row.verdict for row in rows))


def _run(row: CheckRow) -> tuple[str, str, str]:
    return row.scenario, row.arch, row.geometry


def _marked(row: CheckRow, baseline: CheckRow | None, *, warns: bool) -> CheckRow:
    """``row``, marked if all that is wrong with it is wrong without the patches too.

    ``warns``: its warnings may be what is wrong.
    """
    if row.variant != "patched" or row.verdict is not Verdict.FAIL or baseline is None:
        return row
    wrong = {_place(sentence) for sentence in row.broken}
    known = {_place(sentence) for sentence in baseline.broken}
    alike = (
        row.rc == 0
        and row.right is baseline.right is False  # judged, and nothing else was in doubt
        and wrong <= known
        and not Counter(row.warnings) - Counter(baseline.warnings)
        and set(row.reports) <= set(baseline.reports)
        and not (row.compared_with == "baseline" and row.max_abs_diff)
    )
    if not alike or not (wrong or warns):
        return row
    said = (
        f"{len(row.broken)} of {row.facts} facts wrong, {len(baseline.broken)} without the patches"
    )
    if not wrong:
        said = f"warns {len(row.warnings)} times, {len(baseline.warnings)} without the patches"
    why = f"upstream's own fault, and no carried patch is for it: {said}"
    return replace(row, claimed=False, verdict=Verdict.ATTENTION, why=why)


def _place(sentence: str) -> str:
    """The fact's name: the sizes of an error may differ between the variants."""
    return sentence.partition(":")[0]
