"""``lloyal-track checklist``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracker.cli.session import finish, session


class Format(StrEnum):
    TERMINAL = "terminal"
    MARKDOWN = "md"
    JSON = "json"
    HTML = "html"


def checklist(
    context: typer.Context,
    format_: Annotated[
        Format, typer.Option("--format", help="A table, Markdown, JSON, or one HTML file.")
    ] = Format.TERMINAL,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write it there instead of stdout."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Show the checklist of the last bump: what passes, what forbids, what waits for a person.

    Nothing is judged again. The exit status is the one that the bump ended with.

    Examples: `lloyal-track checklist`, `lloyal-track checklist --format html -o report.html`
    """
    from tracker import report
    from tracker.cli.last import last_bump
    from tracker.evidence.base import to_json
    from tracker.statedir import StateDir, write_whole

    state = StateDir(session(context).config().state_dir)
    document = last_bump(state.bump)
    wanted = Format.JSON if json else format_
    if wanted is Format.JSON and output is None:
        finish(report.checklist(document), json=True, show=str)

    def show() -> str:
        match wanted:
            case Format.TERMINAL:
                return report.terminal(document)
            case Format.MARKDOWN:
                return report.markdown(document)
            case Format.HTML:
                return report.html(document)
            case Format.JSON:
                return to_json(report.checklist(document)).decode()

    if output is not None:
        write_whole(output, show().encode())
        finish(document, json=False, show=str)
    finish(document, json=False, show=lambda: show().removesuffix("\n"))
