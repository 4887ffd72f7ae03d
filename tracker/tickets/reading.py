"""Reads one ticket through the forge: which resources, in which order, and what a fault means.

A ticket is read completely or not at all: a page that is missing could hold the one event that
matters, so a fault in any part leaves the last known state as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from urllib.parse import urlencode

from msgspec.structs import replace

from tracker.evidence.tickets import FaultKind, TicketState
from tracker.forge.access import Access
from tracker.forge.answers import Answer, Fault
from tracker.forge.client import PER_PAGE
from tracker.tickets import keys
from tracker.tickets.facts import (
    ChangedFile,
    FilesFacts,
    IssueFacts,
    PullFacts,
    TimelineFacts,
    files_facts,
    issue_facts,
    pull_facts,
    state_of,
    timeline_facts,
)
from tracker.tickets.keys import Key
from tracker.tickets.memory import Kept, Remembered

F = TypeVar("F", IssueFacts, TimelineFacts, PullFacts, FilesFacts)
P = TypeVar("P", TimelineFacts, FilesFacts)

_UNSEEN = (FaultKind.NOT_FOUND, FaultKind.GONE, FaultKind.FORBIDDEN, FaultKind.BLOCKED)
_MOST_PAGES = 40
# Each linked pull request costs a request per poll; a thread with more has other readers.
MOST_LINKED = 12


@dataclass(frozen=True, slots=True)
class Transferred:
    """The thread now lives elsewhere; what it says there is not what was watched."""

    to: Key


@dataclass(frozen=True, slots=True)
class Read:
    """A ticket that was read completely.

    ``pulls``: the pull requests that refer to it, closing ones first; for a pull request itself,
    it is the first. ``files``: what the deciding ones change, by key. ``unseen``: those that say
    they close it and were not read.
    """

    key: Key
    state: TicketState
    pulls: tuple[PullFacts, ...]
    files: dict[str, tuple[ChangedFile, ...]]
    resources: dict[str, Kept]
    unseen: tuple[str, ...] = ()


class Asked(Protocol):
    """Where answers come from: GitHub, or memory."""

    access: Access

    def get(
        self, path: str, query: Mapping[str, str] | None = None, *, etag: str | None = None
    ) -> Answer | Fault: ...

    def become_anonymous(self) -> None: ...


class FromMemory:
    """Answers "not modified" to everything that is remembered, and asks nobody."""

    access = Access()

    def get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        etag: str | None = None,
    ) -> Answer | Fault:
        del query
        if etag is None:
            return Fault(FaultKind.MALFORMED, f"{path} is not remembered")
        return Answer(304, None)

    def become_anonymous(self) -> None:
        """There is no token."""


@dataclass(slots=True)
class Reader:
    """Reads tickets one after another. ``names``: asked repository -> its name now."""

    forge: Asked
    polled_at: str
    names: dict[str, str | Fault] = field(default_factory=dict)
    disabled: dict[str, Fault] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def ticket(self, asked: Key, remembered: Remembered) -> Read | Transferred | Fault:
        """The ticket as it is now."""
        resources = _Resources(self, remembered.resources)
        known = keys.parse(remembered.canonical) if remembered.canonical else asked
        closed_off = self.disabled.get(known.repository.casefold())
        if closed_off:
            return closed_off
        issue = resources.one(IssueFacts, _path(known, "issues"), issue_facts)
        if isinstance(issue, Fault):
            return self._refused(issue, known)
        key = keys.parse(issue.key)
        if not key.same(known):
            moved = self._moved(known, key)
            if isinstance(moved, (Transferred, Fault)):
                return moved
        return self._rest(issue, key, resources)

    def _refused(self, fault: Fault, key: Key) -> Fault:
        """A 410 means a deleted thread, or a repository that has no issues at all."""
        if fault.kind not in (FaultKind.GONE, FaultKind.ISSUES_DISABLED):
            return fault
        if fault.kind is FaultKind.GONE:
            repository = self.forge.get(f"/repos/{key.repository}")
            body = repository.body if isinstance(repository, Answer) else None
            if not isinstance(body, dict) or body.get("has_issues") is not False:
                return fault
            fault = Fault(FaultKind.ISSUES_DISABLED, "issues are disabled in that repository (410)")
        self.disabled[key.repository.casefold()] = fault
        self.notes.append(f"{key.repository}: issues are disabled")
        return fault

    def _moved(self, asked: Key, got: Key) -> Transferred | Fault | None:
        """None if the repository has another name now and the thread is the same."""
        if asked.number != got.number:
            return Transferred(got)
        name = self._name_now(asked.repository)
        if isinstance(name, Fault):
            return name
        return None if got.same_repository(name) else Transferred(got)

    def _name_now(self, repository: str) -> str | Fault:
        if repository not in self.names:
            answer = self.forge.get(f"/repos/{repository}")
            if isinstance(answer, Fault):
                self.names[repository] = answer
            else:
                name = answer.body.get("full_name") if isinstance(answer.body, dict) else None
                self.names[repository] = name or Fault(
                    FaultKind.MALFORMED, "the answer about the repository is damaged"
                )
        return self.names[repository]

    def _rest(self, issue: IssueFacts, key: Key, resources: _Resources) -> Read | Fault:
        """All that is known beyond the issue itself, asked under the name it has now."""
        timeline = resources.pages(
            TimelineFacts,
            f"{_path(key, 'issues')}/timeline",
            lambda body, more: timeline_facts(body, more, about=key),
        )
        if isinstance(timeline, Fault):
            return _part(issue, "timeline", timeline)
        own: PullFacts | None = None
        if issue.kind == "pull":
            asked = self._pull(key, resources)
            if isinstance(asked, Fault):
                return _part(issue, "pull request", asked)
            own = asked
        state = state_of(issue, timeline, own, polled_at=self.polled_at)
        linked = self._linked(state, resources)
        if isinstance(linked, Fault):
            return _part(issue, "linked pull requests", linked)
        pulls = (own, *linked) if own else linked
        files: dict[str, tuple[ChangedFile, ...]] = {}
        for pull in pulls:
            decides = pull is own or pull.key in state.closing
            if not decides or pull.state == "open":
                continue
            pages = resources.pages(
                FilesFacts, f"{_path(keys.parse(pull.key), 'pulls')}/files", files_facts
            )
            if isinstance(pages, Fault):
                return _part(issue, f"changed files of {pull.key}", pages)
            files[pull.key] = tuple(file for page in pages for file in page.files)
        return Read(
            key=key,
            state=state,
            pulls=pulls,
            files=files,
            resources=resources.used,
            unseen=tuple(key for key in state.closing if key not in {p.key for p in pulls}),
        )

    def _linked(self, state: TicketState, resources: _Resources) -> tuple[PullFacts, ...] | Fault:
        """The pull requests that refer to the ticket, closing ones first, as they are now.

        One that is no longer to be seen does not keep the ticket itself from being read.
        """
        pulls: list[PullFacts] = []
        wanted = sorted(state.linked, key=lambda linked: linked not in state.closing)
        for linked in wanted[:MOST_LINKED]:
            pull = self._pull(keys.parse(linked), resources)
            if isinstance(pull, PullFacts):
                pulls.append(pull)
            elif pull.kind not in _UNSEEN:
                return pull
        return tuple(pulls)

    def _pull(self, key: Key, resources: _Resources) -> PullFacts | Fault:
        """A pull request, under the name by which it was asked for."""
        pull = resources.one(PullFacts, _path(key, "pulls"), pull_facts)
        if isinstance(pull, Fault):
            return pull
        if keys.parse(pull.key).number != key.number:
            return Fault(FaultKind.MALFORMED, f"{pull.key} came instead of {key}")
        return replace(pull, key=str(key))


def _part(issue: IssueFacts, part: str, fault: Fault) -> Fault:
    why = f"its {part} could not be read ({fault.why}); the thread itself is {issue.state}"
    return Fault(fault.kind, why, None, fault.status)


def _path(key: Key, kind: str) -> str:
    return f"/repos/{key.repository}/{kind}/{key.number}"


class _Resources:
    """The resources of one ticket: asked with the validators of last time, kept for next time."""

    def __init__(self, reader: Reader, before: dict[str, Kept]) -> None:
        self._reader = reader
        self._before = before
        self.used: dict[str, Kept] = {}

    def one(
        self,
        kind: type[F],
        path: str,
        facts_of: Callable[[Any, bool], F],
        query: dict[str, str] | None = None,
    ) -> F | Fault:
        """The facts of one resource, as they are now."""
        name = f"{path}?{urlencode(query)}" if query else path
        before = self._before.get(name)
        answer = self._got(path, query, before.etag if before else None)
        if isinstance(answer, Fault):
            return answer
        if answer.not_modified and before and isinstance(before.facts, kind):
            # The facts came under the old validator. A 304 need not repeat it, and one that names
            # another would keep these facts under a validator that they never had.
            self.used[name] = before
            return before.facts
        try:
            facts = facts_of(answer.body, answer.following is not None)
        except ValueError as fault:
            why = f"the answer is not what GitHub documents ({fault})"
            return Fault(FaultKind.MALFORMED, why)
        self.used[name] = Kept(etag=answer.etag, facts=facts)
        return facts

    def pages(
        self, kind: type[P], path: str, facts_of: Callable[[Any, bool], P]
    ) -> tuple[P, ...] | Fault:
        """Every page of a list.

        A full last page is followed by a look at the next one, although none was announced: when an
        event is added to a full page, that page itself says "not modified".
        """
        pages: list[P] = []
        for number in range(1, _MOST_PAGES + 1):
            query = {"page": str(number), "per_page": str(PER_PAGE)}
            page = self.one(kind, path, facts_of, query)
            if isinstance(page, Fault):
                return page
            pages.append(page)
            if not page.more and page.count < PER_PAGE:
                return tuple(pages)
        return Fault(FaultKind.MALFORMED, f"more than {_MOST_PAGES} pages")

    def _got(self, path: str, query: dict[str, str] | None, etag: str | None) -> Answer | Fault:
        """The answer; a refused token costs the token, not the answer: most threads are public."""
        forge = self._reader.forge
        answer = forge.get(path, query, etag=etag)
        refused = isinstance(answer, Fault) and answer.kind is FaultKind.TOKEN_REFUSED
        if refused and forge.access.token:
            self._reader.notes.append(
                f"the token from {forge.access.source} is refused (401): polled without it"
            )
            forge.become_anonymous()
            return forge.get(path, query, etag=etag)
        return answer
