"""Where a patch's hunks stand in a text, and the text with them applied; exact context only.

Follows git apply without fuzz: a hunk at the stated line, else the nearest place with the same
lines; one without leading (trailing) context must reach the start (end) of the file. A hunk without
any context is accepted at its stated line only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracker.series.patch import Hunk


@dataclass(frozen=True, slots=True)
class Placed:
    """A hunk with its place: ``at`` is the 0-based index of its first old line.

    ``copies``: the 0-based indexes at which its old lines stand, ``at`` among them.
    """

    hunk: Hunk
    at: int
    copies: tuple[int, ...]

    @property
    def end(self) -> int:
        return self.at + len(self.hunk.old)


@dataclass(frozen=True, slots=True)
class Misfit:
    """A hunk whose old lines do not stand in the text."""

    hunk: Hunk
    why: str


def split_lines(content: bytes) -> list[bytes]:
    """Lines with their LF; the last one has none if the content has none. Splits at LF only."""
    parts = content.split(b"\n")
    last = parts.pop()
    lines = [part + b"\n" for part in parts]
    if last:
        lines.append(last)
    return lines


def find_block(lines: Sequence[bytes], block: Sequence[bytes]) -> tuple[int, ...]:
    """Every index at which ``block`` (not empty) stands in ``lines``."""
    found = []
    first, count = block[0], len(block)
    wanted = list(block)
    position = -1
    try:
        while True:
            position = lines.index(first, position + 1)
            if list(lines[position : position + count]) == wanted:
                found.append(position)
    except ValueError:
        return tuple(found)


def place(hunks: Sequence[Hunk], lines: list[bytes]) -> tuple[Placed, ...] | Misfit:
    """Every hunk's place in ``lines``, in order and without overlap; else the first misfit."""
    placed: list[Placed] = []
    floor = shift = grown = 0
    for hunk in hunks:
        # git counts in the new file; for a sound header that is the same place.
        stated = (hunk.new_start - 1 if hunk.new else hunk.new_start) - grown
        found = _place(hunk, lines, floor, stated + shift)
        if isinstance(found, Misfit):
            return found
        placed.append(found)
        floor = found.end
        shift = found.at - stated
        grown += len(hunk.new) - len(hunk.old)
    return tuple(placed)


def _place(hunk: Hunk, lines: list[bytes], floor: int, expected: int) -> Placed | Misfit:
    if not hunk.old:
        # Nothing to recognise: an added file, or an insertion without context.
        if hunk.first > len(lines) or (hunk.first == 0 and lines):
            return Misfit(hunk, "it adds to a place that the file does not have")
        return Placed(hunk, hunk.first, (hunk.first,))
    copies = find_block(lines, hunk.old)
    bare = hunk.leading == 0 and hunk.trailing == 0
    if bare:
        fitting = [at for at in copies if at in (expected, hunk.first)]
    else:
        fitting = [at for at in copies if _anchored(hunk, at, len(lines))]
    fitting = [at for at in fitting if at >= floor]
    if not fitting:
        why = "its lines stand elsewhere only" if copies else "its lines do not stand in the file"
        return Misfit(hunk, why)
    return Placed(hunk, min(fitting, key=lambda at: (abs(at - expected), -at)), copies)


def _anchored(hunk: Hunk, at: int, total: int) -> bool:
    if hunk.old_start <= 1 and at != 0:
        return False
    return hunk.trailing > 0 or at + len(hunk.old) == total


def splice(lines: Sequence[bytes], placed: Sequence[Placed]) -> list[bytes]:
    """``lines`` with the hunks applied at their places."""
    out: list[bytes] = []
    position = 0
    for item in placed:
        out += lines[position : item.at]
        out += item.hunk.new
        position = item.end
    out += lines[position:]
    return out
