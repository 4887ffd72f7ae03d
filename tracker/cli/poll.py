"""``lloyal-track poll``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.session import finish, session

if TYPE_CHECKING:
    from tracker.evidence.tickets import TicketResult, TicketsDocument

EPILOG = """Examples:

`lloyal-track poll`: news since the last time, which are then no longer news.

`lloyal-track poll --dry-run`: the same, and they stay news.
"""

Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Do not remember what was seen: it stays news.")
]


def poll(context: typer.Context, dry_run: DryRun = False, json: Json = False) -> None:
    """What is new in the watched issues and pull requests?

    The token is taken from GITHUB_TOKEN or `gh auth token`; without one, GitHub answers 60 requests
    an hour. Exit status 0: all asked, nothing new; 1: news, or a ticket that could not be asked.
    """
    from tracker import tickets
    from tracker.statedir import StateDir

    config = session(context).config()
    state = StateDir(config.state_dir)
    with session(context).progress() as progress, state.locked():
        document = tickets.poll(config.tickets, state.tickets, write=not dry_run, progress=progress)
    finish(document, json=json, show=lambda: _shown(document))


def _shown(document: TicketsDocument) -> str:
    from tracker.markup import plain

    lines = [line for ticket in document.tickets for line in _ticket(ticket)]
    lines += [f"note: {plain(note)}" for note in document.notes]
    if not document.tickets:
        lines.append("No tickets are configured: add a [[tickets]] table to lloyal-track.toml.")
    return "\n".join(lines)


def _ticket(ticket: TicketResult) -> list[str]:
    from tracker.markup import plain
    from tracker.tickets.facts import fix_unseen, standing

    state = ticket.state
    known = standing(state) if state else "never seen"
    lines = [f"{ticket.key:<28} {ticket.outcome:<12} {known}"]
    if state and state.title:
        lines.append(f"    {plain(state.title)}")
    lines += [f"    new: {plain(change)}" for change in ticket.changes]
    if ticket.why:
        seen = f" (last seen {state.polled_at[:10]})" if state else ""
        lines.append(f"    {plain(ticket.why)}{seen}")
    if state and fix_unseen(state) and not ticket.resolution_why:
        lines.append("    no commit and no pull request closed it: nothing says that it is fixed")
    if ticket.resolution_why:
        lines.append(f"    {plain(ticket.resolution_why)}")
    return lines
