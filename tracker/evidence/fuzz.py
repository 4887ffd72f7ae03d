"""The fuzz document: random operations on a core's memory against an oracle."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.build import Variant
from tracker.evidence.check import Instrument
from tracker.evidence.verdict import Verdict

#: How a sequence of operations can fail, worst first. ``wrong``: logits that are not those of the
#: rows that are left, after an answer that said all is well. ``broken``: a context that was
#: cleared is not like a fresh one. ``failed``: decode or a state set gave an error where it must
#: not. ``refused``: a removal that the snapshots could have done. ``warned``: right, but find_slot
#: warned of positions that are in order.
FuzzKind = Literal["wrong", "crashed", "hung", "broken", "failed", "refused", "warned"]


class FuzzKindCount(Value, frozen=True, kw_only=True):
    """How many sequences failed in that way; ``first``: the number of the first of them."""

    kind: FuzzKind
    sequences: int
    first: int


class FuzzFailure(Value, frozen=True, kw_only=True):
    """A sequence that failed, made as short as it could be.

    ``index``: its number under the seed. ``moves``: what is left of it, written as the check
    program reads it; ``story``: the same as it was played, one call a line. ``diff``: max |logits -
    oracle's|, None where no logits were compared or one was not a number. ``claimed`` False: a
    fault of upstream's own: nothing is taken back in it, and it is the same without the patches.
    """

    kind: FuzzKind
    index: int
    arch: str
    n_rs: int
    n_ubatch: int
    unified: bool
    what: str
    diff: float | None
    moves: str
    story: tuple[str, ...]
    claimed: bool = True


class FuzzOperation(Value, frozen=True, kw_only=True):
    """``tried``: how often it was drawn. ``done``: it made sense there and was not refused."""

    name: str
    tried: int
    done: int


class FuzzRow(Value, frozen=True, kw_only=True):
    """One variant.

    ``failed``: sequences that failed, by kind, worst kind first. ``compared``: logits that were
    compared. ``rounding``: the largest difference that passed; ``tolerance``: the largest that may;
    ``narrowest``: the smallest that was called wrong. ``open``: removals
    that may be refused or done, because another call had moved the state meanwhile; ``lucky``:
    others that were done without need, and right. ``per_second``: sequences in one second of CPU
    time, oracle included. ``reports``: of a sanitizer, each once.
    """

    variant: Variant
    verdict: Verdict
    why: str
    sequences: int
    failed: tuple[FuzzKindCount, ...]
    shortest: tuple[FuzzFailure, ...]
    operations: tuple[FuzzOperation, ...]
    compared: int
    rounding: float
    tolerance: float
    narrowest: float | None
    open: int
    lucky: int
    per_second: float
    reports: tuple[str, ...] = ()

    def count(self, kind: FuzzKind) -> int:
        """Sequences that failed in that way."""
        return sum(one.sequences for one in self.failed if one.kind == kind)

    @property
    def executed(self) -> float:
        """Share of the operations that were executed, 0 to 1."""
        tried = sum(one.tried for one in self.operations)
        return sum(one.done for one in self.operations) / tried if tried else 0.0


class FuzzDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """``sequences`` from number ``first`` on, under ``seed``; the same for every variant.

    ``instruments``: what the cores were built with.
    """

    schema_: Literal["lloyal-track/check-fuzz/1"] = "lloyal-track/check-fuzz/1"
    verdict: Verdict
    revision: str
    seed: int
    first: int
    sequences: int
    seconds: float
    rows: tuple[FuzzRow, ...]
    instruments: tuple[Instrument, ...] = ()
