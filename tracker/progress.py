"""How a stage tells that it is alive; imports nothing of ours.

Rooms take a ``Progress`` argument and never print. The command line supplies one that draws on
stderr; tests and library users pass ``SILENT``.
"""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives progress of the stage that runs now."""

    def stage(self, name: str) -> None:
        """A new stage begins, e.g. "rebase"."""

    def step(self, done: int, total: int | None, text: str) -> None:
        """``done`` of ``total`` units are finished (None: unknown); ``text`` says of what."""

    def say(self, text: str) -> None:
        """One line for the reader, now and not only at the end."""


class _Silent:
    def stage(self, name: str) -> None:
        pass

    def step(self, done: int, total: int | None, text: str) -> None:
        pass

    def say(self, text: str) -> None:
        pass


SILENT: Progress = _Silent()
