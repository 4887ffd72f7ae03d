"""``lloyal-track bump``."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracker.cli.session import finish, session
from tracker.errors import UsageError

if TYPE_CHECKING:
    from tracker.evidence.bump import BumpDocument

EPILOG = """Examples:

`lloyal-track bump --to master --dry-run`: decide, move nothing.

`lloyal-track bump --to master --dry-run --proof four-way`: is the patch still needed, still
enough, harmless? Builds and checks the pin too.

`lloyal-track bump --to b10525`: move the pin to that nightly, if the evidence allows it.

`lloyal-track bump --to master --accept region:seq_rm --because "read it: a bounds check"`
"""


def bump(
    context: typer.Context,
    to: Annotated[
        str, typer.Option("--to", metavar="REV", help="Branch, tag, id, `stable` or `nightly`.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Decide, but move nothing and record nothing.")
    ] = False,
    proof: Annotated[
        Literal["target", "four-way"],
        typer.Option("--proof", help="Check the target only, or the pin too, to compare with."),
    ] = "target",
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", metavar="ITEM", help="Accept this item; repeat for more."),
    ] = None,
    because: Annotated[
        list[str] | None,
        typer.Option("--because", metavar="TEXT", help="The reason, one for each --accept."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """May the pin move to REV? Gather the evidence; move it if so."""
    accepted, reasons = accept or [], because or []
    if len(accepted) != len(reasons):
        raise UsageError(
            f"{len(accepted)} --accept but {len(reasons)} --because",
            next_step="give one reason for each accepted item, in the same order",
        )
    from tracker import report
    from tracker.bump import Request
    from tracker.bump import bump as run
    from tracker.report.decisions import Acceptance

    this = session(context)
    request = Request(
        to=to,
        four_way=proof == "four-way",
        dry_run=dry_run,
        acceptances=tuple(
            Acceptance(item=item, because=why) for item, why in zip(accepted, reasons, strict=True)
        ),
        program=this.program,
        command=shlex.join(["lloyal-track", *sys.argv[1:]]),
    )
    with this.progress() as progress:
        document = run(this.config(), request, progress=progress)
    finish(
        document,
        json=json,
        show=lambda: report.terminal(document) + (_changes(document) if dry_run else ""),
        styled=True,
    )


def _changes(document: BumpDocument) -> str:
    """The pin files as the move would leave them: every line that changes."""
    from tracker.markup import code_line

    found = document.pin.changes
    if not found:
        return ""
    count = f"{len(found)} pin file{'s' if len(found) > 1 else ''}"
    lines = [f"What the move would change, in {count}:"]
    lines += [f"  {code_line(line)}" for change in found for line in change.diff.splitlines()]
    return "\n" + "\n".join(lines)
