"""``lloyal-track log``."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.session import finish, session
from tracker.errors import EnvironmentFault, UsageError

if TYPE_CHECKING:
    from tracker.config import Config
    from tracker.evidence.log import ImageGeometry, LogDocument, SequenceWarnings

EPILOG = """Examples:

`lloyal-track log server.log`: also gzip and UTF-16.

`journalctl -u llama | lloyal-track log -`: what stands in the journal.
"""

_IMAGES_SHOWN = 5
# Where the warning stood over the years; the watched regions may name further files.
_SOURCES = (
    "src/llama-memory-recurrent.cpp",
    "src/llama-kv-cache-recurrent.cpp",
    "src/llama-kv-cache.cpp",
    "src/llama.cpp",
    "llama.cpp",
)


def log(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="The log, or - for stdin.")],
    rev: Annotated[
        str | None,
        typer.Option(
            "--rev",
            metavar="REV",
            help="The revision that wrote it: does its source still have the warning?",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """What does this log say: warnings, images, crashes, failures?

    Reads any log of a program that uses llama.cpp, of any size; also UTF-16 and gzip.
    """
    from tracker.native.logs import read_log

    this = session(context)
    in_source = _in_source(this.config(), rev) if rev else None
    try:
        with this.progress() as progress, _opened(file) as stream:
            progress.stage("log")
            document = read_log(stream, file, in_source=in_source, progress=progress)
    except EOFError:
        raise UsageError(
            "the compressed log ends too early",
            where=file,
            next_step="unpack what is there: gzip -cd FILE | lloyal-track log -",
        ) from None
    except (FileNotFoundError, IsADirectoryError) as fault:
        raise UsageError(f"no such log: {fault.strerror}", where=file) from None
    except OSError as fault:
        raise EnvironmentFault(f"cannot read the log: {fault}", where=file) from None
    finish(document, json=json, show=lambda: _text(document))


def _opened(file: str) -> io.BufferedReader:
    if file == "-":
        return open(sys.stdin.fileno(), "rb", closefd=False)
    return Path(file).open("rb")


def _in_source(config: Config, rev: str) -> bool:
    """Whether the source of ``rev`` holds the words of the warning."""
    from tracker import upstream
    from tracker.native.logs import PHRASE

    watched = [region.selector.partition("::")[0] for region in config.watch.regions]
    with upstream.open_repository(config) as repository:
        commit = upstream.resolve(repository, rev, config).commit
        texts = (
            repository.read_path(commit, path) for path in dict.fromkeys([*watched, *_SOURCES])
        )
        return any(PHRASE in text for text in texts if text is not None)


def _text(document: LogDocument) -> str:
    lines = [f"{document.verdict}: {document.why}"]
    lines += [f"  note      {note}" for note in document.notes]
    for crash in document.crashes:
        where = f" at {crash.file}:{crash.source_line}" if crash.file else ""
        lines.append(f"  crash     line {crash.line}: {crash.what}{where}")
        lines += [f"            {frame}" for frame in crash.frames]
    lines += [
        f"  failure   line {failure.line}: {failure.what} ({failure.count} times)"
        for failure in document.failures
    ]
    for sequence in document.sequences:
        lines += _sequence(sequence)
    if document.images_processed or document.images_started:
        lines.append(
            f"  images    {document.images_started} begun, {document.images_processed} processed"
        )
    lines += [f"  version   {version}" for version in document.versions]
    lines.append(f"  read      {document.lines} lines, {document.size} bytes")
    return "\n".join(lines)


def _sequence(found: SequenceWarnings) -> list[str]:
    lines = [
        f"  sequence  {found.sequence}: {found.warnings} warnings "
        f"(step {found.step}, repeat {found.repeat}, jump {found.jump}, back {found.back}; "
        f"unexplained {found.unexplained})"
    ]
    lines += [f"    image   {_image(image)}" for image in found.images[:_IMAGES_SHOWN]]
    more = len(found.images) - _IMAGES_SHOWN + found.images_left_out
    if more > 0:
        lines.append(f"    image   and {more} other kinds")
    return lines


def _image(image: ImageGeometry) -> str:
    if image.rows is None:
        rows = "rows not told"
    else:
        rows = f"{'' if image.exact else 'at least '}{image.rows} rows"
    parts = [f"{image.count} x {rows}", f"base {image.base}"]
    if image.extent is not None:
        parts.append(f"text resumes at {image.resume}, so max(nx, ny) = {image.extent}")
    else:
        parts.append("where text resumes is not in the log")
    if image.grids:
        parts.append("grid " + " or ".join(f"{nx}x{ny}" for nx, ny in image.grids))
    if image.n_ubatch is not None:
        parts.append(f"longest ubatch {image.n_ubatch}")
    if image.contradiction:
        parts.append(f"CONTRADICTION: {image.contradiction}")
    return ", ".join(parts)
