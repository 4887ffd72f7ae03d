"""The checklist document: a bump document without the stages behind it."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.bump import Provenance
from tracker.evidence.item import Item, TrackerLine
from tracker.evidence.pins import PinMove
from tracker.evidence.revision import Revision
from tracker.evidence.verdict import Verdict


class ChecklistDocument(
    Value, frozen=True, kw_only=True, rename={"from_": "from", "schema_": "schema"}
):
    """What was judged, and what forbids. ``lines``: the tracker's own list, answered by items."""

    schema_: Literal["lloyal-track/checklist/1"] = "lloyal-track/checklist/1"
    verdict: Verdict
    summary: str
    from_: Revision
    to: Revision
    items: tuple[Item, ...]
    lines: tuple[TrackerLine, ...]
    pin: PinMove
    provenance: Provenance
    started_at: str
