"""The workflow that is handed to other projects, and our own. `make lint` has linters read both."""

from __future__ import annotations

import pytest
from ruamel.yaml import YAML

from tests.support.runner import PROJECT
from tracker.errors import UsageError
from tracker.publish.workflow import workflow


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
    "bad",
    [
        {"commit": "x\n  evil: y"},
        {"to": "x'\nrun: evil"},
        {"config": "${{ x }}"},
        {"cron": "* * * * *\n  x"},
    ],
)
def test_a_value_cannot_add_to_the_workflow(bad: dict[str, str]) -> None:
    """A revision or a path with YAML or an expression in it is refused."""
    with pytest.raises(UsageError):
        workflow(**bad)
