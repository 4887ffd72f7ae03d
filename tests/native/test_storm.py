"""The image prefill behind the warnings: what the numbers tell, and what they do not."""

from __future__ import annotations

import pytest

from tracker.evidence.log import ImageGeometry, SequenceWarnings
from tracker.native.storm import SequenceReader, grids

Line = tuple[int, int, int | None]


def read(*lines: Line) -> SequenceWarnings:
    reader = SequenceReader(0)
    for number, (position, after, n) in enumerate(lines, start=1):
        reader.add(position, after, n, number)
    return reader.result()


def image(*lines: Line) -> ImageGeometry:
    (found,) = read(*lines).images
    return found


def prefill(base: int, ubatches: list[int], extent: int, text: int) -> list[Line]:
    """The lines of one image, each ubatch of it decoded by itself, and of the text behind it."""
    lines: list[Line] = []
    for number, n in enumerate(ubatches):
        lines += [(base, base - 1 if number == 0 else base, n)] * 2
    return [*lines, *[(base + extent + text - 1, base, text)] * 2]


def test_the_reports_own_log() -> None:
    """9 after 8, 9 after 9, 48 after 9: 1,024 rows, a 32 x 32 grid, text resumes at 41."""
    found = image(*[(9, 8, 512)] * 2, *[(9, 9, 512)] * 2, *[(48, 9, 8)] * 2)
    assert (found.rows, found.exact, found.n_ubatch) == (1024, True, 512)
    assert (found.base, found.resume, found.extent, found.grids) == (9, 41, 32, ((32, 32),))


@pytest.mark.parametrize(
    ("n_ubatch", "ubatches", "warnings"),
    [(128, [128] * 4 + [73], 12), (512, [512, 73], 6), (1024, [585], 4)],
)
def test_direct_rows_of_39_by_15(n_ubatch: int, ubatches: list[int], warnings: int) -> None:
    """As measured: 12, 6 and 4 warnings, and the grid is told but for its orientation."""
    found = read(*prefill(9, ubatches, 39, 8))
    assert found.warnings == warnings
    assert found.images[0].rows == 585
    assert found.images[0].grids == ((39, 15), (15, 39))
    assert found.images[0].n_ubatch == min(n_ubatch, 585)
    assert found.unexplained == 0


def test_a_batch_that_is_prepared_as_a_whole() -> None:
    """All ubatches once, then all again: the same image."""
    once: list[Line] = [(9, 8, 128), *[(9, 9, 128)] * 3, (9, 9, 73)]
    found = image(*once, *once, *[(55, 9, 8)] * 2)
    assert (found.rows, found.exact, found.grids) == (585, True, ((39, 15), (15, 39)))


def test_equal_images_are_counted_together() -> None:
    """A long session is one line, wherever its images stand."""
    lines = [line for base in (9, 100, 777) for line in prefill(base, [512, 512], 32, 8)]
    (found,) = read(*lines).images
    assert (found.count, found.base, found.rows) == (3, 9, 1024)


def test_an_image_right_behind_another() -> None:
    """No text between: what looks like a jump is the next image's first ubatch."""
    first: list[Line] = [(9, 8, 64)] * 2
    second: list[Line] = [*[(17, 9, 64)] * 2, *[(17, 17, 192)] * 2, *[(34, 17, 2)] * 2]
    found = read(*first, *second)
    assert [(i.rows, i.extent, i.grids) for i in found.images] == [
        (64, 8, ((8, 8),)),
        (256, 16, ((16, 16),)),
    ]
    assert found.unexplained == 0


def test_other_text_behind_the_same_image() -> None:
    """A kept image, another question: it resumes at the same place, which is no break."""
    found = read(*prefill(9, [64], 8, 8), (36, 9, 20), (36, 9, 20))
    assert (found.unexplained, found.images[0].rows) == (0, 64)


def test_without_the_text_behind_it_the_rows_are_a_lower_bound() -> None:
    """Ten lines of a binding: 99 after 98 twice, 99 after 99 eight times."""
    found = read(*[(99, 98, 512)] * 2, *[(99, 99, 512)] * 8)
    assert (found.step, found.repeat) == (2, 8)
    assert (found.images[0].rows, found.images[0].exact) == (2560, False)
    assert found.images[0].extent is None


def test_a_quotation_that_shows_each_line_once_is_not_exact() -> None:
    """Whether lines were dropped cannot be told, so the rows are a lower bound."""
    found = image((9, 8, 512), (9, 9, 512), (48, 9, 8))
    assert (found.rows, found.exact, found.grids) == (1024, False, ())


def test_a_log_that_begins_inside_an_image() -> None:
    """Its first ubatch is missing: at least what was seen, once."""
    found = image(*[(9, 9, 512)] * 2, *[(48, 9, 8)] * 2)
    assert (found.rows, found.exact) == (512, False)


def test_a_line_without_its_length() -> None:
    """287 after 237, quoted without its tail, counts; nothing is inferred from it."""
    found = read((237, 236, None), (287, 237, None))
    assert (found.warnings, found.images[0].rows, found.images[0].extent) == (2, None, None)


def test_a_jump_without_its_image_is_not_explained() -> None:
    """79 after 7 with 7 new tokens: no rows of this log end there."""
    found = read((79, 7, 7))
    assert (found.jump, found.unexplained, found.images) == (1, 1, ())


def test_a_step_back_is_never_an_image() -> None:
    """A rollback that the recurrent memory did not follow."""
    found = read(*prefill(9, [64], 8, 8), (20, 25, 1))
    assert (found.back, found.unexplained) == (1, 1)


def test_rows_that_make_no_grid_contradict() -> None:
    """580 rows and a longer side of 39, as the report's text has it, cannot be one image."""
    found = read(*prefill(9, [512, 68], 39, 8))
    assert "580 rows make no grid" in found.images[0].contradiction
    assert found.unexplained == found.warnings


def test_text_that_resumes_inside_the_image_contradicts() -> None:
    """max(nx, ny) is never zero or less."""
    found = read(*[(9, 8, 64)] * 2, *[(11, 9, 8)] * 2)
    assert "before the image's end" in found.images[0].contradiction


@pytest.mark.parametrize(
    ("rows", "extent", "expected"),
    [
        (1024, 32, ((32, 32),)),
        (300, 20, ((20, 15), (15, 20))),
        (7, 7, ((7, 1), (1, 7))),
        (64, 4, ()),
        (65, 8, ()),
        (0, 0, ()),
    ],
)
def test_grids(rows: int, extent: int, expected: tuple[tuple[int, int], ...]) -> None:
    """Only factors whose longer side is the extent."""
    assert grids(rows, extent) == expected
