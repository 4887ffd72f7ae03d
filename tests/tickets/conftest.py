"""The fake upstream and a poll of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support import github_fake
from tests.support.github_fake import FakeGitHub
from tracker import tickets
from tracker.config import TicketTable
from tracker.evidence.tickets import TicketsDocument
from tracker.forge.access import Access
from tracker.forge.client import STANDARD, Bounds

Poll = Callable[..., TicketsDocument]


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    """GitHub, as far as this project knows it."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with github_fake.serving() as fake:
        yield fake


@pytest.fixture
def state_file(tmp_path: Path) -> Path:
    """Where the last known states lie."""
    return tmp_path / "tickets.json"


@pytest.fixture
def waits() -> list[float]:
    """The waits that were asked for; none is really waited."""
    return []


@pytest.fixture
def poll(github: FakeGitHub, state_file: Path, waits: list[float]) -> Poll:
    """``poll("o/r#1", …)`` against the fake, at a fixed time."""

    def polled(
        *names: str,
        write: bool = True,
        access: Access | None = None,
        day: int = 1,
        bounds: Bounds = STANDARD,
        reuse_s: float = 0.0,
    ) -> TicketsDocument:
        return tickets.poll(
            [TicketTable(key=name, why="watched") for name in names],
            state_file,
            write=write,
            access=access or github.access(),
            now=lambda: datetime(2026, 12, day, 6, tzinfo=UTC),
            bounds=bounds,
            reuse_s=reuse_s,
            sleep=waits.append,
        )

    return polled
