"""Faults at any moment of any publish: an error that says what, never a crash, and it heals."""

from __future__ import annotations

import random

import pytest

from tests.publish.conftest import Publisher, at_rest, issue, pull
from tests.support.github_fake import FakeGitHub, Repository
from tests.support.github_faults import FAULTS, GRAPHQL_FAULTS, Breaking
from tracker.errors import EnvironmentFault
from tracker.forge.client import Forge

_FAULTS = list({**FAULTS, **GRAPHQL_FAULTS}.items())


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
    for _, fault in faults:
        moment = chance.randrange(1, 22)
        was_done = chance.random() < 0.5
        with Breaking(github, moment, fault, was_done=was_done):
            try:
                publisher(chance.choice(choices))
            except EnvironmentFault as told:
                assert told.what.startswith("cannot publish: ")
                assert told.next_step
    publisher(pull("b9"))
    opened = [number for number, thread in ours.threads.items() if thread["state"] == "open"]
    assert len(opened) == 1, [ours.threads[number]["title"] for number in opened]
    assert ours.pulls[opened[0]]["title"].endswith("b9")
    assert ours.git.refs["refs/heads/main"] == main
