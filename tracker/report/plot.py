"""A few curves over turns or time as a picture: the memory of a long session, for instance.

Values in, geometry out; templates/plot.svg draws it. A spike is never smoothed away: of points that
fall on one pixel column the lowest and the highest stay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

_WIDTH = 1000
_HEIGHT = 320
_LEFT = 80
_RIGHT = 150
_TOP = 16
_BOTTOM = 46
_COLUMNS = 360
_STEPS = 5
_LABEL_GAP = 16
TONES = 2
DASHES = 4


@dataclass(frozen=True, slots=True)
class Curve:
    """One line. ``points``: (x, y), x ascending. ``tone``: its colour, ``dash``: its pattern."""

    name: str
    points: tuple[tuple[float, float], ...]
    tone: int = 0
    dash: int = 0


@dataclass(frozen=True, slots=True)
class Plot:
    """What is drawn. ``lead``: one sentence above; units belong into the labels."""

    lead: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A curve as drawn; ``label_y``: of its name at the right edge, none on top of another."""

    name: str
    points: str
    label_y: float
    tone: int
    dash: int


@dataclass(frozen=True, slots=True)
class Canvas:
    """Everything in pixels; ticks are (position, label)."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    lines: tuple[Line, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]


def canvas(plot: Plot) -> Canvas:
    """Lay the plot out; the y axis starts at zero, so that growth looks as large as it is."""
    xs = [x for curve in plot.curves for x, _ in curve.points]
    ys = [y for curve in plot.curves for _, y in curve.points]
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    x_low, x_high = (min(xs), max(xs)) if xs else (0.0, 1.0)
    step = _nice(max(ys, default=1.0) / _STEPS)
    y_high = step * max(math.ceil(max(ys, default=1.0) / step), 1)

    def x_of(x: float) -> float:
        return round(_LEFT + (x - x_low) / ((x_high - x_low) or 1) * (right - _LEFT), 1)

    def y_of(y: float) -> float:
        return round(bottom - y / y_high * (bottom - _TOP), 1)

    ends = [y_of(curve.points[-1][1]) if curve.points else bottom for curve in plot.curves]
    x_step = _nice((x_high - x_low) / _STEPS)
    first = math.ceil(x_low / x_step)
    return Canvas(
        width=_WIDTH,
        height=_HEIGHT,
        left=_LEFT,
        right=right,
        top=_TOP,
        bottom=bottom,
        lines=tuple(
            Line(
                name=curve.name,
                points=" ".join(f"{x_of(x)},{y_of(y)}" for x, y in thinned(curve.points)),
                label_y=label_y,
                tone=curve.tone % TONES,
                dash=curve.dash % DASHES,
            )
            for curve, label_y in zip(plot.curves, _apart(ends), strict=True)
        ),
        x_ticks=tuple(
            (x_of(value), f"{value:g}")
            for value in (x_step * index for index in range(first, first + 2 * _STEPS + 3))
            if value <= x_high
        ),
        y_ticks=tuple(
            (y_of(step * index), f"{step * index:g}") for index in range(round(y_high / step) + 1)
        ),
    )


def thinned(points: tuple[tuple[float, float], ...]) -> Iterator[tuple[float, float]]:
    """``points``, at most two a column: the lowest and the highest, in their order."""
    if len(points) <= 2 * _COLUMNS:
        yield from points
        return
    size = math.ceil(len(points) / _COLUMNS)
    for start in range(0, len(points), size):
        column = range(start, min(start + size, len(points)))
        low = min(column, key=lambda index: points[index][1])
        high = max(column, key=lambda index: points[index][1])
        for index in sorted({low, high}):
            yield points[index]


def _nice(step: float) -> float:
    """The next of 1, 2, 5 times a power of ten that is not below ``step``; 1 for nothing."""
    if step <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * 0.999)


def _apart(wanted: list[float]) -> list[float]:
    """Heights of labels near ``wanted``, at least a line apart."""
    placed = list(wanted)
    free = -math.inf
    for index in sorted(range(len(wanted)), key=lambda index: wanted[index]):
        placed[index] = max(wanted[index], free)
        free = placed[index] + _LABEL_GAP
    return placed


def ends(plot: Plot) -> list[tuple[str, str, str, str, str]]:
    """(name, points, first, last, highest) of each curve, for the table below the picture."""
    return [
        (
            curve.name,
            str(len(curve.points)),
            f"{curve.points[0][1]:g}",
            f"{curve.points[-1][1]:g}",
            f"{max(y for _, y in curve.points):g}",
        )
        for curve in plot.curves
        if curve.points
    ]
