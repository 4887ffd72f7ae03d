"""Tickets document -> one item per watched thread, and whether what we wait for has come."""

from __future__ import annotations

from tracker.config import Config, TicketTable
from tracker.evidence.item import Item
from tracker.evidence.tickets import TicketOutcome, TicketResult, TicketState
from tracker.evidence.verdict import Status
from tracker.report.gathered import Stages

_NEWS = (TicketOutcome.POLLED, TicketOutcome.UNCHANGED)


def items(config: Config, stages: Stages) -> tuple[Item, ...]:
    """One per watched ticket. Pass means: asked, and nothing happened that concerns us."""
    command = f"{stages.program} poll"
    document = stages.tickets
    found = document.tickets if document else ()
    why = (
        f"not polled: {stages.why_not('tickets')}"
        if document is None
        else "configured, but the tickets document does not have it"
    )
    seen = {ticket.key for ticket in found}
    return (
        *(_item(ticket, command) for ticket in found),
        *(
            Item(
                id=f"ticket:{table.key}",
                title=table.why,
                status=Status.UNKNOWN,
                blocking=False,
                summary=why,
                reproduce=command,
            )
            for table in config.tickets
            if table.key not in seen
        ),
    )


def _item(ticket: TicketResult, command: str) -> Item:
    status, said = _judged(ticket)
    evidence = []
    if ticket.state:
        evidence.append(f"title: {ticket.state.title}")
        if ticket.state.linked:
            evidence.append(f"linked: {', '.join(ticket.state.linked)}")
        if ticket.state.merge_commit:
            evidence.append(f"merged as {ticket.state.merge_commit[:12]}")
    if ticket.in_target != "unknown":
        there = "contained in" if ticket.in_target == "yes" else "not in"
        evidence.append(f"its commit is {there} the target")
    details = []
    if ticket.mentions != "unknown":
        details = [f"mentioned by {mention}" for mention in ticket.mentions]
    if ticket.state:
        details.append(f"as seen at {ticket.state.polled_at}")
    return Item(
        id=f"ticket:{ticket.key}",
        title=ticket.why_watched,
        status=status,
        blocking=False,
        summary=said,
        evidence=tuple(evidence),
        details=tuple(details),
        reproduce=command,
    )


def _judged(ticket: TicketResult) -> tuple[Status, str]:
    known = describe(ticket.state)
    if ticket.outcome in _NEWS:
        if ticket.state is None:
            return Status.UNKNOWN, "polled, but no state was recorded"
        if ticket.changes:
            return Status.ATTENTION, f"news: {'; '.join(ticket.changes)}"
        return Status.PASS, f"{known}; nothing new"
    last = f"; last seen {ticket.state.polled_at[:10]}: {known}" if ticket.state else ""
    if ticket.outcome in (TicketOutcome.GONE, TicketOutcome.TRANSFERRED):
        reason = f": {ticket.why}" if ticket.why else ""
        return Status.ATTENTION, f"{ticket.outcome}{reason}{last}"
    reason = ticket.why.removeprefix("not polled, ").removeprefix("because ")
    reason = reason or ticket.outcome.replace("-", " ")
    return Status.UNKNOWN, f"not polled, because {reason}{last}"


def describe(state: TicketState | None) -> str:
    """``open, not acknowledged``; ``closed (not planned)``; ``merged``; ``never seen``."""
    if state is None:
        return "never seen"
    if state.merged:
        return "merged"
    if state.state == "closed":
        reason = f" ({state.state_reason.replace('_', ' ')})" if state.state_reason else ""
        return f"closed{reason}"
    known = {True: ", acknowledged", False: ", not acknowledged", None: ""}
    return f"open{known[state.acknowledged] if state.kind == 'issue' else ''}"


def awaited(table: TicketTable, ticket: TicketResult | None) -> str:
    """What is still missing of what the tracker waits for; "" if it came, or nothing is awaited.

    An issue that was closed as completed with no fix linked is not resolved: bots close that way.
    """
    state = ticket.state if ticket else None
    if table.until is None or (state and _reached(table.until, state)):
        return ""
    if state is None:
        return "its state is not known"
    if table.until == "acknowledged":
        return "not acknowledged yet"
    if state.state == "open":
        return "not resolved yet"
    completed = state.state_reason == "completed"
    return "closed without a fix commit" if completed else f"not resolved: {describe(state)}"


def _reached(until: str, state: TicketState) -> bool:
    return _resolved(state) or (until == "acknowledged" and bool(state.acknowledged))


def _resolved(state: TicketState) -> bool:
    if state.kind == "pull":
        return bool(state.merged)
    fixed = bool(state.linked or state.merge_commit)
    return state.state == "closed" and state.state_reason == "completed" and fixed
