"""The commits of a range that touch the series' files, with the files they left behind.

One walk for a range of any length, and one call for the names of those that count. Nothing but
commits and trees is read, so filtered clones answer too.
Source: git-log(1), "RAW OUTPUT FORMAT" of git-diff(1), git 2.39.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from tracker.git.repository import Repository
from tracker.series.trees import Slot

_PR = re.compile(r"\(#(\d+)\)\s*$")
_MERGE_PR = re.compile(r"^Merge pull request #(\d+) ")
_NONE = "0" * 40
_BARE = len(b"%s\0" % _NONE.encode())  # of the record of a commit that touches nothing
_NOWHERE = "\x7f"  # a path that no tree has: without any, git would list them all


@dataclass(frozen=True, slots=True)
class Touch:
    """A commit and the paths it changed: the file afterwards, None where it deleted it.

    ``date``: committer date, ISO 8601, UTC.
    """

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


@dataclass(frozen=True, slots=True)
class Listed:
    """A range, oldest first: every commit's id, and those that touch a path asked for."""

    commits: tuple[str, ...]
    touches: tuple[Touch, ...]


def list_range(repository: Repository, from_: str, to: str, paths: Iterable[str]) -> Listed:
    """The first-parent commits of ``from_..to``, with what they do to ``paths``.

    One walk for both: ``--sparse`` keeps the commits that touch nothing.
    """
    args = [
        "log",
        "-z",
        "--first-parent",
        "--diff-merges=first-parent",
        "--full-history",
        "--sparse",
        "--reverse",
        "--raw",
        "--no-renames",
        "--no-abbrev",
        "--format=%x01%H",
        f"{from_}..{to}",
        "--",
        *(sorted(paths) or [_NOWHERE]),
    ]
    records = repository.git(args).stdout.split(b"\x01")[1:]
    commits = tuple(record[:40].decode("ascii") for record in records)
    changed = {
        commit: _changes(record[40:])
        for commit, record in zip(commits, records, strict=True)
        if len(record) > _BARE
    }
    named = _named(repository, list(changed))
    return Listed(commits, tuple(Touch(c, *named[c], changes) for c, changes in changed.items()))


def _changes(raw: bytes) -> dict[str, Slot | None]:
    fields = iter(raw.decode("utf-8", "surrogateescape").split("\0"))
    found: dict[str, Slot | None] = {}
    for text in fields:
        entry = text.lstrip("\n")
        if entry.startswith(":"):
            _, mode, _, oid, _ = entry.split(" ")
            found[next(fields)] = Slot(mode, oid) if oid != _NONE else None
    return found


def _named(repository: Repository, commits: list[str]) -> dict[str, tuple[str, str]]:
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
