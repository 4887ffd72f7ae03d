"""Pins: what each file says, whether they agree, and what moved."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.revision import Revision


class PinRead(Value, frozen=True, kw_only=True):
    """One pin: the places that name the pinned revision.

    ``path``: relative to the configuration. ``lines``: where the value stands in it, 1-based; none
    for a gitlink. ``value``: as written there, None if unreadable. ``commit``: the full id that it
    means, None if this history does not tell. ``why``: why it is unreadable, that it disagrees
    with the others, or that upstream has the commit no more. ``obstacle``: why it could not be
    moved, "" if it could. ``fixed``: it is shown and compared, and no move changes it.
    """

    name: str
    path: str
    kind: str
    value: str | None
    why: str = ""
    commit: str | None = None
    obstacle: str = ""
    lines: tuple[int, ...] = ()
    fixed: bool = False

    @property
    def place(self) -> str:
        """``CMakeLists.txt:12,40``."""
        return f"{self.path}:{','.join(map(str, self.lines))}" if self.lines else self.path

    @property
    def trouble(self) -> str:
        """That it is unreadable or disagrees, with place and value; "" if neither."""
        if self.value is None:
            return f"{self.place} cannot be read: {self.why or 'no value found'}"
        return f"{self.place} says {self.value}, {self.why}" if self.why else ""


class PinChange(Value, frozen=True, kw_only=True):
    """What a move does to one file or gitlink.

    ``path``: relative to the configuration. ``diff``: unified,
    without context, so every line that changes and no other.
    """

    path: str
    diff: str


class PinMove(Value, frozen=True, kw_only=True, rename={"from_": "from"}):
    """The decision and what was done. ``forbidden_by``: item ids, in checklist order.

    ``changes``: what the move changes, or would change if nothing forbade it; none if a pin could
    not be moved.
    """

    outcome: Literal["moved", "would-move", "already-there", "forbidden"]
    from_: Revision
    to: Revision
    forbidden_by: tuple[str, ...]
    pins: tuple[PinRead, ...] = ()
    changes: tuple[PinChange, ...] = ()
