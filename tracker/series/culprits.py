"""Who broke a patch: the upstream commit at which its merge stops being clean.

One listing of the commits that touch the file, then a bisection over the file's contents, with the
same merge that judges the patch: the answer is the revision at which a sweep would see the break.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tracker.evidence.rebase import Culprit
from tracker.git.repository import Repository
from tracker.series.merging import Merger, Triple

_PR = re.compile(r"\(#(\d+)\)\s*$")
_MERGE_PR = re.compile(r"^Merge pull request #(\d+) ")
_EMPTY = "0" * 40


@dataclass(frozen=True, slots=True)
class Touch:
    """A commit that changed a path, with the path's blob after it, None where it deleted it."""

    commit: str
    subject: str
    blob: str | None


def pull_request(subject: str) -> int | None:
    """The pull request that a subject names, as GitHub's squash and merge commits do."""
    found = _PR.search(subject) or _MERGE_PR.search(subject)
    return int(found[1]) if found else None


class Culprits:
    """Finds culprits in ``from_..onto``; lists each path's commits once."""

    def __init__(self, repository: Repository, from_: str, onto: str) -> None:
        self._repository = repository
        self._from, self._onto = from_, onto
        self._touches: dict[str, list[Touch]] = {}

    @cached_property
    def knows_history(self) -> bool:
        """The commits between are upstream's own, and lead from one to the other."""
        if self._repository.is_snapshot:
            return False
        asked = self._repository.git(
            ["merge-base", "--is-ancestor", self._from, self._onto], check=False
        )
        return asked.code == 0

    def find(
        self, merger: Merger, path: str, moved_to: str | None, triple: Triple | None
    ) -> Culprit | Literal["unknown"]:
        """The first commit of the range whose ``path`` does not merge any more.

        ``moved_to``: its later path, if upstream moved it. ``triple`` None: the path itself is in
        the way (gone, or new upstream).
        """
        if not self.knows_history:
            return "unknown"
        touches = self._list(path)
        if moved_to is not None and moved_to != path:
            touches = [touch for touch in touches if touch.blob is not None]
            touches += self._list(moved_to)
        if not touches:
            return "unknown"
        if triple is None:
            last = touches[-1]
            return Culprit(commit=last.commit, subject=last.subject, pr=pull_request(last.subject))
        good, bad = -1, len(touches) - 1
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._clean(merger, triple, touches[middle]):
                good = middle
            else:
                bad = middle
        found = touches[bad]
        return Culprit(commit=found.commit, subject=found.subject, pr=pull_request(found.subject))

    def _clean(self, merger: Merger, triple: Triple, touch: Touch) -> bool:
        if touch.blob is None:
            return False
        wanted = Triple(triple.base, touch.blob, triple.theirs)
        return merger.merge([wanted])[wanted].clean

    def _list(self, path: str) -> list[Touch]:
        """The first-parent commits that changed ``path``, oldest first."""
        if path not in self._touches:
            args = [
                "log",
                "--first-parent",
                "--diff-merges=first-parent",
                "--reverse",
                "-z",
                "--raw",
                "--no-abbrev",
                "--no-renames",
                "--encoding=UTF-8",
                "--format=%x01%H%x02%s",
                f"{self._from}..{self._onto}",
                "--",
                path,
            ]
            listed = self._repository.git(args).stdout.decode("utf-8", "replace")
            self._touches[path] = [_touch(record) for record in listed.split("\x01")[1:]]
        return self._touches[path]


def _touch(record: str) -> Touch:
    head, _, raw = record.partition("\0")
    commit, _, subject = head.partition("\x02")
    fields = raw.lstrip("\n\0:").split(" ")
    blob = fields[3] if len(fields) > 3 else _EMPTY  # noqa: PLR2004  (modes, ids, status)
    return Touch(commit, subject, None if blob == _EMPTY else blob)
