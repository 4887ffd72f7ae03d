"""A fault in the patch set does not get past the check."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.patchset.faults import Fault, faults, unseen
from tests.support.real_cores import Cores, source_texts
from tracker.evidence.check import CheckRow
from tracker.evidence.verdict import Verdict
from tracker.native.core import BuiltCore
from tracker.native.judge import Digests, row_of
from tracker.native.models import tiny_model
from tracker.native.plan import Subject, runs_of
from tracker.native.probe import Limits, Program, Ran, compile_probe, program_store, run_probe

pytestmark = [pytest.mark.native, pytest.mark.archives, pytest.mark.xdist_group("native")]

_SOURCE = "src/llama-memory-recurrent.cpp"
_SEED = 20261201
_FAULTS = 10


@dataclass(frozen=True)
class Bench:
    """A check program that can be run with another text of the patched file."""

    core: BuiltCore
    program: Program
    subjects: dict[Subject, tuple[Ran, ...]]
    plain: list[str]
    patched: list[str]
    folder: Path

    def program_with(self, text: str, name: str) -> Program:
        """The program with another copy of the file in front of the core's own."""
        place = self.folder / name
        place.mkdir()
        (place / "fault.cpp").write_text(text)
        command = [
            *(str(self.core.compiler.cxx), "-std=c++17", "-O0", "-fPIC", "-shared", "-w"),
            *self.core.cxx_flags,
            *(f"-I{folder}" for folder in self.core.include_dirs),
            *("fault.cpp", "-o", "fault.so"),
        ]
        subprocess.run(command, cwd=place, check=True)
        start = place / "probe"
        start.write_text(f'#!/bin/sh\nLD_PRELOAD={place}/fault.so exec {self.program.path} "$@"\n')
        start.chmod(0o755)
        return replace(self.program, path=start)

    def seen(self, text: str, name: str, timeout_s: float = 20) -> str:
        """What the check sees go wrong with this text; "" if it sees nothing."""
        program = self.program_with(text, name)
        told = (
            f"{row.arch} {row.scenario}: {row.why}"
            for row in self.rows(program, self.folder / name, Limits(timeout_s))
            if row.verdict is Verdict.FAIL
        )
        return next(told, "")

    def rows(self, program: Program, out: Path, limits: Limits) -> Iterator[CheckRow]:
        """One row for each run of each subject, judged as a bump judges it, run as it is asked for:
        a fault that hangs would hang in each of them.
        """
        for subject, baseline in self.subjects.items():
            for run, theirs in zip(subject.runs, baseline, strict=True):
                alone = replace(subject, runs=(run,))
                place = out / f"{subject.arch}-{run.name}"
                (mine,) = run_probe(program, alone, place, limits)
                yield row_of(
                    run,
                    mine,
                    theirs,
                    arch=subject.arch,
                    variant="patched",
                    revision="r",
                    core=self.core,
                    digests=Digests({}),
                )


@pytest.fixture(scope="module")
def bench(
    cores: Cores, core_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("faults")
    store = program_store()
    programs = {variant: compile_probe(core, store) for variant, core in cores.items()}
    plain, patched = (programs["baseline"], programs["patched"])
    assert isinstance(plain, Program)
    assert isinstance(patched, Program)
    subjects = {}
    for arch in ("qwen35", "qwen3next"):
        runs = tuple(run for run in runs_of(arch, (128, 512)) if run.geometry != "mtmd")
        subject = Subject(arch, tiny_model(arch, folder).path, runs)
        subjects[subject] = run_probe(plain, subject, folder / "plain" / arch, Limits())
    texts = source_texts(core_folder, cores, _SOURCE)
    yield Bench(
        cores["patched"],
        patched,
        subjects,
        texts["baseline"].splitlines(keepends=True),
        texts["patched"].splitlines(keepends=True),
        folder,
    )
    store.close()


def test_the_patched_text_itself_passes(bench: Bench) -> None:
    """So whatever is seen below comes from the fault."""
    assert bench.seen("".join(bench.patched), "none", timeout_s=120) == ""


def chosen(bench: Bench) -> list[Fault]:
    """Of the faults that change what the memory does, as many as a test run has time for."""
    known = [fault for fault in faults(bench.plain, bench.patched) if not unseen(fault)]
    return random.Random(_SEED).sample(known, _FAULTS)  # noqa: S311


@pytest.mark.parametrize("number", range(_FAULTS))
def test_a_fault_is_seen(bench: Bench, number: int) -> None:
    """Whatever line it hits."""
    fault = chosen(bench)[number]
    assert bench.seen(fault.applied(bench.patched), f"fault{number}"), str(fault)
