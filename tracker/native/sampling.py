"""Looks at a process and the machine it runs on; the only file of this room that asks for both."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tracker.evidence.soak import SoakSample

if TYPE_CHECKING:
    import psutil

_MIB = 1 << 20
_MOST = 400
_PRESSURE = Path("/proc/pressure/memory")


class Sampler:
    """Takes samples of the process ``pid`` and keeps at most a few hundred, evenly spaced."""

    def __init__(self, pid: int, started: float, *, every_s: float) -> None:
        """``started``: on the clock that ``look`` is told the time of."""
        self._pid = pid
        self._started = started
        self._every_s = every_s
        self._next = started
        self._samples: list[SoakSample] = []

    def look(self, now: float, turn: int) -> None:
        """Take a sample if one is due; nothing once the process is gone."""
        import psutil

        if now < self._next:
            return
        self._next = now + self._every_s
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            self._samples.append(_sample(psutil.Process(self._pid), now - self._started, turn))
        if len(self._samples) >= _MOST:
            del self._samples[1::2]
            self._every_s *= 2

    @property
    def samples(self) -> tuple[SoakSample, ...]:
        return tuple(self._samples)


def _sample(process: psutil.Process, at_s: float, turn: int) -> SoakSample:
    import psutil

    with process.oneshot():
        rss = process.memory_info().rss
        major, minor = _faults(process)
    return SoakSample(
        at_s=round(at_s, 3),
        turn=turn,
        rss=round(rss / _MIB, 2),
        free=round(psutil.virtual_memory().available / _MIB, 1),
        swap=round(psutil.swap_memory().used / _MIB, 1),
        load=round(os.getloadavg()[0], 2),
        major_faults=major,
        minor_faults=minor,
        stalled=_stalled(),
    )


def _faults(process: psutil.Process) -> tuple[int | None, int | None]:
    """Major and minor page faults: fields 12 and 10 of proc_pid_stat(5), or what macOS has."""
    try:
        text = Path(f"/proc/{process.pid}/stat").read_text()
    except OSError:
        info = process.memory_info()
        return getattr(info, "pageins", None), getattr(info, "pfaults", None)
    # The name stands in parentheses and may hold anything, so count from behind it.
    fields = text.rpartition(")")[2].split()
    return int(fields[9]), int(fields[7])


def _stalled() -> float | None:
    try:
        found = re.search(r"some avg10=([\d.]+)", _PRESSURE.read_text())
    except OSError:
        return None
    return float(found[1]) if found else None
