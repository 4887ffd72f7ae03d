"""Which hypothesis a session's evidence supports. Pure.

The question behind it: did a session die because the machine was short of memory, because the
process grew with every turn, or because it crashes on an idle machine (the class of #27931)? More
than one may look true at once, so each has a stated measure, and what is not measured is not said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tracker.evidence.soak import Hypothesis, SoakSample
from tracker.evidence.verdict import Verdict

# A machine is under pressure when memory is short or being moved about, not when it is merely busy.
_LEAST_FREE_MIB = 256.0
_MOST_SWAPPED_MIB = 64.0
_MOST_STALLED = 10.0
_MOST_MAJOR_FAULTS_PER_S = 200.0
# A leak is growth that goes on: both halves of the later session grow, and it is worth a name.
_LEAST_SAMPLES = 12
_LEAST_TURNS = 12
_LEAST_GROWTH_MIB = 3.0
_LEAST_GROWTH_SHARE = 0.02
_LEAST_SHARE_OF_HALF = 0.2


@dataclass(frozen=True, slots=True)
class Ending:
    """How a session ended. ``crash``: what the log calls it, or "".

    ``code`` None: we ended the process. ``reached``: all that was asked. ``failed_turns``: that did
    not end well. ``sticky``: the log tells of a backend in error state. ``memory_killed``: the
    kernel ended it for want of memory.
    """

    code: int | None
    crash: str
    reached: bool
    failed_turns: int
    sticky: bool
    memory_killed: bool

    @property
    def died(self) -> bool:
        """The process did not end by its own will, or by ours."""
        return bool(self.crash) or self.memory_killed or (self.code is not None and self.code < 0)


Judgement = tuple[Hypothesis, Verdict, str]


def judge(ending: Ending, samples: Sequence[SoakSample], images: int) -> Judgement:
    """The hypothesis, its verdict, and one sentence."""
    pressure = pressure_of(samples)
    if ending.died:
        return _died(ending, samples, pressure)
    if ending.sticky:
        why = "the backend is in an error state that only a new process ends"
        if pressure:
            return Hypothesis.PRESSURE, Verdict.UNKNOWN, f"{why}, and {pressure}"
        return Hypothesis.STICKY, Verdict.FAIL, why
    if ending.failed_turns:
        return Hypothesis.FAILS, Verdict.FAIL, f"{ending.failed_turns} turns failed without a crash"
    if not ending.reached:
        return Hypothesis.INCONCLUSIVE, Verdict.UNKNOWN, "it ended early without saying why"
    return _whole(samples, images)


def _died(ending: Ending, samples: Sequence[SoakSample], pressure: str) -> Judgement:
    how = ending.crash or f"signal {-(ending.code or 0)}"
    if ending.memory_killed or pressure:
        why = f"it died ({how}) while {pressure or 'the kernel was out of memory'}"
        return Hypothesis.PRESSURE, Verdict.UNKNOWN, why
    if not samples:
        why = f"it died ({how}) before the machine was looked at"
        return Hypothesis.INCONCLUSIVE, Verdict.UNKNOWN, why
    last = samples[-1]
    why = f"it died ({how}) with {last.free:.0f} MiB free, no swapping, load {last.load:.1f}"
    return Hypothesis.CRASHES_IDLE, Verdict.FAIL, why


def _whole(samples: Sequence[SoakSample], images: int) -> Judgement:
    """A session that did all its turns."""
    growth = growth_of(samples)
    if not images:
        why = "no image was processed"
    elif growth is None:
        why = "too short to tell growth from warming up"
    elif growth > 0:
        return Hypothesis.GROWS, Verdict.FAIL, f"{growth:.0f} KiB more with every turn"
    else:
        return Hypothesis.SURVIVES, Verdict.OK, "all turns done, memory steady"
    return Hypothesis.INCONCLUSIVE, Verdict.UNKNOWN, why


def pressure_of(samples: Sequence[SoakSample]) -> str:
    """What shows that the machine was short of memory towards the end, or ""."""
    if not samples:
        return ""
    last = samples[-max(3, len(samples) // 10) :]
    free = min(sample.free for sample in last)
    if free < _LEAST_FREE_MIB:
        return f"only {free:.0f} MiB of memory were free"
    swapped = max(sample.swap for sample in last) - samples[0].swap
    if swapped > _MOST_SWAPPED_MIB:
        return f"{swapped:.0f} MiB had been swapped out"
    stalled = max((sample.stalled or 0.0 for sample in last), default=0.0)
    if stalled > _MOST_STALLED:
        return f"memory was waited for in {stalled:.0f}% of the time"
    first, end = last[0], last[-1]
    if first.major_faults is not None and end.major_faults is not None and end.at_s > first.at_s:
        rate = (end.major_faults - first.major_faults) / (end.at_s - first.at_s)
        if rate > _MOST_MAJOR_FAULTS_PER_S:
            return f"{rate:.0f} pages a second came from the disk"
    return ""


def growth_of(samples: Sequence[SoakSample]) -> float | None:
    """KiB of resident memory per turn once warm; 0.0 if it does not go on, None if untellable.

    Of the samples after the first quarter, thirds are compared by their medians: a buffer that is
    allocated once makes a step in one of them, a leak makes a slope through all.
    """
    warm = [sample for sample in samples if sample.turn > samples[-1].turn / 4] if samples else []
    if len(warm) < _LEAST_SAMPLES or warm[-1].turn - warm[0].turn < _LEAST_TURNS:
        return None
    size = len(warm) // 3
    thirds = (warm[:size], warm[size : 2 * size], warm[2 * size :])
    sizes = [median(sample.rss for sample in third) for third in thirds]
    turns = [median(sample.turn for sample in third) for third in thirds]
    total = sizes[2] - sizes[0]
    if turns[2] <= turns[0]:
        return None
    threshold = max(_LEAST_GROWTH_MIB, _LEAST_GROWTH_SHARE * sizes[0])
    halves = (sizes[1] - sizes[0], sizes[2] - sizes[1])
    if total < threshold or min(halves) < _LEAST_SHARE_OF_HALF * total:
        return 0.0
    return round(total * 1024 / (turns[2] - turns[0]), 1)
