"""``lloyal-track check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.session import finish, session
from tracker.errors import EnvironmentFault, UsageError

if TYPE_CHECKING:
    from tracker.config import CheckTable
    from tracker.evidence.check import CheckDocument, CheckRow, Instrument
    from tracker.evidence.fuzz import FuzzDocument
    from tracker.native.plan import Subject
    from tracker.native.probe import Limits

_SLOWER = 10

EPILOG = """Examples:

`lloyal-track check`: the pinned revision, every scenario.

`lloyal-track check master --scenario image-512`: one scenario on another revision.

`lloyal-track check --fuzz 500 --seed 7`: random operations on the memory, against an oracle.

`lloyal-track check --model M.gguf --mmproj P.gguf --image I.png`: the same on a real model.
"""


def check(
    context: typer.Context,
    rev: Annotated[
        str | None, typer.Argument(metavar="REV", help="The revision; default: the pin.")
    ] = None,
    scenario: Annotated[
        str | None, typer.Option("--scenario", metavar="NAME", help="Only this one.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="FILE", help="A real model (GGUF).")
    ] = None,
    mmproj: Annotated[
        Path | None, typer.Option("--mmproj", metavar="FILE", help="Its vision projector (GGUF).")
    ] = None,
    image: Annotated[
        Path | None,
        typer.Option("--image", metavar="FILE", help="A picture for it: PNG, JPEG, BMP."),
    ] = None,
    fuzz: Annotated[
        int | None,
        typer.Option(
            "--fuzz", metavar="N", min=1, help="Instead: N random sequences of operations."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of --fuzz.")] = 1,
    start: Annotated[
        int, typer.Option("--from", metavar="I", min=0, help="The first sequence of --fuzz.")
    ] = 0,
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Build with asserts; upstream then verifies its cells."),
    ] = False,
    sanitize: Annotated[
        bool,
        typer.Option("--sanitize", help="Build with AddressSanitizer and UBSan; takes minutes."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Does the core behave on an image, without and with the patches?

    Runs every time: a check that a bump kept is not reused.
    """
    if fuzz is not None and (scenario or model):
        raise UsageError(
            "--fuzz has no scenarios and plays on the tiny models",
            next_step="leave --scenario and --model out, or --fuzz",
        )
    model, mmproj, image = _files(model, mmproj, image)
    from tracker.cores import VARIANTS, sources
    from tracker.native.check import check as run
    from tracker.native.claims import with_claims

    this = session(context)
    config = this.config()
    chosen: dict[Instrument, bool] = {"debug": debug, "sanitize": sanitize}
    instruments = tuple(instrument for instrument, wanted in chosen.items() if wanted)
    table = config.check
    with this.progress() as progress, sources(config, rev, VARIANTS, progress) as found:
        work = config.state_dir / "work" / "check"
        subjects = (
            _subjects(table, work / "models", scenario, model, mmproj, image) if not fuzz else ()
        )
        built, cores = found.build("check", progress, instruments)
        if not cores:
            raise EnvironmentFault(
                "nothing was built that could be checked",
                where=built.variants[0].log,
                next_step="see `lloyal-track build` for the compiler's own words",
            )
        limits = _limits(table, instruments)
        name = found.revision.name
        document: CheckDocument | FuzzDocument
        if fuzz is not None:
            from tracker.native.fuzz import fuzz as play

            document = play(
                cores,
                revision=found.revision.commit,
                seed=seed,
                sequences=fuzz,
                first=start,
                work=work,
                limits=limits,
                instruments=instruments,
                progress=progress,
            )
        else:
            document = run(
                cores,
                revision=found.revision.commit,
                subjects=subjects,
                work=work,
                limits=limits,
                instruments=instruments,
                progress=progress,
            )
            document = with_claims(document, found.claimed)
    finish(document, json=json, show=lambda: _shown(document, name))


def _shown(document: CheckDocument | FuzzDocument, name: str) -> str:
    from tracker.cli.fuzz_text import text
    from tracker.evidence.fuzz import FuzzDocument

    return text(document, name) if isinstance(document, FuzzDocument) else _text(document, name)


def _files(*given: Path | None) -> tuple[Path | None, Path | None, Path | None]:
    """Model, projector and picture, absolute: the check program runs in a folder of its own.

    Raises:
        UsageError: a file is missing or is none of its kind, or stands alone.
    """
    for file in given:
        if file is not None and not file.is_file():
            raise UsageError("no such file", where=str(file))
    model, mmproj, image = (file.resolve() if file else None for file in given)
    if model is None and (mmproj or image):
        raise UsageError("--mmproj and --image go with --model", next_step="name the model too")
    if mmproj is None and image:
        raise UsageError("--image goes with --mmproj", next_step="name the projector too")
    for file in (model, mmproj):
        if file is not None and not _is_gguf(file):
            raise UsageError("not a GGUF file", where=str(file))
    return model, mmproj, image


def _is_gguf(file: Path) -> bool:
    with file.open("rb") as content:
        return content.read(4) == b"GGUF"


def _limits(table: CheckTable, instruments: tuple[Instrument, ...]) -> Limits:
    """AddressSanitizer reserves terabytes of addresses, and what it watches is slower."""
    from tracker.native.probe import Limits

    if "sanitize" in instruments:
        return Limits(table.timeout_s * _SLOWER, memory_mib=0)
    return Limits(table.timeout_s, table.memory_mib)


def _subjects(
    table: CheckTable,
    models: Path,
    scenario: str | None,
    model: Path | None,
    mmproj: Path | None,
    image: Path | None,
) -> tuple[Subject, ...]:
    """The models and their runs.

    Raises:
        UsageError: no run has the name ``scenario``.
    """
    from tracker.native.check import real_subject, tiny_subjects

    if model is None:
        found = tiny_subjects(table, models, scenario=scenario)
    else:
        real = real_subject(table, model, mmproj, image, scenario=scenario)
        found = (real,) if real.runs else ()
    if not found:
        raise UsageError(
            "no such scenario",
            where=str(scenario),
            next_step="leave --scenario out to see them all",
        )
    return found


def _text(document: CheckDocument, name: str) -> str:
    """One line for each run of a scenario; both variants side by side."""
    by_run: dict[tuple[str, str], dict[str, CheckRow]] = {}
    for row in document.rows:
        by_run.setdefault((row.arch, row.scenario), {})[row.variant] = row
    lines = [f"{name}: {document.verdict}, {document.seconds:.0f} s", ""]
    for (arch, scenario), rows in by_run.items():
        warned = " -> ".join(str(len(row.warnings)) for row in rows.values())
        wrong = " -> ".join(str(len(row.broken)) for row in rows.values())
        last = rows.get("patched") or next(iter(rows.values()))
        facts = f", {wrong} of {last.facts} facts wrong" if last.facts else ""
        lines.append(f"{last.verdict:<9} {arch:<10} {scenario:<22} {warned} warnings{facts}")
        lines += [f"{'':<10}{row.variant}: {row.why}" for row in rows.values() if row.why]
    reports = dict.fromkeys(report for row in document.rows for report in row.reports)
    if reports:
        lines += ["", "What the sanitizers reported, each once:"]
        lines += [f"  {report}" for report in reports]
    return "\n".join(lines)
