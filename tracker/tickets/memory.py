"""tickets.json: what was last known of every ticket, and the validators for asking again.

Sorted, versioned, dated by ticket, written whole or not at all. A file that cannot be read is left
as it is: what a human or a newer version wrote there is not ours to lose.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from tracker.bundled import bundled
from tracker.evidence.base import Value
from tracker.evidence.tickets import TicketState
from tracker.statedir import sweep_leavings, write_whole
from tracker.tickets import keys
from tracker.tickets.facts import Facts, IssueFacts, PullFacts, TimelineFacts

# How a state is dated.
STAMP = "%Y-%m-%dT%H:%M:%SZ"


class Kept(Value, frozen=True, kw_only=True):
    """The facts of one resource, and the ETag under which upstream gave them."""

    etag: str | None
    facts: Facts


class Remembered(Value, frozen=True, kw_only=True):
    """One ticket. ``canonical``: what upstream called it when asked, "" if never.

    ``resources``: by path and query. ``previous``: the state before ``state``, so that news can be
    told again by a run that need not ask again.
    """

    canonical: str = ""
    state: TicketState | None = None
    previous: TicketState | None = None
    resources: dict[str, Kept] = msgspec.field(default_factory=dict)


class Memory(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """The file. ``tickets``: by configured key."""

    schema_: Literal["lloyal-track/tickets/1"] = "lloyal-track/tickets/1"
    tickets: dict[str, Remembered] = msgspec.field(default_factory=dict)


def read(file: Path) -> Memory | str:
    """What is remembered, or why the file cannot be used. No file: nothing is remembered."""
    try:
        return _checked(msgspec.json.decode(file.read_bytes(), type=Memory))
    except FileNotFoundError:
        return Memory()
    except msgspec.ValidationError as fault:
        return f"it is of another version, or damaged ({fault})"
    except msgspec.DecodeError as fault:
        return f"it is not valid JSON ({fault})"
    except (ValueError, RecursionError) as fault:
        return f"it is damaged ({fault})"
    except OSError as fault:
        return fault.strerror or str(fault)


def _checked(memory: Memory) -> Memory:
    """``memory``, in which every name and date is one: whoever reads it later need not ask.

    Raises:
        ValueError: one is not.
    """
    for ticket in memory.tickets.values():
        _check(ticket)
    return memory


def _check(ticket: Remembered) -> None:
    states = [state for state in (ticket.state, ticket.previous) if state]
    facts = [kept.facts for kept in ticket.resources.values()]
    names = [ticket.canonical] if ticket.canonical else []
    names += [name for state in states for name in (*state.linked, *state.closing)]
    names += [fact.key for fact in facts if isinstance(fact, IssueFacts | PullFacts)]
    names += [pull.key for fact in facts if isinstance(fact, TimelineFacts) for pull in fact.pulls]
    for name in names:
        keys.parse(name)
    for state in states:
        datetime.strptime(state.polled_at, STAMP)


def shipped() -> Memory:
    """What was known, and when, as this version of the tool was made: better than nothing."""
    found = read(bundled("vendor/tickets.json"))
    return found if isinstance(found, Memory) else Memory()


def write(file: Path, memory: Memory) -> None:
    """Replace the file, if its content changes.

    Raises:
        OSError: as the file system says; the old file is intact.
    """
    encoded = msgspec.json.encode(memory, order="deterministic")
    content = msgspec.json.format(encoded, indent=1) + b"\n"
    try:
        if file.read_bytes() == content:
            return
    except OSError:
        pass
    sweep_leavings(file)
    write_whole(file, content)
