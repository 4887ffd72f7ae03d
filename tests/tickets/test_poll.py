"""What a poll says of tickets that answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.github_fake import BOT, FakeGitHub, Reply
from tests.tickets.conftest import Poll
from tracker.evidence.tickets import TicketOutcome, TicketState
from tracker.evidence.verdict import Verdict
from tracker.tickets import memory


def _state(poll: Poll, key: str) -> TicketState:
    (ticket,) = poll(key).tickets
    assert ticket.state is not None
    return ticket.state


def test_first_sight_is_news_and_the_second_is_not(github: FakeGitHub, poll: Poll) -> None:
    """A ticket is news when it is first seen; asked again, it is unchanged and dated anew."""
    github.issue("up/core#1", "a warning", labels=[{"name": "bug"}])
    first = poll("up/core#1")
    assert first.verdict is Verdict.ATTENTION
    assert first.tickets[0].changes == ("first seen: open",)
    again = poll("up/core#1", day=8)
    (ticket,) = again.tickets
    assert (again.verdict, ticket.outcome, ticket.changes) == (
        Verdict.OK,
        TicketOutcome.UNCHANGED,
        (),
    )
    assert ticket.state is not None
    assert ticket.state.polled_at == "2026-12-08T06:00:00Z"
    assert ticket.state.labels == ("bug",)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("completed", "completed"),
        ("not_planned", "not planned"),
        ("duplicate", "duplicate"),
        (None, "unknown"),
        ("a-new-one", "unknown"),
    ],
)
def test_closing_is_told_with_its_reason(
    github: FakeGitHub, poll: Poll, reason: str | None, said: str
) -> None:
    """Each reason that GitHub gives is told; none, or one we don't know, is unknown."""
    github.issue("up/core#1")
    poll("up/core#1")
    github.close("up/core#1", reason)
    (ticket,) = poll("up/core#1").tickets
    assert ticket.changes == (f"open -> closed ({said})",)


def test_a_comment_by_a_maintainer_acknowledges(github: FakeGitHub, poll: Poll) -> None:
    """A comment by an owner, member or collaborator acknowledges; by a user or bot: not."""
    github.issue("up/core#1")
    user = {"login": "somebody", "type": "User"}
    bot = {"login": BOT, "type": "Bot"}
    github.event("up/core#1", "commented", author_association="NONE", user=user)
    github.event("up/core#1", "commented", author_association="MEMBER", user=bot)
    assert _state(poll, "up/core#1").acknowledged is False
    github.event("up/core#1", "commented", author_association="COLLABORATOR", user=user)
    (ticket,) = poll("up/core#1").tickets
    assert ticket.changes == ("acknowledged",)


def test_an_assignee_acknowledges(github: FakeGitHub, poll: Poll) -> None:
    """An assignee is enough."""
    github.issue("up/core#1", assignees=[{"login": "maintainer"}])
    assert _state(poll, "up/core#1").acknowledged is True


def test_linked_and_closing_pull_requests_are_told_apart(github: FakeGitHub, poll: Poll) -> None:
    """A pull request that names the ticket is linked; one that says it closes it, closes it."""
    github.issue("up/core#12")
    for number, body in (
        (20, "see #12"),
        (21, "Fixes #12"),
        (22, "fixes #123"),
        (23, "Resolves: up/core#12."),
        (24, "closes https://github.com/up/core/issues/12"),
        (25, "Fixes other/core#12"),
    ):
        github.pull(f"up/core#{number}")
        github.refers(f"up/core#{number}", "up/core#12", body=body)
    github.pull("stranger/fork#3")
    github.refers("stranger/fork#3", "up/core#12", body="we carry #12")
    state = _state(poll, "up/core#12")
    assert state.linked == tuple(f"up/core#{number}" for number in range(20, 26))
    assert state.closing == ("up/core#21", "up/core#23", "up/core#24")


def test_every_page_of_a_timeline_is_read(github: FakeGitHub, poll: Poll) -> None:
    """The cross-reference is event 61 of 75 on a server that gives 30 a page: it is found (H08)."""
    github.most_per_page = 30
    github.issue("up/core#1")
    github.pull("up/core#2")
    for number in range(75):
        if number == 60:
            github.refers("up/core#2", "up/core#1", body="Fixes #1")
        else:
            github.event("up/core#1", "labeled", label={"name": "x"})
    assert _state(poll, "up/core#1").closing == ("up/core#2",)


def test_an_event_after_a_full_page_is_seen(github: FakeGitHub, poll: Poll) -> None:
    """The event that starts a second page is seen, though the first page says "not modified"."""
    github.issue("up/core#1")
    github.pull("up/core#2")
    for _ in range(100):
        github.event("up/core#1", "labeled", label={"name": "x"})
    poll("up/core#1")
    github.refers("up/core#2", "up/core#1", body="Fixes #1")
    assert _state(poll, "up/core#1").closing == ("up/core#2",)


def test_a_merged_pull_request_names_its_commit(github: FakeGitHub, poll: Poll) -> None:
    """The trial merge of an open pull request is no merge commit; that of a merged one is."""
    github.pull("up/core#5", merge_commit_sha="e" * 40)
    assert _state(poll, "up/core#5").merge_commit is None
    github.pull("up/core#5", state="closed", merged_at="2026-11-01", merge_commit_sha="d" * 40)
    (ticket,) = poll("up/core#5").tickets
    assert ticket.changes == ("open -> merged",)
    assert ticket.state is not None
    assert ticket.state.merge_commit == "d" * 40


def test_a_commit_of_a_fork_did_not_close_it(github: FakeGitHub, poll: Poll) -> None:
    """Only a commit of the ticket's own repository counts as the one that closed it."""
    github.issue("up/core#1")
    github.close("up/core#1", "completed", commit="c" * 40)
    assert _state(poll, "up/core#1").closed_by == "c" * 40
    github.event("up/core#1", "reopened")
    fork = f"{github.url}/repos/stranger/core/commits/{'b' * 40}"
    github.event("up/core#1", "closed", commit_id="b" * 40, commit_url=fork)
    assert _state(poll, "up/core#1").closed_by is None


def test_an_unchanged_poll_costs_only_conditional_requests(github: FakeGitHub, poll: Poll) -> None:
    """Eight tickets with closing pull requests, asked again: every answer is "not modified"."""
    for number in range(1, 7):
        github.issue(f"up/core#{number}")
        github.pull(f"up/core#{number + 100}", state="closed", merged_at="x")
        github.refers(f"up/core#{number + 100}", f"up/core#{number}", body=f"Fixes #{number}")
    github.pull("up/core#7")
    github.pull("up/core#8", state="closed", merged_at="2026-11-01")
    names = [f"up/core#{number}" for number in range(1, 9)]
    first = poll(*names)
    again = poll(*names, day=8)
    assert first.requests.not_modified == 0
    assert again.requests.sent == first.requests.sent == 6 * 4 + 3 + 4
    assert again.requests.sent == again.requests.conditional == again.requests.not_modified
    assert [ticket.outcome for ticket in again.tickets] == [TicketOutcome.UNCHANGED] * 8


def test_a_transferred_issue_is_not_shown_as_the_one_watched(
    github: FakeGitHub, poll: Poll
) -> None:
    """The answer of another thread is named, and nothing of it is shown as ours (H01)."""
    github.issue("up/core#72", "the real title")
    poll("up/core#72")
    github.transfer("up/core#72", "up/other#220")
    github.repository("up/other").threads[220]["title"] = "another thread's title"
    document = poll("up/core#72", day=8)
    (ticket,) = document.tickets
    assert ticket.outcome is TicketOutcome.TRANSFERRED
    assert ticket.why == "transferred to up/other#220: watch that instead"
    assert ticket.state is not None
    assert ticket.state.title == "the real title"
    assert ticket.state.polled_at == "2026-12-01T06:00:00Z"
    assert document.verdict is Verdict.ATTENTION


def test_a_transfer_that_keeps_its_number_is_one(github: FakeGitHub, poll: Poll) -> None:
    """The number is the same, the repository is not the renamed one: it was transferred."""
    github.issue("up/core#1")
    github.repository("up/core")
    github.transfer("up/core#1", "up/other#1")
    (ticket,) = poll("up/core#1").tickets
    assert ticket.outcome is TicketOutcome.TRANSFERRED
    assert "up/other#1" in ticket.why


def test_a_moved_repository_is_one_project(github: FakeGitHub, poll: Poll) -> None:
    """The old and the new name are one row; the new one is recorded and suggested (H16)."""
    github.issue("old/core#1", "a warning")
    github.pull("old/core#2")
    github.refers("old/core#2", "old/core#1", body="Fixes #1")
    github.rename("old/core", "new/core")
    document = poll("old/core#1", "new/core#1")
    (ticket,) = document.tickets
    assert (ticket.key, ticket.canonical, ticket.also) == (
        "old/core#1",
        "new/core#1",
        ("new/core#1",),
    )
    assert ticket.state is not None
    assert ticket.state.title == "a warning"
    assert document.notes == ("old/core is now new/core: change it in the configuration",)
    before = len(github.requests)
    poll("old/core#1")
    assert all("/repos/new/core/" in request.path for request in github.requests[before:])


def test_the_case_of_a_name_does_not_matter(github: FakeGitHub, poll: Poll) -> None:
    """A configured name in other letters is the same repository, not a moved one."""
    github.issue("Up/Core#1")
    document = poll("up/core#1")
    assert document.notes == ()
    assert document.tickets[0].outcome is TicketOutcome.POLLED


def test_deleted_issues_do_not_stop_the_others(github: FakeGitHub, poll: Poll) -> None:
    """Of ten, the fourth is deleted and the sixth unknown: eight rows are complete (H03)."""
    for number in range(1, 11):
        if number != 6:
            github.issue(f"up/core#{number}")
    github.trouble(r"/issues/4$", Reply(410, {"message": "This issue was deleted"}))
    document = poll(*(f"up/core#{number}" for number in range(1, 11)))
    outcomes = [ticket.outcome for ticket in document.tickets]
    assert outcomes.count(TicketOutcome.POLLED) == 8
    assert [outcomes[3], outcomes[5]] == [TicketOutcome.GONE, TicketOutcome.GONE]
    assert document.tickets[3].why == "deleted upstream (410)"
    assert "404" in document.tickets[5].why
    assert document.verdict is Verdict.ATTENTION


def test_a_repository_without_issues_is_said_once(github: FakeGitHub, poll: Poll) -> None:
    """All its issues answer 410: it is asked once, told once, and not asked again (H04)."""
    github.repository("up/core").has_issues = False
    document = poll("up/core#1", "up/core#2", "up/core#3")
    assert document.notes == ("up/core: issues are disabled",)
    assert len(github.requests) == 1
    assert {ticket.fault for ticket in document.tickets} == {"issues-disabled"}


def test_a_dry_run_writes_nothing(github: FakeGitHub, poll: Poll, state_file: Path) -> None:
    """Without ``write`` the news stays news, and no file appears."""
    github.issue("up/core#1")
    poll("up/core#1", write=False)
    assert list(state_file.parent.iterdir()) == []


def test_the_state_file_is_sorted_and_versioned(
    github: FakeGitHub, poll: Poll, state_file: Path
) -> None:
    """Same knowledge, same bytes, whatever the order of the configuration."""
    github.issue("up/core#2")
    github.issue("up/core#1")
    poll("up/core#2", "up/core#1")
    poll("up/core#2", "up/core#1")
    text = state_file.read_bytes()
    document = json.loads(text)
    assert document["schema"] == "lloyal-track/tickets/1"
    assert list(document["tickets"]) == ["up/core#1", "up/core#2"]
    poll("up/core#1", "up/core#2")
    assert state_file.read_bytes() == text
    assert [file.name for file in state_file.parent.iterdir()] == ["tickets.json"]


@pytest.mark.parametrize(
    "content", [b"<<<<<<< HEAD\n", b'{"schema":"lloyal-track/tickets/2"}', b"", b"[]"]
)
def test_a_state_file_that_cannot_be_read_is_left_alone(
    github: FakeGitHub, poll: Poll, state_file: Path, content: bytes
) -> None:
    """A merge conflict or a newer version in the file is not ours to lose; the poll goes on."""
    github.issue("up/core#1")
    state_file.write_bytes(content)
    document = poll("up/core#1")
    assert state_file.read_bytes() == content
    assert document.tickets[0].outcome is TicketOutcome.POLLED
    assert "tickets.json was left as it is" in document.notes[0]
    assert document.verdict is Verdict.ATTENTION


def test_a_reported_state_is_kept_until_upstream_answers(
    github: FakeGitHub, poll: Poll, state_file: Path
) -> None:
    """Against a state that was only reported, nothing but the standing can be news."""
    reported = TicketState(
        polled_at="2026-09-01T00:00:00Z",
        kind="issue",
        title="",
        state="open",
        state_reason=None,
        labels=(),
        updated_at="",
        acknowledged=None,
        origin="reported",
    )
    known = {"up/core#1": memory.Remembered(state=reported)}
    memory.write(state_file, memory.Memory(tickets=known))
    github.issue("up/core#1", labels=[{"name": "bug"}])
    (ticket,) = poll("up/core#1").tickets
    assert (ticket.outcome, ticket.changes) == (TicketOutcome.POLLED, ())


def test_what_was_just_asked_is_not_asked_again(github: FakeGitHub, poll: Poll) -> None:
    """Within the time, news is told again without a request; after it, upstream is asked."""
    github.issue("up/core#1")
    poll("up/core#1")
    github.close("up/core#1")
    poll("up/core#1", day=2)
    before = len(github.requests)
    again = poll("up/core#1", day=2, reuse_s=60)
    assert len(github.requests) == before
    assert again.tickets[0].changes == ("open -> closed (completed)",)
    assert again.tickets[0].outcome is TicketOutcome.POLLED
    later = poll("up/core#1", day=3, reuse_s=60)
    assert later.tickets[0].changes == ()
    assert len(github.requests) > before


def test_no_tickets_is_no_fault(poll: Poll) -> None:
    """Who watches nothing has nothing to ask."""
    assert poll().verdict is Verdict.OK
