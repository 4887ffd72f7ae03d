from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import msgspec
import pytest

from tests.support import documents
from tracker.bundled import bundled
from tracker.evidence.base import to_json

CONFIG = """
state_dir = "state"
[upstream]
url = "https://example.org/upstream"
"""


def run(folder: Path, *words: str, **extra_env: str) -> subprocess.CompletedProcess[str]:
    (folder / "lloyal-track.toml").write_text(CONFIG)
    return subprocess.run(
        [sys.executable, "-m", "tracker", "checklist", *words],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(documents.REPOSITORY),
            "PYTHONIOENCODING": "utf-8",
            **extra_env,
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    evidence = tmp_path / "state" / "evidence"
    evidence.mkdir(parents=True)
    (evidence / "bump.json").write_bytes(to_json(documents.bump()))
    return tmp_path


def test_the_default_is_a_table_of_80_columns(folder: Path) -> None:
    """Piped, it has no colours and fits a terminal."""
    done = run(folder, COLUMNS="80")
    assert (done.returncode, done.stderr) == (0, "")
    assert "6 → 0 warnings at n_ubatch 512" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_an_ascii_terminal_gets_an_arrow_it_can_show(folder: Path) -> None:
    """A stream that knows no arrows ends no run with a traceback."""
    done = run(folder, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "6 -> 0 warnings at n_ubatch 512" in done.stdout


def test_json_is_one_document_that_its_schema_accepts(folder: Path) -> None:
    """stdout carries exactly the checklist document."""
    done = run(folder, "--json")
    document = json.loads(done.stdout)
    jsonschema.validate(document, json.loads((bundled("schemas") / "checklist-1.json").read_text()))
    assert document["schema"] == "lloyal-track/checklist/1"
    assert document["lines"][0]["title"].startswith("Upstream")


@pytest.mark.parametrize(
    ("format_", "start"), [("md", "# Pin bump"), ("html", "<!doctype html>"), ("json", "{\n")]
)
def test_a_file_gets_the_whole_report(folder: Path, format_: str, start: str) -> None:
    """With -o nothing goes to stdout, and the file holds what stdout would."""
    done = run(folder, "--format", format_, "-o", "report")
    assert (done.returncode, done.stdout) == (0, "")
    written = (folder / "report").read_text(encoding="utf-8")
    assert written.startswith(start)
    assert run(folder, "--format", format_).stdout == written


def test_the_exit_status_is_that_of_the_bump(folder: Path) -> None:
    """A checklist that forbids the move ends with 1, so that a workflow stops."""
    file = folder / "state" / "evidence" / "bump.json"
    forbidden = json.loads(file.read_text())
    forbidden["verdict"] = "attention"
    file.write_text(json.dumps(forbidden))
    assert run(folder).returncode == 1


def test_without_evidence_it_says_what_to_do(tmp_path: Path) -> None:
    """No bump yet: a usage error with the command to run, not an empty list."""
    done = run(tmp_path)
    assert done.returncode == 2
    assert "bump --to master --dry-run" in done.stderr
    assert json.loads(run(tmp_path, "--json").stdout)["schema"] == "lloyal-track/error/1"


@pytest.mark.parametrize("content", [b"", b"{", b'{"schema": "lloyal-track/bump/1"}', b"\xff"])
def test_damaged_evidence_is_a_clear_error(folder: Path, content: bytes) -> None:
    """A cut or foreign file is refused; nothing is shown from half of it."""
    (folder / "state" / "evidence" / "bump.json").write_bytes(content)
    done = run(folder)
    assert done.returncode == 2
    assert "bump.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_document_survives_its_own_json() -> None:
    """Writing and reading the evidence changes nothing."""
    document = documents.bump()
    assert msgspec.json.decode(to_json(document), type=type(document)) == document


def test_other_evidence_becomes_pictures(folder: Path) -> None:
    """A sweep and a soak that were kept as JSON are drawn into the page."""
    (folder / "sweep.json").write_bytes(to_json(documents.sweep()))
    (folder / "soak.json").write_bytes(to_json(documents.soak()))
    words = ("--format", "html", "--with", "sweep.json", "--with", "soak.json")
    done = run(folder, *words)
    assert done.returncode == 0
    assert 'id="timeline"' in done.stdout
    assert 'id="soak"' in done.stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"schema": "lloyal-track/rebase/1"}', "has no picture"),
        (b"[]", "cannot be read"),
        (b'{"schema": "lloyal-track/sweep/1"}', "cannot be read"),
    ],
)
def test_a_document_that_cannot_be_drawn_is_refused(
    folder: Path, content: bytes, said: str
) -> None:
    """Neither another kind nor a damaged one is left out in silence."""
    (folder / "other.json").write_bytes(content)
    done = run(folder, "--format", "html", "--with", "other.json")
    assert done.returncode == 2
    assert said in done.stderr
    assert "other.json" in done.stderr


def test_pictures_are_for_the_page_only(folder: Path) -> None:
    """Asking for them in a table is a mistake that is named, not ignored."""
    assert run(folder, "--with", "sweep.json").returncode == 2
