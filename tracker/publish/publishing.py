"""Asks what is there, decides, and does it, for every proposal of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from tracker.evidence.publish import Done, PublishDocument, PublishStep
from tracker.evidence.verdict import Verdict
from tracker.forge.access import Access
from tracker.forge.client import Forge
from tracker.publish.decision import (
    Close,
    Edit,
    LeaveAlone,
    Nothing,
    OpenIssue,
    OpenPull,
    Push,
    Say,
    Step,
    Thread,
    decide,
)
from tracker.publish.hub import WORKFLOW_BOT, Hub, Place
from tracker.publish.proposal import Proposal

# GitHub switches a schedule off 60 days after the last push; said early enough to act.
_QUIET_DAYS, _WARN_DAYS = 60, 40


def publish(
    proposals: Sequence[Proposal],
    *,
    repository: str,
    access: Access,
    now: datetime,
    dry_run: bool = False,
    run_url: str = "",
    workflow: str = "",
    notes: tuple[str, ...] = (),
) -> PublishDocument:
    """Make the forge say what ``proposals`` say. ``dry_run``: decide only.

    ``workflow``: file name of the scheduled workflow, whose health is told too. ``notes``: what the
    caller has to say besides.

    Raises:
        EnvironmentFault: no token, or GitHub refuses; what was done before stays.
    """
    hub = Hub(Forge(access), repository, run_url=run_url)
    place = hub.place()
    last_success, state = hub.schedule(workflow)
    head = (*_written(run_url), *_health(run_url, workflow, last_success))
    did: list[PublishStep] = []
    attention = False
    pushed = False
    for bare in proposals:
        proposal = replace(bare, body=_headed(bare, place, head))
        steps = decide(proposal, hub.seen(place, proposal))
        attention = attention or any(isinstance(s, LeaveAlone) and s.needs_attention for s in steps)
        done = [_would(step) for step in steps] if dry_run else hub.do(place, proposal, steps)
        pushed = pushed or any(step.done in (Done.BRANCH, Done.PULL_OPENED) for step in done)
        did += done
    return PublishDocument(
        verdict=Verdict.ATTENTION if attention else Verdict.OK,
        repository=repository,
        dry_run=dry_run,
        steps=tuple(did),
        notes=(*notes, *_notes(place, now, pushed=pushed, state=state)),
        last_success=last_success,
    )


def _written(run_url: str) -> list[str]:
    if not run_url:
        return []
    return [f"> [This run]({run_url}) keeps the checklist and the report as artifacts."]


def _health(run_url: str, workflow: str, last_success: str) -> list[str]:
    """When the schedule last ended well. A body is not written again while nothing changes, so the
    link shows the runs since."""
    if not workflow:
        return []
    date = last_success or "none yet, or not to be seen"
    repository = run_url.partition("/actions/")[0]
    since = f"; [runs since]({repository}/actions/workflows/{workflow})" if repository else ""
    return [f"> Last successful run before this was written: {date}{since}."]


def _headed(proposal: Proposal, place: Place, lines: Sequence[str]) -> str:
    """The body under what its reader must know of how it came here; cut last, so never."""
    head = list(lines)
    if proposal.kind == "pull" and place.me == WORKFLOW_BOT:
        head.append(
            "> It was opened with the workflow's own token, so GitHub starts no checks on it: "
            "close and reopen it to start them. Build and check below ran in the run itself."
        )
    return "\n>\n".join(head) + f"\n\n{proposal.body}" if head else proposal.body


def _notes(place: Place, now: datetime, *, pushed: bool, state: str) -> tuple[str, ...]:
    notes = []
    if state == "disabled_inactivity":
        notes.append(
            "GitHub switched the schedule off after 60 quiet days: enable the workflow again on "
            "the Actions page, or with `gh workflow enable`"
        )
    elif state not in ("", "active"):
        notes.append(f"the workflow is switched off ({state}): no schedule starts it")
    if place.pushed_at:
        quiet = (now - datetime.fromisoformat(place.pushed_at.replace("Z", "+00:00"))).days
        if quiet >= _WARN_DAYS:
            notes.append(
                f"nothing was pushed for {quiet} days: GitHub switches schedules off after "
                f"{_QUIET_DAYS}; push something, or enable the workflow again when it happened"
            )
    if pushed and place.me == WORKFLOW_BOT:
        checks = f" ({', '.join(place.required)} will wait for ever)" if place.required else ""
        notes.append(
            f"the pull request was opened or updated with the workflow's own token, so no check "
            f"starts by itself{checks}: close and reopen it by hand, or give the job a token of an "
            "app"
        )
    return tuple(notes)


def _would(step: Step) -> PublishStep:
    """The step as it would be reported, not done."""
    thread: Thread | None = None
    why = ""
    match step:
        case Push():
            done, why = Done.BRANCH, f"{len(step.files)} files"
        case OpenPull():
            done, why = Done.PULL_OPENED, step.title
        case OpenIssue():
            done, why = Done.ISSUE_OPENED, step.title
        case Edit():
            done = Done.PULL_UPDATED if step.is_pull else Done.ISSUE_UPDATED
            thread, why = step.thread, step.title
        case Say():
            done, thread, why = Done.COMMENTED, step.thread, step.text
        case Close():
            done = Done.PULL_CLOSED if step.is_pull else Done.ISSUE_CLOSED
            thread, why = step.thread, step.text
        case LeaveAlone():
            done, thread, why = Done.LEFT_ALONE, step.thread, step.why
        case Nothing():
            done = Done.UNCHANGED if step.thread else Done.NOTHING
            thread, why = step.thread, step.why
    return PublishStep(
        done=done,
        number=thread.number if thread else None,
        url=thread.url if thread else "",
        why=why,
    )
