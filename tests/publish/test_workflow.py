"""The workflow that is handed to other projects, and our own: clean to every linter we have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.support.runner import PROJECT
from tracker.errors import UsageError
from tracker.publish.workflow import workflow

_BIN = Path(sys.executable).parent


def _lint(*command: str) -> str:
    done = subprocess.run(
        [str(_BIN / command[0]), *command[1:]], capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_the_written_workflow_is_clean(tmp_path: Path) -> None:
    """What another project gets passes zizmor, pedantic, and the schema."""
    file = tmp_path / ".github" / "workflows" / "lloyal-track.yml"
    file.parent.mkdir(parents=True)
    file.write_text(workflow(config="deps/track.toml", state_dir="deps/state"))
    assert _lint("zizmor", "--offline", "--pedantic", "-q", "--no-progress", str(file)) == ""
    assert _lint("check-jsonschema", "--builtin-schema", "vendor.github-workflows", str(file)) == ""


def test_our_own_workflows_and_action_are_clean() -> None:
    """The same for ours, and for the action."""
    workflows = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))
    action = PROJECT / "action.yml"
    assert (
        _lint(
            "zizmor",
            "--offline",
            "--pedantic",
            "-q",
            "--no-progress",
            *map(str, workflows),
            str(action),
        )
        == ""
    )
    schema = ("check-jsonschema", "--builtin-schema")
    assert _lint(*schema, "vendor.github-workflows", *map(str, workflows)) == ""
    assert _lint(*schema, "vendor.github-actions", str(action)) == ""


def test_values_reach_their_places() -> None:
    """Configuration, state folder, target and schedule of the other project."""
    text = workflow(config="deps/track.toml", state_dir="deps/state", to="stable", cron="1 2 * * 3")
    tree = YAML(typ="safe").load(text)
    poll, bump, publish = tree["jobs"].values()
    assert tree["on"]["schedule"] == [{"cron": "1 2 * * 3"}]
    assert poll["steps"][1]["with"]["state-dir"] == "deps/state"
    assert bump["steps"][3]["with"]["to"] == "${{ inputs.to || 'stable' }}"
    assert publish["steps"][2]["with"]["config"] == "deps/track.toml"
    assert "[[" not in text


def test_only_the_publishing_job_may_write() -> None:
    """Of all our jobs, in all workflows; and no script holds an expression."""
    files = [*(PROJECT / ".github" / "workflows").glob("*.yml"), PROJECT / "templates/workflow.yml"]
    for file in files:
        tree = YAML(typ="safe").load(file.read_text().replace("[[", "x").replace("]]", "x"))
        assert tree["permissions"] == {}
        for name, job in tree["jobs"].items():
            writes = "write" in job["permissions"].values()
            assert writes == (name == "publish"), f"{file.name}: {name}"
            assert job["timeout-minutes"] <= 90
            assert all("${{" not in step.get("run", "") for step in job["steps"])
    action = YAML(typ="safe").load((PROJECT / "action.yml").read_text())
    assert all("${{" not in step.get("run", "") for step in action["runs"]["steps"])


@pytest.mark.parametrize(
    "bad", [{"to": "x'\nrun: evil"}, {"config": "${{ x }}"}, {"cron": "* * * * *\n  x"}]
)
def test_a_value_cannot_add_to_the_workflow(bad: dict[str, str]) -> None:
    """A revision or a path with YAML or an expression in it is refused."""
    with pytest.raises(UsageError):
        workflow(**bad)
