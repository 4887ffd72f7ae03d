"""JSON of the REST API -> the few facts we keep of it, and facts -> what a ticket says. Pure.

Facts are kept per resource beside its validator, so that "not modified" can stand for any of them.
No text of upstream is kept but titles and labels; of a diff only paths and digests.

Every function named ``*_facts`` raises ``ValueError`` for a body of another shape than documented.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from tracker.evidence.base import Value
from tracker.evidence.tickets import TicketState
from tracker.tickets import keys
from tracker.tickets.keys import Key
from tracker.tickets.resources import Account, Event, File, Issue, Pull

_TELLING = 12  # characters that are no white space
_MAINTAINERS = ("OWNER", "MEMBER", "COLLABORATOR")
_CLOSING_WORD = r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?\s+"


class IssueFacts(Value, frozen=True, kw_only=True, tag="issue"):
    """The issue, or the issue side of a pull request. ``key``: as upstream calls it now."""

    key: str
    kind: Literal["issue", "pull"]
    title: str
    state: Literal["open", "closed"]
    state_reason: str | None
    labels: tuple[str, ...]
    updated_at: str
    assigned: bool
    merged: bool | None


class CrossReference(Value, frozen=True, kw_only=True):
    """A pull request whose text names the ticket."""

    key: str
    title: str
    closing: bool


class TimelineFacts(Value, frozen=True, kw_only=True, tag="timeline"):
    """One page. ``count``: events on it. ``more``: another page was announced.

    ``reset``: it closes or reopens the ticket; then ``closed_by`` is the commit that closed it
    last, None for one that was closed by hand or reopened. ``maintainer``: one of them spoke.
    """

    count: int
    more: bool
    maintainer: bool
    pulls: tuple[CrossReference, ...]
    reset: bool
    closed_by: str | None


class PullFacts(Value, frozen=True, kw_only=True, tag="pull"):
    """``merge_commit``: None unless merged."""

    key: str
    title: str
    state: Literal["open", "closed"]
    merged: bool
    merge_commit: str | None


class AddedBlock(Value, frozen=True, kw_only=True):
    """Lines that stand together and were added: how many, and the digest of them."""

    lines: int
    digest: str


class ChangedFile(Value, frozen=True, kw_only=True):
    """``blocks`` None: the API gave no diff of it (too large, or binary).

    ``blind``: a hunk changes something, but adds no lines by which it could be found again.
    """

    path: str
    blocks: tuple[AddedBlock, ...] | None
    blind: bool = False


class FilesFacts(Value, frozen=True, kw_only=True, tag="files"):
    """One page of the files that a pull request changes."""

    count: int
    more: bool
    files: tuple[ChangedFile, ...]


Facts = IssueFacts | TimelineFacts | PullFacts | FilesFacts


def issue_facts(body: Any, _more: bool) -> IssueFacts:
    """``GET /repos/{owner}/{repo}/issues/{number}``."""
    issue = msgspec.convert(body, Issue)
    pull = issue.pull_request
    return IssueFacts(
        key=str(Key(keys.of_api_url(issue.repository_url), issue.number)),
        kind="pull" if pull else "issue",
        title=issue.title,
        state=issue.state,
        state_reason=None if pull or issue.state == "open" else _reason(issue),
        labels=tuple(sorted(label.name for label in issue.labels)),
        updated_at=issue.updated_at,
        assigned=bool(issue.assignees),
        merged=bool(pull.merged_at) if pull else None,
    )


def _reason(issue: Issue) -> str:
    """completed, not_planned, duplicate; "unknown" where upstream gave none or a new one."""
    reason = issue.state_reason
    return reason if reason in ("completed", "not_planned", "duplicate") else "unknown"


def timeline_facts(body: Any, more: bool, *, about: Key) -> TimelineFacts:
    """``GET /repos/{owner}/{repo}/issues/{number}/timeline``, one page."""
    events = msgspec.convert(body, tuple[Event, ...])
    closed_by: str | None = None
    reset = False
    for event in events:
        if event.event in ("closed", "reopened", "merged"):
            reset = True
            closed_by = _own_commit(event, about) if event.event != "reopened" else None
    return TimelineFacts(
        count=len(events),
        more=more,
        maintainer=any(_by_maintainer(event) for event in events),
        pulls=tuple(_cross_references(events, about)),
        reset=reset,
        closed_by=closed_by,
    )


def _own_commit(event: Event, about: Key) -> str | None:
    """The commit of the event, unless it is another repository's (a fork's)."""
    url = (event.commit_url or "").casefold()
    return event.commit_id if f"/repos/{about.repository}/".casefold() in url else None


def _by_maintainer(event: Event) -> bool:
    """A comment or review by an owner, member or collaborator who is not a bot."""
    if event.event not in ("commented", "reviewed"):
        return False
    author = event.user or event.actor or Account()
    bot = author.type == "Bot" or author.login.endswith("[bot]")
    return event.author_association in _MAINTAINERS and not bot


def _cross_references(events: Iterable[Event], about: Key) -> Iterator[CrossReference]:
    """Pull requests of the same owner, or of anybody who says that they close it."""
    for event in events:
        thread = event.source.issue if event.source else None
        if event.event != "cross-referenced" or thread is None or thread.pull_request is None:
            continue
        key = Key(keys.of_api_url(thread.repository_url), thread.number)
        closing = closes(thread.body or "", about, said_in=key.repository)
        same_owner = key.repository.partition("/")[0].casefold() == (
            about.repository.partition("/")[0].casefold()
        )
        if (same_owner or closing) and not key.same(about):
            yield CrossReference(key=str(key), title=thread.title, closing=closing)


def closes(text: str, about: Key, *, said_in: str) -> bool:
    """``text`` holds a closing keyword for the ticket, by GitHub's rules."""
    full = re.escape(about.repository)
    forms = [rf"{full}#", rf"https?://[^/\s]+/{full}/(?:issues|pull)/"]
    if about.same_repository(said_in):
        forms.append("#")
    pattern = rf"{_CLOSING_WORD}(?:{'|'.join(forms)}){about.number}(?![0-9])"
    return re.search(pattern, text, re.IGNORECASE) is not None


def pull_facts(body: Any, _more: bool) -> PullFacts:
    """``GET /repos/{owner}/{repo}/pulls/{number}``."""
    pull = msgspec.convert(body, Pull)
    merged = bool(pull.merged_at)
    return PullFacts(
        key=str(Key(keys.of_api_url(pull.url), pull.number)),
        title=pull.title,
        state=pull.state,
        merged=merged,
        merge_commit=pull.merge_commit_sha if merged else None,
    )


def files_facts(body: Any, more: bool) -> FilesFacts:
    """``GET /repos/{owner}/{repo}/pulls/{number}/files``, one page."""
    files = msgspec.convert(body, tuple[File, ...])
    return FilesFacts(
        count=len(files),
        more=more,
        files=tuple(changed_file(file.filename, file.patch or "") for file in files),
    )


def changed_file(path: str, patch: str) -> ChangedFile:
    """``patch``: the hunks of its unified diff, "" if there are none to be had."""
    if not patch:
        return ChangedFile(path=path, blocks=None)
    hunks = ["@@" + hunk for hunk in ("\n" + patch).split("\n@@")[1:]]
    return ChangedFile(
        path=path,
        blocks=added_blocks(patch),
        blind=not all(added_blocks(hunk) for hunk in hunks),
    )


def added_blocks(patch: str) -> tuple[AddedBlock, ...]:
    """The maximal runs of added lines of a unified diff.

    Runs with hardly a character in them stand in every file and prove nothing: they are left out.
    """
    blocks: list[AddedBlock] = []
    run: list[str] = []
    for line in [*patch.split("\n"), "@@"]:
        if line.startswith("+"):
            run.append(line[1:])
        elif not line.startswith("\\"):
            if sum(len("".join(added.split())) for added in run) >= _TELLING:
                blocks.append(AddedBlock(lines=len(run), digest=block_digest(run)))
            run = []
    return tuple(blocks)


def block_digest(lines: list[str]) -> str:
    """Of lines without their ends and trailing white space."""
    text = "\n".join(line.rstrip() for line in lines)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:20]


def state_of(
    issue: IssueFacts,
    timeline: tuple[TimelineFacts, ...],
    pull: PullFacts | None,
    *,
    polled_at: str,
) -> TicketState:
    """What a ticket says. ``pull``: its pull request side, None for an issue."""
    closed_by: str | None = None
    for page in timeline:
        if page.reset:
            closed_by = page.closed_by
    references = [reference for page in timeline for reference in page.pulls]
    return TicketState(
        polled_at=polled_at,
        kind=issue.kind,
        title=issue.title,
        state=issue.state,
        state_reason=issue.state_reason,
        labels=issue.labels,
        updated_at=issue.updated_at,
        acknowledged=issue.assigned or any(page.maintainer for page in timeline),
        merged=pull.merged if pull else issue.merged,
        merge_commit=pull.merge_commit if pull else None,
        linked=tuple(dict.fromkeys(reference.key for reference in references)),
        closing=tuple(dict.fromkeys(ref.key for ref in references if ref.closing)),
        closed_by=closed_by if issue.state == "closed" else None,
    )


def changes(previous: TicketState | None, now: TicketState) -> tuple[str, ...]:
    """One phrase for each difference that means something; a new comment alone is none."""
    if previous is None:
        return (f"first seen: {standing(now)}",)
    found = []
    if standing(previous) != standing(now):
        found.append(f"{standing(previous)} -> {standing(now)}")
    if previous.origin == "reported":
        return tuple(found)
    if now.acknowledged and previous.acknowledged is False:
        found.append("acknowledged")
    for word, before, after in (
        ("labelled", previous.labels, now.labels),
        ("label removed:", now.labels, previous.labels),
        ("pull request refers to it:", previous.linked, now.linked),
        ("pull request closes it:", previous.closing, now.closing),
    ):
        fresh = [each for each in after if each not in before]
        if fresh:
            found.append(f"{word} {', '.join(fresh)}")
    return tuple(found)


def fix_unseen(state: TicketState) -> bool:
    """Closed, and neither a commit nor a pull request says that it did it: a bot closes so, too."""
    nobody = state.closed_by is None and not state.closing
    return state.kind == "issue" and state.state == "closed" and nobody


def standing(state: TicketState) -> str:
    """``open``, ``merged``, ``closed (not planned)``."""
    if state.merged:
        return "merged"
    if state.state == "closed" and state.state_reason:
        return f"closed ({state.state_reason.replace('_', ' ')})"
    return state.state
