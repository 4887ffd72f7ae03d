"""The texts of one file around a merge."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from tracker.series.merging import Change

_NAME = re.compile(rb"[A-Za-z_]\w+")


@dataclass(frozen=True)
class Texts:
    """``base`` became ``ours`` upstream by the changes ``upstream``, ``theirs`` by ``carried``.

    ``path``: upstream's. ``result`` None: no clean merge. All as lines with their LF.
    """

    path: str
    base: list[bytes]
    theirs: list[bytes]
    ours: list[bytes]
    result: list[bytes] | None
    upstream: tuple[Change, ...]
    carried: tuple[Change, ...] = ()

    @cached_property
    def upstream_names(self) -> frozenset[bytes]:
        """The names in all lines that upstream added or changed."""
        new = (b"".join(self.ours[c.new_start : c.new_end]) for c in self.upstream)
        return frozenset(name for text in new for name in names_in(text))


def names_in(text: bytes) -> set[bytes]:
    """Words of two letters or more that could be names."""
    return set(_NAME.findall(text))
