"""The commits of a range that touch the series' files, with the files they left behind.

Two git processes for a range of any length: one lists the line of commits, one the changes of the
paths asked for. Nothing but commits and trees is read, so filtered clones answer too.
Source: git-log(1), "RAW OUTPUT FORMAT" of git-diff(1), git 2.39.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from tracker.git.repository import Repository
from tracker.series.trees import Slot

_HEADER = re.compile(r"\x01([0-9a-f]{40})")
_PR = re.compile(r"\(#(\d+)\)\s*$")
_MERGE_PR = re.compile(r"^Merge pull request #(\d+) ")
_NONE = "0" * 40


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


def line_of_commits(repository: Repository, from_: str, to: str) -> list[str]:
    """The first-parent commits of ``from_..to``, oldest first."""
    args = ["rev-list", "--first-parent", "--reverse", f"{from_}..{to}"]
    return repository.git(args).stdout.decode("ascii").split()


def touches(repository: Repository, from_: str, to: str, paths: Iterable[str]) -> list[Touch]:
    """The first-parent commits of ``from_..to`` that change any of ``paths``, oldest first."""
    wanted = sorted(paths)
    if not wanted:
        return []
    args = [
        "log",
        "-z",
        "--first-parent",
        "--diff-merges=first-parent",
        "--reverse",
        "--raw",
        "--no-renames",
        "--no-abbrev",
        "--encoding=UTF-8",
        "--format=%x01%H%x00%ct%x00%s",
        f"{from_}..{to}",
        "--",
        *wanted,
    ]
    listed = repository.git(args).stdout.decode("utf-8", "surrogateescape")
    fields = iter(listed.split("\0"))
    found: list[Touch] = []
    changes: dict[str, Slot | None] = {}
    for text in fields:
        header = _HEADER.fullmatch(text)
        entry = text.lstrip("\n")
        if header:
            changes = {}
            stamp = datetime.fromtimestamp(int(next(fields)), UTC)
            date = stamp.isoformat().replace("+00:00", "Z")
            found.append(Touch(header[1], next(fields), date, changes))
        elif entry.startswith(":"):
            mode, oid = entry.split(" ")[1], entry.split(" ")[3]
            changes[next(fields)] = Slot(mode, oid) if oid != _NONE else None
    return found
