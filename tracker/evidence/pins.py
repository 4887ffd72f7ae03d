"""Pins: what each file says, whether they agree, and what moved."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.revision import Revision


class PinRead(Value, frozen=True, kw_only=True):
    """One place that names the pinned revision.

    ``value``: as written there, None if unreadable. ``commit``: the full id that it means, None if
    this history does not tell. ``why``: why it is unreadable, or that it disagrees with the first.
    ``obstacle``: why it could not be moved, "" if it could.
    """

    name: str
    path: str
    kind: str
    value: str | None
    why: str = ""
    commit: str | None = None
    obstacle: str = ""


class PinMove(Value, frozen=True, kw_only=True, rename={"from_": "from"}):
    """The decision and what was done. ``forbidden_by``: item ids, in checklist order."""

    outcome: Literal["moved", "would-move", "already-there", "forbidden"]
    from_: Revision
    to: Revision
    forbidden_by: tuple[str, ...]
    pins: tuple[PinRead, ...] = ()
