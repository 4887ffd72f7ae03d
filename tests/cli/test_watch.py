"""watch and bisect --until region|routing as a user types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.patches import diff, series_of
from tests.support.repos import Step, build, git, state
from tests.support.upstream_like import FILES, MODEL, RECURRENT
from tracker.bundled import bundled

ROOT = Path(__file__).parents[2]
CONFIG = f"""
[upstream]
url = "https://example.org/upstream"
[watch]
routing_function = "{MODEL}::model::create_memory"
routing = [{{ name = "ours", arch = "ARCH_OURS" }}]
[watch.situations.default]
"p.type == TYPE_DRAFT" = false
"hparams.swa != SWA_NONE" = false
[[watch.regions]]
name = "find_slot"
selector = "{RECURRENT}::memory_recurrent::find_slot"
blocking = true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Upstream with four revisions: a comment, a change, a migration; and a configuration."""
    commented = FILES[RECURRENT].replace("// positions jump", "// they jump")
    edited = commented.replace("cell.pos >= 0", "cell.pos > 0")
    migrated = FILES[MODEL].replace("new memory_hybrid(", "new memory_hybrid_idx(")
    build(
        tmp_path / "up",
        [
            Step(FILES, tags=("b1",)),
            Step({RECURRENT: commented}, tags=("b2",)),
            Step({RECURRENT: edited}, "slots : \x1b[31mstricter (#12)", tags=("b3",)),
            Step({MODEL: migrated}, "route elsewhere", tags=("b4",)),
        ],
    )
    (tmp_path / "lloyal-track.toml").write_text(CONFIG)
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tracker", "-q", *words, "--upstream", str(folder / "up")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def document(done: subprocess.CompletedProcess[str], schema: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(found, json.loads((bundled("schemas") / f"{schema}-1.json").read_text()))
    return found


def test_two_revisions_for_people(folder: Path) -> None:
    """Statuses, places, reasons and commits; no control character reaches the terminal."""
    done = run(folder, "watch", "--from", "b1", "--to", "b4", "--diff")
    assert (done.returncode, done.stderr) == (1, "")
    assert "find_slot                    changed            blocking" in done.stdout
    assert "+        if (cell.pos > 0 &&" in done.stdout
    assert "stricter (#12)" in done.stdout
    assert "\x1b" not in done.stdout
    assert "memory_hybrid became memory_hybrid_idx" in done.stdout
    assert "new memory class memory_hybrid_idx" in done.stdout
    assert done.stdout.endswith("verdict: attention\n")


def test_form_alone_is_ok(folder: Path) -> None:
    """A rewritten comment exits 0."""
    done = run(folder, "watch", "--from", "b1", "--to", "b2", "--json")
    assert done.returncode == 0
    found = document(done, "watch")
    assert [region["status"] for region in found["regions"]] == ["cosmetic"]
    assert [row["status"] for row in found["routing"]] == ["same"]


def test_a_range_as_json(folder: Path) -> None:
    """watch A..B gives break points, oldest first, that its schema accepts."""
    done = run(folder, "watch", "b1..b4", "--json")
    assert done.returncode == 1
    found = document(done, "watch-history")
    assert [point["item"] for point in found["breaks"]] == [
        "region:find_slot",
        "routing:ours/default",
    ]
    assert found["breaks"][0]["commit"]["pr"] == 12
    assert run(folder, "watch", "b1..b4").stdout.count("by ") == 2


@pytest.mark.parametrize(
    ("until", "subject"), [("region", "stricter"), ("routing", "route elsewhere")]
)
def test_bisect_finds_the_commit(folder: Path, until: str, subject: str) -> None:
    """bisect --until region and --until routing name the commit that made the difference."""
    done = run(folder, "bisect", "b1..b4", "--until", until, "--json")
    assert subject in document(done, "bisect")["commit"]["subject"]


def test_a_filtered_clone_of_the_users_is_never_written(folder: Path) -> None:
    """What it lacks goes to our own store, for every command that may name one; it stays as it was,
    byte for byte, and the answers are those of the whole repository."""
    whole = folder / "whole"
    (folder / "up").rename(whole)
    git(whole, "config", "uploadpack.allowFilter", "true")
    git(whole, "config", "uploadpack.allowAnySHA1InWant", "true")
    old, new = FILES[RECURRENT], FILES[RECURRENT].replace("bool memory", "bool  memory", 1)
    series_of(folder / "patchset", diff({RECURRENT: old}, {RECURRENT: new}))
    commands = (
        ("watch", "--from", "b1", "--to", "b4", "--diff", "--json"),
        ("watch", "b1..b4", "--json"),
        ("bisect", "b1..b4", "--until", "region", "--json"),
        ("bisect", "b1..b4", "--until", "routing", "--json"),
        ("bisect", "b1..b4", "--json"),
        ("sweep", "b1..b4", "--json"),
        ("rebase", "--from", "b1", "--onto", "b4", "--json"),
    )
    for number, words in enumerate(commands):
        clone = folder / "up"
        url = whole.resolve().as_uri()
        git(folder, "clone", "-q", "--bare", "--filter=blob:none", url, str(clone))
        before = state(clone)
        from_clone = run(folder, *words)
        assert from_clone.stdout, from_clone.stderr
        assert state(clone) == before, words
        clone.rename(folder / f"used{number}")
        whole.rename(clone)
        assert run(folder, *words).stdout == from_clone.stdout, words
        clone.rename(whole)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("watch", "b1..b9"), "no tag b9"),
        (("watch", "b4..b1"), "not an ancestor"),
        (("watch", "b1..b2", "--to", "b3"), "exclude each other"),
        (("watch", "b1"), "not a range"),
    ],
)
def test_wrong_input_is_a_usage_error(folder: Path, words: tuple[str, ...], message: str) -> None:
    """A clear message, exit status 2, no traceback, nothing on stdout."""
    done = run(folder, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bad_selector_names_its_region(folder: Path) -> None:
    """A selector outside the language stops the command and names the region."""
    file = folder / "lloyal-track.toml"
    file.write_text(CONFIG.replace("::memory_recurrent::find_slot", "::f @loop"))
    done = run(folder, "watch", "--from", "b1", "--to", "b2")
    assert done.returncode == 2
    assert "find_slot" in done.stderr
    assert "docs/selectors.md" in done.stderr
