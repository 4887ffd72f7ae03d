"""What is there and what is to be said -> what to do. Pure.

The rules: one thread a key; nothing is done when nothing changed; a person's commits and a person's
closing are respected; a change of the verdict is told by a comment, everything else by an edit,
because an edit notifies nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracker.publish.body import Marker
from tracker.publish.proposal import FileChange, Proposal


@dataclass(frozen=True, slots=True)
class Thread:
    """A pull request or issue that we opened. ``marker``: as its body says. ``node``: GraphQL id.

    ``branch``: of a pull request.
    """

    number: int
    url: str
    title: str
    marker: Marker
    is_open: bool
    merged: bool = False
    draft: bool = False
    node: str = ""
    branch: str = ""


@dataclass(frozen=True, slots=True)
class Branch:
    """The living branch. ``foreign``: commits that are not ours, oldest first.

    ``has_files``: the proposed files stand there as proposed. ``on_base``: its fork point is still
    in the base branch; false after the base was rewritten.
    """

    name: str
    head: str
    foreign: tuple[str, ...]
    has_files: bool
    on_base: bool = True


@dataclass(frozen=True, slots=True)
class Seen:
    """What the forge says. ``pulls``, ``issues``: ours, newest first, open and closed. ``free``: a
    name that no branch has.

    ``base_has_files``: the proposal is merged already. ``told``: heads of a branch about which a
    comment says that it was left alone.
    """

    pulls: tuple[Thread, ...] = ()
    issues: tuple[Thread, ...] = ()
    branch: Branch | None = None
    free: str = ""
    base_has_files: bool = False
    conflicting: bool = False
    told: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Push:
    """Put ``files`` on the branch, on top of what is there and of the base; never forced.

    ``onto`` None: a new branch from the base, named ``free``.
    """

    files: tuple[FileChange, ...]
    onto: Branch | None
    free: str


@dataclass(frozen=True, slots=True)
class OpenPull:
    title: str
    body: str
    marker: Marker
    draft: bool


@dataclass(frozen=True, slots=True)
class OpenIssue:
    title: str
    body: str
    marker: Marker


@dataclass(frozen=True, slots=True)
class Edit:
    """``draft`` None: leave as it is (an issue has none)."""

    thread: Thread
    is_pull: bool
    title: str
    body: str
    marker: Marker
    draft: bool | None = None


@dataclass(frozen=True, slots=True)
class Say:
    """A comment: this one notifies."""

    thread: Thread
    text: str


@dataclass(frozen=True, slots=True)
class Close:
    """Close with a pointer to what takes its place. ``marker``: notes that the tool did it."""

    thread: Thread
    is_pull: bool
    text: str
    marker: Marker


@dataclass(frozen=True, slots=True)
class LeaveAlone:
    """Nothing may be done, and why."""

    thread: Thread | None
    why: str
    needs_attention: bool


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing is to be done, and why."""

    thread: Thread | None
    why: str


Step = Push | OpenPull | OpenIssue | Edit | Say | Close | LeaveAlone | Nothing

# Stands for the number of a thread that is only about to be opened.
NEW = "{new}"


def decide(proposal: Proposal, seen: Seen) -> tuple[Step, ...]:
    """The steps, in order."""
    if proposal.kind == "pull":
        return _pull(proposal, seen)
    if proposal.kind == "issue":
        return _issue(proposal, seen)
    closing = _close_all(seen, f"Closed by lloyal-track: {proposal.standing}.")
    return closing or (Nothing(None, proposal.standing),)


def _marker(proposal: Proposal) -> Marker:
    return Marker(proposal.key, proposal.digest, proposal.state, proposal.standing)


def _pull(proposal: Proposal, seen: Seen) -> tuple[Step, ...]:
    if seen.base_has_files:
        why = "the base branch has it already"
        return _close_all(seen, f"Closed by lloyal-track: {why}.") or (Nothing(None, why),)
    current, extra = _current(seen.pulls)
    refused = _refused(proposal, seen.pulls)
    if current is None and refused:
        return (_respected(refused),)
    branch = seen.branch
    if current and branch and branch.foreign:
        return (*_duplicates(extra, current, is_pull=True), *_kept(current, branch, seen.told))
    if current and branch and not branch.on_base:
        # On a rewritten base the old commits of it would show up as changes of ours.
        extra, current = (current, *extra), None
    if branch and (branch.foreign or not branch.on_base):
        branch = None
    fits = branch and branch.has_files and not (current and seen.conflicting)
    push = () if fits else (Push(proposal.files, branch, seen.free),)
    solved = tuple(
        Close(
            issue,
            is_pull=False,
            text=f"Solved: {proposal.standing}. See #{current.number if current else NEW}.",
            marker=_superseded(issue),
        )
        for issue in seen.issues
        if issue.is_open
    )
    if current:
        said = _updated(proposal, current, is_pull=True)
    else:
        said = (OpenPull(proposal.title, proposal.body, _marker(proposal), proposal.draft),)
    return (*push, *said, *_duplicates(extra, current, is_pull=True), *solved)


def _respected(refused: Thread) -> LeaveAlone:
    why = f"a person closed #{refused.number}, and nothing changed since"
    return LeaveAlone(refused, why, needs_attention=False)


def _kept(current: Thread, branch: Branch, told: frozenset[str]) -> tuple[Step, ...]:
    """A person works on the branch: say so once for each state of it."""
    why = (
        f"{len(branch.foreign)} commits on the branch are not ours (newest "
        f"{branch.foreign[-1][:12]}); it was left alone"
    )
    left = LeaveAlone(current, why, needs_attention=True)
    if branch.head in told:
        return (left,)
    text = (
        f"lloyal-track did not update this pull request: {why}. Merge it, or close it and delete "
        f"its branch; the next run then starts anew.\n\n{told_mark(branch.head)}"
    )
    return (Say(current, text), left)


def told_mark(head: str) -> str:
    """Hidden in the comment that a branch was left alone, so that it is said once."""
    return f"<!-- lloyal-track left-alone {head} -->"


def _issue(proposal: Proposal, seen: Seen) -> tuple[Step, ...]:
    current, extra = _current(seen.issues)
    steps: list[Step] = []
    refused = _refused(proposal, seen.issues)
    if current is None and refused:
        steps.append(_respected(refused))
    elif current is None:
        steps.append(OpenIssue(proposal.title, proposal.body, _marker(proposal)))
    else:
        steps += _updated(proposal, current, is_pull=False)
    steps += _duplicates(extra, current, is_pull=False)
    number = current.number if current else (refused.number if refused else NEW)
    for pull in seen.pulls:
        if not pull.is_open:
            continue
        if seen.branch and seen.branch.foreign:
            steps += _kept(pull, seen.branch, seen.told)
            continue
        text = f"Closed by lloyal-track: {proposal.standing}. See #{number}."
        steps.append(Close(pull, is_pull=True, text=text, marker=_superseded(pull)))
    return tuple(steps)


def _updated(proposal: Proposal, current: Thread, *, is_pull: bool) -> tuple[Step, ...]:
    draft = proposal.draft if is_pull else None
    if current.marker.digest == proposal.digest and (
        draft is None or current.draft is draft or current.marker.state == proposal.state
    ):
        return (Nothing(current, "nothing changed"),)
    edit = Edit(
        current,
        is_pull,
        proposal.title,
        proposal.body,
        _marker(proposal),
        draft if current.marker.state != proposal.state else None,
    )
    before = current.marker
    if before.state in ("", proposal.state):
        # "": a person removed what we noted, so whether anything changed is not known.
        return (edit,)
    was = before.standing or "unknown"
    return (edit, Say(current, f"The verdict changed: {was} → {proposal.standing}."))


def _current(threads: tuple[Thread, ...]) -> tuple[Thread | None, tuple[Thread, ...]]:
    """The living thread, the oldest open one, and open ones beside it that should not be."""
    opened = sorted((t for t in threads if t.is_open), key=lambda t: t.number)
    return (opened[0], tuple(opened[1:])) if opened else (None, ())


def _duplicates(
    extra: tuple[Thread, ...], current: Thread | None, *, is_pull: bool
) -> tuple[Close, ...]:
    number = current.number if current else NEW
    return tuple(
        Close(t, is_pull, f"Closed by lloyal-track: see #{number}.", _superseded(t)) for t in extra
    )


def _refused(proposal: Proposal, threads: tuple[Thread, ...]) -> Thread | None:
    """The newest thread, if a person closed it and there is nothing new to say."""
    if not threads or threads[0].is_open or threads[0].merged:
        return None
    newest = threads[0]
    by_tool = newest.marker.status == "superseded"
    return newest if not by_tool and newest.marker.digest == proposal.digest else None


def _superseded(thread: Thread) -> Marker:
    old = thread.marker
    return Marker(old.key, old.digest, old.state, old.standing, "superseded")


def _close_all(seen: Seen, text: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    for is_pull, threads in ((True, seen.pulls), (False, seen.issues)):
        for thread in threads:
            if not thread.is_open:
                continue
            if is_pull and seen.branch and seen.branch.foreign:
                steps += _kept(thread, seen.branch, seen.told)
            else:
                steps.append(Close(thread, is_pull, text, _superseded(thread)))
    return tuple(steps)
