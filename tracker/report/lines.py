"""The tracker's own list, answered by the items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tracker.config import Config, LineTable
from tracker.evidence.item import Item, TrackerLine
from tracker.evidence.tickets import TicketResult
from tracker.evidence.verdict import Status
from tracker.report.draw import matches_id
from tracker.report.gathered import Stages
from tracker.report.stages.tickets import awaited


def tracker_lines(config: Config, items: Sequence[Item], stages: Stages) -> tuple[TrackerLine, ...]:
    """Every configured line, in its order; one that nothing answers is unknown, never done."""
    waiting = _awaited(config, stages.tickets.tickets if stages.tickets else ())
    return tuple(_line(table, items, waiting) for table in config.checklist.lines)


def _awaited(config: Config, found: tuple[TicketResult, ...]) -> dict[str, str]:
    """Item id -> what is still missing of what the tracker waits for."""
    by_key = {ticket.key: ticket for ticket in found}
    missing = {table.key: awaited(table, by_key.get(table.key)) for table in config.tickets}
    return {f"ticket:{key}": what for key, what in missing.items() if what}


def _line(table: LineTable, items: Sequence[Item], waiting: dict[str, str]) -> TrackerLine:
    unanswered = [
        pattern for pattern in table.items if not any(matches_id(pattern, i.id) for i in items)
    ]
    answering = [
        item for item in items if any(matches_id(pattern, item.id) for pattern in table.items)
    ]
    if unanswered or not answering:
        return TrackerLine(
            title=table.title,
            items=tuple(item.id for item in answering),
            state="unknown",
            said=f"nothing judged {', '.join(unanswered) or 'it'}",
        )
    said = [(item, _said(item, waiting.get(item.id, ""))) for item in answering]
    return TrackerLine(
        title=table.title,
        items=tuple(item.id for item in answering),
        state=_state(answering, waiting),
        said=said[0][1]
        if len(said) == 1
        else "; ".join(f"{item.id.partition(':')[2]}: {what}" for item, what in said),
    )


def _state(answering: list[Item], waiting: dict[str, str]) -> Literal["done", "open", "unknown"]:
    undecided = [item for item in answering if not item.accepted]
    if any(item.status is Status.UNKNOWN for item in undecided):
        return "unknown"
    settled = all(item.status is Status.PASS and item.id not in waiting for item in undecided)
    return "done" if settled else "open"


def _said(item: Item, missing: str) -> str:
    if item.accepted:
        return f"accepted: {item.accepted}"
    if item.status is Status.HUMAN:
        return f"waits for a person: {item.summary}"
    return f"{item.summary}; {missing}" if missing and missing not in item.summary else item.summary
