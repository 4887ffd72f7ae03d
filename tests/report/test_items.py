from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.report.drawing import bent, drawn
from tests.support import documents
from tracker import config as configuration
from tracker import report
from tracker.config import Config
from tracker.evidence.item import Item
from tracker.evidence.pins import PinRead
from tracker.evidence.rebase import Culprit, Flag, Outcome, RebaseDocument
from tracker.evidence.tickets import TicketOutcome, TicketsDocument
from tracker.evidence.verdict import Status, Verdict
from tracker.evidence.watch import MemoryClass, RegionStatus, RoutingStatus


def with_rule(*, blocking: tuple[str, ...] = (), advisory: tuple[str, ...] = ()) -> Config:
    config = documents.config()
    return replace(
        config, checklist=replace(config.checklist, blocking=blocking, advisory=advisory)
    )


def patch_item(outcome: Outcome, *flags: Flag) -> Item:
    patch = replace(documents.patch(outcome=outcome), flags=flags)
    return drawn(bent(rebase=documents.rebase(patch)))[f"patch:{documents.PATCH}"]


def test_the_real_run_may_move() -> None:
    """0.3.29 -> 0.3.36: nothing blocking stands against it, and the rest is shown."""
    found = report.items(documents.config(), documents.stages())
    assert report.forbidden_by(found) == ()
    assert report.conclusion(found, documents.rebase()) is Verdict.OK
    by_id = {item.id: item for item in found}
    assert by_id["region:find_slot"].status is Status.PASS
    assert by_id["region:seq_rm"].status is Status.ATTENTION
    assert by_id["routing:qwen35/default"].status is Status.ATTENTION
    assert not by_id["routing:qwen35/default"].blocking
    assert by_id["check:image-512/baseline"].summary.startswith("warns 6 times")
    assert "bit-equal" in by_id["check:image-512/patched"].summary


@pytest.mark.parametrize("stage", ["rebase", "watch", "tickets", "build", "check"])
def test_a_stage_that_did_not_run_is_unknown_and_says_why(stage: str) -> None:
    """Leaving a stage out never makes an item pass, and its reason is in every one of its items."""
    kinds = {
        "rebase": {"patch"},
        "watch": {"region", "routing"},
        "tickets": {"ticket"},
        "build": {"build"},
        "check": {"check"},
    }[stage]
    found = drawn(bent(**{stage: None}, not_run={stage: "the disk was full"}))
    of_stage = [item for item in found.values() if item.kind in kinds]
    assert of_stage
    for item in of_stage:
        assert item.status is Status.UNKNOWN
        assert "the disk was full" in item.summary
        assert item.reproduce
    assert any(item.forbids for item in of_stage) == (stage != "tickets")


def test_without_a_reason_an_absent_stage_still_says_something() -> None:
    """A caller that forgets the reason does not produce an empty sentence."""
    assert "not part of this run" in drawn(bent(build=None))["build:patched"].summary


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.UNCHANGED, Status.PASS),
        (Outcome.OFFSET, Status.PASS),
        (Outcome.MERGED, Status.PASS),
        (Outcome.STRUCTURAL, Status.ATTENTION),
        (Outcome.UPSTREAMED, Status.ATTENTION),
        (Outcome.PARTLY_UPSTREAMED, Status.ATTENTION),
        (Outcome.CONFLICT, Status.FAIL),
        (Outcome.UNUSABLE, Status.FAIL),
        (Outcome.NOT_APPLICABLE, Status.PASS),
    ],
)
def test_the_status_of_a_patch_follows_its_outcome(outcome: Outcome, status: Status) -> None:
    """Only a textually clean patch, or one whose code does not exist, passes by itself."""
    item = patch_item(outcome)
    assert (item.status, item.blocking) == (status, True)


@pytest.mark.parametrize("flag", list(Flag))
def test_a_flagged_patch_needs_a_human(flag: Flag) -> None:
    """A clean outcome with a flag is attention, and the flag is said in words."""
    item = patch_item(Outcome.MERGED, flag)
    assert item.status is Status.ATTENTION
    assert item.forbids
    assert item.summary != patch_item(Outcome.MERGED).summary


def test_a_flag_does_not_soften_a_conflict() -> None:
    """A conflict stays a failure whatever flags it carries."""
    assert patch_item(Outcome.CONFLICT, Flag.SCOPE_CHANGED).status is Status.FAIL


def test_a_conflict_is_the_verdict_and_names_its_culprit() -> None:
    """The bump's verdict is conflict (exit 3), not just fail."""
    patch = replace(
        documents.patch(outcome=Outcome.CONFLICT),
        culprit=Culprit(commit="ab" * 20, subject="memory: rework cells", pr=123),
    )
    rebase = documents.rebase(patch, verdict=Verdict.CONFLICT)
    found = report.items(documents.config(), bent(rebase=rebase))
    assert report.conclusion(found, rebase) is Verdict.CONFLICT
    item = next(item for item in found if item.kind == "patch")
    assert any("memory: rework cells (#123)" in line for line in item.evidence)


def test_a_culprit_that_names_its_pull_request_is_not_given_it_twice() -> None:
    """Squashed subjects end in the number already."""
    patch = replace(
        documents.patch(outcome=Outcome.CONFLICT),
        culprit=Culprit(commit="ab" * 20, subject="memory: rework cells (#123)", pr=123),
    )
    evidence = drawn(bent(rebase=documents.rebase(patch)))[f"patch:{patch.name}"].evidence
    assert "changed upstream by abababababab memory: rework cells (#123)" in evidence


def test_an_empty_series_proves_nothing() -> None:
    """No patch tried is unknown, not a pass."""
    empty = RebaseDocument(verdict=Verdict.OK, from_="a", onto="b", tree="c", patches=())
    assert drawn(bent(rebase=empty))["patch:series"].status is Status.UNKNOWN


def test_a_patch_file_that_the_series_leaves_out_is_shown() -> None:
    """It forbids nothing: to leave it out may be what was meant."""
    beside = replace(documents.rebase(), unnamed=("0009-other.patch",))
    found = drawn(bent(rebase=beside))["patch:0009-other.patch"]
    assert (found.status, found.forbids) == (Status.ATTENTION, False)
    assert "not applied" in found.summary


def test_clean_patches_without_a_tree_prove_nothing() -> None:
    """A rebase that claims success and shows no result does not pass."""
    headless = replace(documents.rebase(), tree=None)
    assert drawn(bent(rebase=headless))["patch:series"].status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (RegionStatus.UNCHANGED, Status.PASS),
        (RegionStatus.COSMETIC, Status.PASS),
        (RegionStatus.MOVED, Status.PASS),
        (RegionStatus.CHANGED, Status.ATTENTION),
        (RegionStatus.MOVED_AND_CHANGED, Status.ATTENTION),
        (RegionStatus.MISSING, Status.FAIL),
        (RegionStatus.UNPARSED, Status.UNKNOWN),
    ],
)
def test_the_status_of_a_region(status: RegionStatus, expected: Status) -> None:
    """Code that could not be read is unknown, never unchanged."""
    watch = documents.watch()
    regions = tuple(replace(region, status=status) for region in watch.regions)
    found = drawn(bent(watch=replace(watch, regions=regions)))
    assert {i.status for i in found.values() if i.kind == "region"} == {expected}
    assert found["region:find_slot"].forbids == (expected is not Status.PASS)
    assert not found["region:seq_rm"].forbids


def test_what_the_watch_document_lacks_is_unknown() -> None:
    """A configured region or routing question that was dropped on the way is not a pass."""
    watch = documents.watch()
    found = drawn(bent(watch=replace(watch, regions=watch.regions[1:], routing=())))
    assert found["region:warn-region"].status is Status.UNKNOWN
    assert found["region:warn-region"].forbids
    assert found["routing:qwen35/default"].status is Status.UNKNOWN
    assert found["routing:qwen35/default"].forbids


def test_a_new_class_is_shown_and_does_not_block() -> None:
    """Where an architecture may go next is worth a look, whoever goes there."""
    watch = documents.watch()
    assert drawn()["routing:classes"].status is Status.PASS
    new = MemoryClass(name="llama_memory_hybrid_idx", change="new", evidence=("a.cpp:7",))
    item = drawn(bent(watch=replace(watch, classes=(new,))))["routing:classes"]
    assert (item.status, item.forbids) == (Status.ATTENTION, False)
    assert item.summary == "new: llama_memory_hybrid_idx"


def test_an_unresolved_routing_is_unknown_and_blocks() -> None:
    """The answer that could not be read is not the answer that did not change."""
    watch = documents.watch()
    lost = replace(watch.routing[0], status=RoutingStatus.UNRESOLVED, to=(), why="a macro")
    item = drawn(bent(watch=replace(watch, routing=(lost, watch.routing[1]))))[
        "routing:qwen35/default"
    ]
    assert (item.status, item.forbids) == (Status.UNKNOWN, True)
    assert "a macro" in item.summary


def test_a_build_without_artefacts_is_unknown() -> None:
    """Nothing to load is nothing built, whatever the verdict says."""
    build = documents.build()
    hollow = replace(build.variants[1], artefacts=())
    found = drawn(bent(build=replace(build, variants=(build.variants[0], hollow))))
    assert found["build:patched"].status is Status.UNKNOWN


def test_a_failed_build_shows_the_compilers_own_line() -> None:
    """The first error of the compiler is the sentence."""
    build = documents.build()
    broken = replace(
        build.variants[1], verdict=Verdict.FAIL, errors=("a.cpp:7: error: no member 'rank'",)
    )
    item = drawn(bent(build=replace(build, variants=(build.variants[0], broken))))["build:patched"]
    assert item.forbids
    assert item.summary == "a.cpp:7: error: no member 'rank'"


def test_a_stage_that_concludes_worse_than_its_parts_gets_an_item() -> None:
    """What only the stage saw is not lost because no part shows it."""
    build = replace(documents.build(), verdict=Verdict.FAIL)
    item = drawn(bent(build=build))["build:stage"]
    assert (item.status, item.forbids) == (Status.FAIL, True)


def test_what_the_poll_says_of_itself_is_shown() -> None:
    """A refused token, a damaged state file: named, though each ticket was read; advisory."""
    tickets = replace(
        documents.tickets(TicketOutcome.UNCHANGED),
        verdict=Verdict.ATTENTION,
        notes=("the token is refused", "o/r is now n/r"),
    )
    found = drawn(bent(tickets=tickets))
    item = found["ticket:poll"]
    assert (item.status, item.blocking) == (Status.ATTENTION, False)
    assert (item.summary, item.evidence) == ("the token is refused", ("o/r is now n/r",))
    assert "ticket:stage" not in found


def test_tickets_never_forbid() -> None:
    """Upstream threads are advisory whatever happens to them."""
    for outcome in TicketOutcome:
        found = drawn(bent(tickets=documents.tickets(outcome)))
        assert not any(item.forbids for item in found.values() if item.kind == "ticket")


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (TicketOutcome.POLLED, Status.PASS),
        (TicketOutcome.UNCHANGED, Status.PASS),
        (TicketOutcome.NOT_POLLED, Status.UNKNOWN),
        (TicketOutcome.REFUSED, Status.UNKNOWN),
        (TicketOutcome.GONE, Status.ATTENTION),
        (TicketOutcome.TRANSFERRED, Status.ATTENTION),
    ],
)
def test_the_status_of_a_ticket(outcome: TicketOutcome, status: Status) -> None:
    """Not having asked is unknown; the last known state is shown with its date."""
    item = drawn(bent(tickets=documents.tickets(outcome)))["ticket:ggml-org/llama.cpp#28166"]
    assert item.status is status
    if status is Status.UNKNOWN:
        assert "last seen 2026-11-24: open, not acknowledged" in item.summary


def test_news_of_a_ticket_is_attention() -> None:
    """A state change is what alerts."""
    news = documents.ticket(
        "ggml-org/llama.cpp#28166",
        "",
        outcome=TicketOutcome.POLLED,
        state=documents.ticket_state(state="closed", state_reason="not_planned"),
        changes=("open -> closed (not planned)",),
    )
    tickets = TicketsDocument(verdict=Verdict.ATTENTION, polled=True, tickets=(news,))
    found = drawn(bent(tickets=tickets))
    assert found["ticket:ggml-org/llama.cpp#28166"].status is Status.ATTENTION
    assert found["ticket:ggml-org/llama.cpp#27931"].status is Status.UNKNOWN


def test_a_pin_that_cannot_be_read_blocks() -> None:
    """It could not be moved; one that disagrees is shown, because the move mends it."""
    pins = (
        PinRead(name="a", path="a.toml", kind="track", value=None, why="no such file"),
        PinRead(name="b", path="b", kind="version-file", value="b9000", why="disagrees with a"),
        PinRead(name="c", path="c", kind="key", value="b9581", obstacle="it has local changes"),
    )
    found = drawn(bent(pins=pins))
    assert (found["pin:a"].status, found["pin:a"].forbids) == (Status.FAIL, True)
    assert (found["pin:b"].status, found["pin:b"].forbids) == (Status.ATTENTION, False)
    assert (found["pin:c"].status, found["pin:c"].forbids) == (Status.FAIL, True)
    assert "cannot be moved: it has local changes" in found["pin:c"].summary
    assert found["pin:default"].status is Status.UNKNOWN


def test_the_configuration_weighs_items() -> None:
    """The longest match wins; on a tie blocking does, so a contradiction weakens nothing."""
    found = drawn(config=with_rule(blocking=("region:*",), advisory=("region:seq_rm",)))
    assert found["region:create_memory"].forbids
    assert not found["region:seq_rm"].forbids
    found = drawn(config=with_rule(blocking=("human:*",), advisory=("human:*",)))
    assert found["human:decision"].forbids


def test_a_blocking_name_that_nothing_judged_forbids() -> None:
    """A typing error in `blocking` is seen, not silently weaker than meant."""
    item = drawn(config=with_rule(blocking=("region:find_slto",)))["region:find_slto"]
    assert (item.status, item.forbids) == (Status.UNKNOWN, True)


def test_nothing_at_all_is_unknown() -> None:
    """No items: the verdict is unknown, not ok."""
    assert report.conclusion((), None) is Verdict.UNKNOWN


def test_an_acceptance_is_bound_to_meaning_not_to_positions() -> None:
    """Moved lines keep the digest of a changed region; another change gets another digest."""
    watch = documents.watch()
    seq_rm = watch.regions[2]
    here = drawn()["region:seq_rm"]
    assert seq_rm.to
    shifted = replace(
        seq_rm,
        to=replace(seq_rm.to, start=seq_rm.to.start + 40, end=seq_rm.to.end + 40),
        diff=seq_rm.diff.replace("@@ -158,6 +169,10 @@", "@@ -158,6 +209,10 @@"),
    )
    other = replace(seq_rm, diff=seq_rm.diff.replace("return false;", "return true;"))
    for region, same in ((shifted, True), (other, False)):
        regions = tuple(region if r.name == "seq_rm" else r for r in watch.regions)
        there = drawn(bent(watch=replace(watch, regions=regions)))["region:seq_rm"]
        assert (there.digest == here.digest) is same


def test_another_upstream_needs_nothing_of_this_one(tmp_path: Path) -> None:
    """With no watch, check or ticket configured, patches and pins are the whole checklist."""
    file = tmp_path / "lloyal-track.toml"
    file.write_text(
        '[upstream]\nurl = "https://example.org/small"\n'
        '[[pins]]\nname = "default"\nkind = "track"\npath = "pin.toml"\n'
    )
    stages = bent(watch=None, tickets=None, build=None, check=None)
    found = report.items(configuration.load(file), stages)
    assert [item.kind for item in found] == ["pin", "patch"]
    assert report.conclusion(found, stages.rebase) is Verdict.OK
    document = documents.bump(stages, found)
    for text in (report.markdown(document), report.html(document), report.terminal(document)):
        assert "llama_" not in text.replace("llama_memory_recurrent", "")
