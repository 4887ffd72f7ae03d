from __future__ import annotations

from dataclasses import replace as with_fields

import pytest
from msgspec.structs import replace

from tests.support import documents
from tracker import report
from tracker.evidence.check import CheckRow
from tracker.evidence.rebase import Outcome
from tracker.evidence.verdict import Verdict

EXPECTED = """\
Pin bump  0.3.29 (f05cf4676) → 0.3.36 (0c1e57098)

 pass       Pins          default: says 0.3.29
 pass       Patches       recurrent memory: tell continuity by rank, not by
                          position: applies exactly, on other lines, in
                          mem_cell, find_slot
 pass       Watched code  warn-region, find_slot: unchanged, moved
 attention                seq_rm: moved and changed, +5 -1 lines
 attention                create_memory: moved and changed, +4 -1 lines
 attention  Routing       qwen35, qwen35moe: still llama_memory_hybrid, but from
                          new code
 pass                     classes: no class came or went
 pass       Native core   baseline, patched: builds
 pass       Behaviour     12 → 0 warnings at n_ubatch 128
 pass                     6 → 0 warnings at n_ubatch 512
 pass                     4 → 0 warnings at n_ubatch 1024
 pass                     0 → 0 warnings on text alone
 pass                     logits bit-equal with and without the patch
 unknown    Tickets       6 tickets: not polled, because no network: the name
                          api.example.org does not resolve
 human      For a person  discriminator, decision, fork-fidelity

OK  The pin moved from 0.3.29 to 0.3.36; 4 to look at, 6 unknown, 3 for a
person.
"""


def test_the_table_of_the_main_job() -> None:
    """What `make bump` ends with, in 80 columns."""
    assert report.terminal(documents.bump(), width=80) == EXPECTED


def test_on_a_narrow_terminal_a_heading_stands_above_its_rows() -> None:
    """A column for headings would leave twelve characters of forty for what is said."""
    lines = report.terminal(documents.bump(), width=40).splitlines()
    at = lines.index(" Watched code")
    assert lines[at + 1 : at + 4] == [
        " pass      warn-region, find_slot:",
        "           unchanged, moved",
        " attention seq_rm: moved and changed, +5",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Long sentences are folded, not cut."""
    text = report.terminal(documents.bump(), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "n_ubatch" in text
    assert "person." in text


def test_colours_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forced terminal has colours, NO_COLOR takes them away, and the words stay."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[32mpass" in report.terminal(documents.bump(), width=80)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = report.terminal(documents.bump(), width=80)
    assert "\x1b[3" not in plain
    assert "pass" in plain


def test_a_forbidden_move_names_what_forbids_and_how_to_see_it() -> None:
    """The last lines are the verdict, each forbidding item, and the command that shows it."""
    conflict = documents.patch(outcome=Outcome.CONFLICT)
    stages = with_fields(
        documents.stages(),
        rebase=documents.rebase(conflict, verdict=Verdict.CONFLICT),
        build=None,
        check=None,
        not_run={"build": "the series conflicts", "check": "nothing was built"},
    )
    text = report.terminal(documents.bump(stages), width=100)
    head, _, tail = text.partition("CONFLICT  ")
    assert "fail       Patches" in head
    assert "unknown    Native core   baseline, patched: not built: the series conflicts" in head
    assert tail.startswith("The pin stays at 0.3.29: patch:0001")
    assert "see: lloyal-track --config archives.toml rebase --from" in tail
    assert "not run: nothing was built" in tail
    narrow = report.terminal(documents.bump(stages), width=60)
    start, target = documents.PIN.commit[:12], documents.TARGET.commit[:12]
    assert f"rebase --from {start} --onto {target}\n" in narrow


def test_one_variant_that_fails_spoils_its_row() -> None:
    """The row of a scenario is as bad as its worst cell, and the reason has a row of its own."""

    def bent(row: CheckRow) -> CheckRow:
        bad = (row.scenario, row.variant) == ("image-512", "patched")
        return replace(row, rc=-11) if bad else row

    rows = tuple(bent(row) for row in documents.check().rows)
    stages = with_fields(documents.stages(), check=documents.check(*rows))
    text = report.terminal(documents.bump(stages), width=100)
    assert "fail                     6 → signal 11 warnings at n_ubatch 512" in text
    assert "image-512/patched: killed by signal 11" in text
    assert "logits bit-equal with and without" not in text


def test_many_scenarios_are_one_row_until_one_is_wrong() -> None:
    """The passing ones are counted with their wrong results; a wrong one has a row of its own."""
    further = documents.further()
    stages = with_fields(
        documents.stages(), check=documents.check(*documents.check().rows, *further)
    )
    text = report.terminal(documents.bump(stages), width=100)
    assert "3 further scenarios: 12 → 0 wrong results" in text
    assert "rollback" not in text
    rows = (replace(further[1], broken=("off by 8",)), *further[:1], *further[2:])
    stages = with_fields(stages, check=documents.check(*documents.check().rows, *rows))
    text = report.terminal(documents.bump(stages), width=100)
    assert "fail                     3 further scenarios: 12 → 1 wrong results" in text
    assert "fork/patched: qwen35: 1 of 20 facts wrong with the patch" in text


def test_a_core_that_did_not_run_has_no_number() -> None:
    """Patches in conflict: there is no patched core, so nothing is known of its results."""
    rows = (*documents.check().rows, *documents.further())
    baseline = tuple(row for row in rows if row.variant == "baseline")
    stages = with_fields(documents.stages(), check=documents.check(*baseline))
    text = report.terminal(documents.bump(stages), width=100)
    assert "12 wrong results without the patches, not run with them" in " ".join(text.split())
    assert "→ 0 wrong results" not in text


def test_many_failures_do_not_bury_the_verdict() -> None:
    """Two are told, the others named or counted; the last lines name five and count the rest."""
    failing = tuple(
        replace(row, scenario=f"turns-{n}", broken=(f"off by {n}",))
        for n in range(12)
        for row in documents.further()
        if (row.scenario, row.variant, row.arch) == ("fork", "patched", "qwen35")
    )
    rows = (*documents.check().rows, *failing)
    stages = with_fields(documents.stages(), check=documents.check(*rows))
    text = report.terminal(documents.bump(stages), width=100)
    table, _, tail = text.partition("FAIL  ")
    assert "also turns-" in table
    assert table.count("turns-") <= 8
    assert "more, all in the checklist" in tail


def test_what_was_decided_is_told_apart() -> None:
    """An accepted item has a row that says so; its like that nobody accepted keeps its own."""
    items = tuple(
        replace(item, accepted="read (2026-12-01)")
        if item.id in ("routing:qwen35/default", "human:decision")
        else item
        for item in documents.bump().items
    )
    text = report.terminal(documents.bump(items=items), width=120)
    assert "qwen35: still llama_memory_hybrid, but from new code; accepted" in text
    assert "qwen35moe: still llama_memory_hybrid, but from new code\n" in text
    assert "discriminator, fork-fidelity\n" in text
    assert "decision: accepted" in text


def test_of_many_regions_the_blocking_ones_are_named() -> None:
    """Whoever looks for find_slot finds it, however many regions are watched."""
    watch = documents.watch()
    more = tuple(replace(watch.regions[1], name=f"r{n}", blocking=False) for n in range(5))
    stages = with_fields(
        documents.stages(), watch=replace(watch, regions=(*watch.regions[:2], *more))
    )
    text = report.terminal(documents.bump(stages), width=100)
    assert "warn-region, find_slot and 5 more: unchanged" in text


def test_a_four_way_proof_shows_all_and_sums_up_the_target() -> None:
    """{pin, target} x {baseline, patched}: four columns in the reports, the target's in the row."""
    rows = documents.check().rows
    at_pin = tuple(replace(row, revision=documents.PIN.commit) for row in rows)
    stages = with_fields(documents.stages(), check=documents.check(*rows, *at_pin))
    document = documents.bump(stages)
    assert " 6 → 0 warnings at n_ubatch 512" in report.terminal(document, width=100)
    heads = "| 0.3.29 baseline | 0.3.29 patched | 0.3.36 baseline | 0.3.36 patched |"
    assert heads in report.markdown(document)
    assert "| `image-512` | ✅ 6 | ✅ 0 | ✅ 6 | ✅ 0 |" in report.markdown(document)


def test_upstreams_text_cannot_move_the_cursor() -> None:
    """Control and bidirectional characters of a document do not reach the terminal."""
    document = documents.bump()
    items = tuple(
        replace(item, summary="x\x1b[2J\x07\u202ey\rz\n\nw", title="\x1b]0;t\x07")
        for item in document.items
    )
    text = report.terminal(replace(document, items=items, summary="a\x1b[2Jb"), width=80)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\r" not in text
