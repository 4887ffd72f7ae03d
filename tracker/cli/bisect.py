"""``lloyal-track bisect``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracker.cli.series_options import Json, SeriesFolder, Upstream, opened
from tracker.cli.session import finish, session
from tracker.cli.sweep import Range, ends
from tracker.cli.watch import watched
from tracker.errors import UsageError

if TYPE_CHECKING:
    from tracker.evidence.sweep import BisectDocument

EPILOG = """Examples:

`lloyal-track bisect b9581..master --until rebase`: the first revision where a patch is not clean.

`lloyal-track bisect b9581..master --until routing`: the first where a memory class differs.

`lloyal-track bisect b9581..master --until check`: the first whose core behaves otherwise.
"""


def bisect(
    context: typer.Context,
    revisions: Range,
    until: Annotated[
        Literal["rebase", "region", "routing", "build", "check"],
        typer.Option("--until", help="Whose answer must change."),
    ] = "rebase",
    series: SeriesFolder = None,
    upstream: Upstream = None,
    json: Json = False,
) -> None:
    """The first revision of a range where an answer changes.

    It costs the logarithm of the range: of builds too, with --until build or check.
    """
    from tracker import series as room

    start, end = ends(revisions)
    this = session(context)
    if until in ("region", "routing"):
        found = watched(this, until, start, end, upstream)
        finish(found, json=json, show=lambda: text(found))
    if until in ("build", "check"):
        if series is not None or upstream is not None:
            raise UsageError(
                f"--until {until} builds the configured series on the configured upstream",
                next_step="leave --series and --upstream out, or name another --config",
            )
        from tracker import bisecting

        with this.progress() as progress:
            document = bisecting.bisect(this.config(), until, start, end, progress)
        finish(document, json=json, show=lambda: text(document))
    with this.progress() as progress, opened(this, series, upstream) as bench:
        progress.stage("bisect")
        document = room.bisect(
            bench.repository,
            bench.series,
            from_=bench.commit(start),
            to=bench.commit(end),
            quarantine=bench.quarantine,
            progress=progress,
        )
    finish(document, json=json, show=lambda: text(document))


def text(document: BisectDocument) -> str:
    """The document for people."""
    from tracker.markup import plain

    lines = [f"{document.revisions} revisions, {document.tried} judged"]
    if document.commit is None:
        lines.append(f"at {document.from_[:12]}: {plain(document.before)}")
        lines.append(f"at {document.to[:12]}: {plain(document.after)}")
        return "\n".join(lines)
    commit = document.commit
    who = "unknown (snapshots)" if isinstance(commit, str) else f"{commit.commit} {commit.subject}"
    lines += [
        f"first: {plain(who)}",
        f"before: {plain(document.before)} (at {(document.last_before or '')[:12]})",
        f"after: {plain(document.after)} (at {(document.first or '')[:12]})",
    ]
    return "\n".join(lines)
