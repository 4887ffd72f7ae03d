"""``lloyal-track soak``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracker.cli.session import finish, session
from tracker.errors import EnvironmentFault, UsageError

if TYPE_CHECKING:
    from tracker.evidence.soak import SoakDocument, SoakRun

EPILOG = """Examples:

`lloyal-track soak --turns 500`: 500 turns on a tiny model, without and with the patches.

`lloyal-track soak --minutes 30 --server --variant patched`: half an hour through llama-server.
"""

_DEFAULT_TURNS = 100


def soak(
    context: typer.Context,
    rev: Annotated[
        str | None, typer.Argument(metavar="REV", help="The revision; default: the pin.")
    ] = None,
    turns: Annotated[
        int | None, typer.Option("--turns", min=1, help="Text and image turns; default 100.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0.01, help="End each session after so long.")
    ] = None,
    server: Annotated[
        bool, typer.Option("--server", help="Through llama-server, as a chat program talks to it.")
    ] = False,
    n_ubatch: Annotated[
        list[int] | None,
        typer.Option("--n-ubatch", min=1, help="Repeat for more; default: those of the check."),
    ] = None,
    variant: Annotated[
        Literal["baseline", "patched"] | None,
        typer.Option("--variant", help="Only without, or only with, the patch series."),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", metavar="NAME", help="Default: check, or server with --server."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", exists=True, help="A real model; default: a tiny one.")
    ] = None,
    mmproj: Annotated[
        Path | None, typer.Option("--mmproj", exists=True, help="Its projector.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Does a long session of text and images survive, grow, or crash?

    And on what kind of machine?

    Baseline and patched, one session after another. Leave the machine alone meanwhile: whether it
    was idle is part of the answer.
    """
    from tracker.native.models import tiny_model
    from tracker.native.soak import Plan
    from tracker.native.soak import soak as run
    from tracker.statedir import StateDir

    if (model is None) != (mmproj is None):
        raise UsageError("a model needs its projector", next_step="give --model and --mmproj")
    this = session(context)
    config = this.config()
    from tracker.cores import VARIANTS, sources

    variants = (variant,) if variant else VARIANTS
    with this.progress() as progress, sources(config, rev, variants, progress) as found:
        wanted = recipe or ("server" if server else "check")
        built, cores = found.build(wanted, progress)
        if not cores:
            first = built.variants[0]
            raise EnvironmentFault(
                f"no core to run: {first.why or built.verdict}",
                where=first.log,
                next_step=f"look at it: lloyal-track build {rev or ''} --recipe {wanted}",
            )
        work = StateDir(config.state_dir).work / "soak"
        plan = Plan(
            model=model or tiny_model(config.check.models[0], work).path,
            projector=mmproj or tiny_model("projector", work).path,
            turns=turns if turns or minutes else _DEFAULT_TURNS,
            seconds=minutes * 60 if minutes else None,
            n_ubatch=tuple(n_ubatch or config.check.n_ubatch),
            way="server" if server else "process",
        )
        document = run(cores, plan, revision=found.revision.commit, work=work, progress=progress)
    finish(document, json=json, show=lambda: _text(document))


def _text(document: SoakDocument) -> str:
    lines = []
    for run in document.runs:
        lines += _run(run)
    return "\n".join(lines)


def _run(run: SoakRun) -> list[str]:
    wanted = f" of {run.turns_wanted}" if run.turns_wanted else ""
    lines = [
        f"{run.verdict:<9} {run.variant:<9} n_ubatch {run.n_ubatch:<5} {run.hypothesis}: {run.why}",
        f"{'':<10}{run.turns}{wanted} turns, {run.images} with an image, in {run.seconds:.0f} s; "
        f"{run.warnings} warnings ({run.storm})",
    ]
    if run.samples:
        first, last = run.samples[0], run.samples[-1]
        lines.append(
            f"{'':<10}memory {first.rss:.0f} -> {last.rss:.0f} MiB, "
            f"{last.free:.0f} MiB free on the machine, load {last.load:.1f}"
        )
    if run.crash:
        lines.append(f"{'':<10}crash: {run.crash.what}")
        lines += [f"{'':<12}{frame}" for frame in run.crash.frames]
        lines += [f"{'':<12}{line}" for line in run.last_warnings]
    lines += [
        f"{'':<10}failure: {failure.what} ({failure.count} times)" for failure in run.failures
    ]
    lines.append(f"{'':<10}log: {run.log}")
    return lines
