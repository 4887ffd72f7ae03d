"""Faults at any moment of any publish: an error that says what, never a crash, and it heals."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.publish.conftest import Publisher, at_rest, issue, pull
from tests.support.github_fake import FakeGitHub, Reply, Repository
from tracker.errors import EnvironmentFault
from tracker.forge.client import Forge

_HTML = {"Content-Type": "text/html"}
_LIMIT = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "253402300799"}
_FAULTS: list[Reply | None] = [
    None,
    Reply(200, {}),
    Reply(200, []),
    Reply(200, [None]),
    Reply(200, [{}]),
    Reply(200, "text"),
    Reply(200, 7),
    Reply(200, b""),
    Reply(200, b"{"),
    Reply(200, b"<html>sign in", _HTML),
    Reply(200, {"message": "hm"}),
    Reply(200, {"data": None}),
    Reply(200, {"data": {"viewer": None}}),
    Reply(200, {"errors": {"0": 1}}),
    Reply(200, {"errors": "no"}),
    Reply(200, {"number": "1", "sha": 2, "commits": None, "status": None, "object": []}),
    Reply(204, b""),
    Reply(304, b""),
    Reply(401, {"message": "Bad credentials"}),
    Reply(403, {"message": "Resource not accessible by integration"}),
    Reply(403, {"message": "API rate limit exceeded"}, _LIMIT),
    Reply(403, {"message": "API rate limit exceeded"}, {**_LIMIT, "Date": "yesterday"}),
    Reply(429, {"message": "secondary rate limit"}, {"Retry-After": "99999999999"}),
    Reply(404, {"message": "Not Found"}),
    Reply(409, {"message": "Conflict"}),
    Reply(410, {"message": "Issues are disabled for this repo"}),
    Reply(422, {"message": "Validation Failed"}),
    Reply(451, {"message": "DMCA"}),
    Reply(500, {"message": "x"}),
    Reply(502, b"<html>", _HTML),
    Reply(503, b""),
]


@pytest.mark.parametrize("seed", range(24))
def test_a_fault_at_any_moment_is_told_and_heals(
    publisher: Publisher,
    ours: Repository,
    github: FakeGitHub,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    """In a row of runs with a fault each, done or not done: afterwards there is one open thread.

    No run ends with anything but its document or an ``EnvironmentFault``, the base branch stays as
    it is, and a person's commit stays where it is.
    """
    monkeypatch.setattr(
        "tracker.publish.publishing.Forge",
        lambda access: Forge(access, sleep=lambda _: None),
    )
    chance = random.Random(seed)  # noqa: S311  (reproducible, not secret)
    main = ours.git.refs["refs/heads/main"]
    faults = chance.sample(_FAULTS, len(_FAULTS))
    choices = [pull("b1"), pull("b2"), pull("b2", draft=True), issue(), issue("other"), at_rest()]
    rightly = github.answer
    for fault in faults:
        moment = chance.randrange(1, 22)
        was_done = chance.random() < 0.5  # the request was done, and its answer is lost
        github.answer = _breaking(rightly, moment, fault, was_done=was_done)  # type: ignore[method-assign]
        try:
            publisher(chance.choice(choices))
        except EnvironmentFault as told:
            assert told.what.startswith("cannot publish: ")
            assert told.next_step
    github.answer = rightly  # type: ignore[method-assign]
    publisher(pull("b9"))
    opened = [number for number, thread in ours.threads.items() if thread["state"] == "open"]
    assert len(opened) == 1, [ours.threads[number]["title"] for number in opened]
    assert ours.pulls[opened[0]]["title"].endswith("b9")
    assert ours.git.refs["refs/heads/main"] == main


def _breaking(
    rightly: Callable[..., Reply | None], moment: int, fault: Reply | None, *, was_done: bool
) -> Callable[..., Reply | None]:
    seen = 0

    def answer(method: str, target: str, headers: Any, body: Any) -> Reply | None:
        nonlocal seen
        seen += 1
        if seen != moment:
            return rightly(method, target, headers, body)
        if was_done:
            rightly(method, target, headers, body)
        return fault

    return answer
