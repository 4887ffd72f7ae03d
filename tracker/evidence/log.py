"""The log document: what a log says about the warning, its geometry, crashes and failures."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.verdict import Verdict


class ImageGeometry(Value, frozen=True, kw_only=True):
    """What the warnings of one image prefill tell about it; equal ones are counted together.

    ``rows``: image rows (embeddings) handed over; ``exact`` False: at least so many. ``n_ubatch``:
    the longest image ubatch seen; the configured one is not shorter. ``base``: the temporal
    position that all rows of the image carry. ``resume``: where text went on, ``extent``: max(nx,
    ny) = resume - base, both None if the log ends before. ``grids``: all (nx, ny) with nx * ny ==
    rows and max(nx, ny) == extent. ``line``: of the first warning, 1-based. ``contradiction``: why
    this cannot be one image's prefill, or "".
    """

    count: int
    rows: int | None
    exact: bool
    n_ubatch: int | None
    base: int
    resume: int | None
    extent: int | None
    grids: tuple[tuple[int, int], ...]
    line: int
    contradiction: str = ""


class SequenceWarnings(Value, frozen=True, kw_only=True):
    """The warnings of one sequence, by shape.

    ``step``: the position follows the last one, as for the first rows of an image after text.
    ``repeat``: the same position again, as for further rows of an image. ``jump``: forward by more,
    as for text after an image. ``back``: to an earlier position, which no image does.
    ``unexplained``: those that belong to no image prefill in this log. ``images``: most frequent
    first; ``images_left_out``: further different ones, which are only counted.
    """

    sequence: int
    warnings: int
    step: int
    repeat: int
    jump: int
    back: int
    unexplained: int
    images: tuple[ImageGeometry, ...]
    images_left_out: int = 0


class Crash(Value, frozen=True, kw_only=True):
    """The process ended here, or said that it must.

    ``kind``: e.g. ``assert``, ``cuda``, ``signal``. ``file`` and ``source_line``: in upstream's
    source, None if not told. ``what``: the failed expression or the message. ``frames``: innermost
    first, may be empty. ``line``: in the log, 1-based.
    """

    kind: str
    what: str
    file: str | None
    source_line: int | None
    frames: tuple[str, ...]
    line: int


class Failure(Value, frozen=True, kw_only=True):
    """Something went wrong and the process went on; equal ones are counted together.

    ``kind``: e.g. ``inconsistent-positions``, ``decode``, ``media``, ``backend-error-state``.
    ``what``: of the first one. ``line``: of the first one, 1-based.
    """

    kind: str
    what: str
    count: int
    line: int


class Sample(Value, frozen=True, kw_only=True):
    """One line of the log, made harmless. ``line``: 1-based."""

    line: int
    text: str


class LogDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """One log.

    ``cut``: warnings whose line ends too early to be read; they are in no other count.
    ``unread``: lines of find_slot about token positions in words that this version does not know.
    ``images_started`` and ``images_processed``: lines that say so, the only ones that prove it
    besides the warnings themselves. ``storm``: ``benign`` if image prefills explain every warning.
    ``in_source``: whether the revision that was named still prints the warning, None: not asked.
    ``notes``: what a reader must know before believing the rest.
    """

    schema_: Literal["lloyal-track/log/1"] = "lloyal-track/log/1"
    verdict: Verdict
    why: str
    source: str
    size: int
    lines: int
    warnings: int
    storm: Literal["none", "benign", "unexplained"]
    cut: int
    unread: int
    sequences: tuple[SequenceWarnings, ...]
    crashes: tuple[Crash, ...]
    crashes_left_out: int
    failures: tuple[Failure, ...]
    images_started: int
    images_processed: int
    versions: tuple[str, ...]
    in_source: bool | None
    samples: tuple[Sample, ...]
    notes: tuple[str, ...]
