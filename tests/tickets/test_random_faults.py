"""Every fault at every request of a poll, and every field of every answer with another type."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.github_fake import FakeGitHub, Reply
from tests.support.github_faults import FAULTS, Breaking, other_types
from tests.tickets.conftest import Poll
from tracker.evidence.tickets import TicketOutcome, TicketsDocument
from tracker.evidence.verdict import Verdict
from tracker.forge.client import STANDARD
from tracker.tickets import memory
from tracker.tickets.memory import Memory

NAMES = ("up/core#1", "up/core#2")
_MOMENTS = 5  # of each fault, of about ten; all of them cost half a minute
_SAID = (TicketOutcome.POLLED, TicketOutcome.UNCHANGED)
# Nobody can tell these from an answer: nothing new, no event so far.
_CREDIBLE = ("304", "a list")
_NULLABLE = (
    *("state_reason", "pull_request", "merged_at", "merge_commit_sha", "commit_id", "commit_url"),
    *("body", "source", "issue", "user", "author_association", "patch", "assignees", "login"),
    *("type",),
)


@pytest.fixture
def week(github: FakeGitHub, poll: Poll) -> TicketsDocument:
    """An issue and a pull request, seen and then changed; what a poll rightly says of that."""
    github.issue(NAMES[0], "a crash", assignees=[])
    github.pull(NAMES[1], "a fix")
    poll(*NAMES)
    github.pull("up/core#90", "the fix", state="closed", merged_at="2026-11-01")
    github.refers("up/core#90", NAMES[0], body="Fixes #1")
    github.event(
        NAMES[0],
        "commented",
        author_association="MEMBER",
        user={"login": "maintainer", "type": "User"},
    )
    github.repository("up/core").threads[1]["labels"] = [{"name": "bug"}]
    for number in (90, 2):
        github.repository("up/core").files[number] = [
            {"filename": "src/core.c", "patch": "@@ -1 +1,2 @@\n a\n+int something_new;\n"}
        ]
    github.close(NAMES[0], "completed", commit="c" * 40)
    github.repository("up/core").pulls[2]["merged_at"] = "2026-11-02"
    github.close(NAMES[1])
    right = poll(*NAMES, write=False, day=8)
    assert all(ticket.changes for ticket in right.tickets)
    return right


def _told_or_right(document: TicketsDocument, right: TicketsDocument, last: Memory) -> None:
    """Each ticket is read as it is, or keeps its last state and says why; never something else."""
    for ticket, rightly in zip(document.tickets, right.tickets, strict=True):
        if ticket.outcome in _SAID:
            assert (ticket.state, ticket.changes) == (rightly.state, rightly.changes)
        else:
            assert ticket.state == last.tickets[ticket.key].state
            assert (ticket.changes, ticket.fault is None) == (
                (),
                ticket.outcome is TicketOutcome.TRANSFERRED,
            )
            assert ticket.why
            assert document.verdict is not Verdict.OK


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_at_any_request_is_told_and_heals(
    github: FakeGitHub,
    poll: Poll,
    state_file: Path,
    waits: list[float],
    week: TicketsDocument,
    name: str,
) -> None:
    """Once, or from then on: the others are read, the file is whole, and no news is lost."""
    before = state_file.read_bytes()
    last = memory.read(state_file)
    assert isinstance(last, Memory)
    chance = random.Random(name)  # noqa: S311  (reproducible, not secret)
    for moment in chance.sample(range(1, week.requests.sent + 3), _MOMENTS):
        del waits[:]
        state_file.write_bytes(before)
        for_good = chance.random() < 0.3
        with Breaking(github, moment, FAULTS[name], for_good=for_good) as breaking:
            document = poll(*NAMES, day=8)
        if name not in _CREDIBLE:
            _told_or_right(document, week, last)
        assert sum(waits) <= STANDARD.wait_s + 2 * len(NAMES)
        # Every redirect and every second try counted.
        assert breaking.seen <= 3 * week.requests.sent
        if chance.random() < 0.4:
            healed = poll(*NAMES, day=15)
            _all_told(document, healed, week)


def _all_told(first: TicketsDocument, second: TicketsDocument, right: TicketsDocument) -> None:
    """What happened was told by one of the two, and is known after them."""
    for before, after, rightly in zip(first.tickets, second.tickets, right.tickets, strict=True):
        assert before.changes or after.changes == rightly.changes
        assert after.state is not None
        assert rightly.state is not None
        undated = replace(after.state, polled_at=rightly.state.polled_at)
        assert undated == rightly.state


@pytest.mark.parametrize(
    "path",
    [
        r"/issues/1$",
        r"/issues/1/timeline",
        r"/pulls/90$",
        r"/pulls/90/files",
        r"/issues/2$",
        r"/pulls/2$",
        r"/pulls/2/files",
    ],
)
def test_a_field_of_another_type_is_no_answer(
    github: FakeGitHub, poll: Poll, state_file: Path, week: TicketsDocument, path: str
) -> None:
    """A null, a number or a list where a text belongs is never read as one."""
    last = memory.read(state_file)
    assert isinstance(last, Memory)
    bodies: list[object] = []
    github.trouble(path, _seen(bodies), times=1)
    poll(*NAMES, write=False, day=8)
    for what, body in other_types(bodies[0], nullable=_NULLABLE):
        github.troubles.clear()
        github.trouble(path, Reply(200, body))
        names = NAMES[:1] if "2" not in path else NAMES[1:2]
        document = poll(*names, write=False, day=8)
        try:
            right = [ticket for ticket in week.tickets if ticket.key in names]
            _told_or_right(document, _only(week, right), last)
        except AssertionError as fault:
            raise AssertionError(what) from fault


def _seen(bodies: list[object]) -> Callable[[Reply], Reply]:
    def reply(right: Reply) -> Reply:
        bodies.append(right.body)
        return right

    return reply


def _only(document: TicketsDocument, tickets: list) -> TicketsDocument:  # type: ignore[type-arg]
    return replace(document, tickets=tuple(tickets))
