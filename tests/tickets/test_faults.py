"""Thirty ways in which GitHub, or what stands before it, fails: each its own outcome.

The ticket in trouble stands between two that answer. Whatever happens, its last known state and
date stay, it never reads as "nothing new", and the state file can be read afterwards.
"""

from __future__ import annotations

import gzip
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import github_fake
from tests.support.github_fake import FakeGitHub, Reply
from tests.tickets.conftest import Poll
from tracker.evidence.tickets import FaultKind, TicketOutcome
from tracker.evidence.verdict import Verdict
from tracker.forge.access import Access
from tracker.forge.client import Bounds
from tracker.tickets.memory import Memory, read

_THREAD = r"/issues/2$"
_TIMELINE = r"/issues/2/timeline"
_HTML = {"Content-Type": "text/html"}
_LIMIT = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4102444800"}
_DATE = "Fri, 01 Jan 2100 00:00:00 GMT"  # is second 4102444800
_SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes."
_NO_PERMISSION = "Resource not accessible by integration"


@dataclass(frozen=True)
class _Case:
    """``reply``: what comes instead. ``rest``: the tickets after it could still be polled."""

    name: str
    reply: Reply | Callable[[Reply], Reply] | None
    outcome: TicketOutcome
    fault: FaultKind
    said: str
    path: str = _THREAD
    rest: bool = True
    waits: tuple[float, ...] = ()


def _cut(right: Reply) -> Reply:
    return Reply(200, b'{"number": 2, "title": "cut of', dict(right.headers))


def _without(field: str) -> Callable[[Reply], Reply]:
    def reply(right: Reply) -> Reply:
        return Reply(200, {k: v for k, v in right.body.items() if k != field}, right.headers)

    return reply


_NOT, _GONE, _REFUSED = TicketOutcome.NOT_POLLED, TicketOutcome.GONE, TicketOutcome.REFUSED
_AGAIN = (1.0,)
_CASES = [
    _Case("500", Reply(500, {"message": "x"}), _NOT, FaultKind.SERVER_ERROR, "500", waits=_AGAIN),
    _Case(
        "502 page", Reply(502, b"<html>", _HTML), _NOT, FaultKind.SERVER_ERROR, "502", waits=_AGAIN
    ),
    _Case("503 empty", Reply(503, b""), _NOT, FaultKind.SERVER_ERROR, "503", waits=_AGAIN),
    _Case("504", Reply(504, b"timeout"), _NOT, FaultKind.SERVER_ERROR, "504", waits=_AGAIN),
    _Case("connection broken", None, _NOT, FaultKind.TIMEOUT, "broke the conn", waits=_AGAIN),
    _Case("404", Reply(404, {"message": "Not Found"}), _GONE, FaultKind.NOT_FOUND, "404"),
    _Case("410", Reply(410, {"message": "This issue was deleted"}), _GONE, FaultKind.GONE, "410"),
    _Case("451", Reply(451, {"message": "DMCA"}), _REFUSED, FaultKind.BLOCKED, "legal"),
    _Case(
        "403 permission",
        Reply(403, {"message": _NO_PERMISSION}),
        _REFUSED,
        FaultKind.FORBIDDEN,
        _NO_PERMISSION,
    ),
    _Case("403 html", Reply(403, b"<html>no", _HTML), _NOT, FaultKind.NOT_GITHUB, "proxy"),
    _Case("407", Reply(407, {"message": "auth"}), _NOT, FaultKind.NOT_GITHUB, "proxy"),
    _Case("200 sign-in page", Reply(200, b"<html>", _HTML), _NOT, FaultKind.NOT_GITHUB, "sign-in"),
    _Case("404 html", Reply(404, b"<html>", _HTML), _NOT, FaultKind.NOT_GITHUB, "no GitHub API"),
    _Case("404 without a word", Reply(404, b""), _NOT, FaultKind.NOT_GITHUB, "no GitHub API"),
    _Case(
        "422", Reply(422, {"message": "Validation Failed"}), _NOT, FaultKind.REJECTED, "Validation"
    ),
    _Case("cut off", _cut, _NOT, FaultKind.MALFORMED, "cut off"),
    _Case("empty 200", Reply(200, b""), _NOT, FaultKind.MALFORMED, "documents"),
    _Case("a list", Reply(200, []), _NOT, FaultKind.MALFORMED, "documents"),
    _Case("no state", _without("state"), _NOT, FaultKind.MALFORMED, "documents"),
    _Case("no labels", _without("labels"), _NOT, FaultKind.MALFORMED, "documents"),
    _Case(
        "gzip that is none",
        Reply(200, b"not gzip", {"Content-Encoding": "gzip"}),
        _NOT,
        FaultKind.MALFORMED,
        "cannot be read",
    ),
    _Case(
        "304 unasked, twice", Reply(304, b""), _NOT, FaultKind.MALFORMED, "304", path=r"/issues/2"
    ),
    _Case(
        "redirect elsewhere",
        Reply(301, {}, {"Location": "http://elsewhere.example/x"}),
        _NOT,
        FaultKind.REDIRECTED_AWAY,
        "another host",
    ),
    _Case(
        "temporary redirect elsewhere",
        Reply(302, {}, {"Location": "https://elsewhere.example/x"}),
        _NOT,
        FaultKind.REDIRECTED_AWAY,
        "another host",
    ),
    _Case(
        "redirect in a circle",
        Reply(307, {}, {"Location": "/repos/up/core/issues/2"}),
        _NOT,
        FaultKind.REDIRECTED_AWAY,
        "circle",
    ),
    _Case(
        "primary limit, far",
        Reply(403, {"message": "API rate limit exceeded"}, {**_LIMIT, "Date": "x"}),
        _NOT,
        FaultKind.RATE_LIMITED,
        "used up",
        rest=False,
    ),
    _Case(
        "primary limit, near but for ever",
        Reply(429, {"message": "API rate limit exceeded"}, {**_LIMIT, "Date": _DATE}),
        _NOT,
        FaultKind.RATE_LIMITED,
        "used up",
        rest=False,
        waits=(1.0,) * 4,
    ),
    _Case(
        "secondary limit, no header (H11)",
        Reply(403, {"message": _SECONDARY}),
        _NOT,
        FaultKind.SECONDARY_LIMIT,
        "secondary",
        rest=False,
        waits=(60.0, 120.0),
    ),
    _Case(
        "secondary limit, one hour",
        Reply(429, {"message": _SECONDARY}, {"Retry-After": "3600"}),
        _NOT,
        FaultKind.SECONDARY_LIMIT,
        "secondary",
        rest=False,
    ),
    _Case(
        "timeline 500",
        Reply(500, {"message": "x"}),
        _NOT,
        FaultKind.SERVER_ERROR,
        "its timeline could not be read",
        path=_TIMELINE,
        waits=_AGAIN,
    ),
    _Case(
        "timeline is an object",
        Reply(200, {"message": "hm"}),
        _NOT,
        FaultKind.MALFORMED,
        "timeline",
        path=_TIMELINE,
    ),
    _Case(
        "timeline without permission",
        Reply(403, {"message": _NO_PERMISSION}),
        _REFUSED,
        FaultKind.FORBIDDEN,
        "thread itself is closed",
        path=_TIMELINE,
    ),
]


@pytest.fixture
def three(github: FakeGitHub, poll: Poll) -> tuple[str, str, str]:
    """Three tickets, seen on the first of December; then all three are closed."""
    names = ("up/core#1", "up/core#2", "up/core#3")
    for name in names:
        github.issue(name, f"about {name}")
    poll(*names)
    for name in names:
        github.close(name)
    return names


@pytest.mark.parametrize("case", _CASES, ids=[case.name for case in _CASES])
def test_a_fault_is_its_own_outcome(
    github: FakeGitHub,
    poll: Poll,
    three: tuple[str, str, str],
    state_file: Path,
    waits: list[float],
    case: _Case,
) -> None:
    """The ticket tells its fault and keeps its last state; the others are polled."""
    github.trouble(case.path, case.reply)
    if case.name.startswith("304"):
        # Without a remembered validator the request is unconditional.
        memory = read(state_file)
        assert isinstance(memory, Memory)
        state_file.unlink()
        poll(three[0], three[2])
    document = poll(*three, day=8)
    before, ticket, after = document.tickets
    assert (ticket.outcome, ticket.fault) == (case.outcome, case.fault)
    assert case.said in ticket.why
    assert ticket.changes == ()
    assert document.verdict is not Verdict.OK
    if not case.name.startswith("304"):
        assert before.changes == ("open -> closed (completed)",)
        assert ticket.state is not None
        assert (ticket.state.state, ticket.state.polled_at) == ("open", "2026-12-01T06:00:00Z")
        assert after.outcome is (TicketOutcome.POLLED if case.rest else _NOT)
        remembered = read(state_file)
        assert isinstance(remembered, Memory)
        assert remembered.tickets[three[1]].state == ticket.state
    assert tuple(waits) == case.waits
    # When it is over, the news has not been lost.
    github.troubles.clear()
    assert poll(*three, day=15).tickets[1].changes != ()


def test_there_are_thirty() -> None:
    """The table above, and the faults below, are at least the thirty that were asked for."""
    assert len(_CASES) >= 30


def test_a_server_that_recovers_is_asked_once_more(
    github: FakeGitHub, poll: Poll, three: tuple[str, str, str]
) -> None:
    """One 502 costs a second request and nothing else."""
    github.trouble(_THREAD, Reply(502, b"<html>", _HTML), times=1)
    assert [t.outcome for t in poll(*three).tickets] == [TicketOutcome.POLLED] * 3


def test_a_limit_that_ends_soon_is_waited_for(
    github: FakeGitHub, poll: Poll, three: tuple[str, str, str], waits: list[float]
) -> None:
    """The wait is counted by the server's clock, and all tickets are polled after it."""
    headers = {**_LIMIT, "Date": "Thu, 31 Dec 2099 23:59:30 GMT"}
    github.trouble(_THREAD, Reply(403, {"message": "API rate limit exceeded"}, headers), times=1)
    assert [t.outcome for t in poll(*three).tickets] == [TicketOutcome.POLLED] * 3
    assert waits == [31.0]


def test_a_304_without_a_validator_keeps_the_old_one(github: FakeGitHub, poll: Poll) -> None:
    """An empty 304 without an ETag means the cached answer; the old ETag is sent again (H10)."""
    github.issue("up/core#2")
    poll("up/core#2")
    github.trouble(r"/issues/2", Reply(304, b""), times=2)
    (ticket,) = poll("up/core#2", day=8).tickets
    assert ticket.outcome is TicketOutcome.UNCHANGED
    again = poll("up/core#2", day=15)
    assert again.requests.conditional == again.requests.not_modified == 2


def test_a_304_that_nobody_asked_for_is_asked_again(github: FakeGitHub, poll: Poll) -> None:
    """Nothing is cached and the server says "not modified": one more request brings the answer."""
    github.issue("up/core#2")
    github.trouble(_THREAD, Reply(304, b""), times=1)
    assert poll("up/core#2").tickets[0].outcome is TicketOutcome.POLLED


def test_a_refused_token_is_told_and_the_poll_goes_on_without(
    github: FakeGitHub, poll: Poll, three: tuple[str, str, str]
) -> None:
    """An expired token is a note and "attention"; public threads are read anonymously (H14)."""
    document = poll(*three, access=Access(github.url, "expired", "GITHUB_TOKEN"), day=8)
    assert document.notes == ("the token from GITHUB_TOKEN is refused (401): polled without it",)
    assert document.verdict is Verdict.ATTENTION
    assert [ticket.changes for ticket in document.tickets] == [("open -> closed (completed)",)] * 3
    assert github.requests[-1].authorization is None


def test_a_refused_token_for_a_private_repository_is_no_news(
    github: FakeGitHub, poll: Poll, three: tuple[str, str, str]
) -> None:
    """Where anonymous sees nothing, the last state is kept and the note names the token."""
    github.needs_token = True
    document = poll(*three, access=Access(github.url, "expired", "GITHUB_TOKEN"), day=8)
    assert "refused (401)" in document.notes[0]
    assert {ticket.outcome for ticket in document.tickets} == {TicketOutcome.GONE}
    assert all(t.state and t.state.state == "open" for t in document.tickets)


def test_a_server_that_hangs_does_not_hold_the_run(
    github: FakeGitHub, poll: Poll, three: tuple[str, str, str]
) -> None:
    """A request that never ends is left alone; the next ticket is polled."""
    over = threading.Event()
    github.trouble(_THREAD, Reply(200, {}), hang=over)
    document = poll(*three, day=8, bounds=Bounds(request_s=1.0))
    over.set()
    assert document.tickets[1].fault is FaultKind.TIMEOUT
    assert document.tickets[2].changes == ("open -> closed (completed)",)


def test_a_host_that_never_answers_ends_the_poll(
    github: FakeGitHub, poll: Poll, three: tuple[str, str, str]
) -> None:
    """If the very first request gets no answer, no other is sent."""
    over = threading.Event()
    github.trouble("", Reply(200, {}), hang=over)
    seen = len(github.requests)
    document = poll(*three, day=8, bounds=Bounds(request_s=1.0))
    over.set()
    assert {ticket.fault for ticket in document.tickets} == {FaultKind.NO_NETWORK}
    assert len(github.requests) == seen + 1
    assert not document.polled


def test_the_time_for_all_requests_is_bounded(poll: Poll, three: tuple[str, str, str]) -> None:
    """When it is used up, the tickets that are left say so."""
    document = poll(*three, day=8, bounds=Bounds(run_s=0.0))
    assert {ticket.fault for ticket in document.tickets} == {FaultKind.BUDGET}


def test_without_a_network_the_last_state_is_kept_and_dated(
    poll: Poll, three: tuple[str, str, str], state_file: Path
) -> None:
    """One connection is tried; every ticket says "not polled, because ..." and keeps its state."""
    before = state_file.read_bytes()
    document = poll(*three, access=Access("http://127.0.0.1:1"), day=8)
    assert not document.polled
    assert document.verdict is Verdict.UNKNOWN
    assert document.requests.sent == 1
    for ticket in document.tickets:
        assert ticket.why == "not polled, because no network: 127.0.0.1 cannot be reached"
        assert ticket.state is not None
        assert ticket.state.polled_at == "2026-12-01T06:00:00Z"
    assert state_file.read_bytes() == before


def test_without_a_network_no_state_file_is_made(poll: Poll, state_file: Path) -> None:
    """A first poll that reaches nobody leaves nothing behind."""
    poll("up/core#1", access=Access("http://127.0.0.1:1"))
    assert not state_file.exists()


def test_a_name_that_does_not_resolve_is_no_network(
    poll: Poll, three: tuple[str, str, str]
) -> None:
    """The reason names the host."""
    document = poll(*three, access=Access("http://no-such-host.invalid"), day=8)
    assert {ticket.fault for ticket in document.tickets} == {FaultKind.NO_NETWORK}


def test_a_compressed_answer_is_read(github: FakeGitHub, poll: Poll) -> None:
    """The fault "gzip that is none" is one because real gzip works."""
    github.issue("up/core#2")

    def compressed(right: Reply) -> Reply:
        import json

        body = gzip.compress(json.dumps(right.body).encode())
        return Reply(200, body, {**right.headers, "Content-Encoding": "gzip"})

    github.trouble(_THREAD, compressed)
    assert poll("up/core#2").tickets[0].outcome is TicketOutcome.POLLED


def test_a_304_with_another_validator_does_not_vouch_for_old_facts(
    github: FakeGitHub, poll: Poll
) -> None:
    """A cache in between says "not modified" and names the newest ETag: the next poll sees it."""
    github.issue("up/core#2")
    poll("up/core#2")
    github.close("up/core#2")

    def confused(right: Reply) -> Reply:
        return Reply(304, b"", {"ETag": right.headers["ETag"]})

    github.trouble(_THREAD, confused, times=1)
    poll("up/core#2", day=8)
    assert poll("up/core#2", day=15).tickets[0].changes == ("open -> closed (completed)",)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("form", ["{}/repos/up/core/issues/2", "//{}/x", "@{}/x", "https:{}/x"])
def test_a_token_goes_to_no_other_host(
    github: FakeGitHub, poll: Poll, three: tuple[str, str, str], status: int, form: str
) -> None:
    """A redirect, or a next page, of whatever form: nothing is asked of the host it names."""
    with github_fake.serving() as other:
        other.issue("up/core#2", "of another host")
        there = other.url if form.startswith("{") else other.url.partition("//")[2]
        location = form.format(there).replace("127.0.0.1", "localhost")
        github.trouble(_THREAD, Reply(status, {}, {"Location": location}))
        pages = {"Link": f'<{other.url}/repos/up/core/issues/3/timeline?page=2>; rel="next"'}
        github.trouble(r"/issues/3/timeline\?page=1", Reply(200, [], pages))
        document = poll(*three, day=8)
        assert other.requests == []
    assert document.tickets[1].fault is FaultKind.REDIRECTED_AWAY or status == 301
    assert document.tickets[1].outcome is not TicketOutcome.POLLED
    assert document.tickets[2].outcome is TicketOutcome.POLLED


def test_redirects_in_a_circle_are_few(
    github: FakeGitHub, poll: Poll, three: tuple[str, str, str]
) -> None:
    """Each counts for the limit: after four of them the next ticket is asked."""
    there = {"Location": f"{github.url}/repos/up/core/issues/22"}
    back = {"Location": f"{github.url}/repos/up/core/issues/2"}
    github.trouble(r"/issues/2$", Reply(301, {"message": "Moved"}, there))
    github.trouble(r"/issues/22$", Reply(301, {"message": "Moved"}, back))
    before = len(github.requests)
    document = poll(*three, day=8)
    assert document.tickets[1].fault is FaultKind.REDIRECTED_AWAY
    assert document.tickets[1].why == "not polled, because redirects lead in a circle"
    assert document.tickets[2].outcome is TicketOutcome.POLLED
    assert len(github.requests) - before == 4 + 4


def test_a_library_says_nothing_of_its_own(
    github: FakeGitHub, poll: Poll, capfd: pytest.CaptureFixture[str]
) -> None:
    """PyGithub would write each address that it is sent to, as it came, to the terminal."""
    records: list[logging.LogRecord] = []
    listening = logging.Handler()
    listening.emit = records.append  # type: ignore[method-assign, assignment]
    github.issue("old/core#1")
    github.rename("old/core", "new/core")
    logging.getLogger("github").addHandler(listening)
    try:
        poll("old/core#1")
    finally:
        logging.getLogger("github").removeHandler(listening)
    assert records == []
    assert capfd.readouterr() == ("", "")


def test_a_clock_that_goes_back_does_not_keep_old_news(
    github: FakeGitHub, poll: Poll, three: tuple[str, str, str]
) -> None:
    """What is dated in the future was not asked a moment ago."""
    poll(*three, day=20)
    github.event(three[0], "reopened")
    github.repository("up/core").threads[1] |= {"state": "open", "state_reason": None}
    document = poll(*three, day=8, reuse_s=1e9)
    assert document.tickets[0].changes == ("closed (completed) -> open",)


def test_another_pull_request_is_not_taken_for_the_one_asked(
    github: FakeGitHub, poll: Poll
) -> None:
    """The answer about a closing pull request is about another: nothing is concluded from it."""
    github.issue("up/core#2")
    github.pull("up/core#9", "the fix")
    github.refers("up/core#9", "up/core#2", body="Fixes #2")
    other = github.pull("up/core#8", "another", state="closed", merged_at="2026-11-01")
    github.trouble(r"/pulls/9$", Reply(200, other))
    (ticket,) = poll("up/core#2").tickets
    assert ticket.fault is FaultKind.MALFORMED
    assert "up/core#8 came instead of up/core#9" in ticket.why
