"""``lloyal-track checklist``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.session import finish, session
from tracker.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from tracker.evidence.bump import BumpDocument


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
    from tracker.evidence.base import to_json
    from tracker.statedir import StateDir, write_whole

    state = StateDir(session(context).config().state_dir)
    document = _last(state.bump)
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


def _last(file: Path) -> BumpDocument:
    """The document that the last bump left.

    Raises:
        UsageError: there was none yet.
        ConfigError: the file is damaged, or was written by another version.
    """
    import msgspec

    from tracker.evidence.bump import BumpDocument

    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise UsageError(
            "no evidence yet: no bump was run with this configuration",
            where=str(file),
            next_step="lloyal-track bump --to master --dry-run",
        ) from None
    try:
        return msgspec.json.decode(content, type=BumpDocument)
    except msgspec.DecodeError as fault:
        raise ConfigError(
            f"the stored evidence cannot be read: {fault}",
            where=str(file),
            next_step="make it again: lloyal-track bump --to master --dry-run",
        ) from None
