"""The soak document: long text and image sessions, and which hypothesis they support."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.build import Variant
from tracker.evidence.log import Crash, Failure
from tracker.evidence.verdict import Verdict


class Hypothesis(StrEnum):
    """What the evidence of one session supports."""

    SURVIVES = "survives"
    GROWS = "grows-with-turns"
    PRESSURE = "machine-under-pressure"
    CRASHES_IDLE = "crashes-on-idle-machine"
    FAILS = "fails-without-crash"
    STICKY = "backend-error-state"
    INCONCLUSIVE = "inconclusive"


class SoakSample(Value, frozen=True, kw_only=True):
    """One look at process and machine, ``at_s`` after the start, while ``turn`` was running.

    Memory in MiB: ``rss`` resident in the process, ``free`` available on the machine, ``swap`` used
    on it. ``load``: 1-minute average over processors. ``major_faults`` and ``minor_faults``: of the
    process, since its start. ``stalled``: share of time in which something waited for memory (Linux
    PSI, "some" avg10, in percent). None: this system does not tell.
    """

    at_s: float
    turn: int
    rss: float
    free: float
    swap: float
    load: float
    major_faults: int | None
    minor_faults: int | None
    stalled: float | None


class SoakRun(Value, frozen=True, kw_only=True):
    """One session.

    ``way``: in one process through the public API, or through llama-server over loopback HTTP.
    ``turns``: that ended well, of ``turns_wanted`` (None: as many as the time gave). ``code``:
    status of the process, negative for a signal, None if we ended it. ``growth_kib``: resident
    memory per turn after the first quarter, None if there is too little to tell. ``samples``: at
    most a few hundred, evenly spaced. ``last_warnings``: lines before the end.
    """

    variant: Variant
    way: Literal["process", "server"]
    n_ubatch: int
    verdict: Verdict
    hypothesis: Hypothesis
    why: str
    turns: int
    turns_wanted: int | None
    images: int
    seconds: float
    code: int | None
    signal: str | None
    warnings: int
    storm: Literal["none", "benign", "unexplained"]
    crash: Crash | None
    failures: tuple[Failure, ...]
    growth_kib: float | None
    log: str
    last_warnings: tuple[str, ...]
    samples: tuple[SoakSample, ...]


class SoakDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """All sessions of one revision; ``summary``: baseline and patched side by side."""

    schema_: Literal["lloyal-track/soak/1"] = "lloyal-track/soak/1"
    verdict: Verdict
    revision: str
    summary: str
    runs: tuple[SoakRun, ...]
