"""``lloyal-track part``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tracker.cli.session import finish, session

EPILOG = """Examples:

`lloyal-track part ID --plan plan.json -o parts/ID.json`: an ID that the plan names.
"""


def part(
    context: typer.Context,
    part_id: Annotated[str, typer.Argument(metavar="ID", help="A part of the plan.")],
    plan: Annotated[Path, typer.Option("--plan", metavar="FILE", help="The plan.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write it there.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Run one part of a plan on this machine.

    It finds what a bump to that revision would find.
    """
    from tracker import report
    from tracker.evidence.base import to_json
    from tracker.parts.merging import read_plan
    from tracker.parts.running import run_part
    from tracker.statedir import write_whole

    this = session(context)
    with this.progress() as progress:
        document = run_part(
            this.config(),
            read_plan(plan),
            part_id,
            command=shlex.join(["lloyal-track", *sys.argv[1:]]),
            progress=progress,
        )
    if output is not None:
        write_whole(output, to_json(document))
    finish(document, json=json, show=lambda: report.terminal(document.bump), styled=True)
