"""``lloyal-track poll`` as a process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from tests.support import github_fake
from tests.support.github_fake import TOKEN, FakeGitHub
from tests.support.tool import run_tool
from tracker.bundled import bundled

_CONFIG = """\
[upstream]
url = "https://example.invalid/up/core"
[[tickets]]
key = "up/core#1"
why = "the warning"
"""


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with github_fake.serving() as fake:
        yield fake


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lloyal-track.toml").write_text(_CONFIG)
    return tmp_path


def test_news_is_exit_1_and_no_news_exit_0(folder: Path, github: FakeGitHub) -> None:
    """First seen is news; the second time there is none; the document fits its schema."""
    github.issue("up/core#1", "a | warning\u202e")
    first = run_tool(folder, github.url, "poll", "--json")
    document = json.loads(first.stdout)
    jsonschema.validate(document, json.loads((bundled("schemas") / "poll-1.json").read_bytes()))
    assert (first.returncode, document["verdict"]) == (1, "attention")
    second = run_tool(folder, github.url, "-q", "poll")
    assert (second.returncode, second.stderr) == (0, "")
    assert "a | warning\n" in second.stdout


def test_closed_is_not_called_fixed(folder: Path, github: FakeGitHub) -> None:
    """A bot closes a stale report as completed (H06); one that a pull request closes is another."""
    github.issue("up/core#1", labels=[{"name": "stale"}])
    github.close("up/core#1", "completed")
    words = "nothing says that it is fixed"
    assert words in run_tool(folder, github.url, "poll").stdout
    github.pull("up/core#2", state="closed", merged_at="2026-11-01")
    github.refers("up/core#2", "up/core#1", body="Fixes #1")
    assert words not in run_tool(folder, github.url, "poll").stdout


def test_without_a_network_it_says_so(folder: Path) -> None:
    """Exit 1, "not polled, because ...", no traceback, no file."""
    done = run_tool(folder, "http://127.0.0.1:1", "-q", "poll")
    assert done.returncode == 1
    assert "not polled, because no network: 127.0.0.1 cannot be reached" in done.stdout
    assert done.stderr == ""
    assert not (folder / "vendor" / "tickets.json").exists()


def test_a_dry_run_keeps_the_news(folder: Path, github: FakeGitHub) -> None:
    """What was seen is not remembered."""
    github.issue("up/core#1")
    for _ in range(2):
        assert run_tool(folder, github.url, "poll", "--dry-run").returncode == 1


def test_the_token_is_nowhere(folder: Path, github: FakeGitHub) -> None:
    """Not in the output, not in the file, whatever goes wrong."""
    secret = "ghp_" + "s" * 36
    github.issue("up/core#1")
    done = run_tool(folder, github.url, "-v", "poll", "--json", token=secret)
    text = done.stdout + done.stderr + (folder / "vendor" / "tickets.json").read_text()
    assert secret not in text
    assert "refused (401)" in done.stdout


def test_a_token_does_not_travel_in_clear(folder: Path) -> None:
    """Over plain HTTP to another machine the poll is anonymous."""
    from tracker.forge.access import from_environment

    found = from_environment({"GITHUB_API_URL": "http://ghe.example", "GITHUB_TOKEN": TOKEN})
    assert found.token == ""
    assert "not sent over plain HTTP" in found.source
    local = from_environment({"GITHUB_API_URL": "http://127.0.0.1:9", "GITHUB_TOKEN": TOKEN})
    assert local.token == TOKEN
    assert TOKEN not in repr(local)
    assert from_environment({"GITHUB_TOKEN": "a\nb", "PATH": str(folder)}).token == ""


def test_a_key_that_is_none_is_named_with_its_line(folder: Path, github: FakeGitHub) -> None:
    """A wrong key in the configuration: exit 2, file, line and key."""
    (folder / "lloyal-track.toml").write_text(_CONFIG.replace("up/core#1", "core 1"))
    done = run_tool(folder, github.url, "poll")
    assert done.returncode == 2
    assert "lloyal-track.toml:4" in done.stderr
    assert github.requests == []
