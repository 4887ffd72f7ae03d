"""What the check runs: every scenario of the check program, with what a right memory gives.

Pure values. The scenarios themselves are written in C++ (build/probe); here stands how each is
started and what is known about it beforehand, so that the judge needs no special cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Geometry = Literal["rows", "mtmd", "none"]

#: The report's image: 39x15 rows; through mtmd a square picture of 1024x1024 pixels.
ROWS_IMAGE = 39 * 15
MTMD_IMAGE = 32 * 32

#: Architectures with one position per token: there the patches must change nothing.
ONE_DIMENSIONAL = ("qwen3next", "mamba2")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the check program.

    ``name``: what reports call it. ``scenario``: what the program calls it. ``settings``: its other
    settings. ``comparable``: the patch must not change a bit of its logits. ``proves``: the
    baseline goes wrong here, else the patch may be unneeded. ``warns``: how often the baseline
    must warn, if that is known. ``break_lines``: the scenario breaks positions on purpose, so its
    warnings are counted by its facts and not by the judge.
    """

    name: str
    scenario: str
    geometry: Geometry
    n_ubatch: int = 512
    settings: tuple[tuple[str, str], ...] = ()
    comparable: bool = True
    proves: bool = False
    warns: int | None = None
    break_lines: bool = False

    @property
    def line(self) -> str:
        """The run as a line of the program's jobs file."""
        words = [("n_ubatch", str(self.n_ubatch)), ("geometry", self.geometry), *self.settings]
        return " ".join([self.scenario, *(f"{key}={value}" for key, value in words)])


@dataclass(frozen=True, slots=True)
class Subject:
    """A model and its runs. ``projector`` and ``picture``: files for the mtmd path, or None."""

    arch: str
    model: Path
    runs: tuple[Run, ...]
    projector: Path | None = None
    picture: Path | None = None


def expected_warnings(rows: int, n_ubatch: int) -> int:
    """Warnings of an unpatched core: each ubatch of the image and the text behind it, twice."""
    return 2 * (-(-rows // n_ubatch) + 1)


def image_runs(n_ubatch: Iterable[int]) -> tuple[Run, ...]:
    """The prefill itself, at each size, both ways in."""
    sizes = tuple(n_ubatch)
    rows = tuple(
        Run(
            f"image-{n}",
            "image",
            "rows",
            n,
            (("other", "1"),) if n == max(sizes) else (),
            proves=True,
            warns=expected_warnings(ROWS_IMAGE, n),
        )
        for n in sizes
    )
    mtmd = tuple(
        Run(
            f"image-{n}-mtmd",
            "image",
            "mtmd",
            n,
            proves=True,
            warns=expected_warnings(MTMD_IMAGE, n),
        )
        for n in sizes
    )
    small = tuple(
        Run(
            f"image-{nx}x{ny}-mtmd",
            "image",
            "mtmd",
            128,
            (("nx", str(nx)), ("ny", str(ny))),
            proves=True,
            warns=expected_warnings(nx * ny, 128),
        )
        for nx, ny in ((8, 8), (20, 15))
    )
    pieces = Run(
        "image-batch-64",
        "image",
        "rows",
        512,
        (("n_batch", "64"),),
        proves=True,
        warns=expected_warnings(ROWS_IMAGE, 64),
    )
    return (*rows, *mtmd, *small, pieces)


def memory_runs() -> tuple[Run, ...]:
    """What a host does around an image: several of them, forks, copies, rollbacks, breaks."""
    legitimate = tuple(
        Run(name, name, "rows", proves=True)
        for name in ("split-calls", "two-images", "turns", "grids", "several", "text-after-image")
    )
    both_ways = tuple(
        Run(f"{name}{'-mtmd' if way == 'mtmd' else ''}", name, way, proves=True)
        for name in ("fork", "fork-images", "state", "checkpoint")
        for way in ("rows", "mtmd")
    )
    through_mtmd = tuple(
        Run(f"{name}-mtmd", name, "mtmd", proves=True)
        for name in ("two-images", "turns", "text-after-image")
    )
    rollbacks = tuple(
        Run(f"{name}{'-mtmd' if way == 'mtmd' else ''}", name, way, comparable=False, proves=True)
        for name in ("rollback", "rollback-fork")
        for way in ("rows", "mtmd")
    )
    text_rollbacks = tuple(
        Run(name, name, "rows", comparable=False, proves=True)
        for name in (
            "rollback-repeated",
            "rollback-fork-save",
            "rollback-shared",
            "rollback-forgotten",
            "rollback-among",
            "rollback-shifted",
        )
    )
    breaks = (
        Run("breaks-direct", "breaks-direct", "rows", proves=True, break_lines=True),
        Run("breaks-batch", "breaks-batch", "rows", break_lines=True),
    )
    return (
        *legitimate,
        *through_mtmd,
        *both_ways,
        Run("parity-mtmd", "parity", "mtmd"),
        *rollbacks,
        *text_rollbacks,
        *breaks,
    )


def control_runs() -> tuple[Run, ...]:
    """What a model with one position per token must do with and without the patches."""
    return (
        Run("text", "text", "none"),
        Run("text-copies", "text-copies", "none"),
        Run("breaks-direct", "breaks-direct", "none", break_lines=True),
        Run("breaks-batch", "breaks-batch", "none", break_lines=True),
    )


def runs_of(arch: str, n_ubatch: Sequence[int]) -> tuple[Run, ...]:
    """Every run for a tiny model of ``arch``."""
    if arch in ONE_DIMENSIONAL:
        return control_runs()
    return (*image_runs(n_ubatch), Run("text", "text", "none"), *memory_runs())


def chosen(runs: Iterable[Run], scenario: str | None) -> tuple[Run, ...]:
    """The runs called ``scenario``, by name or by the program's name; all of them for None."""
    return tuple(run for run in runs if scenario in (None, run.name, run.scenario))
