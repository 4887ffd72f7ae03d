"""Which hypothesis a session's evidence supports: each is named only for what was measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tracker.evidence.soak import Hypothesis, SoakSample
from tracker.evidence.verdict import Verdict
from tracker.native.hypothesis import Ending, growth_of, judge, pressure_of

WELL = Ending(code=0, crash="", reached=True, failed_turns=0, sticky=False, memory_killed=False)
CRASHED = Ending(
    code=-11, crash="SIGSEGV", reached=False, failed_turns=0, sticky=False, memory_killed=False
)


def session(
    rss: Callable[[int], float] = lambda _: 80.0,
    *,
    turns: int = 100,
    free: float = 8000.0,
    swapped: float = 0.0,
    stalled: float | None = 0.0,
    faults_per_turn: int = 0,
) -> tuple[SoakSample, ...]:
    """One sample a turn and second."""
    return tuple(
        SoakSample(
            at_s=float(turn),
            turn=turn,
            rss=rss(turn),
            free=free,
            swap=swapped * turn / turns,
            load=0.5,
            major_faults=faults_per_turn * turn,
            minor_faults=0,
            stalled=stalled,
        )
        for turn in range(1, turns + 1)
    )


def test_a_steady_session_survives() -> None:
    """All turns, images among them, memory flat."""
    found, verdict, _ = judge(WELL, session(), images=50)
    assert (found, verdict) == (Hypothesis.SURVIVES, Verdict.OK)


def test_a_leak_grows_with_turns() -> None:
    """200 KiB a turn, for as long as it was watched."""
    samples = session(lambda turn: 80 + 0.2 * turn)
    found, verdict, why = judge(WELL, samples, images=50)
    assert (found, verdict) == (Hypothesis.GROWS, Verdict.FAIL)
    assert "205 KiB" in why
    assert growth_of(samples) == pytest.approx(204.8, abs=2)


@pytest.mark.parametrize(
    ("name", "rss"),
    [
        ("warms up, then flat", lambda turn: 80 + min(turn, 20)),
        ("one buffer, late", lambda turn: 80 + (20 if turn > 60 else 0)),
        ("a saw tooth", lambda turn: 80 + turn % 10),
        ("shrinks", lambda turn: 120 - 0.2 * turn),
        ("noise of one MiB", lambda turn: 80 + (turn * 7919 % 10) / 10),
    ],
)
def test_memory_that_does_not_go_on_growing_is_no_leak(
    name: str, rss: Callable[[int], float]
) -> None:
    """A step is a buffer that was allocated once."""
    assert growth_of(session(rss)) == 0.0, name


def test_too_short_a_session_tells_nothing() -> None:
    """Ten turns cannot tell growth from warming up: never a pass."""
    found, verdict, _ = judge(WELL, session(turns=10), images=5)
    assert (found, verdict) == (Hypothesis.INCONCLUSIVE, Verdict.UNKNOWN)
    assert growth_of(()) is None


def test_a_session_without_an_image_proves_nothing() -> None:
    """Text alone never reaches the code in question."""
    assert judge(WELL, session(), images=0)[1] is Verdict.UNKNOWN


def test_a_crash_on_a_machine_with_memory_is_the_cores() -> None:
    """Free memory, no swapping: the machine is no excuse."""
    found, verdict, why = judge(CRASHED, session(), images=9)
    assert (found, verdict) == (Hypothesis.CRASHES_IDLE, Verdict.FAIL)
    assert "SIGSEGV" in why


@pytest.mark.parametrize(
    ("samples", "told"),
    [
        (session(free=100), "100 MiB of memory were free"),
        (session(swapped=500), "swapped out"),
        (session(stalled=40), "waited for in 40%"),
        (session(faults_per_turn=5000), "5000 pages a second"),
    ],
)
def test_a_crash_under_pressure_is_not_laid_at_the_cores_door(
    samples: tuple[SoakSample, ...], told: str
) -> None:
    """Unknown, not fail: the session has to be run again on an idle machine."""
    found, verdict, why = judge(CRASHED, samples, images=9)
    assert (found, verdict) == (Hypothesis.PRESSURE, Verdict.UNKNOWN)
    assert told in why


def test_the_kernels_memory_killer_is_pressure() -> None:
    """SIGKILL that we did not send, whatever the last sample saw."""
    killed = Ending(
        code=-9, crash="", reached=False, failed_turns=0, sticky=False, memory_killed=True
    )
    assert judge(killed, session(), images=9)[0] is Hypothesis.PRESSURE


def test_a_crash_before_any_sample_is_not_attributed() -> None:
    """Nobody looked at the machine."""
    assert judge(CRASHED, (), images=0)[0] is Hypothesis.INCONCLUSIVE


def test_the_sticky_error_state_is_named() -> None:
    """Every decode fails until the process ends; the process itself lives on."""
    sticky = Ending(
        code=3, crash="", reached=False, failed_turns=3, sticky=True, memory_killed=False
    )
    assert judge(sticky, session(), images=9)[:2] == (Hypothesis.STICKY, Verdict.FAIL)
    assert judge(sticky, session(free=90), images=9)[0] is Hypothesis.PRESSURE


def test_failed_turns_are_no_success() -> None:
    """The process lives and answers wrong."""
    failing = Ending(
        code=0, crash="", reached=True, failed_turns=2, sticky=False, memory_killed=False
    )
    assert judge(failing, session(), images=9)[:2] == (Hypothesis.FAILS, Verdict.FAIL)


def test_missing_measures_are_not_zero_pressure_by_accident() -> None:
    """A system without PSI or fault counts is judged by what it has."""
    samples = tuple(
        SoakSample(
            at_s=s.at_s, turn=s.turn, rss=s.rss, free=s.free, swap=s.swap, load=s.load,
            major_faults=None, minor_faults=None, stalled=None,
        )
        for s in session()
    )  # fmt: skip
    assert pressure_of(samples) == ""
    assert judge(CRASHED, samples, images=1)[0] is Hypothesis.CRASHES_IDLE
