"""Every commit of a range with the blobs it changed, in one git call.

The price of a range is its commits, not its contents: nothing but trees is read.
Source: git-log(1), "RAW OUTPUT FORMAT" of git-diff(1), git 2.39.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from tracker.git.repository import Repository

_HEADER = re.compile(r"\x01([0-9a-f]{40})")
_FORMAT = "%x01%H%x00%ct%x00%s"
_REGULAR = "100"  # not a submodule, a symbolic link, or nothing


@dataclass(frozen=True, slots=True)
class Change:
    """One path of a commit: blob ids before and after, None where there is no regular file."""

    path: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Logged:
    """A commit of the first-parent line. ``date``: committer date, ISO 8601, UTC."""

    oid: str
    subject: str
    date: str
    changes: tuple[Change, ...]


def range_log(repository: Repository, from_: str, to: str) -> list[Logged]:
    """The first-parent commits of ``from_..to``, newest first, compared with their first parent."""
    raw = repository.git(
        [
            "log",
            "-z",
            "--first-parent",
            "--diff-merges=first-parent",
            "--raw",
            "--no-renames",
            "--no-abbrev",
            "--encoding=UTF-8",
            f"--format={_FORMAT}",
            f"{from_}..{to}",
        ]
    )
    fields = iter(raw.stdout.decode("utf-8", "surrogateescape").split("\0"))
    commits: list[tuple[str, int, str, list[Change]]] = []
    for text in fields:
        header = _HEADER.fullmatch(text)
        entry = text.lstrip("\n")
        if header:
            commits.append((header[1], int(next(fields)), next(fields), []))
        elif entry.startswith(":"):
            old_mode, new_mode, old, new = entry[1:].split(" ")[:4]
            change = Change(next(fields), _file(old_mode, old), _file(new_mode, new))
            commits[-1][3].append(change)
    return [
        Logged(oid, subject, _date(stamp), tuple(changes))
        for oid, stamp, subject, changes in commits
    ]


def is_ancestor(repository: Repository, older: str, newer: str) -> bool:
    """``older`` is ``newer`` or one of its ancestors."""
    asked = repository.git(["merge-base", "--is-ancestor", older, newer], check=False)
    return asked.code == 0


def is_on_a_ref(repository: Repository, commit: str) -> bool:
    """A branch or a tag leads to it."""
    return bool(repository.git(["for-each-ref", "--count=1", "--contains", commit]).stdout)


def same_files(repository: Repository, commit: str) -> str | None:
    """The newest commit on a branch or tag whose tree is that of ``commit``."""
    tree = repository.tree(commit)
    listed = repository.git(["log", "--all", "--format=%H %T"]).stdout.decode("ascii")
    found = (line.split() for line in listed.splitlines())
    return next((oid for oid, its_tree in found if its_tree == tree), None)


def _date(stamp: int) -> str:
    return datetime.fromtimestamp(stamp, UTC).isoformat().replace("+00:00", "Z")


def _file(mode: str, oid: str) -> str | None:
    return oid if mode.startswith(_REGULAR) else None
