"""Who broke a patch: the upstream commit at which its merge stops being clean.

One listing of the commits that touch the file, then a bisection over the file's contents, with the
same merge that judges the patch: the answer is the revision at which a sweep would see the break.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from tracker.evidence.rebase import Culprit
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.series.history import Touch, list_range, touches
from tracker.series.merging import Merger, Triple


class Culprits:
    """Finds culprits in ``from_..onto``; lists each path's commits once."""

    def __init__(self, repository: Repository, from_: str, onto: str, *, connected: bool) -> None:
        """``connected``: the history leads from one to the other."""
        self._repository = repository
        self._from, self._onto = from_, onto
        self._connected = connected
        self._touches: dict[str, list[tuple[Touch, str | None]]] = {}

    @cached_property
    def knows_history(self) -> bool:
        """The commits between are upstream's own, and lead from one to the other."""
        return self._connected and not self._repository.is_snapshot

    def find(
        self, merger: Merger, path: str, moved_to: str | None, triple: Triple | None
    ) -> Culprit | Literal["unknown"]:
        """The first commit of the range whose ``path`` does not merge any more.

        ``moved_to``: its later path, if upstream moved it. ``triple`` None: the path itself is in
        the way (gone, or new upstream).
        """
        if not self.knows_history:
            return "unknown"
        listed = self._list(merger.quarantine, path)
        if moved_to is not None and moved_to != path:
            listed = [item for item in listed if item[1] is not None] + self._list(
                merger.quarantine, moved_to
            )
        if not listed:
            return "unknown"
        if triple is None:
            return _named(listed[-1][0])
        good, bad = -1, len(listed) - 1
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._clean(merger, triple, listed[middle][1]):
                good = middle
            else:
                bad = middle
        return _named(listed[bad][0])

    def _clean(self, merger: Merger, triple: Triple, blob: str | None) -> bool:
        if blob is None:
            return False
        wanted = Triple(triple.base, blob, triple.theirs)
        return merger.merge([wanted])[wanted].clean

    def _list(self, quarantine: Quarantine, path: str) -> list[tuple[Touch, str | None]]:
        """The commits that changed ``path``, oldest first, with its blob after each."""
        if path not in self._touches:
            listed = list_range(self._repository, self._from, self._onto, [path])
            found = [
                (touch, slot.oid if slot is not None else None)
                for touch in touches(self._repository, listed)
                if path in touch.changes
                for slot in [touch.changes[path]]
            ]
            quarantine.ensure(blob for _touch, blob in found if blob is not None)
            self._touches[path] = found
        return self._touches[path]


def _named(touch: Touch) -> Culprit:
    return Culprit(commit=touch.commit, subject=touch.subject, pr=touch.pr)
