"""A fault in the patch set does not get past the check."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.patchset.faults import Fault, faults, unseen
from tests.support.real_cores import real_cores, source_texts
from tracker.evidence.check import CheckRow
from tracker.evidence.verdict import Verdict
from tracker.native.core import BuiltCore
from tracker.native.judge import Digests, row_of
from tracker.native.models import tiny_model
from tracker.native.plan import Subject, runs_of
from tracker.native.probe import Limits, Program, Ran, compile_probe, run_probe
from tracker.native.store import Store

pytestmark = [pytest.mark.native, pytest.mark.archives, pytest.mark.xdist_group("native")]

_SOURCE = "src/llama-memory-recurrent.cpp"
_SEED = 20261201
_FAULTS = 15


@dataclass(frozen=True)
class Bench:
    """A check program into which another text of the patched file can be linked."""

    core: BuiltCore
    program: Program
    subjects: dict[Subject, tuple[Ran, ...]]
    plain: list[str]
    patched: list[str]
    folder: Path

    def program_with(self, text: str, name: str) -> Program | None:
        """The program with its own copy of the file, which goes before the core's; None if it does
        not compile.
        """
        place = self.folder / name
        place.mkdir()
        (place / "fault.cpp").write_text(text)
        compiler = str(self.core.compiler.cxx)
        includes = [f"-I{folder}" for folder in self.core.include_dirs]
        objects = sorted(str(made) for made in self.program.path.parent.glob("*.o"))
        libraries = [str(library.path) for library in self.core.libraries]
        compiled = [
            *(compiler, "-std=c++17", "-O0", "-fPIC", *self.core.cxx_flags, *includes),
            *("-c", "fault.cpp", "-o", "fault.o"),
        ]
        linked = [
            *(compiler, "-rdynamic", *self.core.cxx_flags, *objects, "fault.o", *libraries),
            *(f"-Wl,-rpath,{self.core.build_dir}", "-ldl", "-o", "probe"),
        ]
        for command in (compiled, linked):
            if subprocess.run(command, cwd=place, capture_output=True, check=False).returncode:
                return None
        return replace(self.program, path=place / "probe")

    def seen(self, text: str, name: str, timeout_s: float = 20) -> str:
        """What the check sees go wrong with this text; "" if it sees nothing."""
        program = self.program_with(text, name)
        assert program is not None
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
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("faults")
    cores = real_cores(folder)
    store = Store(folder / "programs", limit_gib=1)
    programs = {variant: compile_probe(core, store) for variant, core in cores.items()}
    plain, patched = (programs["baseline"], programs["patched"])
    assert isinstance(plain, Program)
    assert isinstance(patched, Program)
    subjects = {}
    for arch in ("qwen35", "qwen3next"):
        runs = tuple(run for run in runs_of(arch, (128, 512)) if run.geometry != "mtmd")
        subject = Subject(arch, tiny_model(arch, folder).path, runs)
        subjects[subject] = run_probe(plain, subject, folder / "plain" / arch, Limits())
    texts = source_texts(folder, cores, _SOURCE)
    return Bench(
        cores["patched"],
        patched,
        subjects,
        texts["baseline"].splitlines(keepends=True),
        texts["patched"].splitlines(keepends=True),
        folder,
    )


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
