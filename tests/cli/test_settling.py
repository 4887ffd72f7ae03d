"""resume and abort after a move of pins that was killed, as a user types them."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.tool import run_tool
from tracker.bundled import bundled
from tracker.pins.transaction import Change, commit
from tracker.statedir import StateDir

CONFIG = """\
state_dir = "state"
[upstream]
url = "https://example.invalid/up"
"""
OLD = {"a.version": b"b1\n", "b.version": b"b1\n"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A move of two pins to b2 that was killed between them."""
    (tmp_path / "lloyal-track.toml").write_text(CONFIG)
    for name, content in OLD.items():
        (tmp_path / name).write_bytes(content)
    child = os.fork()
    if child == 0:
        real = Path.replace

        def replace(self: Path, target: Any) -> Any:
            if Path(target).name == "b.version":
                os.kill(os.getpid(), signal.SIGKILL)
            return real(self, target)

        Path.replace = replace  # type: ignore[method-assign]
        changes = [Change(tmp_path / name, old, b"b2\n") for name, old in OLD.items()]
        commit(StateDir(tmp_path / "state"), changes, "b2")
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert [(tmp_path / name).read_bytes() for name in OLD] == [b"b2\n", b"b1\n"]
    return tmp_path


@pytest.mark.parametrize(("command", "value"), [("resume", b"b2\n"), ("abort", b"b1\n")])
def test_a_killed_move_is_settled(project: Path, command: str, value: bytes) -> None:
    """With --json it is one document of the command's own schema; then nothing is open."""
    done = run_tool(project, "http://127.0.0.1:1", command, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == f"lloyal-track/{command}/1"
    schema = json.loads((bundled("schemas") / f"{command}-1.json").read_bytes())
    jsonschema.validate(document, schema)
    assert (document["verdict"], document["kind"], document["to"]) == ("ok", "pin", "b2")
    assert document["places"] == [str(project / name) for name in OLD]
    assert {(project / name).read_bytes() for name in OLD} == {value}
    again = run_tool(project, "http://127.0.0.1:1", command, "--json")
    assert (again.returncode, json.loads(again.stdout)["schema"]) == (2, "lloyal-track/error/1")


def test_for_people_it_is_one_sentence(project: Path) -> None:
    """It says what every pin says now."""
    done = run_tool(project, "http://127.0.0.1:1", "abort")
    assert done.stdout == "the move to b2 is undone; every pin is as it was before it\n"
