"""The bump document: all evidence of one run, the items drawn from it, and the decision."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.build import BuildDocument
from tracker.evidence.check import CheckDocument
from tracker.evidence.item import Item, TrackerLine
from tracker.evidence.pins import PinMove
from tracker.evidence.rebase import RebaseDocument
from tracker.evidence.revision import Revision
from tracker.evidence.tickets import TicketsDocument
from tracker.evidence.verdict import Verdict
from tracker.evidence.watch import WatchDocument


class Provenance(Value, frozen=True, kw_only=True):
    """What a reader needs to run it again: tool version, command, host tools, inputs' digests."""

    tool: str
    command: str
    python: str
    git: str
    compiler: str
    series_digest: str
    config_digest: str


class Proof(Value, frozen=True, kw_only=True):
    """The pin's side of a four-way proof; its runs are rows of the check document.

    ``build``: its cores, None if none were tried. ``why``: why its runs are missing, "" if they
    ran.
    """

    revision: str
    build: BuildDocument | None
    why: str


class BumpDocument(Value, frozen=True, kw_only=True, rename={"from_": "from", "schema_": "schema"}):
    """One bump. A stage that did not run is None, and its items say why.

    ``lines``: the tracker's own list (config.checklist.lines), answered by ``items``. ``proof``:
    None unless a four-way proof was asked for.
    """

    schema_: Literal["lloyal-track/bump/1"] = "lloyal-track/bump/1"
    verdict: Verdict
    summary: str
    from_: Revision
    to: Revision
    items: tuple[Item, ...]
    pin: PinMove
    rebase: RebaseDocument | None
    watch: WatchDocument | None
    tickets: TicketsDocument | None
    build: BuildDocument | None
    check: CheckDocument | None
    provenance: Provenance
    started_at: str
    seconds: float
    lines: tuple[TrackerLine, ...] = ()
    proof: Proof | None = None
