"""``lloyal-track plan``."""

from __future__ import annotations

import json as _json
from pathlib import Path
from typing import Annotated

import typer

from tracker.cli.session import finish, session

EPILOG = """Examples:

`lloyal-track plan b10400..master --every 10 -o plan.json`

`lloyal-track plan master --recipe check --recipe metal --n-ubatch 512 --n-ubatch 1024 -o plan.json`

In a workflow the matrix is written to the step's outputs: `matrix`.
"""


def plan(
    context: typer.Context,
    revs: Annotated[list[str], typer.Argument(metavar="REV", help="Revisions, or ranges A..B.")],
    every: Annotated[
        int, typer.Option("--every", min=1, help="Of a range, every N-th commit and its end.")
    ] = 1,
    recipe: Annotated[
        list[str] | None,
        typer.Option("--recipe", metavar="NAME", help="A recipe of the configuration; repeat."),
    ] = None,
    n_ubatch: Annotated[
        list[int] | None,
        typer.Option("--n-ubatch", min=1, help="Each in a part of its own; repeat."),
    ] = None,
    each_patch: Annotated[
        bool, typer.Option("--each-patch", help="Each patch in a part of its own.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the plan there.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Split a question over many machines.

    Revisions x recipes x n_ubatch, or x patches.

    Each machine runs `lloyal-track part`, and `lloyal-track merge` puts the answers together.
    """
    from tracker.cli.runner_files import append
    from tracker.evidence.base import to_json
    from tracker.parts.planning import plan as make
    from tracker.publish.job import output_lines
    from tracker.statedir import write_whole

    this = session(context)
    with this.progress() as progress:
        document = make(
            this.config(),
            revs,
            every=every,
            recipes=recipe or ["check"],
            n_ubatch=n_ubatch or (),
            each_patch=each_patch,
            progress=progress,
        )
    if output is not None:
        write_whole(output, to_json(document))
    # The newest revision of each kind of machine leaves what later runs restore.
    saving = {part.runner: part.id for part in document.parts}
    jobs = [
        {"id": part.id, "runner": part.runner, "saves": part.id == saving[part.runner]}
        for part in document.parts
    ]
    append("GITHUB_OUTPUT", output_lines({"matrix": _json.dumps({"include": jobs})}))
    finish(
        document,
        json=json,
        show=lambda: "\n".join(
            f"{part.id:<48} {part.name:<12} {part.recipe:<10} {part.runner}"
            for part in document.parts
        ),
    )
