"""The matrix workflow: a plan, a job for each part, and the parts put together."""

from __future__ import annotations

import json
import sys

from tests.support.runner import PROJECT, JobResult
from tests.workflows.conftest import CONFLICTING, Weekly

_MANY = PROJECT / ".github" / "workflows" / "many.yml"


def _run(weekly: Weekly, revs: str) -> dict[str, JobResult]:
    return weekly.runner.run(_MANY, {"revs": revs, "every": "1"})


def test_a_range_is_answered_part_by_part(weekly: Weekly) -> None:
    """Two revisions on two machines: one goes, one conflicts, and the summary shows both."""
    weekly.upstream_moves(CONFLICTING, "tell a bad request apart (#9)", tag="b102")
    jobs = _run(weekly, "b100..master")
    logs = "\n".join(job.log for job in jobs.values())
    assert [job.result for job in jobs.values()] == ["success"] * 3, logs
    merged = json.loads((weekly.runner.folder / "artifacts/merge/merge.json").read_text())
    assert (merged["verdict"], len(merged["answers"]), merged["missing"]) == ("conflict", 2, [])
    assert "| `b102` | ❌ conflict |" in jobs["merge"].summary
    assert weekly.runner.caches == ["lloyal-track-Linux-X64-1"]


def test_a_machine_that_breaks_leaves_a_named_gap(weekly: Weekly) -> None:
    """The other part is answered; the whole is unknown, and the run is red."""
    weekly.upstream_moves(CONFLICTING, "tell a bad request apart (#9)", tag="b102")
    weekly.runner.sabotage["part 0"] = "exit 70"
    jobs = _run(weekly, "b100..master")
    assert [job.result for job in jobs.values()] == ["success", "failure", "success"]
    merged = json.loads((weekly.runner.folder / "artifacts/merge/merge.json").read_text())
    assert len(merged["missing"]) == 1
    assert "- missing: `b101-check-" in jobs["merge"].summary


def test_a_machine_that_dies_after_its_part_is_red(weekly: Weekly) -> None:
    """An exit status that is no answer is not swallowed because a file is there."""
    weekly.runner.sabotage["part 0"] = (
        f'PYTHONPATH={PROJECT} {sys.executable} -m tracker "$@"; exit 137'
    )
    jobs = _run(weekly, "b100..master")
    assert jobs["part"].result == "failure"


def test_an_input_is_data(weekly: Weekly) -> None:
    """A revision that is shell code is an unknown revision."""
    jobs = _run(weekly, "$(touch${IFS}/tmp/x) ; exit 0")
    assert [job.result for job in jobs.values()] == ["failure", "skipped", "skipped"]
    assert "unknown revision" in jobs["plan"].log
