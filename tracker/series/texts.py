"""The texts of one file around a merge."""

from __future__ import annotations

from dataclasses import dataclass

from tracker.series.merging import Change


@dataclass(frozen=True, slots=True)
class Texts:
    """``base`` became ``ours`` upstream by the changes ``upstream``, and ``theirs`` by the patch.

    ``path``: upstream's. ``result`` None: no clean merge. All as lines with their LF.
    """

    path: str
    base: list[bytes]
    theirs: list[bytes]
    ours: list[bytes]
    result: list[bytes] | None
    upstream: tuple[Change, ...]
