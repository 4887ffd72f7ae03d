from __future__ import annotations

import datetime
from dataclasses import replace as with_fields
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support import documents
from tracker import report
from tracker.errors import ConfigError, UsageError
from tracker.evidence.item import Item
from tracker.evidence.rebase import Flag
from tracker.evidence.verdict import Verdict
from tracker.report import decisions
from tracker.report.decisions import Acceptance

TODAY = datetime.date(2026, 12, 1)


def flagged(*flags: Flag) -> tuple[Item, ...]:
    """A run in which the patch is flagged, so that the move is forbidden."""
    patch = replace(documents.patch(), flags=flags)
    stages = with_fields(documents.stages(), rebase=documents.rebase(patch))
    return report.items(documents.config(), stages)


PATCH = f"patch:{documents.PATCH}"


def test_a_decision_lets_the_pin_move_and_stays_visible(tmp_path: Path) -> None:
    """An accepted item keeps its status and its sentence, and no longer forbids."""
    items = flagged(Flag.SCOPE_CHANGED)
    assert report.forbidden_by(items) == (PATCH,)
    taken = decisions.decide(items, [Acceptance(PATCH, "read it,  fits\n")], TODAY)
    file = tmp_path / "decisions.toml"
    decisions.record(file, taken)
    decided = decisions.apply(items, decisions.read(file))
    assert report.forbidden_by(decided) == ()
    assert report.conclusion(decided, None) is Verdict.OK
    (item,) = (item for item in decided if item.id == PATCH)
    (before,) = (item for item in items if item.id == PATCH)
    assert item.accepted == "read it, fits (2026-12-01)"
    assert (item.status, item.summary) == (before.status, before.summary)


def test_other_evidence_asks_again_and_shows_the_old_reason() -> None:
    """A second flag is other evidence: the acceptance lapses and the item forbids again."""
    taken = decisions.decide(flagged(Flag.SCOPE_CHANGED), [Acceptance(PATCH, "fits")], TODAY)
    later = decisions.apply(flagged(Flag.SCOPE_CHANGED, Flag.SILENT_REVERT), taken)
    assert report.forbidden_by(later) == (PATCH,)
    (item,) = (item for item in later if item.id == PATCH)
    assert (item.accepted, item.lapsed) == ("", "fits (2026-12-01)")


def test_a_decision_about_a_patch_holds_for_one_result() -> None:
    """The same flag on another result tree (the patch was edited, upstream went on) asks again."""
    patch = replace(documents.patch(), flags=(Flag.SCOPE_CHANGED,))
    rebase = documents.rebase(patch)
    stages = with_fields(documents.stages(), rebase=rebase)
    config = documents.config()
    taken = decisions.decide(report.items(config, stages), [Acceptance(PATCH, "fits")], TODAY)
    assert report.forbidden_by(decisions.apply(report.items(config, stages), taken)) == ()
    other = with_fields(stages, rebase=replace(rebase, tree="77" * 20))
    assert report.forbidden_by(decisions.apply(report.items(config, other), taken)) == (PATCH,)


@pytest.mark.parametrize("stage", ["build", "check", "watch"])
def test_an_accepted_gap_holds_for_one_target(stage: str) -> None:
    """A stage that did not run may be accepted for this target, never for those that follow."""
    config = documents.config()
    stages = with_fields(documents.stages(), **{stage: None}, not_run={stage: "no compiler"})  # type: ignore[arg-type]
    items = report.items(config, stages)
    gaps = report.forbidden_by(items)
    assert gaps
    taken = decisions.decide(items, [Acceptance(gap, "by hand") for gap in gaps], TODAY)
    assert report.forbidden_by(decisions.apply(items, taken)) == ()
    later = with_fields(stages, target=replace(stages.target, commit="77" * 20))
    assert report.forbidden_by(decisions.apply(report.items(config, later), taken)) == gaps


def test_a_decision_due_at_every_bump_holds_for_one_target() -> None:
    """Fork-fidelity is asked again when the target moves; the discriminator run is not."""
    stages = documents.stages()
    next_target = replace(stages.target, commit="77" * 20)
    config = documents.config()
    names = ("human:fork-fidelity", "human:discriminator")
    taken = decisions.decide(
        report.items(config, stages), [Acceptance(name, "done") for name in names], TODAY
    )
    moved = report.items(config, with_fields(stages, target=next_target))
    by_id = {item.id: item for item in decisions.apply(moved, taken)}
    assert by_id["human:fork-fidelity"].lapsed
    assert by_id["human:discriminator"].accepted


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Acceptance("region:find_slto", "x"), "no such item"),
        (Acceptance("human:decision", "  \n"), "needs a reason"),
    ],
)
def test_a_senseless_acceptance_is_refused(wanted: Acceptance, said: str) -> None:
    """An unknown item and an empty reason are usage errors."""
    items = report.items(documents.config(), documents.stages())
    with pytest.raises(UsageError, match=said) as caught:
        decisions.decide(items, [wanted], TODAY)
    if said == "no such item":
        assert "region:find_slot" in caught.value.next_step


def test_what_passes_needs_no_decision() -> None:
    """A run that took minutes is not thrown away for one acceptance too many."""
    items = report.items(documents.config(), documents.stages())
    wanted = [Acceptance("region:find_slot", "x"), Acceptance("region:seq_rm", "read it")]
    assert [one.item for one in decisions.decide(items, wanted, TODAY)] == ["region:seq_rm"]


def test_recording_keeps_comments_and_other_entries(tmp_path: Path) -> None:
    """Only the entry about the same item is replaced."""
    file = tmp_path / "decisions.toml"
    file.write_text(
        "# ours\n\n[[decision]]\nitem = 'human:decision' # carried\nbecause = 'old'\n"
        "date = 2026-01-02\ndigest = 'aa'\n\n[[decision]]\nitem = 'region:seq_rm'\n"
        "because = 'read'\ndate = 2026-01-03\ndigest = 'bb'\n"
    )
    items = report.items(documents.config(), documents.stages())
    decisions.record(file, decisions.decide(items, [Acceptance("human:decision", "carry")], TODAY))
    found = {decision.item: decision for decision in decisions.read(file)}
    assert found["human:decision"].because == "carry"
    assert found["region:seq_rm"].because == "read"
    assert len(found) == 2
    assert file.read_text().startswith("# ours\n")


def test_a_reason_is_text_whatever_it_holds(tmp_path: Path) -> None:
    """Quotes, back-slashes and brackets in a reason neither break the file nor change in it."""
    reason = 'it\'s "fine" \\ ]] = [[decision]] # no'
    file = tmp_path / "decisions.toml"
    items = report.items(documents.config(), documents.stages())
    decisions.record(file, decisions.decide(items, [Acceptance("human:decision", reason)], TODAY))
    assert decisions.read(file)[0].because == reason


def test_no_file_is_no_decision(tmp_path: Path) -> None:
    """A patch set without decisions is usual."""
    assert decisions.read(tmp_path / "decisions.toml") == ()


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[[decision]\n", ":1"),
        ("[[decision]]\nitem = 'a'\nbecause = 'b'\ndate = 'soon'\ndigest = 'c'\n", ":4"),
        ("[[decision]]\nitem = 'a'\n", "decisions.toml"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, text: str, where: str) -> None:
    """Nothing is guessed from a file that can't be read whole, and it is not overwritten."""
    file = tmp_path / "decisions.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        decisions.read(file)
    assert where in caught.value.where
    items = report.items(documents.config(), documents.stages())
    taken = decisions.decide(items, [Acceptance("human:decision", "x")], TODAY)
    with pytest.raises(ConfigError):
        decisions.record(file, taken)
    assert file.read_text() == text


@pytest.mark.parametrize(
    "wanted", ["human:decisoin", "regoin:find_slot", "find_slot", "check:", ""]
)
def test_a_mistyped_name_is_refused_before_the_work(wanted: str) -> None:
    """What cannot come out of any run is refused at once; what only a run can know is not."""
    with pytest.raises(UsageError, match="no such item") as caught:
        decisions.refuse_impossible(documents.config(), [Acceptance(wanted, "x")])
    if wanted == "human:decisoin":
        assert "human:decision" in caught.value.next_step
    possible = [Acceptance(item, "x") for item in ("patch:0009-new.patch", "human:decision")]
    decisions.refuse_impossible(documents.config(), possible)
