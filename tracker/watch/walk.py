"""One region walked backwards over a range: what each commit did to it, following its moves.

Costs one look at each distinct content of the files it lived in, and a reading only where the part
that can define it differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tracker.evidence.watch import RegionStatus
from tracker.git.range_log import Change, Logged
from tracker.source import is_cpp, same_focus
from tracker.watch.compare import judge
from tracker.watch.follow import Candidate, Several, follow
from tracker.watch.locate import Absent, Region, in_file
from tracker.watch.selector import Selector

Reader = Callable[[str], bytes | None]
_SILENT = frozenset({RegionStatus.UNCHANGED, RegionStatus.COSMETIC})


@dataclass(frozen=True, slots=True)
class Step:
    """What one commit did to a region. ``before`` and ``after``: the region on both sides."""

    commit: Logged
    status: RegionStatus
    why: str
    before: Region | Absent
    after: Region | Absent


class RegionWalk:
    """``selector``: where the region stands now; follows it as the walk goes back.

    ``oid``: the blob at its path now, None if there is no such file. ``read``: content of a blob,
    None if the repository lacks it.
    """

    def __init__(self, selector: Selector, oid: str | None, read: Reader) -> None:
        self.selector = selector
        self.oid = oid
        self._read = read
        self._regions: dict[tuple[Selector, str], Region | Absent] = {}

    def region(self) -> Region | Absent:
        """The region as it stands now."""
        return self._at(self.oid)

    def back(self, commit: Logged) -> Step | None:
        """Go to the state before ``commit``; the step if the region differs in more than form."""
        change = next((c for c in commit.changes if c.path == self.selector.path), None)
        if change is None:
            return None
        if self._surely_equal(change):
            self.oid = change.old
            return None
        after, before = self.region(), self._at(change.old)
        self.oid = change.old
        if isinstance(after, Region) and isinstance(before, Absent) and not before.unread:
            before = self._followed(after, before, commit)
        if isinstance(after, Absent) and isinstance(before, Absent):
            return None
        status, why = judge(before, after)
        return None if status in _SILENT else Step(commit, status, why, before, after)

    def _followed(self, after: Region, before: Absent, commit: Logged) -> Region | Absent:
        """The region where it stood before it came here, if that is certain."""
        search = CommitFiles(commit, self._read)
        found = follow(after, self.selector, search)
        if isinstance(found, Several):
            places = ", ".join(found.paths)
            return replace(before, why=f"{before.why}; several files defined it: {places}")
        if found is None:
            return replace(before, why=f"{before.why}{_unread(search.unread)}")
        self.selector, region = found
        self.oid = next(c.old for c in commit.changes if c.path == self.selector.path)
        return region

    def _surely_equal(self, change: Change) -> bool:
        """The part of the file that can define the region is the same text on both sides."""
        if self.selector.last_name is None or change.old is None or change.new is None:
            return False
        old, new = self._read(change.old), self._read(change.new)
        return old is not None and new is not None and same_focus(new, old, self.selector.last_name)

    def _at(self, oid: str | None) -> Region | Absent:
        path = self.selector.path
        if oid is None:
            return Absent(f"there is no file {path}")
        key = (self.selector, oid)
        if key not in self._regions:
            blob = self._read(oid)
            self._regions[key] = (
                Absent(f"the content of {path} is not in the repository", unread=True)
                if blob is None
                else in_file(self.selector, path, blob)
            )
        return self._regions[key]


class CommitFiles:
    """The files that a commit changed, as they were before it. ``unread``: the repository lacks
    their content, so they were not searched.
    """

    def __init__(self, commit: Logged, read: Reader) -> None:
        self.unread: list[str] = []
        self._commit = commit
        self._read = read

    def holding(self, texts: Sequence[str]) -> Iterator[Candidate]:
        """Those that held one of ``texts``; all of them if ``texts`` is empty."""
        wanted = [text.encode() for text in texts]
        for change in self._commit.changes:
            if change.old is None or (wanted and not is_cpp(change.path)):
                continue
            there = self._read(change.old)
            if there is None:
                self.unread.append(change.path)
                continue
            if wanted and not any(text in there for text in wanted):
                continue
            here = self._read(change.new) if change.new is not None else None
            yield Candidate(change.path, there, here)


def _unread(paths: list[str]) -> str:
    return f"; not in the repository and so not searched: {', '.join(paths)}" if paths else ""
