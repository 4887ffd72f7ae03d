"""What is to be published, as a value."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from msgspec.structs import replace

from tracker.evidence.base import digest
from tracker.evidence.bump import BumpDocument
from tracker.evidence.item import Item
from tracker.evidence.tickets import TicketOutcome, TicketsDocument
from tracker.evidence.verdict import Status

# Unknown there means that nobody was asked yet, not that the target is red.
_NOT_PROVEN_HERE = ("ticket", "human")
_SAFE_NAME = re.compile(r"[^A-Za-z0-9._+-]+")


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file of the repository as it shall be. ``path``: from its top. ``gitlink``: a submodule's
    commit instead of content. ``undated``: the content without what differs in every run, None
    if it has nothing of the kind."""

    path: str
    content: bytes = b""
    gitlink: str | None = None
    executable: bool = False
    undated: bytes | None = None

    @property
    def meaning(self) -> tuple[str, str, str]:
        """What must differ for the file to be pushed again."""
        content = self.content if self.undated is None else self.undated
        return (self.path, self.mode, self.gitlink or content.hex())

    @property
    def mode(self) -> str:
        if self.gitlink is not None:
            return "160000"
        return "100755" if self.executable else "100644"


@dataclass(frozen=True, slots=True)
class Proposal:
    """``kind``: a pull request, an issue, or neither because the pin is there already.

    ``key``: names the living thread; the same for every run of one configuration. ``digest``: of
    what was found, without dates and times: equal means that there is nothing new to say.
    ``state``: of the verdict alone; when it changes, people are told by a comment. ``standing``:
    that verdict in words. ``body``: Markdown, not yet cut to size. ``draft``: something is red or
    unknown.
    """

    kind: Literal["pull", "issue", "none"]
    key: str
    title: str
    body: str
    digest: str
    state: str
    standing: str
    files: tuple[FileChange, ...] = field(default=(), repr=False)
    draft: bool = False


def propose(
    document: BumpDocument, *, key: str, body: str, files: tuple[FileChange, ...]
) -> Proposal:
    """The proposal that a bump's evidence makes. ``body``: its checklist in Markdown."""
    found = digest(
        [_finding(item) for item in document.items if item.kind != "ticket"],
        _standings(document.tickets),
        document.from_.commit,
        document.to.commit,
        [change.meaning for change in files],
    )
    old, new = safe_name(document.from_.name), safe_name(document.to.name)
    outcome = document.pin.outcome
    red = any(
        item.status in (Status.FAIL, Status.UNKNOWN) and item.kind not in _NOT_PROVEN_HERE
        for item in document.items
    )
    if outcome == "already-there":
        return Proposal("none", key, "", "", found, outcome, f"the pin is at {new}")
    if outcome == "forbidden":
        return Proposal(
            kind="issue",
            key=key,
            title=f"The pin cannot move from {old} to {new}: a person is needed",
            body=body,
            digest=found,
            state=digest(outcome, document.pin.forbidden_by),
            standing=f"{document.verdict}: {len(document.pin.forbidden_by)} items forbid the move",
        )
    if not files:
        return Proposal(
            kind="issue",
            key=key,
            title=f"The pin may move from {old} to {new}, but nothing in this repository changes",
            body=body,
            digest=found,
            state=digest(outcome, "no files"),
            standing="the pin may move, but no pin of this repository changes",
        )
    return Proposal(
        kind="pull",
        key=key,
        title=f"Move the upstream pin from {old} to {new}",
        body=body,
        digest=found,
        state=digest(outcome, red),
        standing="the pin may move" + (", but something is red or unknown" if red else ""),
        files=files,
        draft=red,
    )


def _finding(item: Item) -> tuple[object, ...]:
    return (item.id, item.status, item.blocking, item.summary, item.evidence, item.accepted)


def _standings(polled: TicketsDocument | None) -> list[tuple[object, ...]]:
    """How the tickets stand, not what was new of them.

    News of one week is none the next. If it counted, the body would be written again to take the
    news away before anybody read it.
    """
    found: list[tuple[object, ...]] = []
    for ticket in polled.tickets if polled else ():
        state = ticket.state
        undated = replace(state, polled_at="", updated_at="") if state else None
        lost = ticket.outcome in (TicketOutcome.GONE, TicketOutcome.TRANSFERRED)
        found.append((ticket.key, undated, lost and ticket.why, ticket.resolution, ticket.pulls))
    return found


def broken(*, key: str, run_url: str, why: str) -> Proposal:
    """The scheduled run itself broke: that is an issue of its own, not a verdict on upstream."""
    return Proposal(
        kind="issue",
        key=f"{key}:run",
        title="The scheduled pin bump did not run to its end",
        body=(
            "# The scheduled run broke\n\n"
            f"{why}\n\nNothing is known about the newest upstream revision until this is mended. "
            f"The run's log: {run_url or 'see the Actions tab'}\n"
        ),
        digest=digest("broken", why),
        state=digest("broken"),
        standing="the run broke",
    )


def mended(*, key: str) -> Proposal:
    """The scheduled run works (again)."""
    return Proposal("none", f"{key}:run", "", "", "", "", "the scheduled run works again")


def safe_name(name: str) -> str:
    """A revision's name for a title: a title becomes a commit's subject, where keywords act."""
    return _SAFE_NAME.sub("-", name).strip("-")[:40] or "revision"
