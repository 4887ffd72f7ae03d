"""Progress on stderr: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from tracker.cli.printed import printed
from tracker.markup import plain
from tracker.progress import SILENT, Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

_PLAIN_EVERY_S = 15.0


@contextmanager
def progress(verbosity: int) -> Iterator[Progress]:
    """The display that fits: nothing for ``verbosity < 0``, else by what stderr is."""
    if verbosity < 0:
        yield SILENT
    elif sys.stderr.isatty():
        with _Live() as live:
            yield live
    else:
        yield _Plain(sys.stderr, _PLAIN_EVERY_S)


class _Plain:
    """One line a stage, and one every ``every_s`` seconds while it lasts: readable in a CI log."""

    def __init__(self, out: TextIO, every_s: float) -> None:
        self._out = out
        self._every_s = every_s
        self._stage = ""
        self._last = 0.0

    def stage(self, name: str) -> None:
        self._stage = name
        self._last = time.monotonic()
        self.say(name)

    def step(self, done: int, total: int | None, text: str) -> None:
        now = time.monotonic()
        if now - self._last < self._every_s:
            return
        self._last = now
        count = f"{done}/{total}" if total else str(done)
        self.say(f"{self._stage}: {count} {text}")

    def say(self, text: str) -> None:
        self._out.write(printed(text.rstrip()) + "\n")
        self._out.flush()


class _Live:
    """Finished stages stay as lines; the running one is a bar with its time."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bars
        from rich.table import Column

        self._bars: Bars = Bars(
            SpinnerColumn(),
            TextColumn("{task.description:<9}", markup=False),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            # Without markup: a name of upstream's with brackets would be one, or an error.
            TextColumn(
                "{task.fields[text]}", markup=False, table_column=Column(no_wrap=True, ratio=1)
            ),
            console=Console(stderr=True),
            transient=True,
            expand=True,
        )
        self._task: TaskID | None = None
        self._name = ""
        self._started = 0.0

    def __enter__(self) -> _Live:
        self._bars.start()
        return self

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        if kind is None:
            self._close()
        self._bars.stop()

    def stage(self, name: str) -> None:
        self._close()
        self._name = name
        self._started = time.monotonic()
        self._task = self._bars.add_task(plain(name), total=None, text="")

    def step(self, done: int, total: int | None, text: str) -> None:
        if self._task is not None:
            self._bars.update(self._task, completed=done, total=total, text=plain(text))

    def say(self, text: str) -> None:
        self._bars.console.print(printed(text), highlight=False, markup=False, soft_wrap=True)

    def _close(self) -> None:
        if self._task is None:
            return
        self._bars.remove_task(self._task)
        self._task = None
        spent = time.monotonic() - self._started
        line = f"{plain(self._name):<9} {spent:6.1f} s"
        self._bars.console.print(line, style="dim", highlight=False, markup=False)
