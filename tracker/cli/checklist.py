"""``lloyal-track checklist``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.session import finish, session
from tracker.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from tracker.evidence.history import WatchHistoryDocument
    from tracker.evidence.soak import SoakDocument
    from tracker.evidence.sweep import SweepDocument

EPILOG = """Examples:

`lloyal-track checklist`: the table.

`lloyal-track checklist --format html -o report.html`: the report, one file for a browser.

`lloyal-track checklist --format html --with sweep.json --with soak.json -o report.html`: with the
timeline and the long session.
"""


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
    with_: Annotated[
        list[Path] | None,
        typer.Option(
            "--with",
            metavar="FILE",
            help="Put this `sweep --json`, `watch A..B --json` or `soak --json` into the HTML.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """The last bump's checklist: what passes, forbids, or waits.

    Nothing is judged again. The exit status is the one that the bump ended with.
    """
    from tracker import report
    from tracker.cli.last import last_bump
    from tracker.evidence.base import to_json
    from tracker.statedir import StateDir, write_whole

    state = StateDir(session(context).config().state_dir)
    document = last_bump(state.bump)
    wanted = Format.JSON if json else format_
    if with_ and wanted is not Format.HTML:
        raise UsageError("--with is for the HTML report", next_step="add --format html")
    further = _further(with_ or [])
    if wanted is Format.JSON and output is None:
        finish(report.checklist(document), json=True, show=str)

    def show() -> str:
        match wanted:
            case Format.TERMINAL:
                return report.terminal(document)
            case Format.MARKDOWN:
                return report.markdown(document)
            case Format.HTML:
                return report.html(
                    document, sweep=further.sweep, watched=further.watched, soak=further.soak
                )
            case Format.JSON:
                return to_json(report.checklist(document)).decode()

    if output is not None:
        write_whole(output, show().encode())
        finish(document, json=False, show=str)
    finish(document, json=False, show=lambda: show().removesuffix("\n"), styled=True)


@dataclass(frozen=True, slots=True)
class _Further:
    """Documents of other commands that the page draws as pictures."""

    sweep: SweepDocument | None = None
    watched: WatchHistoryDocument | None = None
    soak: SoakDocument | None = None


def _further(files: list[Path]) -> _Further:
    """Read ``files``; each says in its ``schema`` what it is.

    Raises:
        UsageError: there is no such file, or it is no document that can be drawn.
        ConfigError: it is one, but damaged or written by another version.
    """
    import msgspec

    from tracker.evidence.history import WatchHistoryDocument
    from tracker.evidence.soak import SoakDocument
    from tracker.evidence.sweep import SweepDocument

    class Named(msgspec.Struct):
        schema: str = ""

    found = _Further()
    for file in files:
        try:
            content = file.read_bytes()
        except OSError as fault:
            raise UsageError(f"cannot read it: {fault.strerror}", where=str(file)) from None
        try:
            schema = msgspec.json.decode(content, type=Named).schema
            if schema == "lloyal-track/sweep/1":
                found = replace(found, sweep=msgspec.json.decode(content, type=SweepDocument))
            elif schema == "lloyal-track/watch-history/1":
                watched = msgspec.json.decode(content, type=WatchHistoryDocument)
                found = replace(found, watched=watched)
            elif schema == "lloyal-track/soak/1":
                found = replace(found, soak=msgspec.json.decode(content, type=SoakDocument))
            else:
                raise UsageError(
                    f"a {schema or 'file without a schema'} has no picture",
                    where=str(file),
                    next_step="give the --json output of sweep, watch A..B or soak",
                )
        except msgspec.DecodeError as fault:
            raise ConfigError(f"cannot be read: {fault}", where=str(file)) from None
    return found
