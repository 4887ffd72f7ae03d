"""A sweep as a picture: revisions from left to right, a track per patch, region or routing answer.

Values in, geometry out; templates/timeline.svg draws it. Every break point is also a row of the
table below the picture, so nothing can be learnt from the picture alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracker.evidence.verdict import Status
from tracker.report.standing import plural

_WIDTH = 1000
_LEFT = 190
_RIGHT = 16
_TRACK = 34
_LABEL_ROW = 16
_LABEL_ROWS = 3
_AXIS = 40
_CHAR = 6.6  # px of one character at 12 px, on the wide side, so that labels never overlap
_TIP_LINE = 16
_TICKS = 6
_TRACK_NAME = 26


@dataclass(frozen=True, slots=True)
class Visited:
    """A revision of the range. ``name``: a tag or a short id; ``date``: ISO 8601, or ""."""

    name: str
    date: str = ""


@dataclass(frozen=True, slots=True)
class Stretch:
    """From revision ``first`` to ``last`` (indices, inclusive) the answer was ``state``."""

    first: int
    last: int
    state: str
    status: Status


@dataclass(frozen=True, slots=True)
class Track:
    """One item over the range. ``stretches``: in order, without gaps."""

    item: str
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """A break point: at revision ``at`` the answer of ``item`` became ``after``.

    ``label``: the pull request ("#25278") or a short id; ``subject``: of the upstream commit.
    """

    at: int
    revision: Visited
    item: str
    label: str
    subject: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """What is drawn. ``lead``: one sentence above the picture. ``count``: of revisions."""

    lead: str
    count: int
    first: Visited
    last: Visited
    tracks: tuple[Track, ...]
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch as drawn; ``label`` is "" where it does not fit."""

    x: float
    y: float
    width: float
    height: float
    status: Status
    label: str
    title: str


@dataclass(frozen=True, slots=True)
class Mark:
    """Break points of one revision as drawn: a line, a label if there is room, a box of lines."""

    anchor: str
    x: float
    label: str
    label_y: float
    name: str
    tip_x: float
    tip_y: float
    tip_width: float
    tip_height: float
    tip: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything in pixels of a ``width`` x ``height`` view box; ``names``: y, short, whole."""

    width: int
    height: float
    left: int
    right: float
    top: float
    bottom: float
    names: tuple[tuple[float, str, str], ...]
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]
    ticks: tuple[tuple[float, str, str], ...]


def picture(timeline: Timeline) -> Picture:
    """Lay the timeline out; equal distances between revisions, whatever their dates."""
    top = _LABEL_ROWS * _LABEL_ROW + 14.0
    bottom = top + len(timeline.tracks) * _TRACK
    tip_lines = max((len(lines) for _, lines in _by_revision(timeline)), default=0)
    height = max(bottom + _AXIS, top + (tip_lines + 1) * _TIP_LINE + 12)
    return Picture(
        width=_WIDTH,
        height=height,
        left=_LEFT,
        right=_WIDTH - _RIGHT,
        top=top,
        bottom=bottom,
        names=tuple(
            (
                top + index * _TRACK + _TRACK / 2 + 4,
                _cut(_short(track.item), _TRACK_NAME),
                track.item,
            )
            for index, track in enumerate(timeline.tracks)
        ),
        bars=tuple(_bars(timeline, top)),
        marks=tuple(_marks(timeline, top)),
        ticks=tuple(_ticks(timeline)),
    )


def _short(item: str) -> str:
    return item.partition(":")[2].removesuffix(".patch") or item


def _x(index: float, timeline: Timeline) -> float:
    """The left edge of revision ``index``; the right edge of the last is at ``index == count``."""
    return round(_LEFT + index * (_WIDTH - _LEFT - _RIGHT) / max(timeline.count, 1), 1)


def _bars(timeline: Timeline, top: float) -> list[Bar]:
    bars = []
    for row, track in enumerate(timeline.tracks):
        for stretch in track.stretches:
            left, right = _x(stretch.first, timeline), _x(stretch.last + 1, timeline)
            width = round(max(right - left, 1.5), 1)
            fits = len(stretch.state) * _CHAR + 10 <= width
            bars.append(
                Bar(
                    x=left,
                    y=top + row * _TRACK + 5,
                    width=width,
                    height=_TRACK - 10,
                    status=stretch.status,
                    label=stretch.state if fits else "",
                    title=f"{track.item}: {stretch.state}, {_length(stretch)}",
                )
            )
    return bars


def _length(stretch: Stretch) -> str:
    return plural(stretch.last - stretch.first + 1, "revision")


def _by_revision(timeline: Timeline) -> list[tuple[int, list[Turn]]]:
    found: dict[int, list[Turn]] = {}
    for turn in sorted(timeline.turns, key=lambda turn: turn.at):
        found.setdefault(turn.at, []).append(turn)
    return list(found.items())


def _marks(timeline: Timeline, top: float) -> list[Mark]:
    taken = [0.0] * _LABEL_ROWS
    marks = []
    for number, (at, turns) in enumerate(_by_revision(timeline), start=1):
        x = _x(at, timeline)
        label = ", ".join(dict.fromkeys(turn.label for turn in turns))
        width = len(label) * _CHAR
        left = min(max(x - width / 2, _LEFT), _WIDTH - _RIGHT - width)
        row = next((row for row, end in enumerate(taken) if end <= left), None)
        if row is not None:
            taken[row] = left + width + 6
        revision = turns[0].revision
        lines = [
            f"{revision.name}, {revision.date[:10]}",
            *(f"{turn.item}: {turn.before} → {turn.after} ({turn.label})" for turn in turns),
            *dict.fromkeys(turn.subject for turn in turns if turn.subject),
        ]
        lines = [_cut(line, 90) for line in lines]
        tip_width = round(max(map(len, lines)) * _CHAR + 16, 1)
        tip_x = round(min(max(x + 8, 4), _WIDTH - tip_width - 4), 1)
        marks.append(
            Mark(
                anchor=f"break-{number}",
                x=x,
                label=label if row is not None else "",
                label_y=_LABEL_ROWS * _LABEL_ROW - (row or 0) * _LABEL_ROW,
                name="; ".join(lines),
                tip_x=tip_x,
                tip_y=top + 4,
                tip_width=tip_width,
                tip_height=len(lines) * _TIP_LINE + 10,
                tip=tuple(
                    (top + 4 + (index + 1) * _TIP_LINE, line) for index, line in enumerate(lines)
                ),
            )
        )
    return marks


def _ticks(timeline: Timeline) -> list[tuple[float, str, str]]:
    """(x, name, date): first and last revision, and between them how many lie behind."""
    last = timeline.count - 1
    if last < 0:
        return []
    between = sorted({round(last * part / (_TICKS - 1)) for part in range(1, _TICKS - 1)})
    ticks = [(_x(0.5, timeline), timeline.first.name, timeline.first.date[:10])]
    ticks += [(_x(at + 0.5, timeline), f"+{at}", "") for at in between if 0 < at < last]
    if last > 0:
        ticks.append((_x(last + 0.5, timeline), timeline.last.name, timeline.last.date[:10]))
    return ticks


def turn_rows(timeline: Timeline) -> Sequence[tuple[str, Visited, Turn]]:
    """(anchor, revision, break point) of every break point, oldest first; anchors as drawn."""
    return [
        (f"break-{number}" if first else "", turn.revision, turn)
        for number, (_, turns) in enumerate(_by_revision(timeline), start=1)
        for first, turn in zip([True] + [False] * len(turns), turns, strict=False)
    ]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
