"""Pins: what each file says, whether they agree, and moving all of them, last and once.

The only room that writes files of the user's. It is called after the evidence is kept and only when
no item forbids the move.
"""

from __future__ import annotations

from tracker.pins.moving import abort, move_pins, preview, refuse_open_operation, resume
from tracker.pins.reading import pinned_revision, read_pins, read_pins_offline

__all__ = [
    "abort",
    "move_pins",
    "pinned_revision",
    "preview",
    "read_pins",
    "read_pins_offline",
    "refuse_open_operation",
    "resume",
]
