"""The commits of a range that touch the series' files, with the files they left behind.

One walk for a range of any length, and one call for the names of those that count. Nothing but
commits and trees is read, so filtered clones answer too.
Source: git-log(1), "RAW OUTPUT FORMAT" of git-diff(1), git 2.39.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tracker.errors import UsageError
from tracker.git.repository import Repository
from tracker.series.trees import Slot

_PR = re.compile(r"\(#(\d+)\)\s*$")
_MERGE_PR = re.compile(r"^Merge pull request #(\d+) ")
_NONE = "0" * 40
_NOWHERE = "\x7f"  # a path that no tree has: without any, git would list them all


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit and the paths it changed: the file afterwards, None where it deleted it.

    ``parents``: full ids, the first one first; its changes are counted from that one.
    """

    commit: str
    parents: tuple[str, ...]
    changes: Mapping[str, Slot | None]


@dataclass(frozen=True, slots=True)
class Touch:
    """A revision that changed something, with its name. ``date``: committer date, ISO 8601, UTC."""

    commit: str
    subject: str
    date: str
    changes: Mapping[str, Slot | None]

    @property
    def pr(self) -> int | None:
        return pull_request(self.subject)


def pull_request(subject: str) -> int | None:
    """The pull request that a subject names, as GitHub's squash and merge commits do."""
    found = _PR.search(subject) or _MERGE_PR.search(subject)
    return int(found[1]) if found else None


def leads_to(repository: Repository, older: str, newer: str) -> bool:
    """``older`` is an ancestor of ``newer``, or the same commit."""
    asked = repository.git(["merge-base", "--is-ancestor", older, newer], check=False)
    return asked.code == 0


def commits_of(repository: Repository, from_: str, to: str, *, merges: bool = False) -> list[str]:
    """The ids of the first-parent commits of ``from_..to``; ``merges``: of merged branches too."""
    line = [] if merges else ["--first-parent"]
    return repository.git(["rev-list", *line, f"{from_}..{to}"]).stdout.decode("ascii").split()


def list_range(
    repository: Repository,
    from_: str,
    to: str,
    paths: Iterable[str] | None,
    *,
    merges: bool = False,
) -> list[Revision]:
    """The first-parent commits of ``from_..to``, parents first, with what they do to ``paths``.

    ``paths`` None: to every file. ``merges``: the commits of merged branches too. One walk for all:
    ``--sparse`` keeps the commits that touch nothing.
    """
    args = [
        "log",
        "-z",
        "--topo-order" if merges else "--first-parent",
        "--diff-merges=first-parent",
        "--full-history",
        "--sparse",
        "--reverse",
        "--raw",
        "--no-renames",
        "--no-abbrev",
        "--format=%x01%H %P",
        f"{from_}..{to}",
        "--",
        *((sorted(paths) or [_NOWHERE]) if paths is not None else []),
    ]
    fields = iter(repository.git(args).stdout.decode("utf-8", "surrogateescape").split("\0"))
    found: list[Revision] = []
    changes: dict[str, Slot | None] = {}
    for text in fields:
        if text.startswith("\x01"):
            commit, *parents = text[1:].split()
            changes = {}
            found.append(Revision(commit, tuple(parents), changes))
        elif text:
            _, mode, _, oid, _ = text.lstrip("\n").split(" ")
            changes[next(fields)] = Slot(mode, oid) if oid != _NONE else None
    return found


def refuse_another_line(revisions: Sequence[Revision], start: str, end: str) -> None:
    """The line of first parents must lead from the start to the end: a range is counted on it.

    Raises:
        UsageError: it does not.
    """
    if not revisions and start != end:
        raise UsageError(
            "the range is empty: its end is not newer than its start",
            where=f"{start}..{end}",
            next_step="give the older revision first",
        )
    before = {revision.commit: revision.parents for revision in revisions}
    here = end
    while before.get(here):
        here = before[here][0]
    if here != start:
        raise UsageError(
            "the start is not on the first-parent line that leads to the end",
            where=f"{start}..{end}",
            next_step=f"start at {here}, where the line leaves it; `rebase` judges any "
            "two revisions",
        )


def touches(repository: Repository, revisions: Iterable[Revision]) -> list[Touch]:
    """Those of the revisions that changed something, with their names, in one call."""
    changed = {rev.commit: rev.changes for rev in revisions if rev.changes}
    named = names_of(repository, list(changed))
    return [Touch(commit, *named[commit], changes) for commit, changes in changed.items()]


def names_of(repository: Repository, commits: list[str]) -> dict[str, tuple[str, str]]:
    """Subject and date of each commit, in one call."""
    if not commits:
        return {}
    args = ["log", "-z", "--no-walk=unsorted", "--encoding=UTF-8", "--format=%H%x00%s%x00%ct"]
    asked = repository.git([*args, "--stdin"], stdin="\n".join(commits).encode() + b"\n")
    fields = asked.stdout.decode("utf-8", "replace").split("\0")
    found = {}
    for at in range(0, len(fields) - 2, 3):
        stamp = datetime.fromtimestamp(int(fields[at + 2]), UTC)
        found[fields[at]] = (fields[at + 1], stamp.isoformat().replace("+00:00", "Z"))
    return found
