"""A plan on a small upstream, its parts run here, and the parts put together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.support import patches, repos
from tests.workflows.conftest import CONFLICTING, PATCHED, SLOTS
from tracker.bundled import bundled

_CONFIG = """\
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
name = "count"
selector = "slots.c::slots_count"
"""
_OTHER = "int other(void) {\n    return 1;\n}\n"


class _Project:
    """Carries two patches, the second of which stands on the first."""

    def __init__(self, folder: Path) -> None:
        up = folder / "up"
        pinned, *_ = repos.build(
            up,
            [
                repos.Step({"slots.c": SLOTS, "other.c": _OTHER}, "start", ("b100",)),
                repos.Step({"slots.c": f"#include <a.h>\n{SLOTS}"}, "include", ("b101",)),
                repos.Step({"slots.c": CONFLICTING}, "rewrite", ("b102",)),
            ],
        )
        self.folder = folder / "ours"
        self.folder.mkdir()
        patches.series_of(
            self.folder / "queue",
            patches.diff({"slots.c": SLOTS}, {"slots.c": PATCHED}, subject="grow"),
            patches.diff({"other.c": _OTHER}, {"other.c": _OTHER.replace("1", "2")}, subject="two"),
            toml='[[patch]]\nfile = "0001.patch"\npurpose = "grow"\n'
            '[[patch]]\nfile = "0002.patch"\npurpose = "two"\n',
        )
        (self.folder / "lloyal-track.toml").write_text(_CONFIG.format(url=up.as_uri()))
        (self.folder / "pin.toml").write_text(f'commit = "{pinned}"\n')
        self.output = folder / "output"

    def run(self, *arguments: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "tracker", "-q", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "PYTHONPATH": str(Path(__file__).parents[2]),
                "GITHUB_OUTPUT": str(self.output),
            },
        )
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def project(tmp_path: Path) -> _Project:
    return _Project(tmp_path)


def _valid(text: str) -> dict[str, object]:
    document: dict[str, object] = json.loads(text)
    name = "-".join(str(document["schema"]).split("/")[1:])
    jsonschema.validate(document, json.loads((bundled("schemas") / f"{name}.json").read_bytes()))
    return document


def test_a_plan_is_run_in_parts_and_merged(project: _Project) -> None:
    """Two revisions, a part each: one goes, one conflicts, and the step between is named."""
    code, text, complaint = project.run("plan", "b100..master", "-o", "plan.json", "--json")
    assert code == 0, complaint
    plan = _valid(text)
    ids = [part["id"] for part in plan["parts"]]  # type: ignore[attr-defined]
    matrix = json.loads(project.output.read_text().removeprefix("matrix="))
    assert [(job["id"], job["saves"]) for job in matrix["include"]] == [
        (ids[0], False),
        (ids[1], True),
    ]
    codes = []
    for part in ids:
        code, text, complaint = project.run(
            "part", part, "--plan", "plan.json", "-o", f"parts/{part}.json", "--json"
        )
        _valid(text)
        codes.append(code)
    assert codes == [0, 3], complaint
    code, text, _ = project.run("merge", "plan.json", "parts", "--json")
    merged = _valid(text)
    assert (code, merged["verdict"]) == (3, "conflict")
    assert "patch:0001.patch" in [c["item"] for c in merged["changes"]]  # type: ignore[attr-defined]
    (project.folder / "parts" / f"{ids[1]}.json").unlink()
    code, text, _ = project.run("merge", "plan.json", "parts")
    assert code == 1
    assert f"missing    {ids[1]}" in text


def test_each_patch_is_a_part_of_its_own(project: _Project) -> None:
    """The patch that conflicts does not hide the one that does not."""
    _, text, _ = project.run("plan", "master", "--each-patch", "-o", "plan.json", "--json")
    first, second = json.loads(text)["parts"]
    assert (first["patches"], second["patches"]) == (["0001.patch"], ["0002.patch"])
    assert project.run("part", first["id"], "--plan", "plan.json")[0] == 3
    code, text, complaint = project.run("part", second["id"], "--plan", "plan.json", "--json")
    assert code == 0, complaint
    patches_seen = [patch["name"] for patch in json.loads(text)["bump"]["rebase"]["patches"]]
    assert patches_seen == ["0002.patch"]


def test_a_machine_with_other_inputs_refuses(project: _Project) -> None:
    """A patch that changed since the plan was made would answer another question."""
    project.run("plan", "master", "-o", "plan.json")
    part = json.loads((project.folder / "plan.json").read_text())["parts"][0]["id"]
    (project.folder / "queue" / "0002.patch").unlink()
    (project.folder / "queue" / "series.toml").unlink()
    code, _, complaint = project.run("part", part, "--plan", "plan.json")
    assert code == 2
    assert "other inputs" in complaint


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("plan", "nothing-here"), "nothing-here"),
        (("plan", "master..master"), "nothing to plan"),
        (("plan", "master", "--recipe", "metal"), "no recipe 'metal'"),
        (("part", "x", "--plan", "none.json"), "none.json"),
        (("merge", "none.json", "parts"), "none.json"),
    ],
)
def test_bad_requests_are_usage_errors(
    project: _Project, arguments: tuple[str, ...], word: str
) -> None:
    """Exit 2, the reason, no traceback."""
    code, _, complaint = project.run(*arguments)
    assert code == 2
    assert word in complaint
    assert "Traceback" not in complaint
