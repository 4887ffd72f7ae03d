"""The build document: the native core, per variant."""

from __future__ import annotations

from typing import Literal

import msgspec

from tracker.evidence.base import Value
from tracker.evidence.verdict import Verdict

Variant = Literal["baseline", "patched"]


class Artefact(Value, frozen=True, kw_only=True):
    """A file that a build produced: path (as found on this machine) and sha256."""

    path: str
    sha256: str


class VariantBuild(Value, frozen=True, kw_only=True):
    """One variant. ``key``: the content address (tree, patches, recipe, compiler, flags).

    ``cached``: nothing was compiled. ``steps``: build steps run. ``seconds``: wall time.
    ``errors``: the compiler's own lines, first ones first, may be empty. ``warnings``: what CMake
    said of options that this revision does not know. ``inputs``: all that ``key`` is made of.
    """

    variant: Variant
    verdict: Verdict
    tree: str
    key: str
    cached: bool
    steps: int
    seconds: float
    log: str
    artefacts: tuple[Artefact, ...]
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    why: str = ""
    inputs: dict[str, str] = msgspec.field(default_factory=dict)


class DownstreamBuild(Value, frozen=True, kw_only=True):
    """A core of ours that was built on top of upstream's.

    ``code``: status of the command, None if it never ended or never started. ``last_lines``: of its
    log, oldest first, if it failed.
    """

    name: str
    verdict: Verdict
    why: str
    command: tuple[str, ...]
    code: int | None
    seconds: float
    log: str
    last_lines: tuple[str, ...]


class BuildDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """The variants that were asked for, in that order, and what was built on top of them."""

    schema_: Literal["lloyal-track/build/1"] = "lloyal-track/build/1"
    verdict: Verdict
    revision: str
    recipe: str
    compiler: str
    variants: tuple[VariantBuild, ...]
    downstream: tuple[DownstreamBuild, ...] = ()
