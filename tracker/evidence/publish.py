"""The publish document: what was done on the forge, or would be."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.verdict import Verdict


class Done(StrEnum):
    """One thing that publishing does."""

    UNCHANGED = "unchanged"
    NOTHING = "nothing-to-publish"
    BRANCH = "branch-pushed"
    PULL_OPENED = "pull-opened"
    PULL_UPDATED = "pull-updated"
    PULL_CLOSED = "pull-closed"
    ISSUE_OPENED = "issue-opened"
    ISSUE_UPDATED = "issue-updated"
    ISSUE_CLOSED = "issue-closed"
    COMMENTED = "commented"
    LEFT_ALONE = "left-alone"


class PublishStep(Value, frozen=True, kw_only=True):
    """One step. ``number``: of the thread, None where there is none. ``why``: one sentence."""

    done: Done
    number: int | None
    url: str
    why: str = ""


class PublishDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """``dry_run``: the steps were decided, not done. ``notes``: what a maintainer should know.

    ``last_success``: when the workflow last ended well before this run, ISO 8601, "" if unknown.
    """

    schema_: Literal["lloyal-track/publish/1"] = "lloyal-track/publish/1"
    verdict: Verdict
    repository: str
    dry_run: bool
    steps: tuple[PublishStep, ...]
    notes: tuple[str, ...] = ()
    last_success: str = ""
