"""Tells upstream's own faults from failures of the patch set. Pure.

A patch names the scenarios that prove it (``proof`` in series.toml). A scenario that goes wrong in
the same places with and without the patches, and that no carried patch is for, says nothing against
the patches: it is told as what it is, never as a pass.
"""

from __future__ import annotations

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
        _marked(row, baselines.get(_run(row)))
        if row.scenario.removesuffix("-mtmd") not in claimed
        else row
        for row in document.rows
    )
    return replace(document, rows=rows, verdict=worst(row.verdict for row in rows))


def _run(row: CheckRow) -> tuple[str, str, str]:
    return row.scenario, row.arch, row.geometry


def _marked(row: CheckRow, baseline: CheckRow | None) -> CheckRow:
    wrong = {_place(sentence) for sentence in row.broken}
    known = {_place(sentence) for sentence in baseline.broken} if baseline else set()
    same = row.rc == 0 and wrong and wrong <= known
    if row.variant != "patched" or row.verdict is not Verdict.FAIL or not same or not baseline:
        return row
    without = len(baseline.broken)
    return replace(
        row,
        claimed=False,
        verdict=Verdict.ATTENTION,
        why=f"upstream's own fault, and no carried patch is for it: {len(row.broken)} of "
        f"{row.facts} facts wrong, {without} without the patches",
    )


def _place(sentence: str) -> str:
    """The fact's name: the sizes of an error may differ between the variants."""
    return sentence.partition(":")[0]
