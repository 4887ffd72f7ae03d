"""The check document: how a built core behaves on an image prefill. One row per run."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.build import Variant
from tracker.evidence.verdict import Verdict

#: What a build may carry to find more: asserts, or AddressSanitizer and UBSan.
Instrument = Literal["debug", "sanitize"]


class Warned(Value, frozen=True, kw_only=True):
    """One line of find_slot's warning, taken apart."""

    position: int
    after: int
    sequence: int
    n_tokens: int


class CheckRow(Value, frozen=True, kw_only=True):
    """One run of the check program.

    ``scenario``: e.g. ``image-512``. ``arch``: the tiny model's architecture. ``geometry``: rows
    handed over directly, or through mtmd. ``rc``: the run's return code, negative for a signal,
    None if it never ended. ``logits_digest``: None without logits. ``max_abs_diff``: against the
    run named in ``compared_with``. ``library``: path and sha256 of the core that was really loaded.
    ``facts``: how many single things the run looked at (an answer of seq_rm, two logits compared);
    ``broken``: those that a right memory would not give, one sentence each. On the baseline they
    are what the patch cures. ``right``: whether the run did what a right memory does, on whichever
    variant; None if that was not proven (a crash, another core). ``claimed`` False: a fault of
    upstream's own, the same with and without the patches, that no carried patch is for: it is told,
    and does not forbid. ``reports``: what a sanitizer said, each place once a child.
    """

    scenario: str
    arch: str
    variant: Variant
    revision: str
    geometry: Literal["rows", "mtmd", "none"]
    n_ubatch: int
    rc: int | None
    warnings: tuple[Warned, ...]
    memory_class: str | None
    logits_digest: str | None
    max_abs_diff: float | None
    compared_with: str | None
    library: tuple[str, str] | None
    verdict: Verdict
    why: str
    facts: int = 0
    broken: tuple[str, ...] = ()
    right: bool | None = None
    reports: tuple[str, ...] = ()
    claimed: bool = True
    seconds: float = 0.0


class CheckDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """All runs, in the order of the plan. ``reused``: taken from an equal check that ran before.

    ``revision``: the one that was asked about. A four-way proof adds the rows of the pin behind it.
    """

    schema_: Literal["lloyal-track/check/1"] = "lloyal-track/check/1"
    verdict: Verdict
    revision: str
    seconds: float
    rows: tuple[CheckRow, ...]
    reused: bool = False
    instruments: tuple[Instrument, ...] = ()
