"""What a command prints with ``--json`` when it cannot go on."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value


class ErrorDocument(
    Value, frozen=True, kw_only=True, rename={"schema_": "schema", "next_": "next"}
):
    """``what`` failed, ``where``, what to do ``next``, and the process status ``exit``."""

    schema_: Literal["lloyal-track/error/1"] = "lloyal-track/error/1"
    verdict: Literal["error"] = "error"
    what: str
    where: str
    next_: str
    exit: int
