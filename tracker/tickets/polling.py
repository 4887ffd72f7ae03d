"""Polls every watched ticket and puts the answers together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from tracker.config import TicketTable
from tracker.evidence.tickets import (
    FaultKind,
    RequestCount,
    TicketOutcome,
    TicketResult,
    TicketsDocument,
)
from tracker.evidence.verdict import Verdict, worst
from tracker.forge.access import Access, from_environment
from tracker.forge.answers import Fault
from tracker.forge.client import STANDARD, Bounds, Forge
from tracker.progress import SILENT, Progress
from tracker.tickets import facts, keys, memory
from tracker.tickets.keys import Key
from tracker.tickets.memory import Memory, Remembered
from tracker.tickets.reading import FromMemory, Read, Reader, Transferred

_NEWS = (TicketOutcome.POLLED, TicketOutcome.UNCHANGED)
_OUTCOME_OF = {
    FaultKind.NOT_FOUND: TicketOutcome.GONE,
    FaultKind.GONE: TicketOutcome.GONE,
    FaultKind.TOKEN_REFUSED: TicketOutcome.REFUSED,
    FaultKind.FORBIDDEN: TicketOutcome.REFUSED,
    FaultKind.BLOCKED: TicketOutcome.REFUSED,
    FaultKind.ISSUES_DISABLED: TicketOutcome.REFUSED,
}
_VERDICT_OF = {
    TicketOutcome.POLLED: Verdict.OK,
    TicketOutcome.UNCHANGED: Verdict.OK,
    TicketOutcome.GONE: Verdict.ATTENTION,
    TicketOutcome.TRANSFERRED: Verdict.ATTENTION,
    TicketOutcome.NOT_POLLED: Verdict.UNKNOWN,
    TicketOutcome.REFUSED: Verdict.UNKNOWN,
}


class History(Protocol):
    """What the local repository knows about a ticket; see ``tracker.tickets.history``."""

    def judged(self, result: TicketResult, read: Read | None) -> TicketResult:
        """``result`` with mentions, what is in the target, and the resolution."""


def _now() -> datetime:
    return datetime.now(UTC)


def poll(
    tables: Sequence[TicketTable],
    state_file: Path,
    *,
    write: bool,
    access: Access | None = None,
    history: History | None = None,
    reuse_s: float = 0.0,
    now: Callable[[], datetime] = _now,
    bounds: Bounds = STANDARD,
    sleep: Callable[[float], None] | None = None,
    progress: Progress = SILENT,
) -> TicketsDocument:
    """Ask for every ticket of ``tables``, in their order.

    ``state_file``: read for the last known states, replaced if ``write``. ``access`` None: from the
    environment. ``history`` None: nothing is judged against a target. ``reuse_s``: a ticket that
    was read completely less than so many seconds ago is not asked again; its news is told again.

    Raises:
        ConfigError: a key is not ``owner/repo#number``.
        OSError: the state file cannot be written; it is intact.
    """
    progress.stage("poll")
    remembered = memory.read(state_file)
    notes: list[str] = []
    if isinstance(remembered, str):
        notes.append(
            f"{state_file.name} was left as it is and not used: {remembered}; "
            "mend or remove it, then poll again"
        )
    own = remembered.tickets if isinstance(remembered, Memory) else {}
    before = {**memory.shipped().tickets, **own}
    pacing = {} if sleep is None else {"sleep": sleep}
    forge = Forge(access or from_environment(), bounds=bounds, progress=progress, **pacing)
    moment = now().astimezone(UTC)
    reader = Reader(forge, moment.strftime(memory.STAMP))
    after = dict(own)
    results: list[TicketResult] = []
    for done, table in enumerate(tables):
        progress.step(done, len(tables), table.key)
        old = before.get(table.key, Remembered())
        again = _remembered(table, old, moment, reuse_s)
        if again:
            results.append(history.judged(*again) if history else again[0])
            continue
        answer = reader.ticket(keys.parse(table.key), old)
        result = _result(table, old, answer)
        read = answer if isinstance(answer, Read) else None
        results.append(history.judged(result, read) if history else result)
        if read:
            after[table.key] = Remembered(
                canonical=str(read.key),
                state=read.state,
                previous=old.state,
                resources=read.resources,
            )
    if write and after != own and isinstance(remembered, Memory):
        memory.write(state_file, Memory(tickets=after))
    return _document(_distinct(results), [*notes, *reader.notes, *_renamed(results)], forge)


def _remembered(
    table: TicketTable, old: Remembered, moment: datetime, reuse_s: float
) -> tuple[TicketResult, Read] | None:
    """What was read a moment ago, if it is complete; its date stays."""
    if old.state is None or old.state.origin == "reported":
        return None
    age = moment - datetime.strptime(old.state.polled_at, memory.STAMP).replace(tzinfo=UTC)
    if not 0 <= age.total_seconds() < reuse_s:
        return None
    read = Reader(FromMemory(), old.state.polled_at).ticket(keys.parse(table.key), old)
    if not isinstance(read, Read):
        return None
    return _result(table, Remembered(canonical=old.canonical, state=old.previous), read), read


def _result(
    table: TicketTable, old: Remembered, answer: Read | Transferred | Fault
) -> TicketResult:
    result = TicketResult(
        key=table.key,
        why_watched=table.why,
        outcome=TicketOutcome.NOT_POLLED,
        state=old.state,
        previous=old.state,
        changes=(),
        canonical=old.canonical,
    )
    if isinstance(answer, Fault):
        outcome = _OUTCOME_OF.get(answer.kind, TicketOutcome.NOT_POLLED)
        why = f"not polled, because {answer.why}" if outcome not in _SAYS_ITSELF else answer.why
        return replace(result, outcome=outcome, fault=answer.kind, why=why)
    if isinstance(answer, Transferred):
        return replace(
            result,
            outcome=TicketOutcome.TRANSFERRED,
            why=f"transferred to {answer.to}: watch that instead",
        )
    found = facts.changes(old.state, answer.state)
    same = (
        old.state is not None and replace(answer.state, polled_at=old.state.polled_at) == old.state
    )
    return replace(
        result,
        outcome=TicketOutcome.UNCHANGED if same else TicketOutcome.POLLED,
        state=answer.state,
        changes=found,
        canonical=str(answer.key),
    )


_SAYS_ITSELF = (TicketOutcome.GONE,)


def _renamed(results: Sequence[TicketResult]) -> list[str]:
    """One line for each repository that is configured under a former name."""
    found = {}
    for result in results:
        if result.canonical:
            asked, now = keys.parse(result.key), keys.parse(result.canonical)
            if not now.same_repository(asked.repository):
                found[asked.repository] = now.repository
    return [f"{old} is now {new}: change it in the configuration" for old, new in found.items()]


def _distinct(results: Sequence[TicketResult]) -> list[TicketResult]:
    """One row for each thread, however many names of it are configured."""
    rows: list[TicketResult] = []
    for result in results:
        name = _canonical(result)
        for at, row in enumerate(rows):
            if name.same(_canonical(row)):
                rows[at] = replace(row, also=(*row.also, result.key))
                break
        else:
            rows.append(result)
    return rows


def _canonical(result: TicketResult) -> Key:
    return keys.parse(result.canonical or result.key)


def _document(results: list[TicketResult], notes: list[str], forge: Forge) -> TicketsDocument:
    verdicts = [_VERDICT_OF[result.outcome] for result in results]
    if any(result.changes for result in results) or notes:
        verdicts.append(Verdict.ATTENTION)
    spent = forge.spent
    return TicketsDocument(
        verdict=worst(verdicts) if verdicts else Verdict.OK,
        polled=any(result.outcome in _NEWS for result in results),
        tickets=tuple(results),
        notes=tuple(dict.fromkeys(notes)),
        requests=RequestCount(
            sent=spent.sent, conditional=spent.conditional, not_modified=spent.not_modified
        ),
    )
