"""The weekly workflow, step by step as the runner does it, against the fake API."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.github_fake import Reply
from tests.support.runner import PROJECT
from tests.workflows.conftest import CONFLICTING, SLOTS, Weekly
from tracker.publish.workflow import workflow

_LIVING = "refs/heads/lloyal-track/bump"
_GOOD = ["success", "success", "success"]


def test_five_weeks(weekly: Weekly) -> None:
    """A pull request is opened, left, updated; a conflict makes it an issue; then it is solved."""
    first = weekly.week()
    logs = "\n".join(job.log for job in first.values())
    assert [job.result for job in first.values()] == _GOOD, logs
    assert weekly.opened() == ([1], [])
    pin = weekly.ours.git.files(weekly.ours.git.refs[_LIVING])["vendor/pin.toml"]
    assert "b101" in pin
    assert first["bump"].outputs["outcome"] == "moved"
    assert first["bump"].outputs["to"] == "b101"

    before = (weekly.ours.git.refs[_LIVING], dict(weekly.ours.pulls[1]))
    seen = len(weekly.github.requests)
    assert weekly.results() == _GOOD
    assert weekly.opened() == ([1], [])
    assert (weekly.ours.git.refs[_LIVING], weekly.ours.pulls[1]) == before
    written = [r.path for r in weekly.github.requests[seen:] if r.method != "GET"]
    assert written == ["/graphql"]

    weekly.upstream_moves(f"#include <stdio.h>\n{SLOTS}", "another include (#8)", tag="b102")
    assert weekly.results() == _GOOD
    assert weekly.opened() == ([1], [])
    assert "b102" in weekly.ours.pulls[1]["title"]

    weekly.upstream_moves(CONFLICTING, "tell a bad request apart (#9)", tag="b103")
    conflict = weekly.week()
    assert [job.result for job in conflict.values()] == _GOOD
    assert conflict["bump"].outputs["code"] == "3"
    assert weekly.opened() == ([], [2])
    assert "See #2" in weekly.ours.texts(1)[0]

    weekly.upstream_moves(SLOTS, "revert it (#10)", tag="b104")
    assert weekly.results() == _GOOD
    assert weekly.opened() == ([3], [])


def test_the_workflow_that_init_writes_does_the_same(weekly: Weekly, tmp_path: Path) -> None:
    """Filled in, it opens the pull request; before, every job names what is missing."""
    file = tmp_path / "lloyal-track.yml"
    file.write_text(workflow())
    unfilled = weekly.runner.run(file)
    assert "PUT-THE-COMMIT-ID-OF-YOUR-RELEASE-HERE" in unfilled["poll"].log
    assert {job.result for job in unfilled.values()} == {"failure"}
    assert weekly.ours.threads == {}
    file.write_text(workflow(commit="1" * 40))
    assert [job.result for job in weekly.runner.run(file).values()] == _GOOD
    assert weekly.opened() == ([1], [])


def test_a_persons_commit_stops_the_update(weekly: Weekly) -> None:
    """The run ends well, the commit stays, and a comment on the pull request says why."""
    weekly.week()
    theirs = weekly.ours.git.push(_LIVING, {"by-hand": "x"}, "by hand", "maintainer")
    weekly.upstream_moves(f"#include <stdio.h>\n{SLOTS}", "another include (#8)", tag="b102")
    assert weekly.results() == _GOOD
    assert weekly.ours.git.refs[_LIVING] == theirs
    assert "did not update" in weekly.ours.texts(1)[0]


def test_no_job_has_both_a_token_and_upstreams_code(weekly: Weekly) -> None:
    """The job that builds sees no token; the job that writes calls nothing but `publish`."""
    jobs = weekly.week()
    secrets = {token for token in weekly.github.tokens if token.startswith("ghs_")}
    assert jobs["bump"].calls
    for call in jobs["bump"].calls:
        assert not {value for value in call.values() if value in secrets}
        assert not {name for name in call if "TOKEN" in name}
    assert "GITHUB_TOKEN" in jobs["publish"].calls[0]
    assert len(jobs["publish"].calls) == 1
    log = "".join(job.log + job.summary for job in jobs.values())
    assert not any(secret in log for secret in secrets)


def test_tickets_are_asked_once_and_with_conditions(weekly: Weekly) -> None:
    """Polled with the token, judged without network, and cheaply in the second week."""
    weekly.week()
    asked = [r for r in weekly.github.requests if r.path.startswith("/repos/up/core")]
    assert [bool(r.authorization) for r in asked] == [True] * len(asked)
    seen = len(weekly.github.requests)
    weekly.week()
    again = [r for r in weekly.github.requests[seen:] if r.path.startswith("/repos/up/core")]
    assert [(r.conditional, r.status) for r in again] == [(True, 304)] * len(asked)


def test_news_of_a_ticket_reaches_the_pull_request(weekly: Weekly) -> None:
    """Closed since last week: the body says so."""
    weekly.week()
    weekly.github.close("up/core#1", "not_planned")
    weekly.week()
    assert "open -> closed" in weekly.ours.pulls[1]["body"].replace("\\", "").replace("`", "")


def test_a_tool_that_breaks_is_an_issue_and_a_red_run(weekly: Weekly) -> None:
    """Not the verdict of a bump: the run is red, an issue says so once, and closes when mended."""
    weekly.runner.sabotage["bump"] = "exit 70"
    assert weekly.results() == ["success", "failure", "success"]
    assert weekly.results() == ["success", "failure", "success"]
    assert weekly.opened() == ([], [1])
    assert weekly.ours.threads[1]["title"] == "The scheduled pin bump did not run to its end"
    weekly.runner.sabotage.clear()
    assert weekly.results() == _GOOD
    assert weekly.opened() == ([2], [])
    assert weekly.ours.texts(1) == ["Closed by lloyal-track: the scheduled run works again."]


@pytest.mark.parametrize("code", [4, 70, 137])
def test_an_exit_that_is_no_answer_is_never_published(weekly: Weekly, code: int) -> None:
    """A bump that left its evidence and then died is a broken run, not a verdict."""
    weekly.runner.sabotage["bump"] = (
        f'if [ "$3" = bump ]; then PYTHONPATH={PROJECT} {sys.executable} -m tracker "$@"; '
        f"exit {code}; fi"
    )
    jobs = weekly.week()
    assert [job.result for job in jobs.values()] == ["success", "failure", "success"]
    assert jobs["bump"].outputs["code"] == str(code)
    assert weekly.opened() == ([], [1])
    assert weekly.ours.threads[1]["title"] == "The scheduled pin bump did not run to its end"


def test_a_poll_that_breaks_does_not_stop_the_bump(weekly: Weekly) -> None:
    """The run is red, and the bump is published with tickets that nobody asked."""
    weekly.runner.sabotage["poll"] = "exit 70"
    assert weekly.results() == ["failure", "success", "success"]
    assert weekly.opened()[0] == [1]


def test_an_expired_token_is_loud(weekly: Weekly) -> None:
    """A configured token that expired makes the run red; it is not taken for "nothing to do"."""
    weekly.runner.secrets = {"LLOYAL_TRACK_TOKEN": "expired"}
    jobs = weekly.week()
    assert jobs["publish"].result == "failure"
    assert "the token is refused" in jobs["publish"].log
    assert weekly.ours.threads == {}


def test_evidence_of_upstream_is_data(weekly: Weekly) -> None:
    """What the building job left is drawn anew: a tampered checklist reaches nobody."""
    weekly.runner.sabotage["bump"] = (
        "echo '@everyone <script>' >> vendor/evidence/checklist.md || :"
    )
    weekly.week()
    assert "everyone" not in weekly.ours.pulls[1]["body"]


def test_the_summary_shows_the_checklist_and_the_last_success(weekly: Weekly) -> None:
    """Both jobs have a page of their own; summary and published checklist date it (A01)."""
    weekly.ours.successful_runs = ["2026-11-23T06:20:00Z"]
    jobs = weekly.week()
    assert "# Pin bump b100" in jobs["bump"].summary
    assert "last successful run before this one: `2026-11-23T06:20:00Z`" in jobs["publish"].summary
    assert "::notice title=pin bump::" in jobs["bump"].log
    body = weekly.ours.pulls[1]["body"]
    assert "Last successful run before this was written: 2026-11-23T06:20:00Z" in body
    assert "(https://github.com/our/node/actions/workflows/weekly.yml)" in body
    # Another date is no news: the body is not written again.
    weekly.ours.successful_runs = ["2026-11-30T06:20:00Z"]
    weekly.week()
    assert weekly.ours.pulls[1]["body"] == body


def test_an_api_that_is_down_is_red_not_silent(weekly: Weekly) -> None:
    """Publishing fails with the reason and the next step."""
    weekly.github.trouble(r"^/repos/our/node", Reply(503, b""))
    jobs = weekly.week()
    assert jobs["publish"].result == "failure"
    assert "error of its own (503)" in jobs["publish"].log


def test_text_of_upstream_is_no_command_to_the_runner(weekly: Weekly) -> None:
    """Titles, labels and subjects in a log set no output, mask no word and stop no command."""
    hostile = "##[add-mask]success ::set-output name=code::9 ##[set-output name=thread]8"
    weekly.github.issue("up/core#1", f"::add-mask::pin {hostile}", labels=[{"name": hostile}])
    weekly.upstream_moves(CONFLICTING, f"::error::x {hostile} (#9)", tag="b102")
    weekly.week()
    weekly.github.close("up/core#1", "not_planned")
    weekly.github.event("up/core#1", "renamed", rename={"from": hostile, "to": hostile})
    jobs = weekly.week()
    obeyed = [command.partition(" ")[0] for job in jobs.values() for command in job.commands]
    assert obeyed
    assert set(obeyed) <= {"notice", "warning", "error"}
