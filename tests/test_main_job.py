"""The main job on real llama.cpp revisions, from package archives, end to end.

Downloads two archives once into the user cache and compiles the core once; later runs find both
there. Everything here is what ``make bump`` does, from a folder outside the checkout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tracker.bundled import bundled
from tracker.native.serving import picture

pytestmark = [pytest.mark.native, pytest.mark.archives, pytest.mark.xdist_group("main-job")]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "tracker", "--config", "archives.toml", "-q", *arguments],
        cwd=folder,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )


def bump(folder: Path, *arguments: str) -> dict[str, Any]:
    done = run(folder, "bump", "--to", "master", *arguments, "--json")
    assert done.stdout, done.stderr.decode()
    document: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(document, json.loads((bundled("schemas") / "bump-1.json").read_bytes()))
    assert done.returncode == 0, document["summary"]
    return document


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("main-job")


@pytest.fixture(scope="module")
def first(folder: Path) -> dict[str, Any]:
    return bump(folder)


def test_the_pin_moves_from_0_3_29_to_0_3_36(folder: Path, first: dict[str, Any]) -> None:
    """Nothing blocking forbids it; the pin file says so, and never with a mirror's id alone."""
    assert first["verdict"] == "ok"
    assert first["pin"]["outcome"] == "moved"
    assert (first["from"]["name"], first["to"]["name"]) == ("0.3.29", "0.3.36")
    pin = (folder / "vendor" / "archives" / "pin.toml").read_text()
    assert first["to"]["commit"] in pin
    assert 'source = "archive"' in pin
    assert "0c1e57098" in pin


def test_every_patch_applies_exactly(first: dict[str, Any]) -> None:
    """No flag, no conflict; each hunk landed in the function that it was written for."""
    for patch in first["rebase"]["patches"]:
        assert patch["outcome"] in ("unchanged", "offset", "merged", "not-applicable"), patch[
            "name"
        ]
        assert patch["flags"] == []
        for file in patch["files"]:
            for hunk in file["hunks"]:
                assert hunk["landed_in"] == hunk["function"]


def test_the_watch_tells_the_truth_about_0_3_36(first: dict[str, Any]) -> None:
    """find_slot only moved by lines, seq_rm and create_memory changed, the answer is the same."""
    status = {region["name"]: region["status"] for region in first["watch"]["regions"]}
    assert status["warn-region"] == status["find_slot"] == "unchanged"
    assert status["seq_rm"] == status["create_memory"] == "changed"
    for answer in first["watch"]["routing"]:
        if (answer["name"], answer["when"]) in (("qwen35", "default"), ("qwen35moe", "default")):
            assert answer["status"] == "same-answer-new-code"
            assert [found["class"] for found in answer["to"]] == ["llama_memory_hybrid"]


@pytest.mark.parametrize("arch", ["qwen35", "qwen35moe"])
@pytest.mark.parametrize(("n_ubatch", "warned"), [(128, 12), (512, 6), (1024, 4)])
def test_the_storm_is_there_without_the_patch_and_gone_with_it(
    first: dict[str, Any], arch: str, n_ubatch: int, warned: int
) -> None:
    """39x15 rows warn 12, 6, 4 times on the baseline, never when patched, with equal logits."""
    rows = {
        row["variant"]: row
        for row in first["check"]["rows"]
        if (row["arch"], row["scenario"]) == (arch, f"image-{n_ubatch}")
    }
    assert len(rows["baseline"]["warnings"]) == warned
    assert rows["patched"]["warnings"] == []
    assert rows["baseline"]["logits_digest"] == rows["patched"]["logits_digest"] is not None
    assert {row["memory_class"] for row in rows.values()} == {"llama_memory_hybrid"}


def test_tickets_without_network_are_unknown_never_unchanged(first: dict[str, Any]) -> None:
    """What was not polled says why, and does not keep the pin."""
    for ticket in first["tickets"]["tickets"]:
        if ticket["outcome"] == "not-polled":
            assert ticket["why"]
            assert ticket["changes"] == []


def test_a_second_run_builds_and_checks_nothing(folder: Path, first: dict[str, Any]) -> None:
    """The cores and the passed check are found by content; the pin is there already."""
    again = bump(folder)
    assert first["pin"]["outcome"] == "moved"
    assert again["pin"]["outcome"] == "already-there"
    assert all(variant["cached"] for variant in again["build"]["variants"])


def test_a_four_way_proof_of_the_pin_itself_needs_no_other_core(
    folder: Path, first: dict[str, Any]
) -> None:
    """Pin and target are the same by now: its runs answer for both, and nothing is built."""
    assert first["pin"]["outcome"] == "moved"
    document = bump(folder, "--proof", "four-way", "--dry-run")
    assert {row["revision"] for row in document["check"]["rows"]} == {first["to"]["commit"]}
    status = {entry["id"]: entry["status"] for entry in document["items"]}
    assert status["proof:needed"] == status["proof:harmless"] == "pass"
    assert status["proof:enough"] in ("pass", "attention")


def test_the_evidence_is_kept_and_shown(folder: Path, first: dict[str, Any]) -> None:
    """Markdown and HTML lie beside the document; checklist and status repeat the verdict."""
    evidence = folder / "vendor" / "archives" / "evidence"
    assert {file.name for file in evidence.iterdir()} >= {
        "bump.json",
        "checklist.md",
        "report.html",
    }
    done = run(folder, "checklist", "--format", "md")
    assert done.returncode == 0
    assert first["to"]["name"] in done.stdout.decode()
    assert run(folder, "status").returncode == 0


def test_one_scenario_can_be_seen_again(folder: Path, first: dict[str, Any]) -> None:
    """The line that the checklist prints works as it is, and never reuses a kept check."""
    assert first["verdict"] == "ok"
    (item,) = [entry for entry in first["items"] if entry["id"] == "check:image-512/patched"]
    words = item["reproduce"].split()
    done = run(folder, *words[words.index("check") :], "--json")
    assert done.returncode == 0, done.stderr.decode()
    document = json.loads(done.stdout)
    jsonschema.validate(document, json.loads((bundled("schemas") / "check-1.json").read_bytes()))
    counts = {(row["arch"], row["variant"]): len(row["warnings"]) for row in document["rows"]}
    assert set(counts.values()) == {0, 6}
    assert document["reused"] is False


def test_a_given_model_takes_the_place_of_the_tiny_ones(
    folder: Path, first: dict[str, Any]
) -> None:
    """Any GGUF file; the rows are named after it."""
    assert first["verdict"] == "ok"
    models = folder / "vendor" / "archives" / "work" / "check" / "models"
    model = next(file for file in models.rglob("*.gguf") if file.name.startswith("qwen35."))
    done = run(folder, "check", "--model", str(model), "--scenario", "image-128", "--json")
    assert done.returncode == 0, done.stderr.decode()
    assert {row["arch"] for row in json.loads(done.stdout)["rows"]} == {model.stem}
    (folder / "picture.png").write_bytes(picture(160, 0))
    projector = next(file for file in models.rglob("*.gguf") if file.name.startswith("projector."))
    # As a person types them: from the folder where they stand.
    files = ("--mmproj", str(projector.relative_to(folder)), "--image", "picture.png")
    model = model.relative_to(folder)
    wanted = ("--scenario", "image-128-mtmd", "--json")
    done = run(folder, "check", "--model", str(model), *files, *wanted)
    assert done.returncode == 0, done.stderr.decode()
    without, with_ = json.loads(done.stdout)["rows"]
    assert (len(without["warnings"]), without["warnings"][0]["n_tokens"]) == (4, 25)
    assert (with_["warnings"], with_["max_abs_diff"]) == ([], 0.0)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--scenario", "nope"),
        ("--model", "/nowhere.gguf"),
        ("--image", "archives.toml"),
        ("--model", "archives.toml"),
        ("--model", "made.gguf", "--mmproj", "archives.toml"),
        ("--model", "made.gguf", "--image", "archives.toml"),
    ],
)
def test_a_check_of_nothing_is_refused(
    folder: Path, first: dict[str, Any], arguments: tuple[str, ...]
) -> None:
    """No run, no file, another kind of file, or one without its partner: exit 2, never a pass."""
    assert first["verdict"] == "ok"
    (folder / "made.gguf").write_bytes(b"GGUF")
    done = run(folder, "check", *arguments)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
