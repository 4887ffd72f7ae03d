"""One question for many machines: the plan, each machine's part, and the parts put together."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.bump import BumpDocument
from tracker.evidence.verdict import Verdict


class Part(Value, frozen=True, kw_only=True):
    """One job's work: what a bump to ``revision`` would find.

    ``id``: of letters, digits, dots and dashes; names the artifact. ``revision``: full commit id;
    ``name``: what a reader knows it by. ``recipe``: of the configuration; it names the backends.
    ``n_ubatch``: of the check. ``patches``: only these, with those they require; empty: the whole
    series. ``runner``: label of the machine.
    """

    id: str
    revision: str
    name: str
    recipe: str
    n_ubatch: tuple[int, ...]
    patches: tuple[str, ...]
    runner: str


class PlanDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """``inputs``: digest of configuration, patches, pin and tool.

    ``parts``: of one kind of machine together, revisions oldest first.
    """

    schema_: Literal["lloyal-track/plan/1"] = "lloyal-track/plan/1"
    verdict: Verdict
    inputs: str
    parts: tuple[Part, ...]


class PartDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """What one machine found. ``inputs``: as in the plan that it worked for."""

    schema_: Literal["lloyal-track/part/1"] = "lloyal-track/part/1"
    verdict: Verdict
    inputs: str
    part: Part
    bump: BumpDocument


class Answer(Value, frozen=True, kw_only=True):
    """A part in short. ``forbidden_by``: item ids."""

    part: Part
    verdict: Verdict
    summary: str
    forbidden_by: tuple[str, ...]


class RefusedPart(Value, frozen=True, kw_only=True):
    """A file that was not believed, and why."""

    file: str
    why: str


class ItemChange(Value, frozen=True, kw_only=True, rename={"from_": "from"}):
    """Between two revisions of the plan the status of an item changed, on one kind of machine.

    ``between``: how many revisions of the plan lie between the two, unanswered.
    """

    item: str
    recipe: str
    patches: tuple[str, ...]
    from_: str
    to: str
    before: str
    after: str
    between: int


class MergeDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """All parts together, in the plan's order. ``missing``: ids of parts that nobody answered."""

    schema_: Literal["lloyal-track/merge/1"] = "lloyal-track/merge/1"
    verdict: Verdict
    inputs: str
    answers: tuple[Answer, ...]
    missing: tuple[str, ...]
    refused: tuple[RefusedPart, ...]
    changes: tuple[ItemChange, ...]
