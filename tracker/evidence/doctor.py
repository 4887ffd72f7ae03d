"""The doctor document: what this machine has and lacks."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.verdict import Status, Verdict


class Finding(Value, frozen=True, kw_only=True):
    """One thing that was looked at. ``mend``: the step that mends it, "" if it is fine."""

    name: str
    status: Status
    found: str
    mend: str = ""


class DoctorDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """All findings; ``fail`` where the main job cannot run."""

    schema_: Literal["lloyal-track/doctor/1"] = "lloyal-track/doctor/1"
    verdict: Verdict
    findings: tuple[Finding, ...]
