"""The image-prefill check: plans the runs, has the check program do them, and judges.

    document = check(cores, revision=commit, subjects=tiny_subjects(config.check, models), ...)

A core that the program does not compile against gives rows that say so. Every variant is compiled
against its own headers: a patch may change the layout of a cell.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from uuid import uuid4

from tracker.config import CheckTable
from tracker.errors import ConfigError
from tracker.evidence.build import Variant
from tracker.evidence.check import CheckDocument, CheckRow, Instrument
from tracker.evidence.verdict import Verdict, worst
from tracker.native.core import BuiltCore
from tracker.native.judge import Digests, pairs, row_of
from tracker.native.models import ARCHITECTURES, tiny_model
from tracker.native.plan import ONE_DIMENSIONAL, Subject, chosen, runs_of
from tracker.native.probe import (
    Limits,
    NotCompiled,
    Program,
    Ran,
    compile_probe,
    program_store,
    run_probe,
)
from tracker.native.reports import place_of
from tracker.progress import SILENT, Progress


def tiny_subjects(
    table: CheckTable, models: Path, *, scenario: str | None = None
) -> tuple[Subject, ...]:
    """The configured tiny models and the controls, with their runs; made in ``models`` if missing.

    ``scenario``: only runs of that name; models that have none are left out.

    Raises:
        ConfigError: a model is configured that cannot be made.
    """
    unknown = [arch for arch in table.models if arch not in ARCHITECTURES]
    if unknown:
        raise ConfigError(
            f"no tiny model {unknown[0]!r}; there are: {', '.join(ARCHITECTURES)}",
            where="check.models",
            next_step="name one of these",
        )
    projector = tiny_model("projector", models).path
    subjects = (
        Subject(
            arch,
            tiny_model(arch, models).path,
            chosen(runs_of(arch, table.n_ubatch), scenario),
            None if arch in ONE_DIMENSIONAL else projector,
        )
        for arch in (*table.models, *(a for a in ONE_DIMENSIONAL if a not in table.models))
    )
    return tuple(subject for subject in subjects if subject.runs)


def real_subject(
    table: CheckTable,
    model: Path,
    projector: Path | None,
    picture: Path | None,
    *,
    scenario: str | None = None,
) -> Subject:
    """The same runs on a real model. Without a projector only rows are handed over directly."""
    runs = chosen(runs_of(model.stem, table.n_ubatch), scenario)
    if projector is None:
        runs = tuple(run for run in runs if run.geometry != "mtmd")
    if picture is not None:
        # The picture's own grid decides how often an unpatched core warns.
        runs = tuple(
            replace(run, warns=None) if run.geometry == "mtmd" else run
            for run in runs
            if run.scenario != "parity"
        )
    return Subject(model.stem, model, runs, projector, picture)


def check(
    cores: Mapping[Variant, BuiltCore],
    *,
    revision: str,
    subjects: Sequence[Subject],
    work: Path,
    limits: Limits,
    instruments: Sequence[Instrument] = (),
    progress: Progress = SILENT,
) -> CheckDocument:
    """Every run of every subject on every core; ``work``: a folder of ours.

    ``instruments``: what the cores were built with.

    Raises:
        EnvironmentFault: the compiler cannot be started, or the disk is full.
    """
    started = time.monotonic()
    progress.stage("check")
    with programs_in(cores, work) as (programs, place):
        ran = run_all(programs, subjects, place, limits, progress)
        rows = _rows(ran, cores, subjects, revision)
    return CheckDocument(
        verdict=worst(row.verdict for row in rows),
        revision=revision,
        seconds=round(time.monotonic() - started, 3),
        rows=rows,
        instruments=tuple(instruments),
    )


@contextmanager
def programs_in(
    cores: Mapping[Variant, BuiltCore], work: Path
) -> Iterator[tuple[dict[Variant, Program | NotCompiled], Path]]:
    """The check program for every core, and a folder below ``work`` for what its runs leave; both
    are ours until the end.

    Raises:
        EnvironmentFault: the compiler cannot be started, or the disk is full.
    """
    store = program_store()
    place = work / "runs" / uuid4().hex
    try:
        with ThreadPoolExecutor() as pool:
            compiled = pool.map(lambda core: compile_probe(core, store), cores.values())
            programs = dict(zip(cores, compiled, strict=True))
        yield programs, place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        store.close()


def run_all(
    programs: Mapping[Variant, Program | NotCompiled],
    subjects: Sequence[Subject],
    place: Path,
    limits: Limits,
    progress: Progress,
) -> dict[tuple[Variant, int], tuple[Ran, ...]]:
    """The runs by variant and subject, as many children at once as there are processors."""
    total = len(programs) * sum(len(subject.runs) for subject in subjects)
    done = 0
    lock = Lock()

    def one_more() -> None:
        nonlocal done
        with lock:
            done += 1
            progress.step(done, total, "runs of the check program")

    def runs_of_one(task: tuple[Variant, int]) -> tuple[Ran, ...]:
        variant, index = task
        program, subject = programs[variant], subjects[index]
        if isinstance(program, NotCompiled):
            why = f"the check program does not compile against this core: {program.lines[0]}"
            return tuple(Ran(None, 1, why) for _ in subject.runs)
        return run_probe(program, subject, place / f"{variant}.{index}", limits, one_more)

    tasks = [(variant, index) for index in range(len(subjects)) for variant in programs]
    with ThreadPoolExecutor(max_workers=max(1, os.cpu_count() or 1)) as pool:
        return dict(zip(tasks, pool.map(runs_of_one, tasks), strict=True))


def _rows(
    ran: Mapping[tuple[Variant, int], tuple[Ran, ...]],
    cores: Mapping[Variant, BuiltCore],
    subjects: Sequence[Subject],
    revision: str,
) -> tuple[CheckRow, ...]:
    digests = Digests({})
    rows = []
    for index, subject in enumerate(subjects):
        of_subject = {variant: ran[variant, index] for variant in cores}
        known = frozenset(
            place_of(report) for one in of_subject.get("baseline", ()) for report in one.reports
        )
        for variant, core in cores.items():
            together = zip(subject.runs, pairs(of_subject, variant), strict=True)
            rows += [
                row_of(
                    run,
                    mine,
                    theirs,
                    arch=subject.arch,
                    variant=variant,
                    revision=revision,
                    core=core,
                    digests=digests,
                    known=known,
                )
                for run, (mine, theirs) in together
            ]
    return tuple(rows)


def by_verdict(document: CheckDocument) -> dict[Verdict, int]:
    """How many rows have each verdict; only those that occur."""
    counts: dict[Verdict, int] = {}
    for row in document.rows:
        counts[row.verdict] = counts.get(row.verdict, 0) + 1
    return counts
