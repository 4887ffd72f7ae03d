"""What the local repository says about a ticket: mentions, what is in the target, what it means.

Needs no network. On a history made from package archives a commit cannot be looked up and a mention
cannot be searched for: both are unknown there, never "no". Content can be compared on either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from tracker.errors import UsageError
from tracker.evidence.tickets import (
    Known,
    LinkedPull,
    Resolution,
    TicketResult,
    TicketState,
)
from tracker.evidence.watch import Span
from tracker.git.repository import Commit, Repository
from tracker.tickets import keys
from tracker.tickets.facts import ChangedFile, PullFacts, block_digest, changed_file
from tracker.tickets.keys import Key
from tracker.tickets.reading import Read

_NIGHTLY = re.compile(r"b([0-9]+)")


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that may have fixed a ticket: in the target, since when, and whether it is ours."""

    in_target: Known
    first_tag: str | None
    touches_ours: Known


@dataclass(slots=True)
class LocalHistory:
    """``start``, ``target``: full commit ids. ``upstream``: ``owner/repo`` of this history.

    ``ours``: what we depend on, in lines of the target: watched regions, the routing function.
    """

    repository: Repository
    upstream: str
    start: str
    target: str
    ours: Sequence[Span] = ()
    _commits: list[Commit] | None = None
    _windows: dict[tuple[str, int], dict[str, list[int]]] = field(default_factory=dict)

    def judged(self, result: TicketResult, read: Read | None) -> TicketResult:
        """``result`` with mentions, the pull requests that refer to it, and the resolution."""
        result = replace(result, mentions=self._mentions(result))
        state = result.state
        if state is None:
            return result
        if read is None:
            # Not asked this time: what is known of the commit can still be looked up.
            commit = state.merge_commit or state.closed_by
            return replace(
                result, in_target=self._contains(commit), first_tag=self._first_tag(commit)
            )
        pulls = tuple(
            self._pull(pull, read.files.get(pull.key), closing=pull.key in state.closing)
            for pull in read.pulls
        )
        own = pulls[0] if state.kind == "pull" else None
        fixes = self._fixes(state, own, pulls)
        resolution, why = _resolution(state, own, fixes, pulls, watching=bool(self.ours))
        if read.unseen and resolution in (Resolution.NO_FIX, Resolution.MERGED_NOT_OURS):
            # Both say that nothing else fixed it, and that was not seen.
            resolution = Resolution.UNKNOWN
            why = f"closed; not to be seen: {', '.join(read.unseen)}, which closes it"
        best = _best(fixes)
        return replace(
            result,
            pulls=pulls[1:] if own else pulls,
            in_target=best.in_target if best else "unknown",
            first_tag=best.first_tag if best else None,
            resolution=resolution,
            resolution_why=why,
        )

    def _mentions(self, result: TicketResult) -> tuple[str, ...] | str:
        """``id subject`` of every commit in start..target that names the ticket, newest first."""
        if self.repository.is_snapshot or self.repository.is_shallow:
            return "unknown"
        if self._commits is None:
            self._commits = self.repository.commits(self.start, self.target)
        names = {keys.parse(name) for name in (result.key, result.canonical, *result.also) if name}
        pattern = mention_pattern(names, self.upstream)
        return tuple(
            f"{commit.oid[:12]} {commit.subject}"
            for commit in self._commits
            if pattern.search(f"{commit.subject}\n{commit.body}")
        )

    def _pull(
        self, pull: PullFacts, files: tuple[ChangedFile, ...] | None, *, closing: bool
    ) -> LinkedPull:
        in_target = self._contains(pull.merge_commit)
        if in_target != "yes" and files is not None:
            # Squashed, amended or landed by hand, the content is there under another id.
            content = self._content(files)
            in_target = content if content == "yes" or in_target == "unknown" else in_target
        return LinkedPull(
            key=pull.key,
            title=pull.title,
            state=pull.state,
            merged=pull.merged,
            closing=closing,
            merge_commit=pull.merge_commit,
            in_target=in_target,
            first_tag=self._first_tag(pull.merge_commit),
            touches_ours=self._touches(files),
        )

    def _fixes(
        self, state: TicketState, own: LinkedPull | None, pulls: tuple[LinkedPull, ...]
    ) -> tuple[Fix, ...]:
        if own:
            return (Fix(own.in_target, own.first_tag, own.touches_ours),)
        merged = [pull for pull in pulls if pull.closing and pull.merged]
        fixes = [Fix(pull.in_target, pull.first_tag, pull.touches_ours) for pull in merged]
        commit = state.closed_by
        if commit and commit not in {pull.merge_commit for pull in merged}:
            touches = self._touches(self._changed(commit))
            fixes.append(Fix(self._contains(commit), self._first_tag(commit), touches))
        return tuple(fixes)

    def _found(self, commit: str | None) -> str | None:
        if commit is None or self.repository.is_snapshot:
            return None
        try:
            return self.repository.resolve(commit)
        except UsageError:
            return None

    def _contains(self, commit: str | None) -> Known:
        """Whether the target's history contains ``commit``.

        A complete history has all ancestors of the target, so a commit it lacks is none of them.
        """
        if commit is None or self.repository.is_snapshot or self.repository.is_shallow:
            return "unknown"
        found = self._found(commit)
        if found is None:
            return "no"
        asked = self.repository.git(
            ["merge-base", "--is-ancestor", found, self.target], check=False
        )
        return {0: "yes", 1: "no"}.get(asked.code, "unknown")  # type: ignore[return-value]

    def _first_tag(self, commit: str | None) -> str | None:
        """The oldest nightly tag that contains ``commit``; by number, as b9999 is before b10000."""
        found = self._found(commit)
        if found is None:
            return None
        asked = self.repository.git(
            ["for-each-ref", f"--contains={found}", "--format=%(refname:strip=2)", "refs/tags"],
            check=False,
        )
        numbers = [
            int(nightly.group(1))
            for name in asked.stdout.decode("utf-8", "replace").splitlines()
            if (nightly := _NIGHTLY.fullmatch(name))
        ]
        return f"b{min(numbers)}" if numbers else None

    def _changed(self, commit: str) -> tuple[ChangedFile, ...] | None:
        """What a commit of this history changed; None if it cannot be seen."""
        found = self._found(commit)
        if found is None:
            return None
        files: list[ChangedFile] = []
        names = self._diff(found, ["--name-only", "-z"])
        for path in (names or "").split("\0"):
            if path in {span.path for span in self.ours}:
                _, begun, hunks = (self._diff(found, ["-U0", "--", path]) or "").partition("\n@@")
                files.append(changed_file(path, f"@@{hunks}" if begun else ""))
        return None if names is None else tuple(files)

    def _diff(self, commit: str, arguments: list[str]) -> str | None:
        asked = self.repository.git(
            ["diff-tree", "--root", "-r", "-m", "--first-parent", "--no-commit-id", commit]
            + (["-p", *arguments] if "-U0" in arguments else arguments),
            # A filtered clone would go to the network for a blob that it lacks.
            extra_env={"GIT_NO_LAZY_FETCH": "1"},
            check=False,
        )
        return asked.stdout.decode("utf-8", "replace") if asked.code == 0 else None

    def _content(self, files: tuple[ChangedFile, ...]) -> Known:
        """Whether what was added stands in the target's files: all of it, or none of it."""
        found: list[bool] = []
        for file in files:
            if file.blocks is None:
                return "unknown"
            found += [bool(self._places(file.path, b.lines, b.digest)) for b in file.blocks]
        if not found or (any(found) and not all(found)):
            return "unknown"
        return "yes" if all(found) else "no"

    def _touches(self, files: tuple[ChangedFile, ...] | None) -> Known:
        """Whether one of the changes lies in what we depend on.

        Lines that were only removed, or changed again since, can't be located: in a file of ours
        that is unknown.
        """
        doubt = not self.ours or files is None
        for file in files or ():
            spans = [span for span in self.ours if span.path == file.path]
            if not spans:
                continue
            for block in file.blocks or ():
                starts = self._places(file.path, block.lines, block.digest)
                if any(_overlaps(at, block.lines, span) for at in starts for span in spans):
                    return "yes"
                doubt = doubt or not starts
            doubt = doubt or file.blind or not file.blocks
        return "unknown" if doubt else "no"

    def _places(self, path: str, lines: int, wanted: str) -> list[int]:
        """Where a block begins in the target's file: 1-based lines, none if it is not there."""
        key = (path, lines)
        if key not in self._windows:
            content = self.repository.read_path(self.target, path) or b""
            text = content.decode("utf-8", "replace").split("\n")
            windows: dict[str, list[int]] = {}
            for start in range(len(text) - lines + 1):
                digest = block_digest(text[start : start + lines])
                windows.setdefault(digest, []).append(start + 1)
            self._windows[key] = windows
        return self._windows[key].get(wanted, [])


def _overlaps(start: int, lines: int, span: Span) -> bool:
    return start <= span.end and start + lines - 1 >= span.start


def mention_pattern(names: Iterable[Key], upstream: str) -> re.Pattern[str]:
    """Finds any of ``names`` in a commit message of ``upstream``: #N, GH-N, owner/repo#N, a URL.

    A bare number means a thread of upstream itself.
    """
    forms = []
    for name in names:
        full = re.escape(name.repository)
        forms.append(rf"(?<![\w./-]){full}#{name.number}(?![0-9])")
        forms.append(rf"github\.com/{full}/(?:issues|pull)/{name.number}(?![0-9])")
        if name.same_repository(upstream):
            forms.append(rf"(?<![\w/.-])#{name.number}(?![0-9])")
            forms.append(rf"\bGH-{name.number}(?![0-9])")
    return re.compile("|".join(forms), re.IGNORECASE)


def _best(fixes: tuple[Fix, ...]) -> Fix | None:
    """The fix that is most surely in the target, and then most surely ours."""
    order = ("yes", "unknown", "no")
    return min(
        fixes,
        key=lambda fix: (order.index(fix.in_target), order.index(fix.touches_ours)),
        default=None,
    )


def _resolution(
    state: TicketState,
    own: LinkedPull | None,
    fixes: tuple[Fix, ...],
    pulls: tuple[LinkedPull, ...],
    *,
    watching: bool,
) -> tuple[Resolution, str]:
    """What the ticket means for the target, and why. ``watching``: there is something of ours."""
    if state.state == "open":
        done = [pull.key for pull in pulls if pull.closing and pull.merged]
        return Resolution.OPEN, f"merged for it, still open: {', '.join(done)}" if done else ""
    if own and not own.merged:
        return {
            "yes": (Resolution.CONTENT_PRESENT, "closed, content present upstream"),
            "no": (Resolution.CONTENT_ABSENT, "closed, not present"),
            "unknown": (Resolution.UNKNOWN, "closed; whether its content landed is unknown"),
        }[own.in_target]
    if state.state_reason in ("not_planned", "duplicate"):
        return Resolution.NOT_PLANNED, f"closed as {state.state_reason.replace('_', ' ')}"
    if not fixes:
        stale = (
            " (labelled stale)" if any("stale" in label.lower() for label in state.labels) else ""
        )
        return Resolution.NO_FIX, f"closed without a fix commit{stale}; the patch is still needed"
    return _fixed(fixes, watching=watching)


def _fixed(fixes: tuple[Fix, ...], *, watching: bool) -> tuple[Resolution, str]:
    relevant = tuple(fix for fix in fixes if fix.touches_ours != "no")
    best = _best(relevant)
    if best is None:
        return (
            Resolution.MERGED_NOT_OURS,
            "merged, but it touches no region and no routing of ours: not fixed for us",
        )
    if best.in_target == "no":
        return Resolution.FIXED_NOT_IN_TARGET, "merged, not in the target yet"
    if best.in_target == "unknown":
        return Resolution.UNKNOWN, "merged; whether it is in the target is unknown"
    since = f" from {best.first_tag} on" if best.first_tag else ""
    if watching and best.touches_ours == "unknown":
        why = f"merged, in the target{since}; whether it touches what we watch is unknown"
        return Resolution.UNKNOWN, why
    return Resolution.FIXED_IN_TARGET, f"merged, in the target{since}"
