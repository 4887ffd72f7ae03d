"""Four-way proof: is the patch set still needed, still enough, harmless?"""

from __future__ import annotations

from dataclasses import replace as with_fields
from typing import Any

import pytest
from msgspec.structs import replace

from tests.report.drawing import drawn
from tests.support import documents
from tracker import report
from tracker.evidence.bump import Proof
from tracker.evidence.check import CheckRow
from tracker.evidence.item import Item
from tracker.evidence.verdict import Status

PIN, TARGET = documents.PIN.commit, documents.TARGET.commit
Place = tuple[str, str, str]
WRONG_OR_DEAD: tuple[dict[str, Any], ...] = (
    {"right": False, "broken": ("off: by 7",)},
    {"right": None, "rc": -11},
)


def bent(place: Place, **changes: Any) -> report.Stages:
    """The four-way stages after one run was changed; ``place``: revision, variant, scenario."""
    stages = documents.four_way()
    assert stages.check is not None

    def at(row: CheckRow) -> CheckRow:
        hit = (row.revision, row.variant, row.scenario) == place and row.arch == "qwen35"
        return replace(row, **changes) if hit else row

    rows = tuple(at(row) for row in stages.check.rows)
    assert rows != stages.check.rows
    return with_fields(stages, check=replace(stages.check, rows=rows))


def answers(stages: report.Stages) -> dict[str, Item]:
    """Question -> item."""
    return {
        name.removeprefix("proof:"): item
        for name, item in drawn(stages).items()
        if name.startswith("proof:")
    }


def test_nothing_is_proven_that_nobody_asked_for() -> None:
    """The default proof looks at the target alone and has no items of its own."""
    assert answers(documents.stages()) == {}


def test_all_three_hold_when_pin_and_target_agree() -> None:
    """12 of 14 runs go wrong without the patches; the text alone never does."""
    found = answers(documents.four_way())
    assert {name: item.status for name, item in found.items()} == {
        "needed": Status.PASS,
        "enough": Status.PASS,
        "harmless": Status.PASS,
    }
    assert "12 of 14 runs go wrong" in found["needed"].summary
    assert "all 14 runs are right with them" in found["enough"].summary
    assert found["enough"].evidence == (
        "0.3.29: without the patches 12 wrong, 2 right; with them 14 right",
        "0.3.36: without the patches 12 wrong, 2 right; with them 14 right",
    )
    assert not any(item.blocking for item in found.values())


def test_what_upstream_cured_itself_is_no_longer_a_need() -> None:
    """One run that is right by itself now is named; if all are, the patches may go."""
    place = (TARGET, "baseline", "image-512")
    found = answers(bent(place, right=True, warnings=()))["needed"]
    assert found.status is Status.ATTENTION
    assert "no longer for 1 that went wrong at 0.3.29: image-512 (qwen35)" in found.summary
    stages = documents.four_way()
    assert stages.check is not None
    cured = tuple(
        replace(row, right=True) if row.revision == TARGET else row for row in stages.check.rows
    )
    stages = with_fields(stages, check=replace(stages.check, rows=cured))
    found = answers(stages)["needed"]
    assert found.status is Status.ATTENTION
    assert "no longer needed: 0.3.36 is right by itself in all 12 runs" in found.summary


def test_patches_that_cure_nothing_anywhere_are_told() -> None:
    """Wrong with and without them, on both sides, is no need for them."""
    stages = documents.four_way()
    assert stages.check is not None
    rows = tuple(replace(row, right=row.scenario == "text") for row in stages.check.rows)
    found = answers(with_fields(stages, check=replace(stages.check, rows=rows)))["needed"]
    assert (found.status, found.summary) == (
        Status.ATTENTION,
        "they cure nothing, at the pin as at the target",
    )


def test_a_patch_that_upstream_outgrew_is_not_enough() -> None:
    """Right at the pin and wrong at the target; a crash is no better than a wrong result."""
    place = (TARGET, "patched", "fork")
    for changes in WRONG_OR_DEAD:
        found = answers(bent(place, **changes))["enough"]
        assert found.status is Status.FAIL
        assert found.summary == "no longer enough, wrong since 0.3.29: fork (qwen35)"


def test_what_never_was_enough_is_not_called_new() -> None:
    """The same run wrong on both sides is told as such."""
    stages = bent((TARGET, "patched", "fork"), right=False)
    assert stages.check is not None
    rows = tuple(
        replace(row, right=False)
        if (row.revision, row.variant, row.scenario, row.arch) == (PIN, "patched", "fork", "qwen35")
        else row
        for row in stages.check.rows
    )
    found = answers(with_fields(stages, check=replace(stages.check, rows=rows)))["enough"]
    assert (found.status, found.summary) == (
        Status.FAIL,
        "not enough, as at 0.3.29: fork (qwen35)",
    )


def test_a_fault_of_upstreams_own_is_not_held_against_the_patches() -> None:
    """It is attention and counted on both sides, never a pass."""
    place = (TARGET, "patched", "rollback")
    found = answers(bent(place, right=False, claimed=False, broken=("rollback of 3: 8",)))
    assert found["enough"].status is Status.ATTENTION
    assert "1 run of 14 keep a fault of upstream's own (0 at 0.3.29)" in found["enough"].summary
    assert found["harmless"].status is Status.PASS


@pytest.mark.parametrize(
    ("scenario", "changes"),
    [
        ("image-512", {"max_abs_diff": 1e-7}),
        ("image-512", {"max_abs_diff": None}),
        ("text", {"right": False}),
        ("text", {"right": None, "rc": -6}),
        ("text", {"right": None, "rc": None}),
        ("fork", {"right": False, "claimed": False, "broken": ("another place: off by 1",)}),
    ],
    ids=["one bit", "no number", "wrong", "signal", "time", "new place"],
)
def test_any_result_that_is_worse_with_the_patches_is_harm(
    scenario: str, changes: dict[str, Any]
) -> None:
    """Other logits, a fault at a new place, an end that was none without them."""
    found = answers(bent((TARGET, "patched", scenario), **changes))["harmless"]
    assert found.status is Status.FAIL
    assert found.summary == f"worse with them than without: {scenario} (qwen35)"


def test_harm_that_only_the_pin_shows_is_attention() -> None:
    """It is over at the target, which is where the pin goes."""
    found = answers(bent((PIN, "patched", "text"), right=False))["harmless"]
    assert found.status is Status.ATTENTION
    assert "worse with them at 0.3.29, not now" in found.summary


@pytest.mark.parametrize("revision", [PIN, TARGET])
@pytest.mark.parametrize(
    ("variant", "unknown"),
    [
        ("baseline", {"needed", "harmless"}),
        ("patched", {"needed", "enough", "harmless"}),
    ],
)
def test_a_run_that_is_missing_or_unproven_leaves_its_questions_open(
    revision: str, variant: str, unknown: set[str]
) -> None:
    """One of 14 is enough; a question that does not stand on it keeps its answer."""
    stages = documents.four_way()
    assert stages.check is not None
    place = (revision, variant, "fork", "qwen35")
    left = tuple(
        row
        for row in stages.check.rows
        if (row.revision, row.variant, row.scenario, row.arch) != place
    )
    assert len(left) == len(stages.check.rows) - 1
    missing = with_fields(stages, check=replace(stages.check, rows=left))
    for gone in (missing, bent((revision, variant, "fork"), right=None)):
        found = answers(gone)
        assert {name for name, item in found.items() if item.status is Status.UNKNOWN} == unknown
        assert "fork (qwen35)" in found["needed"].summary


def test_a_pin_that_was_not_checked_proves_nothing() -> None:
    """The target alone answers none of the three; the reason is said."""
    stages = with_fields(
        documents.stages(),
        proof=Proof(revision=PIN, build=None, why="the pin was not checked: no core"),
    )
    for item in answers(stages).values():
        assert (item.status, item.summary) == (Status.UNKNOWN, "the pin was not checked: no core")


def test_no_check_at_all_is_unknown() -> None:
    """Nothing due is not the same as nothing wrong."""
    proof = Proof(revision=PIN, build=None, why="")
    stages = with_fields(documents.stages(), check=None, proof=proof)
    assert {item.status for item in answers(stages).values()} == {Status.UNKNOWN}


def test_the_three_answers_are_rows_of_every_report() -> None:
    """Terminal, Markdown and HTML; the table of scenarios has a column for each of four cores."""
    document = documents.bump(documents.four_way())
    terminal = report.terminal(document, width=100)
    assert "pass       Four-way proof  needed: without them 12 of 14 runs go" in terminal
    assert "3 further scenarios: 12 → 0 wrong results" in terminal
    sheet = report.markdown(document)
    assert "| scenario | 0.3.29 baseline | 0.3.29 patched | 0.3.36 baseline |" in sheet
    assert "### Four-way proof: 3 pass" in sheet
    page = report.html(document)
    assert 'id="proof"' in page
    assert "14 runs compute the same bits" in page
