"""The downstream repository on the fake, and a publish to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from tests.support import github_fake
from tests.support.github_fake import FakeGitHub, Repository
from tracker.evidence.publish import Done, PublishDocument
from tracker.publish.proposal import FileChange, Proposal
from tracker.publish.publishing import publish

DOWNSTREAM = "our/node"
PIN_FILE = "vendor/pin.toml"


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    """GitHub with our repository, whose main branch holds a pin."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with github_fake.serving() as fake:
        fake.repository(DOWNSTREAM).git.push(
            "refs/heads/main", {PIN_FILE: "old\n", "README": "hello\n"}, "start", "maintainer"
        )
        yield fake


@pytest.fixture
def ours(github: FakeGitHub) -> Repository:
    return github.repository(DOWNSTREAM)


@dataclass(frozen=True)
class Publisher:
    """Publishes to the fake on the thirtieth of November."""

    github: FakeGitHub

    def __call__(self, *proposals: Proposal, dry_run: bool = False) -> PublishDocument:
        return publish(
            proposals,
            repository=DOWNSTREAM,
            access=self.github.access(),
            now=datetime(2026, 11, 30, 6, tzinfo=UTC),
            dry_run=dry_run,
            run_url="https://example.invalid/run/1",
        )

    def done(self, *proposals: Proposal) -> list[Done]:
        return [step.done for step in self(*proposals).steps]


@pytest.fixture
def publisher(github: FakeGitHub) -> Publisher:
    return Publisher(github)


def pull(target: str = "b10001", *, draft: bool = False, key: str = "default") -> Proposal:
    """A bump to ``target`` that may go."""
    return Proposal(
        kind="pull",
        key=key,
        title=f"Move the upstream pin from b9581 to {target}",
        body=f"# To {target}\n",
        digest=f"d-{target}-{draft}",
        state=f"s-{draft}",
        standing="red" if draft else "the pin may move",
        files=(FileChange(PIN_FILE, f"{target}\n".encode()),),
        draft=draft,
    )


def issue(what: str = "patch 4 conflicts", target: str = "b10001") -> Proposal:
    """A bump that a person must look at."""
    return Proposal(
        kind="issue",
        key="default",
        title=f"The pin cannot move to {target}",
        body=f"# {what}\n",
        digest=f"d-{what}-{target}",
        state=f"s-{what}",
        standing=what,
    )


def at_rest() -> Proposal:
    """The pin is there."""
    return Proposal("none", "default", "", "", "d", "s", "the pin is at b10001")
