"""The main job on a small C library of its own: nothing in the core is tied to llama.cpp.

Real git and real repositories; no native core, because this upstream configures none. The main job
on real llama.cpp revisions is in ``test_main_job``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support import patches, repos
from tracker.bundled import bundled

OLD = """\
#include "slots.h"

int slots_find(const struct slots *s, int want) {
    for (int i = 0; i < s->count; ++i) {
        if (s->used[i] == 0) {
            return i;
        }
    }
    return -1;
}

int slots_count(const struct slots *s) {
    return s->count;
}
"""
PATCHED = OLD.replace("    return -1;\n", "    return slots_grow(s, want);\n")
MOVED = OLD.replace('"slots.h"\n', '"slots.h"\n#include <stddef.h>\n')
COUNTED = MOVED.replace("    return s->count;", "    return s ? s->count : 0;")
REWRITTEN = COUNTED.replace("    return -1;", "    return want < 0 ? -2 : -1;")

CONFIG = """\
state_dir = "state"
[upstream]
url = "{url}"
[series]
dir = "queue"
[[pins]]
name = "default"
kind = "track"
path = "pin.toml"
[[watch.regions]]
name = "find"
selector = "slots.c::slots_find"
blocking = true
[[watch.regions]]
name = "count"
selector = "slots.c::slots_count"
"""


@dataclass(frozen=True)
class Downstream:
    """A project that carries one patch; ``ids``: upstream's commits, oldest first."""

    folder: Path
    ids: list[str]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "tracker", "-q", *arguments],
            cwd=self.folder,
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        )

    def bump(self, to: str, *arguments: str) -> tuple[int, dict[str, Any]]:
        done = self.run("bump", "--to", to, "--json", *arguments)
        assert done.stdout, done.stderr.decode()
        document: dict[str, Any] = json.loads(done.stdout)
        schema = "-".join(document["schema"].split("/")[1:])
        jsonschema.validate(
            document, json.loads((bundled("schemas") / f"{schema}.json").read_bytes())
        )
        return done.returncode, document

    @property
    def pin(self) -> str:
        return (self.folder / "pin.toml").read_text()


@pytest.fixture
def downstream(tmp_path: Path) -> Downstream:
    upstream = tmp_path / "upstream"
    ids = repos.build(
        upstream,
        [
            repos.Step({"slots.c": OLD}, "start", tags=("v1",)),
            repos.Step({"slots.c": MOVED}, "include stddef (#7)"),
            repos.Step({"slots.c": COUNTED}, "count of nothing is zero (#8)"),
            repos.Step({"slots.c": REWRITTEN}, "tell a bad request apart (#9)", tags=("v2",)),
        ],
    )
    folder = tmp_path / "downstream"
    patches.series_of(
        folder / "queue",
        patches.diff({"slots.c": OLD}, {"slots.c": PATCHED}, subject="grow when full"),
    )
    (folder / "lloyal-track.toml").write_text(CONFIG.format(url=upstream.as_uri()))
    (folder / "pin.toml").write_text(f'commit = "{ids[0]}"\n')
    return Downstream(folder, ids)


def item(document: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(entry for entry in document["items"] if entry["id"] == name)
    return found


def test_the_pin_moves_when_only_advisory_items_changed(downstream: Downstream) -> None:
    """The patch applies on other lines, a region that is news only changed: the pin moves."""
    code, document = downstream.bump(downstream.ids[2])
    assert (code, document["verdict"]) == (0, "ok"), document["summary"]
    assert document["pin"]["outcome"] == "moved"
    assert item(document, "region:count")["status"] == "attention"
    assert downstream.ids[2] in downstream.pin
    code, document = downstream.bump(downstream.ids[2])
    assert (code, document["pin"]["outcome"]) == (0, "already-there")


def test_a_conflict_forbids_and_is_exit_3(downstream: Downstream) -> None:
    """Upstream rewrote the line that the patch replaces: the culprit is named, the pin stays."""
    before = downstream.pin
    code, document = downstream.bump("master")
    assert (code, document["verdict"]) == (3, "conflict")
    assert document["pin"]["forbidden_by"] == ["patch:0001.patch", "region:find"]
    assert document["rebase"]["patches"][0]["culprit"]["pr"] == 9
    assert downstream.pin == before
    assert (downstream.folder / "state" / "evidence" / "checklist.md").is_file()


def test_a_dry_run_writes_neither_pin_nor_decisions(downstream: Downstream) -> None:
    """It says what would happen; pin, decisions and ticket state are as they were."""
    before = repos.state(downstream.folder / "queue")
    pin = downstream.pin
    code, document = downstream.bump(downstream.ids[2], "--dry-run")
    assert (code, document["pin"]["outcome"]) == (0, "would-move")
    assert downstream.pin == pin
    downstream.bump("master", "--dry-run", "--accept", "region:find", "--because", "read it")
    assert repos.state(downstream.folder / "queue") == before


def test_an_unread_region_is_accepted_only_with_a_reason(downstream: Downstream) -> None:
    """A human's decision is recorded with its reason and date, and the item stays visible."""
    done = downstream.run("bump", "--to", "master", "--accept", "region:find")
    assert done.returncode == 2
    assert b"--because" in done.stderr
    _, document = downstream.bump("master", "--accept", "region:find", "--because", "read it")
    accepted = item(document, "region:find")
    assert accepted["status"] == "attention"
    assert "read it" in accepted["accepted"]
    assert document["pin"]["forbidden_by"] == ["patch:0001.patch"]
    assert "region:find" in (downstream.folder / "queue" / "decisions.toml").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("--to", "no-such-rev"), 2, "no-such-rev"),
        (("--to", "master", "--accept", "region:nope", "--because", "x"), 2, "region:nope"),
        ((), 2, "--to"),
    ],
)
def test_wrong_input_is_told_and_moves_nothing(
    downstream: Downstream, arguments: tuple[str, ...], code: int, word: str
) -> None:
    """A clear message, exit 2, no traceback, the pin untouched."""
    before = downstream.pin
    done = downstream.run("bump", *arguments)
    assert done.returncode == code
    assert word in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert downstream.pin == before


def test_an_unreachable_upstream_is_exit_4_at_once(downstream: Downstream) -> None:
    """A stale clone never stands for the present; with --json the failure is one document."""
    file = downstream.folder / "lloyal-track.toml"
    file.write_text(file.read_text().replace("/upstream", "/gone"))
    before = downstream.pin
    code, document = downstream.bump("master")
    assert (code, document["schema"]) == (4, "lloyal-track/error/1")
    assert document["next"]
    assert downstream.pin == before


def test_a_read_only_pin_is_told_before_anything_is_lost(downstream: Downstream) -> None:
    """The evidence is kept; the pin is as it was."""
    before = downstream.pin
    pin = downstream.folder / "pin.toml"
    pin.unlink()
    # root ignores permissions, so a folder in the pin's place stands for "cannot be written"
    pin.mkdir()
    done = downstream.run("bump", "--to", downstream.ids[2])
    assert done.returncode in (2, 4)
    assert b"Traceback" not in done.stderr
    assert str(pin).encode() in done.stderr
    pin.rmdir()
    pin.write_text(before)


def test_a_move_that_fails_leaves_evidence_that_says_so(downstream: Downstream) -> None:
    """The stored document never says "moved" of a pin that did not move."""
    (downstream.folder / "state").mkdir()
    # In the way of the journal's folder: the move cannot begin.
    (downstream.folder / "state" / "operation").write_text("")
    before = downstream.pin
    done = downstream.run("bump", "--to", downstream.ids[2])
    assert done.returncode == 4, done.stderr.decode()
    assert downstream.pin == before
    kept = json.loads((downstream.folder / "state" / "evidence" / "bump.json").read_bytes())
    assert kept["pin"]["outcome"] == "would-move"


def test_a_project_that_watches_nothing_can_still_move(downstream: Downstream) -> None:
    """No region configured is not an unproven region."""
    file = downstream.folder / "lloyal-track.toml"
    text = file.read_text()
    file.write_text(text[: text.index("[[watch.regions]]")])
    code, document = downstream.bump(downstream.ids[2])
    assert (code, document["pin"]["outcome"]) == (0, "moved"), document["summary"]
    assert document["watch"] is None


def test_a_damaged_copy_of_upstream_is_told_with_the_way_out(downstream: Downstream) -> None:
    """Removing it is what helps, and then the same command works."""
    assert downstream.bump(downstream.ids[2], "--dry-run")[0] == 0
    copy = downstream.folder / "state" / "upstream.git"
    (copy / "HEAD").write_text("garbage")
    code, document = downstream.bump(downstream.ids[2], "--dry-run")
    assert (code, document["where"]) == (4, str(copy))
    assert "remove" in document["next"]
    shutil.rmtree(copy)
    assert downstream.bump(downstream.ids[2], "--dry-run")[0] == 0


def test_a_four_way_proof_without_a_check_is_unknown(downstream: Downstream) -> None:
    """Nothing was built: the three answers say why, and an advisory answer keeps no pin."""
    code, document = downstream.bump(downstream.ids[2], "--proof", "four-way")
    assert (code, document["pin"]["outcome"]) == (0, "moved"), document["summary"]
    for name in ("needed", "enough", "harmless"):
        found = item(document, f"proof:{name}")
        assert (found["status"], found["blocking"]) == ("unknown", False)
        assert "the target was not checked: the configuration has no recipe" in found["summary"]
    _, plain = downstream.bump(downstream.ids[2])
    assert plain["proof"] is None
