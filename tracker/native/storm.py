"""find_slot's warning taken apart: its shapes, and the image prefill that its positions betray.

Pure and incremental: it keeps a few numbers per sequence, never the lines.

How an image looks in the log (DOMAIN: measured on 0.3.29 and 0.3.36). All rows of an image carry
one temporal position, the base; text goes on at base + max(nx, ny). The recurrent memory expects
every ubatch to end ``n`` positions after the last one and warns, with the ubatch's LAST position:

    step    base after base-1      the first image ubatch after text
    repeat  base after base        every further image ubatch
    jump    last after base        the text that follows, so it resumes at last - n + 1

Each ubatch is looked at twice, when it is prepared and when it is applied, so every line comes
twice; a batch of several ubatches is prepared as a whole before it is applied.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from tracker.evidence.log import ImageGeometry, SequenceWarnings

_MOST_IMAGES = 32
_MOST_KINDS = 1024
_TWICE = 2


@dataclass(slots=True)
class _Image:
    """The image prefill that is being read. Sums are over lines, not over ubatches."""

    base: int
    line: int
    steps: int = 0
    repeats: int = 0
    jumps: int = 0
    rows: int = 0
    longest: int = 0
    lengths_known: bool = True
    jump_to: int | None = None
    jump_length: int | None = None
    follows_at: int | None = None

    @property
    def lines(self) -> int:
        return self.steps + self.repeats + self.jumps

    def add_rows(self, n: int | None) -> None:
        if n is None:
            self.lengths_known = False
            return
        self.rows += n
        self.longest = max(self.longest, n)


class _Kind(NamedTuple):
    """What makes two image prefills equal for a reader."""

    rows: int | None
    exact: bool
    n_ubatch: int | None
    extent: int | None
    contradiction: str


@dataclass(slots=True)
class SequenceReader:
    """Reads the warnings of one sequence, in the order of the log."""

    sequence: int
    step: int = 0
    repeat: int = 0
    jump: int = 0
    back: int = 0
    unexplained: int = 0
    _image: _Image | None = None
    _kinds: Counter[_Kind] = field(default_factory=Counter)
    _firsts: dict[_Kind, _Image] = field(default_factory=dict)
    _left_out: int = 0

    def add(self, position: int, after: int, n: int | None, line: int) -> str:
        """Take one warning; ``n`` None: the line does not say. Returns its shape."""
        distance = position - after
        if distance == 0:
            self.repeat += 1
            self._repeat(position, n, line)
            return "repeat"
        if distance == 1:
            self.step += 1
            self._step(position, n, line)
            return "step"
        if distance > 1:
            self.jump += 1
            self._jump(position, after, n, line)
            return "jump"
        self.back += 1
        self.unexplained += 1
        self._close()
        return "back"

    def result(self) -> SequenceWarnings:
        """What was found; closes the image that is being read."""
        self._close()
        frequent = self._kinds.most_common(_MOST_IMAGES)
        return SequenceWarnings(
            sequence=self.sequence,
            warnings=self.step + self.repeat + self.jump + self.back,
            step=self.step,
            repeat=self.repeat,
            jump=self.jump,
            back=self.back,
            unexplained=self.unexplained,
            images=tuple(_geometry(kind, self._firsts[kind], count) for kind, count in frequent),
            images_left_out=self._left_out + max(0, len(self._kinds) - _MOST_IMAGES),
        )

    def _step(self, position: int, n: int | None, line: int) -> None:
        image = self._image
        # The same step again: the ubatch applied after it was prepared, maybe with others between.
        if image is None or image.base != position or not image.steps or image.jumps:
            image = self._open(position, line)
        image.steps += 1
        image.add_rows(n)

    def _repeat(self, position: int, n: int | None, line: int) -> None:
        image = self._image
        if image is not None and image.jump_to == position:
            # What looked like text after the image was the next image, right behind it.
            image = self._follow(image, position, line)
        elif image is None or image.base != position or image.jumps:
            image = self._open(position, line)
        image.repeats += 1
        image.add_rows(n)

    def _jump(self, position: int, after: int, n: int | None, line: int) -> None:
        image = self._image
        if image is not None and image.jump_to == after and after != image.base:
            image = self._follow(image, after, line)
        if image is None or image.base != after:
            # No image of this log ends there: its start is missing, or it is a real gap.
            self._close()
            self.unexplained += 1
            return
        if image.jump_to not in (None, position):
            # The image was kept and other text decoded behind it: it resumes at the same place.
            if n is None or position - n + 1 != _resume(image):
                self.unexplained += 1
            return
        image.jumps += 1
        image.jump_to = position
        image.jump_length = n

    def _follow(self, image: _Image, base: int, line: int) -> _Image:
        """Turn the jumps of ``image`` into the first ubatch of another image at ``base``."""
        jumps, length = image.jumps, image.jump_length
        image.jumps, image.jump_to, image.jump_length = 0, None, None
        image.follows_at = base
        following = self._open(base, line)
        following.steps = jumps
        for _ in range(jumps):
            following.add_rows(length)
        return following

    def _open(self, base: int, line: int) -> _Image:
        self._close()
        self._image = _Image(base, line)
        return self._image

    def _close(self) -> None:
        image, self._image = self._image, None
        if image is None:
            return
        kind = _judged(image)
        if kind.contradiction:
            self.unexplained += image.lines
        if kind not in self._kinds and len(self._kinds) >= _MOST_KINDS:
            self._left_out += 1
            return
        self._kinds[kind] += 1
        self._firsts.setdefault(kind, image)


def _judged(image: _Image) -> _Kind:
    """What ``image`` must have been. Never more exact than its lines allow."""
    times = image.steps
    resume = _resume(image)
    extent = resume - image.base if resume is not None else None
    longest = image.longest or None
    if not image.lengths_known:
        return _Kind(None, False, longest, extent, "")
    if times not in (1, _TWICE) or image.repeats % times or image.rows % times:
        # Without its first ubatch, or cut in the middle: what was seen was there, once or twice.
        return _Kind(math.ceil(image.rows / _TWICE) or None, False, longest, extent, "")
    rows = image.rows // times
    complete = extent is not None and image.jumps % times == 0
    if times == 1:
        # Once each: a log that drops repeated lines, or a quotation. The count of ubatches is open.
        return _Kind(rows, False, longest, extent, "")
    wrong = _contradiction(rows, extent) if complete and extent is not None else ""
    return _Kind(rows, complete, longest, extent, wrong)


def _resume(image: _Image) -> int | None:
    if image.follows_at is not None:
        return image.follows_at
    if image.jump_to is None or image.jump_length is None:
        return None
    return image.jump_to - image.jump_length + 1


def _contradiction(rows: int, extent: int) -> str:
    if extent <= 0:
        return f"text resumes {-extent} positions before the image's end, which no image does"
    if not grids(rows, extent):
        return f"{rows} rows make no grid whose longer side is {extent}"
    return ""


def grids(rows: int, extent: int) -> tuple[tuple[int, int], ...]:
    """All (nx, ny) with nx * ny == rows and max(nx, ny) == extent; the wider first."""
    if extent <= 0 or rows % extent:
        return ()
    other = rows // extent
    if other > extent:
        return ()
    return ((extent, other),) if other == extent else ((extent, other), (other, extent))


def _geometry(kind: _Kind, first: _Image, count: int) -> ImageGeometry:
    fits = kind.exact and kind.rows is not None and kind.extent is not None
    return ImageGeometry(
        count=count,
        rows=kind.rows,
        exact=kind.exact,
        n_ubatch=kind.n_ubatch,
        base=first.base,
        resume=_resume(first),
        extent=kind.extent,
        grids=grids(kind.rows, kind.extent) if fits else (),  # type: ignore[arg-type]
        line=first.line,
        contradiction=kind.contradiction,
    )
