"""Tickets document -> one item per watched thread, and whether what we wait for has come."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.config import Config, TicketTable
from tracker.evidence.item import Item
from tracker.evidence.tickets import (
    LinkedPull,
    Resolution,
    TicketOutcome,
    TicketResult,
    TicketState,
)
from tracker.evidence.verdict import Status
from tracker.report.gathered import Stages

_RESOLVED = (
    Resolution.FIXED_IN_TARGET,
    Resolution.FIXED_NOT_IN_TARGET,
    Resolution.CONTENT_PRESENT,
)
_UNRESOLVED = {
    Resolution.OPEN: "not resolved yet",
    Resolution.NO_FIX: "closed without a fix commit",
    Resolution.NOT_PLANNED: "closed as not planned",
    Resolution.MERGED_NOT_OURS: "merged, not fixed for us",
    Resolution.CONTENT_ABSENT: "closed, its content is not upstream",
}
_NEWS = (TicketOutcome.POLLED, TicketOutcome.UNCHANGED)


def items(config: Config, stages: Stages) -> tuple[Item, ...]:
    """One per watched ticket, and one for what the poll says of itself.

    Pass means: asked, and nothing happened that concerns us.
    """
    command = f"{stages.program} poll"
    document = stages.tickets
    found = document.tickets if document else ()
    why = (
        f"not polled: {stages.why_not('tickets')}"
        if document is None
        else "configured, but the tickets document does not have it"
    )
    seen = {key for ticket in found for key in (ticket.key, *ticket.also)}
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
        *(_said(document.notes, command) if document and document.notes else ()),
    )


def _said(notes: tuple[str, ...], command: str) -> Iterator[Item]:
    """A refused token, a state file that was not used: without it the news below reads wrong."""
    yield Item(
        id="ticket:poll",
        title="the poll itself",
        status=Status.ATTENTION,
        blocking=False,
        summary=notes[0],
        evidence=notes[1:],
        reproduce=command,
    )


def _item(ticket: TicketResult, command: str) -> Item:
    status, said = _judged(ticket)
    return Item(
        id=f"ticket:{ticket.key}",
        title=ticket.why_watched,
        status=status,
        blocking=False,
        summary=said,
        evidence=tuple(_evidence(ticket)),
        details=tuple(_details(ticket)),
        reproduce=command,
    )


def _evidence(ticket: TicketResult) -> list[str]:
    lines = []
    if ticket.state and ticket.state.title:
        lines.append(f"title: {ticket.state.title}")
    if ticket.canonical and ticket.canonical != ticket.key:
        lines.append(f"now known as {ticket.canonical}: name that one in the configuration")
    if ticket.state and ticket.state.merge_commit:
        lines.append(f"merged as {ticket.state.merge_commit[:12]}")
    if ticket.resolution not in (Resolution.UNKNOWN, Resolution.OPEN):
        why = f": {ticket.resolution_why}" if ticket.resolution_why else ""
        lines.append(f"{ticket.resolution.replace('-', ' ')}{why}")
    lines += [_pull(pull) for pull in ticket.pulls]
    if ticket.in_target != "unknown":
        there = "contained in" if ticket.in_target == "yes" else "not in"
        since = f", from {ticket.first_tag} on" if ticket.first_tag else ""
        lines.append(f"its commit is {there} the target{since}")
    return lines


def _pull(pull: LinkedPull) -> str:
    state = "merged" if pull.merged else pull.state
    said = [f"pull request {pull.key} {'closes' if pull.closing else 'refers to'} it: {state}"]
    if pull.merged and pull.in_target != "unknown":
        said.append("in the target" if pull.in_target == "yes" else "not in the target")
    if pull.touches_ours == "no":
        said.append("touches nothing that we watch")
    return ", ".join(said)


def _details(ticket: TicketResult) -> list[str]:
    lines = []
    if ticket.mentions != "unknown":
        lines = [f"mentioned by {mention}" for mention in ticket.mentions]
    if ticket.state:
        how = "as reported on" if ticket.state.origin == "reported" else "as seen at"
        lines.append(f"{how} {ticket.state.polled_at}")
    return lines


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

    Closed is not resolved: a bot closes as completed, and a fix may be for somebody else.
    """
    state = ticket.state if ticket else None
    if table.until is None:
        return ""
    if ticket is None or state is None:
        return "its state is not known"
    if ticket.resolution in _RESOLVED or (table.until == "acknowledged" and state.acknowledged):
        return ""
    if table.until == "acknowledged":
        return "not acknowledged yet"
    return _UNRESOLVED.get(ticket.resolution) or (
        "not resolved yet"
        if state.state == "open"
        else "closed, and whether it is fixed is unknown"
    )
