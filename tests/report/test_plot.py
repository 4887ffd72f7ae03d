from __future__ import annotations

import itertools

from tests.support import documents
from tracker.report.plot import Curve, Plot, canvas, ends, thinned
from tracker.report.sessions import plot_of


def test_the_axis_starts_at_zero_and_holds_every_point() -> None:
    """Growth looks as large as it is; nothing leaves the picture."""
    made = plot_of(documents.soak())
    assert made is not None
    drawn = canvas(made)
    assert drawn.y_ticks[0] == (float(drawn.bottom), "0")
    for line in drawn.lines:
        for point in line.points.split():
            x, y = map(float, point.split(","))
            assert drawn.left <= x <= drawn.right
            assert drawn.top <= y <= drawn.bottom


def test_a_spike_survives_thinning() -> None:
    """Of 100,000 points the one that matters is still drawn."""
    points = tuple((float(x), 900.0 if x == 77_777 else 1.0) for x in range(100_000))
    kept = tuple(thinned(points))
    assert len(kept) <= 720
    assert (77_777.0, 900.0) in kept
    assert list(kept) == sorted(kept)


def test_names_at_the_edge_are_apart() -> None:
    """Two curves that end at one height have two readable names."""
    flat = tuple((float(x), 5.0) for x in range(3))
    drawn = canvas(Plot("", "turn", "MiB", tuple(Curve(name, flat) for name in "abc")))
    heights = sorted(line.label_y for line in drawn.lines)
    assert all(low + 15 <= high for low, high in itertools.pairwise(heights))


def test_nothing_and_nothing_but_zero_can_be_drawn() -> None:
    """A run that was cut before its first sample is an empty plot, not an error."""
    assert canvas(Plot("", "x", "y", ())).lines == ()
    empty = Plot("", "x", "y", (Curve("none", ()), Curve("zero", ((0.0, 0.0), (1.0, 0.0)))))
    assert canvas(empty).lines[0].points == ""
    assert [row[0] for row in ends(empty)] == ["zero"]
