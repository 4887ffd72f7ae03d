"""The life of the one pull request and the one issue, over many weekly runs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.publish.conftest import DOWNSTREAM, PIN_FILE, Publisher, at_rest, issue, pull
from tests.support.github_fake import BOT, FakeGitHub, Reply, Repository
from tracker.errors import EnvironmentFault
from tracker.evidence.publish import Done
from tracker.evidence.verdict import Verdict
from tracker.publish import publishing
from tracker.publish.body import Marker, marker_of
from tracker.publish.decision import decide
from tracker.publish.hub import LABEL

_LIVING = "refs/heads/lloyal-track/bump"


def _open(ours: Repository) -> tuple[list[int], list[int]]:
    """Open pull requests and open issues."""
    opened = {n for n, thread in ours.threads.items() if thread["state"] == "open"}
    return sorted(opened & set(ours.pulls)), sorted(opened - set(ours.pulls))


def _pin(ours: Repository, ref: str = _LIVING) -> str:
    return ours.git.files(ours.git.refs[ref])[PIN_FILE].strip()


def test_the_first_run_opens_one_pull_request(publisher: Publisher, ours: Repository) -> None:
    """A branch with the pin on top of main, one pull request, one marker; main is untouched."""
    main = ours.git.refs["refs/heads/main"]
    document = publisher(pull())
    assert [step.done for step in document.steps] == [Done.BRANCH, Done.PULL_OPENED]
    assert document.verdict is Verdict.OK
    assert _open(ours) == ([1], [])
    assert _pin(ours) == "b10001"
    assert ours.git.refs["refs/heads/main"] == main
    assert ours.git.commits[ours.git.refs[_LIVING]]["parents"] == [main]
    marker = marker_of(ours.pulls[1]["body"])
    assert marker is not None
    assert marker.key == "default"


def test_the_second_run_changes_nothing(
    publisher: Publisher, ours: Repository, github: FakeGitHub
) -> None:
    """Nothing new: not one request that writes, but the question who we are."""
    publisher(pull())
    before = len(github.requests)
    assert publisher.done(pull()) == [Done.UNCHANGED]
    written = [r.path for r in github.requests[before:] if r.method != "GET"]
    assert written == ["/graphql"]
    assert _open(ours) == ([1], [])


def test_a_new_revision_updates_the_same_pull_request(
    publisher: Publisher, ours: Repository
) -> None:
    """The branch goes forward, title and body follow, nobody is notified."""
    publisher(pull())
    first = ours.git.refs[_LIVING]
    assert publisher.done(pull("b10002")) == [Done.BRANCH, Done.PULL_UPDATED]
    assert _open(ours) == ([1], [])
    assert (_pin(ours), "b10002" in ours.pulls[1]["title"]) == ("b10002", True)
    assert first in ours.git.ancestors(ours.git.refs[_LIVING])
    assert ours.texts(1) == []


def test_a_conflict_turns_it_into_one_issue(publisher: Publisher, ours: Repository) -> None:
    """The pull request is closed with a pointer to the issue, and the issue carries the label."""
    publisher(pull())
    assert publisher.done(issue()) == [Done.ISSUE_OPENED, Done.PULL_CLOSED]
    assert _open(ours) == ([], [2])
    assert ours.texts(1) == ["Closed by lloyal-track: patch 4 conflicts. See #2."]
    assert ours.threads[2]["labels"] == [{"name": LABEL}]


def test_ten_runs_of_one_conflict_say_it_once(publisher: Publisher, ours: Repository) -> None:
    """The same conflict for ten weeks is one issue without a comment (A06, A08)."""
    for _ in range(10):
        publisher(issue())
    assert _open(ours) == ([], [1])
    assert ours.texts(1) == []


def test_a_new_target_with_the_same_conflict_is_an_edit(
    publisher: Publisher, ours: Repository
) -> None:
    """Nothing but a change of the verdict is told by a comment (A08)."""
    publisher(issue(target="b10001"))
    assert publisher.done(issue(target="b10002")) == [Done.ISSUE_UPDATED]
    assert ours.texts(1) == []
    assert publisher.done(issue("patch 5 conflicts")) == [Done.ISSUE_UPDATED, Done.COMMENTED]
    assert ours.texts(1) == ["The verdict changed: patch 4 conflicts → patch 5 conflicts."]


def test_a_solved_conflict_closes_the_issue(publisher: Publisher, ours: Repository) -> None:
    """The issue is closed with a pointer to the pull request."""
    publisher(issue())
    assert publisher.done(pull()) == [Done.BRANCH, Done.PULL_OPENED, Done.ISSUE_CLOSED]
    assert ours.texts(1) == ["Solved: the pin may move. See #2."]
    assert _open(ours) == ([2], [])


def test_an_issue_and_a_pull_request_take_turns(publisher: Publisher, ours: Repository) -> None:
    """Closed by the tool is not refused by a person: a new one is opened when it is due."""
    for _ in range(2):
        publisher(pull())
        publisher(issue())
    publisher(pull())
    pulls, issues = _open(ours)
    assert (len(pulls), issues) == (1, [])


def test_a_persons_commit_stops_the_update(publisher: Publisher, ours: Repository) -> None:
    """Their commit stays, a comment says so once, and the document asks for attention (A04)."""
    publisher(pull())
    theirs = ours.git.push(_LIVING, {"README": "by hand\n"}, "mend it", "maintainer")
    for _ in range(3):
        document = publisher(pull("b10002"))
    assert document.verdict is Verdict.ATTENTION
    assert [step.done for step in document.steps] == [Done.LEFT_ALONE]
    assert ours.git.refs[_LIVING] == theirs
    assert len(ours.texts(1)) == 1
    assert theirs[:12] in ours.texts(1)[0]
    again = ours.git.push(_LIVING, {"README": "more\n"}, "mend more", "maintainer")
    publisher(pull("b10003"))
    assert ours.git.refs[_LIVING] == again
    assert len(ours.texts(1)) == 2


def test_a_person_who_amends_our_commit_is_seen(publisher: Publisher, ours: Repository) -> None:
    """The author and the message of an amended commit are ours; who committed it is not."""
    publisher(pull())
    commit = ours.git.commits[ours.git.refs[_LIVING]]
    ours.git.refs[_LIVING] = ours.git.commit(
        commit["tree"], commit["parents"], commit["message"], BOT, "maintainer"
    )
    assert publisher.done(pull("b10002")) == [Done.COMMENTED, Done.LEFT_ALONE]


def test_a_persons_commits_keep_the_pull_request_open_in_a_conflict(
    publisher: Publisher, ours: Repository
) -> None:
    """A conflict opens the issue, but does not close what a person works on."""
    publisher(pull())
    ours.git.push(_LIVING, {"README": "by hand\n"}, "mend it", "maintainer")
    assert publisher.done(issue()) == [Done.ISSUE_OPENED, Done.COMMENTED, Done.LEFT_ALONE]
    assert _open(ours) == ([1], [2])


def test_a_push_in_between_is_not_overwritten(
    publisher: Publisher, ours: Repository, github: FakeGitHub
) -> None:
    """A person pushes after we looked: GitHub refuses our update, and theirs stays."""
    publisher(pull())
    theirs: list[str] = []

    def meanwhile(right: Reply) -> Reply:
        theirs.append(ours.git.push(_LIVING, {"README": "quick\n"}, "quick", "maintainer"))
        return right

    github.trouble(r"/git/trees", meanwhile, method="POST", times=1)
    with pytest.raises(EnvironmentFault, match="fast forward"):
        publisher(pull("b10002"))
    assert ours.git.refs[_LIVING] == theirs[0]


def test_a_person_who_closes_it_is_respected(publisher: Publisher, ours: Repository) -> None:
    """A closed pull request is not opened again until there is something new."""
    publisher(pull())
    ours.threads[1]["state"] = ours.pulls[1]["state"] = "closed"
    assert publisher.done(pull()) == [Done.LEFT_ALONE]
    assert publisher(pull()).verdict is Verdict.OK
    assert Done.PULL_OPENED in publisher.done(pull("b10002"))


def test_a_closed_issue_is_respected(publisher: Publisher, ours: Repository) -> None:
    """The same for the issue."""
    publisher(issue())
    ours.threads[1]["state"] = "closed"
    assert publisher.done(issue()) == [Done.LEFT_ALONE]
    assert publisher.done(issue("patch 5 conflicts")) == [Done.ISSUE_OPENED]


def test_merged_is_done(publisher: Publisher, ours: Repository) -> None:
    """When the base has the pin, nothing is open and nothing is opened."""
    publisher(pull())
    ours.git.push("refs/heads/main", {PIN_FILE: "b10001\n"}, "merge", "maintainer")
    ours.threads[1]["state"] = ours.pulls[1]["state"] = "closed"
    ours.pulls[1]["merged_at"] = "x"
    assert publisher.done(pull()) == [Done.NOTHING]


def test_a_pin_that_is_there_closes_what_is_open(publisher: Publisher, ours: Repository) -> None:
    """Moved by hand meanwhile: the pull request is closed and says why."""
    publisher(pull())
    assert publisher.done(at_rest()) == [Done.PULL_CLOSED]
    assert ours.texts(1) == ["Closed by lloyal-track: the pin is at b10001."]
    assert publisher.done(at_rest()) == [Done.NOTHING]


def test_a_rewritten_base_gets_a_new_branch(publisher: Publisher, ours: Repository) -> None:
    """Main was force-pushed: the old pull request points to a new one on the new base (A09)."""
    publisher(pull())
    old = ours.git.refs[_LIVING]
    del ours.git.refs["refs/heads/main"]
    ours.git.push("refs/heads/main", {PIN_FILE: "old\n", "NEW": "x"}, "rewritten", "maintainer")
    assert publisher.done(pull()) == [Done.BRANCH, Done.PULL_OPENED, Done.PULL_CLOSED]
    assert ours.git.refs[_LIVING] == old
    assert _pin(ours, f"{_LIVING}.2") == "b10001"
    assert ours.texts(1) == ["Closed by lloyal-track: see #2."]
    assert publisher.done(pull()) == [Done.UNCHANGED]


def test_a_conflicting_base_is_merged(publisher: Publisher, ours: Repository) -> None:
    """Same pin, but main moved and conflicts: the branch takes main in (A09)."""
    publisher(pull())
    main = ours.git.push("refs/heads/main", {PIN_FILE: "other\n"}, "other", "maintainer")
    ours.pulls[1]["mergeable"] = False
    assert publisher.done(pull()) == [Done.BRANCH, Done.UNCHANGED]
    assert main in ours.git.ancestors(ours.git.refs[_LIVING])
    assert _pin(ours) == "b10001"


def test_a_moved_base_alone_is_no_reason_to_push(publisher: Publisher, ours: Repository) -> None:
    """Main moves every day; a pull request that still fits is left as it is."""
    publisher(pull())
    ours.git.push("refs/heads/main", {"README": "new\n"}, "other work", "maintainer")
    assert publisher.done(pull()) == [Done.UNCHANGED]
    assert publisher.done(pull("b10002")) == [Done.BRANCH, Done.PULL_UPDATED]
    assert ours.git.files(ours.git.refs[_LIVING])["README"] == "new\n"


def test_red_is_a_draft_and_green_again_is_ready(publisher: Publisher, ours: Repository) -> None:
    """Draft follows the verdict, and the change is told."""
    publisher(pull(draft=True))
    drafts = [ours.pulls[1]["draft"]]
    publisher(pull())
    drafts.append(ours.pulls[1]["draft"])
    assert drafts == [True, False]
    assert ours.texts(1) == ["The verdict changed: red → the pin may move."]


def test_a_person_may_undraft_it(publisher: Publisher, ours: Repository) -> None:
    """Without a change of the verdict, what a person chose stays."""
    publisher(pull(draft=True))
    ours.pulls[1]["draft"] = False
    assert publisher.done(pull(draft=True)) == [Done.UNCHANGED]


def test_a_stranger_with_our_marker_is_not_ours(
    publisher: Publisher, ours: Repository, github: FakeGitHub
) -> None:
    """An issue by somebody else is never edited or closed, whatever it says."""
    marker = Marker("default", "x", "y")
    github.issue("our/node#1", body=f"hello\n\n{marker}", labels=[{"name": LABEL}])
    publisher(pull())
    publisher(issue())
    assert ours.threads[1]["state"] == "open"
    assert ours.texts(1) == []


def test_two_open_threads_become_one(
    publisher: Publisher, ours: Repository, github: FakeGitHub
) -> None:
    """A duplicate, left by an interrupted run, is closed with a pointer to the older one."""
    publisher(issue())
    copy = {**ours.threads[1]}
    github.issue(
        "our/node#2", body=copy["body"], labels=copy["labels"], user={"login": BOT, "type": "Bot"}
    )
    publisher(issue())
    assert _open(ours) == ([], [1])
    assert ours.texts(2) == ["Closed by lloyal-track: see #1."]


def test_two_configurations_do_not_meet(publisher: Publisher, ours: Repository) -> None:
    """Each key has its own branch and its own pull request."""
    publisher(pull())
    publisher(pull(key="other app"))
    assert len(_open(ours)[0]) == 2
    assert "refs/heads/lloyal-track/bump-other-app" in ours.git.refs
    assert publisher.done(pull()) == [Done.UNCHANGED]


def test_a_dry_run_only_says(publisher: Publisher, ours: Repository, github: FakeGitHub) -> None:
    """The steps are told and nothing is written."""
    document = publisher(pull(), dry_run=True)
    assert [step.done for step in document.steps] == [Done.BRANCH, Done.PULL_OPENED]
    assert (ours.threads, list(ours.git.refs)) == ({}, ["refs/heads/main"])
    assert {r.method for r in github.requests if r.path != "/graphql"} == {"GET"}


def test_the_setting_that_forbids_pull_requests_is_named(
    publisher: Publisher, ours: Repository
) -> None:
    """The message names the setting; when it was changed, the next run goes on (A03's kin)."""
    ours.actions_may_open_pulls = False
    with pytest.raises(EnvironmentFault) as fault:
        publisher(pull())
    assert "Settings > Actions > General" in fault.value.next_step
    ours.actions_may_open_pulls = True
    assert publisher.done(pull()) == [Done.PULL_OPENED]


def test_a_missing_permission_is_named(publisher: Publisher, ours: Repository) -> None:
    """A token that may only read is refused with what it lacks."""
    ours.may_write = False
    with pytest.raises(EnvironmentFault) as fault:
        publisher(pull())
    assert "Resource not accessible by integration" in fault.value.what
    assert "contents: write" in fault.value.next_step


def test_a_repository_without_issues_gets_its_pull_request(
    publisher: Publisher, ours: Repository
) -> None:
    """Issues are off: a bump that may go is published, one that may not names the reason."""
    ours.has_issues = False
    assert publisher.done(pull()) == [Done.BRANCH, Done.PULL_OPENED]
    with pytest.raises(EnvironmentFault) as fault:
        publisher(issue())
    assert "enable issues" in fault.value.next_step


def test_a_deleted_account_is_nobody(
    publisher: Publisher, ours: Repository, github: FakeGitHub
) -> None:
    """An issue of a deleted account has no author, and is not ours."""
    marker = Marker("default", "x", "y")
    github.issue("our/node#1", body=f"hello\n\n{marker}", labels=[{"name": LABEL}], user=None)
    publisher(issue())
    assert _open(ours) == ([], [1, 2])


def test_an_expired_token_is_refused_loudly(
    publisher: Publisher, ours: Repository, github: FakeGitHub
) -> None:
    """Publishing never falls back to anonymous."""
    github.tokens.clear()
    with pytest.raises(EnvironmentFault, match="refused"):
        publisher(pull())
    assert ours.threads == {}


def test_the_default_token_and_its_checks_are_told(
    publisher: Publisher, ours: Repository, github: FakeGitHub
) -> None:
    """Required checks never start on a pull request by the workflow's own token (A03)."""
    ours.required_checks = ["build"]
    (note,) = publisher(pull()).notes
    assert "starts no checks on it" in ours.pulls[1]["body"]
    assert "no check starts by itself (build will wait for ever)" in note
    # A push of that token to the open pull request starts none for the new commit, either.
    assert publisher(pull("b10001+1")).notes == (note,)
    assert publisher(pull("b10001+1")).notes == ()
    github.me = "release-app[bot]"
    publisher(at_rest())
    assert publisher(pull("b10002")).notes == ()
    assert "starts no checks on it" not in ours.pulls[max(ours.pulls)]["body"]
    assert "[This run](https://example.invalid/run/1)" in ours.pulls[max(ours.pulls)]["body"]


def test_checks_of_a_ruleset_are_named_too(publisher: Publisher, ours: Repository) -> None:
    """A ruleset demands checks as a branch protection does; each name is told once (A03)."""
    ours.required_checks = ["build"]
    ours.ruleset_checks = ["test", "build"]
    (note,) = publisher(pull()).notes
    assert "(build, test will wait for ever)" in note


def test_a_quiet_repository_is_warned(publisher: Publisher, ours: Repository) -> None:
    """Twenty days before GitHub switches the schedule off, the run says so (A01)."""
    ours.pushed_at = "2026-10-10T00:00:00Z"
    (note,) = publisher(at_rest()).notes
    assert note.startswith("nothing was pushed for 51 days")


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("active", ""),
        ("disabled_inactivity", "switched the schedule off after 60 quiet days"),
        ("disabled_manually", "switched off (disabled_manually)"),
    ],
)
def test_a_workflow_that_is_off_is_told(
    ours: Repository, github: FakeGitHub, state: str, said: str
) -> None:
    """A person who publishes by hand learns why no run came (A01)."""
    ours.workflow_state = state
    document = publishing.publish(
        [at_rest()],
        repository=DOWNSTREAM,
        access=github.access(),
        now=datetime(2026, 11, 30, 6, tzinfo=UTC),
        dry_run=True,
        workflow="weekly.yml",
    )
    assert [said in note for note in document.notes] == ([True] if said else [])


def test_a_write_that_failed_is_not_repeated(
    publisher: Publisher, ours: Repository, github: FakeGitHub
) -> None:
    """A 502 after the pull request was made must not make a second one."""
    github.trouble(r"/pulls$", lambda _: Reply(502, b"<html>"), method="POST", times=1)
    with pytest.raises(EnvironmentFault):
        publisher(pull())
    assert publisher.done(pull()) == [Done.UNCHANGED]
    assert _open(ours) == ([1], [])


def test_a_token_of_an_app_carries_on(
    publisher: Publisher, ours: Repository, github: FakeGitHub
) -> None:
    """What the workflow's own token opened stays the one pull request, and the one issue."""
    publisher(pull())
    github.me = "release-app[bot]"
    assert publisher.done(pull("b10002")) == [Done.BRANCH, Done.PULL_UPDATED]
    assert publisher.done(pull("b10003")) == [Done.BRANCH, Done.PULL_UPDATED]
    assert (_open(ours), _pin(ours)) == (([1], []), "b10003")


def test_a_token_of_an_app_carries_the_issue_on(publisher: Publisher, github: FakeGitHub) -> None:
    """The same for what needs a person."""
    publisher(issue())
    github.me = "release-app[bot]"
    assert publisher.done(issue()) == [Done.UNCHANGED]
    assert publisher.done(pull()) == [Done.BRANCH, Done.PULL_OPENED, Done.ISSUE_CLOSED]


def test_an_amended_commit_is_the_persons_whose_token_it_is(
    publisher: Publisher, ours: Repository, github: FakeGitHub
) -> None:
    """With a token of a person every login is theirs; what they changed in our commit stays."""
    github.me = "maintainer"
    publisher(pull())
    commit = ours.git.commits[ours.git.refs[_LIVING]]
    tree = {**ours.git.trees[commit["tree"]], "by-hand": ("100644", ours.git.blob(b"x"))}
    amended = ours.git.commit(
        ours.git.tree(tree), commit["parents"], commit["message"], "maintainer"
    )
    ours.git.refs[_LIVING] = amended
    assert publisher.done(pull("b10002")) == [Done.COMMENTED, Done.LEFT_ALONE]
    assert ours.git.refs[_LIVING] == amended


@pytest.mark.parametrize("text", ["{body}\n\ncc @colleague\n", "all of it anew\n", "", None])
def test_a_body_that_a_person_edited_is_still_ours(
    publisher: Publisher, ours: Repository, text: str | None
) -> None:
    """The branch tells whose it is: it is updated, and no second one is tried."""
    publisher(pull())
    body = ours.pulls[1]["body"]
    ours.pulls[1]["body"] = text.format(body=body) if text else text
    assert publisher.done(pull("b10002")) == [Done.BRANCH, Done.PULL_UPDATED]
    assert ours.texts(1) == []
    assert publisher.done(pull("b10002")) == [Done.UNCHANGED]


def test_a_note_below_the_issue_makes_no_second_one(publisher: Publisher, ours: Repository) -> None:
    """A person may write into the issue; it stays the living one."""
    publisher(issue())
    ours.threads[1]["body"] += "\nI look at it on Monday.\n"
    assert publisher.done(issue()) == [Done.UNCHANGED]
    assert publisher.done(pull()) == [Done.BRANCH, Done.PULL_OPENED, Done.ISSUE_CLOSED]
    assert "on Monday" in ours.threads[1]["body"]


def test_a_push_between_look_and_update_is_kept(
    publisher: Publisher, ours: Repository, github: FakeGitHub
) -> None:
    """GitHub refuses what is no fast forward; the run says who was first and what to do."""
    publisher(pull())

    def meanwhile(right: Reply) -> Reply:
        ours.git.push(_LIVING, {"README": "by hand\n"}, "mend it", "maintainer")
        return right

    github.trouble(r"/git/trees$", meanwhile, method="POST", times=1)
    with pytest.raises(EnvironmentFault) as fault:
        publisher(pull("b10002"))
    assert "somebody was there first" in fault.value.next_step
    assert ours.git.files(ours.git.refs[_LIVING])["README"] == "by hand\n"
    assert publisher.done(pull("b10002")) == [Done.COMMENTED, Done.LEFT_ALONE]


def test_two_runs_at_once_leave_one_of_each(
    publisher: Publisher, ours: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both saw nothing; the second is refused, or its issue is closed by the next run."""

    def after_another(*rest: Any) -> Any:
        monkeypatch.undo()
        publisher(rest[0])
        return decide(*rest)

    monkeypatch.setattr(publishing, "decide", after_another)
    with pytest.raises(EnvironmentFault, match="already exists") as fault:
        publisher(pull())
    assert "somebody was there first" in fault.value.next_step
    assert _open(ours) == ([1], [])
    assert publisher.done(pull()) == [Done.UNCHANGED]
    monkeypatch.setattr(publishing, "decide", after_another)
    publisher(issue())
    publisher(issue())
    assert [len(threads) for threads in _open(ours)] == [0, 1]


def test_thousands_of_comments_are_read(publisher: Publisher, ours: Repository) -> None:
    """GitHub takes 2,500 on a thread; the one that says "left alone" may be the oldest."""
    publisher(pull())
    ours.git.push(_LIVING, {"README": "by hand\n"}, "mend it", "maintainer")
    publisher(pull("b10002"))
    chatter = {"body": "+1", "user": {"login": "somebody"}}
    ours.comments[1] += [chatter] * 2_499
    assert publisher.done(pull("b10003")) == [Done.LEFT_ALONE]
    assert len(ours.comments[1]) == 2_500
