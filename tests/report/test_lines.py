from __future__ import annotations

from dataclasses import replace as with_fields

import pytest
from msgspec.structs import replace

from tests.support import documents
from tracker import report
from tracker.config import LineTable
from tracker.evidence.tickets import Resolution, TicketOutcome, TicketsDocument, TicketState
from tracker.evidence.verdict import Status, Verdict

REPORTED = (
    "ggml-org/llama.cpp#28166 triaged",
    "ggml-org/llama.cpp#27931 (crash class) resolved",
    "Discriminator run",
    "Decision: wait for upstream",
    "Fork-fidelity",
    "warn region, qwen35 memory-class routing, migration to hybrid-idx",
)


def state_of(key: str, state: TicketState, resolution: Resolution = Resolution.OPEN) -> str:
    """The state of the line that waits for ``key``, when everything was polled."""
    tickets = documents.tickets(TicketOutcome.UNCHANGED)
    changed = tuple(
        replace(ticket, state=state, resolution=resolution) if ticket.key.endswith(key) else ticket
        for ticket in tickets.tickets
    )
    polled = TicketsDocument(verdict=Verdict.OK, polled=True, tickets=changed)
    stages = with_fields(documents.stages(), tickets=polled)
    found = report.items(documents.config(), stages)
    lines = report.tracker_lines(documents.config(), found, stages)
    return next(line.state for line in lines if key in line.title)


def test_every_line_of_the_report_appears_in_its_order() -> None:
    """The default template is the tracker list of the report that this project answers."""
    lines = documents.bump().lines
    assert len(lines) == len(REPORTED)
    for line, words in zip(lines, REPORTED, strict=True):
        assert words in line.title


def test_a_thread_that_was_not_polled_leaves_its_line_unknown() -> None:
    """No network is not "no change"."""
    assert [line.state for line in documents.bump().lines[:2]] == ["unknown", "unknown"]


def test_a_quiet_thread_is_not_a_resolved_one() -> None:
    """The ticket's item passes (nothing new), its line stays open until what we wait for comes."""
    quiet = documents.ticket_state()
    assert state_of("#28166", quiet) == "open"
    assert state_of("#28166", replace(quiet, acknowledged=True)) == "done"
    assert state_of("#27931", replace(quiet, acknowledged=True)) == "open"


@pytest.mark.parametrize("resolution", list(Resolution))
def test_closed_is_not_resolved(resolution: Resolution) -> None:
    """Only a fix, or its content, ticks the line; a bot's "completed" does not."""
    closed = documents.ticket_state(state="closed", state_reason="completed")
    fixed = {
        Resolution.FIXED_IN_TARGET,
        Resolution.FIXED_NOT_IN_TARGET,
        Resolution.CONTENT_PRESENT,
    }
    assert state_of("#27931", closed, resolution) == ("done" if resolution in fixed else "open")


def test_a_line_that_nothing_answers_is_unknown() -> None:
    """A mistyped item id is seen."""
    config = documents.config()
    wrong = LineTable(title="the region", items=("region:find_slot", "region:find_slto"))
    config = replace(config, checklist=replace(config.checklist, lines=(wrong,)))
    stages = documents.stages()
    (line,) = report.tracker_lines(config, report.items(config, stages), stages)
    assert line.state == "unknown"
    assert "region:find_slto" in line.said


def test_a_decision_closes_a_line_and_is_quoted() -> None:
    """An accepted human line is done, with the reason."""
    stages = documents.stages()
    found = tuple(
        replace(item, accepted="ran idle for 3 h (2026-11-30)")
        if item.id == "human:discriminator"
        else item
        for item in report.items(documents.config(), stages)
    )
    line = report.tracker_lines(documents.config(), found, stages)[2]
    assert line.state == "done"
    assert "ran idle for 3 h" in line.said


def test_a_region_that_was_not_judged_leaves_the_bump_line_unknown() -> None:
    """The last line needs all of its answers."""
    stages = with_fields(documents.stages(), watch=None, not_run={"watch": "interrupted"})
    found = report.items(documents.config(), stages)
    assert all(item.status is Status.UNKNOWN for item in found if item.kind == "region")
    assert report.tracker_lines(documents.config(), found, stages)[5].state == "unknown"
