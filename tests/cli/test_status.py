"""status tells where we are, from stored evidence alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import documents
from tracker.cli.main import app
from tracker.evidence.base import to_json
from tracker.statedir import StateDir


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StateDir:
    (tmp_path / "lloyal-track.toml").write_text('[upstream]\nurl = "https://example.org/x"\n')
    monkeypatch.chdir(tmp_path)
    found = StateDir(tmp_path / "vendor")
    found.evidence.mkdir(parents=True)
    return found


def status(*arguments: str) -> int:
    code = app(["status", *arguments], standalone_mode=False)
    assert isinstance(code, int)
    return code


def test_without_a_run_it_is_unknown_and_says_what_to_do(
    state: StateDir, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing proven is not ok."""
    assert not state.bump.exists()
    assert status() == 1
    assert "lloyal-track bump" in capsys.readouterr().out


def test_it_repeats_the_last_verdict_and_what_is_open(
    state: StateDir, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The exit status is the last bump's; open items are named."""
    document = documents.bump()
    state.bump.write_bytes(to_json(document))
    assert status("--json") == document.verdict.exit_code
    shown = json.loads(capsysbinary.readouterr().out)
    assert shown["summary"] == document.summary
    assert set(shown["open_items"]) <= {item.id for item in document.items}
    assert shown["operation"] == ""


def test_an_unfinished_operation_is_named(
    state: StateDir, capsys: pytest.CaptureFixture[str]
) -> None:
    """What resume and abort would act on is shown."""
    state.operation.write_text('{"kind": "pin"}')
    status()
    assert "pin" in capsys.readouterr().out


def test_a_pin_that_was_put_back_is_told(
    state: StateDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last bump's words would still say that it moved."""
    with (tmp_path / "lloyal-track.toml").open("a") as file:
        file.write('[[pins]]\nname = "p"\nkind = "track"\npath = "pin.toml"\n')
    document = documents.bump()
    state.bump.write_bytes(to_json(document))
    assert document.pin.outcome in ("moved", "would-move")
    there = document.to if document.pin.outcome == "moved" else document.from_
    for commit, told in ((there.commit, False), ("e" * 40, True)):
        (tmp_path / "pin.toml").write_text(f'commit = "{commit}"\n')
        assert status() == int(told)
        assert (f"pin.toml:1 says {commit}, not {there.name}" in capsys.readouterr().out) is told
