"""``lloyal-track bump``."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracker.cli.session import finish, session
from tracker.errors import UsageError

if TYPE_CHECKING:
    from tracker.config import Config
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
    config = this.config()
    with this.progress() as progress:
        document = run(config, request, progress=progress)
    finish(
        document,
        json=json,
        show=lambda: (
            report.terminal(document)
            + (_changes(document) if dry_run else "")
            + _following(document, config, this.program)
        ),
        styled=True,
    )


def _following(document: BumpDocument, config: Config, program: str) -> str:
    """Where the report is, and what a person does next; commands as they are typed."""
    from tracker.evidence.rebase import Note
    from tracker.statedir import StateDir

    base = config.base.resolve()
    evidence = Path(os.path.relpath(StateDir(config.state_dir).evidence, Path.cwd()))
    lines = [f"Report: {evidence / 'report.html'} (as Markdown: {evidence / 'checklist.md'})"]
    if document.pin.outcome == "would-move":
        lines.append("Next: the same without --dry-run moves the pin.")
    if document.pin.outcome == "moved":
        changed = {(base / change.path).resolve(): change.path for change in document.pin.changes}
        state = config.state_dir.resolve()
        ours = [path for place, path in changed.items() if not place.is_relative_to(state)]
        # Else `git commit -a` would put the old commit back, which is still checked out.
        steps = [
            shlex.join(["git", *into, "submodule", "update", table.path])
            for table in config.pins
            for into in [["-C", table.repository] if table.repository != "." else []]
            if table.kind == "submodule"
            and (base / table.repository / table.path).resolve() in changed
        ]
        patches = document.rebase.patches if document.rebase else ()
        if any(Note.REFRESH_NEEDED in patch.notes for patch in patches):
            steps.append(f"{program} rebase --onto {document.to.commit[:12]} --write")
            ours.append(os.path.relpath(config.series_dir, base))
        if ours:
            steps.append(f"commit {', '.join(ours)}")
        lines += [f"{'Then' if number else 'Next'}: {step}" for number, step in enumerate(steps)]
    return "\n" + "\n".join(lines)


def _changes(document: BumpDocument) -> str:
    """The pin files as the move would leave them: every line that changes."""
    from tracker.markup import code_line

    found = document.pin.changes
    if not found:
        return ""
    count = f"{len(found)} pin file{'s' if len(found) > 1 else ''}"
    lines = [f"What the move would change, in {count}:"]
    lines += [f"  {code_line(line)}" for change in found for line in change.diff.splitlines()]
    return "\n" + "\n".join(lines) + "\n"
