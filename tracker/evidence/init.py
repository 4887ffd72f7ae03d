"""What ``init`` found in a project and wrote."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.pins import PinRead
from tracker.evidence.verdict import Verdict


class InitDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """``written``: files, relative. ``patches``: the folder of patches found, None if none is.

    ``verdict`` is ``attention`` if something is left to do: pins disagree, nothing was found, the
    workflow lacks its commit. ``notes`` say what.
    """

    schema_: Literal["lloyal-track/init/1"] = "lloyal-track/init/1"
    verdict: Verdict
    written: tuple[str, ...]
    pins: tuple[PinRead, ...]
    patches: str | None
    notes: tuple[str, ...]
