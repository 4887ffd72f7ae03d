"""``lloyal-track publish`` as a process, outside a workflow."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from msgspec.structs import replace

from tests.support import documents, github_fake, repos
from tests.support.github_fake import TOKEN, FakeGitHub
from tests.support.tool import run_tool
from tracker.bundled import bundled
from tracker.evidence.base import to_json
from tracker.evidence.bump import BumpDocument

_CONFIG = """\
[upstream]
url = "https://example.invalid/up/core"
[[pins]]
name = "default"
kind = "track"
path = "vendor/pin.toml"
"""


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with github_fake.serving() as fake:
        fake.me = "maintainer"
        fake.repository("our/node").git.push(
            "refs/heads/main", {"vendor/pin.toml": "old\n"}, "start", "maintainer"
        )
        yield fake


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A clone of our/node whose pin was moved, with the evidence of it."""
    small = tmp_path / "ours"
    files = {
        "lloyal-track.toml": _CONFIG,
        "vendor/pin.toml": 'commit = "old"\n',
        ".github/workflows/weekly.yml": "  stage: publish\n",
        ".gitignore": "vendor/*\n!vendor/pin.toml\n",
    }
    repos.build(small, [files], bare=False)
    repos.git(small, "remote", "add", "origin", "git@github.com:our/node.git")
    (small / "vendor/pin.toml").write_text('commit = "new"\n')
    _leave(small, documents.bump())
    return small


def _leave(folder: Path, document: BumpDocument) -> None:
    evidence = folder / "vendor" / "evidence"
    evidence.mkdir(parents=True, exist_ok=True)
    (evidence / "bump.json").write_bytes(to_json(document))


def _run(
    folder: Path, url: str, *arguments: str, token: str = TOKEN
) -> subprocess.CompletedProcess[str]:
    return run_tool(folder, url, "-q", "publish", *arguments, token=token)


def test_a_person_publishes_from_the_checkout(folder: Path, github: FakeGitHub) -> None:
    """The repository is that of origin; the document fits its schema; the pin is in the branch."""
    done = _run(folder, github.url, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    jsonschema.validate(document, json.loads((bundled("schemas") / "publish-1.json").read_bytes()))
    assert document["repository"] == "our/node"
    ours = github.repository("our/node")
    head = ours.git.refs["refs/heads/lloyal-track/bump"]
    assert ours.git.files(head)["vendor/pin.toml"] == 'commit = "new"\n'


def test_a_dry_run_says_what_would_be_done(folder: Path, github: FakeGitHub) -> None:
    """Nothing is written, and a schedule that GitHub switched off is named (A01)."""
    github.repository("our/node").workflow_state = "disabled_inactivity"
    done = _run(folder, github.url, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "dry run: nothing was changed" in done.stdout
    assert "pull opened: Move the upstream pin" in done.stdout
    assert "switched the schedule off after 60 quiet days" in done.stdout
    assert github.repository("our/node").threads == {}


def test_the_evidence_of_a_dry_run_is_not_published(folder: Path, github: FakeGitHub) -> None:
    """No pin was moved, so there is nothing to merge."""
    document = documents.bump()
    _leave(folder, replace(document, pin=replace(document.pin, outcome="would-move")))
    done = _run(folder, github.url)
    assert done.returncode == 2
    assert "the last bump was a dry run" in done.stderr


@pytest.mark.parametrize(
    ("url", "token", "code", "word"),
    [
        ("", "", 4, "publishing needs a token"),
        ("", "expired", 4, "the token is refused"),
        ("http://127.0.0.1:1", TOKEN, 4, "no network"),
    ],
)
def test_without_access_it_is_exit_4(
    folder: Path, github: FakeGitHub, url: str, token: str, code: int, word: str
) -> None:
    """The reason and the next step, no traceback."""
    done = _run(folder, url or github.url, token=token)
    assert done.returncode == code
    assert word in done.stderr
    assert "next:" in done.stderr
    assert "Traceback" not in done.stderr


def test_handed_over_evidence_that_is_not_there_is_a_broken_run(
    folder: Path, github: FakeGitHub, tmp_path: Path
) -> None:
    """An empty artifact is an issue that says so, never silence."""
    (tmp_path / "empty").mkdir()
    done = _run(folder, github.url, "--from", str(tmp_path / "empty"))
    assert done.returncode == 0, done.stderr
    (thread,) = github.repository("our/node").threads.values()
    assert "left no evidence" in thread["body"]


@pytest.mark.parametrize("content", ["{", '{"schema": "lloyal-track/bump/2"}', "<html>"])
def test_handed_over_evidence_that_is_damaged_is_refused(
    folder: Path, github: FakeGitHub, tmp_path: Path, content: str
) -> None:
    """Damaged evidence publishes nothing, and the run is red."""
    (tmp_path / "bump.json").write_text(content)
    done = _run(folder, github.url, "--from", str(tmp_path))
    assert done.returncode == 2
    assert "cannot be read" in done.stderr
    assert github.repository("our/node").threads == {}
