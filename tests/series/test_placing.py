"""Where hunks stand."""

from __future__ import annotations

from tracker.series.hunks import read_hunks
from tracker.series.patch import Hunk
from tracker.series.placing import Misfit, find_block, place, splice, split_lines


def _hunks(text: str) -> tuple[Hunk, ...]:
    return read_hunks(split_lines(text.encode()), 0)[0]


def _lines(*texts: str) -> list[bytes]:
    return [f"{text}\n".encode() for text in texts]


def test_the_nearest_copy_is_taken_and_all_are_told() -> None:
    """The later one of two that are equally near, as git does."""
    (hunk,) = _hunks("@@ -4,2 +4,2 @@\n a\n-b\n+B\n")
    lines = _lines("x", "a", "b", "x", "x", "a", "b")
    found = place([hunk], lines)
    assert not isinstance(found, Misfit)
    assert (found[0].at, found[0].copies) == (5, (1, 5))
    assert splice(lines, found) == _lines("x", "a", "b", "x", "x", "a", "B")


def test_a_hunk_without_context_behind_it_reaches_the_end() -> None:
    """Lines that upstream appended there are not skipped over."""
    (hunk,) = _hunks("@@ -2,2 +2,2 @@\n a\n-b\n+B\n")
    assert not isinstance(place([hunk], _lines("x", "a", "b")), Misfit)
    assert isinstance(place([hunk], _lines("x", "a", "b", "more")), Misfit)


def test_a_hunk_for_the_first_line_stays_there() -> None:
    """Not one line further down."""
    (hunk,) = _hunks("@@ -1,2 +1,2 @@\n-a\n+A\n b\n")
    assert isinstance(place([hunk], _lines("new", "a", "b", "c")), Misfit)


def test_a_hunk_without_any_context_stands_where_it_says_or_nowhere() -> None:
    """A lone line is no proof of a place."""
    (hunk,) = _hunks("@@ -2 +2 @@\n-a\n+A\n")
    assert not isinstance(place([hunk], _lines("x", "a", "y")), Misfit)
    assert isinstance(place([hunk], _lines("x", "y", "a")), Misfit)


def test_hunks_do_not_overlap_and_keep_their_order() -> None:
    """The second cannot stand before the end of the first."""
    hunks = _hunks("@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -3,2 +3,2 @@\n c\n-d\n+D\n")
    assert isinstance(place(hunks, _lines("a", "b", "c", "d")), Misfit)


def test_a_new_file_needs_an_empty_place() -> None:
    """Nothing is overwritten."""
    (hunk,) = _hunks("@@ -0,0 +1,2 @@\n+a\n+b\n")
    made = place([hunk], [])
    assert not isinstance(made, Misfit)
    assert splice([], made) == _lines("a", "b")
    assert isinstance(place([hunk], _lines("x")), Misfit)


def test_lines_split_at_lf_only() -> None:
    """And come together again as they were."""
    text = b"a\rb\x0c\nc\r\n\xe2\x80\xa8d"
    assert split_lines(text) == [b"a\rb\x0c\n", b"c\r\n", b"\xe2\x80\xa8d"]
    assert b"".join(split_lines(text)) == text
    assert split_lines(b"") == []


def test_every_copy_of_a_block_is_found() -> None:
    """Overlapping ones too."""
    assert find_block(_lines("a", "a", "a"), _lines("a", "a")) == (0, 1)
