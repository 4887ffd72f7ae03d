"""Where the changes of two sides meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracker.series.merging import Change


@dataclass(frozen=True, slots=True)
class Region:
    """Lines of the three texts, 0-based, half-open, that stand against one another."""

    base: tuple[int, int]
    ours: tuple[int, int]
    theirs: tuple[int, int]


def regions(
    upstream: Sequence[Change], carried: Sequence[Change], *, both: bool = True
) -> list[Region]:
    """The smallest stretches that hold touching changes whole, in order.

    ``both``: only those with changes of both sides; else also those of one.
    """
    marked = sorted(
        [(c.start, c.end, 0, c) for c in upstream] + [(c.start, c.end, 1, c) for c in carried],
        key=lambda item: (item[0], item[1]),
    )
    found: list[Region] = []
    cluster: list[tuple[int, int, int, Change]] = []
    end = -1
    for item in [*marked, None]:
        if item is not None and cluster and item[0] <= end:
            cluster.append(item)
            end = max(end, item[1])
            continue
        sides_here = {side for _, _, side, _ in cluster}
        if sides_here == {0, 1} or (sides_here and not both):
            start = cluster[0][0]
            sides = [
                _extent([c for _, _, side, c in cluster if side == wanted], changes, start, end)
                for wanted, changes in ((0, upstream), (1, carried))
            ]
            found.append(Region((start, end), sides[0], sides[1]))
        if item is not None:
            cluster, end = [item], item[1]
    return found


def _extent(
    inside: Sequence[Change], every: Sequence[Change], start: int, end: int
) -> tuple[int, int]:
    """The new lines that old lines ``start..end`` became."""
    shift = sum(
        (c.new_end - c.new_start) - (c.end - c.start)
        for c in every
        if c.end <= start and c not in inside
    )
    grown = sum((c.new_end - c.new_start) - (c.end - c.start) for c in inside)
    return start + shift, end + shift + grown
