"""tickets.json under whatever befalls a file: it is whole, or left as it is and said so."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.github_fake import FakeGitHub
from tests.tickets.conftest import Poll
from tracker.evidence.tickets import TicketOutcome
from tracker.evidence.verdict import Verdict
from tracker.tickets import memory
from tracker.tickets.memory import Memory

NAMES = ("up/core#1", "up/core#2")


@pytest.fixture
def known(github: FakeGitHub, poll: Poll, state_file: Path) -> dict[str, Any]:
    """What lies in the file after a poll of an issue with a pull request, and of a pull request."""
    github.issue(NAMES[0])
    github.pull(NAMES[1])
    github.refers(NAMES[1], NAMES[0], body="Fixes #1")
    poll(*NAMES)
    document = json.loads(state_file.read_bytes())
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_file_is_no_crash(
    poll: Poll, state_file: Path, known: dict[str, Any], seed: int
) -> None:
    """Any text in it may be any other: it is used if it says what it may, else left and named."""
    chance = random.Random(seed)  # noqa: S311  (reproducible, not secret)
    holder, name = chance.choice(list(_texts(known)))
    holder[name] = chance.choice(["", "x", "../..#1", "a/b#0", "\x1b[2J", "9999-99-99", "--all"])
    content = json.dumps(known).encode()
    state_file.write_bytes(content)
    document = poll(*NAMES, day=8, reuse_s=chance.choice([0, 1e9]))
    assert all(t.state and t.state.state == "open" for t in document.tickets)
    if document.notes:
        assert "was left as it is" in document.notes[0]
        assert document.verdict is Verdict.ATTENTION
        assert state_file.read_bytes() == content
    else:
        assert isinstance(memory.read(state_file), Memory)


def _texts(value: Any) -> Any:
    """Every place in ``value`` that holds a text: its holder, and its name there."""
    places = value.items() if isinstance(value, dict) else enumerate(value)
    for name, held in list(places):
        if isinstance(held, str):
            yield value, name
        elif isinstance(held, dict | list):
            yield from _texts(held)


@pytest.mark.parametrize("cut", [1, 40, -3])
def test_a_file_that_was_cut_is_left(
    poll: Poll, state_file: Path, known: dict[str, Any], cut: int
) -> None:
    """Half a document is not half used."""
    content = json.dumps(known).encode()[:cut]
    state_file.write_bytes(content)
    document = poll(*NAMES, day=8)
    assert "was left as it is" in document.notes[0]
    assert state_file.read_bytes() == content
    assert {ticket.outcome for ticket in document.tickets} == {TicketOutcome.POLLED}


@pytest.mark.usefixtures("known")
def test_a_full_disk_leaves_the_old_file(
    github: FakeGitHub,
    poll: Poll,
    state_file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The write fails loudly, nothing is left beside the file, and the news stays news."""
    before = state_file.read_bytes()
    github.close(NAMES[0])

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("tracker.statedir.os.fsync", full)
        with pytest.raises(OSError, match="No space left") as told:
            poll(*NAMES, day=8)
    assert told.value.filename == str(state_file)
    assert state_file.read_bytes() == before
    assert list(state_file.parent.iterdir()) == [state_file]
    assert poll(*NAMES, day=8).tickets[0].changes == ("open -> closed (completed)",)


_WRITER = """
import sys, itertools
from pathlib import Path
from tracker.tickets import memory
file = Path(sys.argv[1])
known = memory.read(file)
print(flush=True)
for canonical in itertools.count(1):
    tickets = {"up/core#%d" % n: memory.Remembered(canonical="up/core#%d" % canonical)
               for n in range(1, 300)}
    memory.write(file, memory.Memory(tickets=tickets))
"""


def test_killed_while_it_writes_the_file_is_whole(state_file: Path) -> None:
    """SIGKILL at any moment leaves the old or the new file, and the next write tidies up."""
    chance = random.Random(7)  # noqa: S311  (reproducible, not secret)
    for _ in range(5):
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(state_file)], stdout=subprocess.PIPE
        )
        assert writer.stdout
        writer.stdout.readline()
        time.sleep(chance.uniform(0.02, 0.12))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        found = memory.read(state_file)
        assert isinstance(found, Memory)
        assert len({ticket.canonical for ticket in found.tickets.values()}) == 1
    memory.write(state_file, Memory())
    assert list(state_file.parent.iterdir()) == [state_file]
