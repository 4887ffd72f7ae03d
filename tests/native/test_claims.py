"""Upstream's own faults are told apart from failures of the patch set, and never pass."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.support import documents
from tracker.evidence.check import CheckDocument, CheckRow, Warned
from tracker.evidence.verdict import Verdict
from tracker.native.claims import with_claims

WRONG = ("2 of 6 tokens: logits off by 2.76", "whole ubatch: answered true, right is false")


def row(variant: str, *broken: str, scenario: str = "rollback", rc: int = 0) -> CheckRow:
    made = documents.row("qwen35", variant, 512)  # type: ignore[arg-type]
    verdict = Verdict.FAIL if variant == "patched" and broken else Verdict.OK
    return replace(
        made,
        scenario=scenario,
        broken=broken,
        facts=34,
        rc=rc,
        verdict=verdict,
        why="wrong",
        right=not broken,
        warnings=(),
    )


def stormy(variant: str, times: int = 2, **changes: object) -> CheckRow:
    """A row whose only fault are its warnings."""
    warned = tuple(Warned(position=9 + n, after=8, sequence=0, n_tokens=4) for n in range(times))
    verdict = Verdict.FAIL if variant == "patched" else Verdict.OK
    return replace(
        row(variant), **{"warnings": warned, "right": False, "verdict": verdict} | changes
    )


def marked(claimed: set[str], *rows: CheckRow) -> tuple[CheckDocument, CheckRow]:
    document = with_claims(documents.check(*rows), claimed)
    return document, document.rows[-1]


def test_the_same_fault_on_both_sides_is_upstreams_own() -> None:
    """The sizes may differ, the places may not; it is attention, not a pass."""
    document, patched = marked(
        set(), row("baseline", *WRONG), row("patched", WRONG[0].replace("2.76", "3.1"))
    )
    assert (patched.verdict, patched.claimed) == (Verdict.ATTENTION, False)
    assert "1 of 34 facts wrong, 2 without" in patched.why
    assert document.verdict is Verdict.ATTENTION


@pytest.mark.parametrize(
    ("claimed", "baseline", "patched"),
    [
        ({"rollback"}, row("baseline", *WRONG), row("patched", *WRONG)),
        (set(), row("baseline", WRONG[1]), row("patched", *WRONG)),
        (set(), row("baseline"), row("patched", *WRONG)),
        (set(), row("baseline", *WRONG), row("patched", *WRONG, rc=-6)),
        (set(), row("baseline", *WRONG, scenario="fork"), row("patched", *WRONG)),
    ],
    ids=["claimed", "new place", "right before", "crash", "no baseline"],
)
def test_anything_else_stays_a_failure(
    claimed: set[str], baseline: CheckRow, patched: CheckRow
) -> None:
    """A claimed scenario, a new wrong place, a crash: the patch set's own failure."""
    document, after = marked(claimed, baseline, patched)
    assert after == patched
    assert document.verdict is Verdict.FAIL


def test_a_series_that_is_for_nothing_here_is_not_blamed_for_upstreams_warnings() -> None:
    """Two patches of somebody else's: the storm is upstream's, and theirs to carry on with."""
    document, patched = marked(set(), stormy("baseline"), stormy("patched"))
    assert (patched.verdict, patched.claimed) == (Verdict.ATTENTION, False)
    assert "warns 2 times, 2 without the patches" in patched.why
    assert document.verdict is Verdict.ATTENTION


@pytest.mark.parametrize(
    ("claimed", "baseline", "patched"),
    [
        ({"image"}, stormy("baseline"), stormy("patched")),
        (set(), stormy("baseline"), stormy("patched", times=3)),
        (set(), stormy("baseline"), stormy("patched", right=None)),
        (set(), stormy("baseline"), stormy("patched", max_abs_diff=0.5, compared_with="baseline")),
        (set(), stormy("baseline"), stormy("patched", reports=("x.cpp:1: overflow",))),
        (set(), row("baseline", *WRONG), replace(row("patched", *WRONG), right=None)),
    ],
    ids=["for something", "more warnings", "in doubt", "other logits", "a report", "doubt"],
)
def test_a_series_is_blamed_for_whatever_else_is_wrong(
    claimed: set[str], baseline: CheckRow, patched: CheckRow
) -> None:
    """Of a run that is in doubt nothing is upstream's own."""
    assert marked(claimed, baseline, patched)[1] == patched


def test_a_claim_holds_for_both_ways_in() -> None:
    """Who proves rollback proves it through mtmd too."""
    rows = [row(side, *WRONG, scenario="rollback-mtmd") for side in ("baseline", "patched")]
    assert marked({"rollback"}, *rows)[1].claimed
    assert not marked(set(), *rows)[1].claimed
