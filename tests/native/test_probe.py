"""However the check program ends, each run has one answer, and it is that run's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.support.check_program import core, pids, program, subject
from tracker.errors import EnvironmentFault
from tracker.native.core import Compiler
from tracker.native.probe import Limits, NotCompiled, Program, Ran, compile_probe, run_probe
from tracker.native.store import Store

# Only runs that never end wait for the short one; it must be long enough to start a program in.
PATIENT, SHORT = Limits(60.0, 0), Limits(3.0, 0)
ENDLESS = ("hang", "flood", "deaf", "hangs-on-arrival")


def ran(folder: Path, *scenarios: str, memory_mib: int = 0) -> tuple[Ran, ...]:
    limits = SHORT if set(scenarios) & {*ENDLESS} else replace(PATIENT, memory_mib=memory_mib)
    return run_probe(program(folder), subject(folder, *scenarios), folder / "out", limits)


def names(results: tuple[Ran, ...]) -> list[str | None]:
    """The scenario that each answer belongs to, None where there is none."""
    return [one.said.scenario if one.said else None for one in results]


def test_each_run_has_its_own_answer_in_order(tmp_path: Path) -> None:
    """One process does them all; lines that the core prints between are no answers."""
    results = ran(tmp_path, "a", "chatty", "c")
    assert names(results) == ["a", "chatty", "c"]
    assert [one.code for one in results] == [0, 0, 0]
    assert len(pids(tmp_path)) == 1


@pytest.mark.parametrize(
    ("scenario", "code", "words"),
    [
        ("signal", -11, "GGML_ASSERT(cell.pos >= 0) failed"),
        ("status", 3, ""),
        ("leaves", 0, ""),
        ("hang", None, "ended by us after 3 s"),
        ("flood", None, "ended by us after 3 s"),
        ("deaf", None, "ended by us after 3 s"),
        ("malformed", 0, "its result cannot be read"),
        ("without-facts", 0, "its result cannot be read"),
        ("other-number", 0, "its result cannot be read"),
        ("address", -6, "AddressSanitizer: heap-use-after-free b.cpp:3 in seq_rm"),
    ],
)
def test_a_run_that_ends_badly_costs_no_other_its_answer(
    tmp_path: Path, scenario: str, code: int | None, words: str
) -> None:
    """The runs before and behind keep theirs; how it ended is its answer; no child is left."""
    results = ran(tmp_path, "a", scenario, "c")
    assert names(results) == ["a", None, "c"]
    assert (results[1].code, results[1].last_words) == (code, words)
    assert not any(psutil.pid_exists(pid) for pid in pids(tmp_path))


def test_a_bad_end_of_the_last_run_is_an_answer_too(tmp_path: Path) -> None:
    """Nothing follows that could show that it is missing."""
    for scenario in ("signal", "malformed", "other-number", "leaves"):
        assert names(ran(tmp_path, "a", scenario)) == ["a", None]


@pytest.mark.parametrize(
    ("scenario", "code", "words"),
    [
        ("dead-on-arrival", 9, "cannot load the model"),
        ("hangs-on-arrival", None, "ended by us after 3 s"),
    ],
)
def test_a_program_that_never_begins_is_started_once(
    tmp_path: Path, scenario: str, code: int | None, words: str
) -> None:
    """It would end the same way for each run: told once for all, not once a time limit each."""
    results = ran(tmp_path, "a", "b", scenario)
    assert results == (Ran(None, code, words),) * 3
    assert len(pids(tmp_path)) == 1


def test_a_report_belongs_to_the_run_that_gave_it(tmp_path: Path) -> None:
    """UBSan goes on: the run has a result and a report, its neighbours have none."""
    results = ran(tmp_path, "a", "undefined", "c", "address")
    assert [one.reports for one in results] == [
        (),
        ("a.cpp:7:9: runtime error: shift exponent 40",),
        (),
        ("AddressSanitizer: heap-use-after-free b.cpp:3 in seq_rm",),
    ]
    assert names(results) == ["a", "undefined", "c", None]


def test_the_memory_limit_reaches_the_program(tmp_path: Path) -> None:
    """0 leaves the option out: a sanitizer needs all addresses."""
    for mib, there in ((512, True), (0, False)):
        (result,) = ran(tmp_path, "a", memory_mib=mib)
        assert result.said is not None
        assert ("'--memory-mib': '512'" in result.said.library) is there


def test_every_end_is_counted_once(tmp_path: Path) -> None:
    """What the progress shows adds up, crash or not."""
    count = 0

    def one_more() -> None:
        nonlocal count
        count += 1

    wanted = subject(tmp_path, "a", "signal", "c", "malformed")
    run_probe(program(tmp_path), wanted, tmp_path / "out", PATIENT, one_more)
    assert count == 4


def compiler(folder: Path, script: str) -> Compiler:
    """A compiler that counts its calls and does what ``script`` says."""
    path = folder / "c++"
    path.write_text(f'#!/bin/sh\necho "$@" >> "{folder}/calls"\n{script}\n')
    path.chmod(0o755)
    return Compiler(path, path, "none", "none")


_MAKES = 'while [ "$1" != -o ]; do shift; done; echo made > "$2"'


def calls(folder: Path) -> int:
    return len((folder / "calls").read_text().splitlines())


def test_a_program_is_compiled_once_a_core(tmp_path: Path) -> None:
    """One that was damaged is made anew; another core, place or other flags: another program."""
    made = compiler(tmp_path, _MAKES)
    out = Store(tmp_path / "programs", limit_gib=1)
    first = compile_probe(core(tmp_path, compiler=made), out)
    assert isinstance(first, Program)
    assert first.path.read_text() == "made\n"
    before = calls(tmp_path)
    assert compile_probe(core(tmp_path, compiler=made), out) == first
    assert calls(tmp_path) == before
    first.path.write_text("damaged")
    assert compile_probe(core(tmp_path, compiler=made), out) == first
    assert first.path.read_text() == "made\n"
    others = (
        core(tmp_path, compiler=made, key="other"),
        core(tmp_path, content=b"another", compiler=made),
        core(tmp_path, compiler=made, cxx_flags=("-O2",)),
        core(tmp_path, compiler=made, build_dir=tmp_path / "elsewhere"),
    )
    paths = {first.path}
    for other in others:
        found = compile_probe(other, out)
        assert isinstance(found, Program)
        paths.add(found.path)
    assert len(paths) == 5


def test_a_core_that_the_program_does_not_fit_is_a_value(tmp_path: Path) -> None:
    """The compiler's first errors, and nothing left behind that a later run would take."""
    made = compiler(tmp_path, "echo note; echo 'a.cpp:1: error: no member named find_slot'; exit 1")
    out = Store(tmp_path / "programs", limit_gib=1)
    for _ in range(2):
        found = compile_probe(core(tmp_path, compiler=made), out)
        assert isinstance(found, NotCompiled)
        assert found.lines[0] == "a.cpp:1: error: no member named find_slot"
    assert out.manifests() == []


def test_a_compiler_that_is_gone_cannot_go_on(tmp_path: Path) -> None:
    """It is no fault of the revision, so it is no value."""
    gone = Compiler(tmp_path / "gone", tmp_path / "gone", "none", "none")
    with pytest.raises(EnvironmentFault, match="cannot start the compiler"):
        compile_probe(core(tmp_path, compiler=gone), Store(tmp_path, limit_gib=1))
