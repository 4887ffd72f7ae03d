from __future__ import annotations

import itertools
from dataclasses import replace

from tests.support import documents
from tracker.evidence.verdict import Status
from tracker.report.along import timeline_of
from tracker.report.timeline import Stretch, Timeline, Track, Visited, picture, turn_rows


def whole() -> Timeline:
    made = timeline_of(documents.sweep(), documents.watch_history())
    assert made is not None
    return made


def test_every_break_point_is_drawn_and_listed_under_one_name() -> None:
    """A mark leads to the first of its rows; a revision with two break points has one mark."""
    timeline = whole()
    doubled = replace(
        timeline,
        turns=(*timeline.turns, replace(timeline.turns[1], item="region:init")),
    )
    marks = picture(doubled).marks
    rows = turn_rows(doubled)
    assert len(marks) == 4
    assert [anchor for anchor, _, _ in rows if anchor] == [mark.anchor for mark in marks]
    assert len(rows) == 5
    assert "region:init: as before → changed (#27100)" in marks[1].name


def test_labels_never_overlap() -> None:
    """Two labels of one height are apart; one without room is left out, never its mark."""
    first = whole().turns[0]
    turns = tuple(replace(first, at=600 + n, label=f"#2700{n}") for n in range(9))
    marks = picture(replace(whole(), turns=turns)).marks
    assert len(marks) == 9
    drawn = [mark for mark in marks if mark.label]
    assert 1 <= len(drawn) < 9
    for left, right in itertools.pairwise(drawn):
        if left.label_y == right.label_y:
            assert right.x - left.x >= len(left.label) * 6


def test_bars_fill_the_range_without_gap() -> None:
    """Each track spans the same width, from the first to the last revision."""
    drawn = picture(whole())
    for row in range(3):
        bars = [bar for bar in drawn.bars if bar.y == drawn.bars[0].y + row * 34]
        assert bars[0].x == drawn.left
        assert abs(bars[-1].x + bars[-1].width - drawn.right) < 0.2
        for before, after in itertools.pairwise(bars):
            assert abs(before.x + before.width - after.x) < 0.2


def test_boxes_stay_inside_the_picture() -> None:
    """The details of a break point at the edge are not cut off."""
    timeline = whole()
    turns = tuple(
        replace(timeline.turns[0], at=at, subject="a long subject " * 9) for at in (0, 1159)
    )
    drawn = picture(replace(timeline, turns=turns))
    for mark in drawn.marks:
        assert mark.tip_x >= 0
        assert mark.tip_x + mark.tip_width <= drawn.width
        assert mark.tip_y + mark.tip_height <= drawn.height


def test_one_revision_and_none_can_be_drawn() -> None:
    """A sweep of one revision is a picture; an empty one is an empty picture, not an error."""
    here = Visited("b9581", "2026-06-08")
    one = Timeline(
        lead="one revision",
        count=1,
        first=here,
        last=here,
        tracks=(Track("patch:a", (Stretch(0, 0, "unchanged", Status.PASS),)),),
        turns=(),
    )
    assert picture(one).bars[0].width > 700
    assert len(picture(one).ticks) == 1
    none = Timeline(lead="", count=0, first=here, last=here, tracks=(), turns=())
    assert picture(none).bars == ()
