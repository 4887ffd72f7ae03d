"""``lloyal-track sweep``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.series_options import Json, SeriesFolder, Upstream, opened
from tracker.cli.session import finish, session
from tracker.errors import UsageError

if TYPE_CHECKING:
    from tracker.evidence.sweep import SweepDocument

EPILOG = """Examples:

`lloyal-track sweep b9581..master`: where the series breaks, and the furthest clean revision.

`lloyal-track sweep b9581..master --merges`: which commit of a merged branch broke it.
"""

Range = Annotated[
    str, typer.Argument(metavar="A..B", help="The series is written for A; B is newer.")
]


def sweep(
    context: typer.Context,
    revisions: Range,
    series: SeriesFolder = None,
    upstream: Upstream = None,
    merges: Annotated[
        bool,
        typer.Option("--merges", help="Also the commits of merged branches, not only the merges."),
    ] = False,
    json: Json = False,
) -> None:
    """The series on every revision of a range: what broke it, and when.

    And the furthest revision where it is still clean.
    """
    from tracker import series as room

    start, end = ends(revisions)
    this = session(context)
    with this.progress() as progress, opened(this, series, upstream) as bench:
        progress.stage("sweep")
        document = room.sweep(
            bench.repository,
            bench.series,
            from_=bench.commit(start),
            to=bench.commit(end),
            quarantine=bench.quarantine,
            progress=progress,
            merges=merges,
        )
    finish(document, json=json, show=lambda: text(document))


def ends(revisions: str) -> tuple[str, str]:
    """The two revisions of ``A..B``.

    Raises:
        UsageError: it is no range.
    """
    start, dots, end = revisions.partition("..")
    if not start or not dots or not end or end.startswith("."):
        raise UsageError(
            f"{revisions!r} is not a range", next_step="write A..B, the older revision first"
        )
    return start, end


def text(document: SweepDocument) -> str:
    """The document for people."""
    from tracker.markup import plain

    lines = [
        f"{document.from_[:12]}..{document.to[:12]}: {document.revisions} revisions, "
        f"{document.contents} distinct contents, {document.merges} merges"
    ]
    if not document.first_parent:
        lines.append("merged branches included; the furthest pin is on the first-parent line")
    if document.snapshot:
        lines.append("the history is made of snapshots: who changed something is unknown")
    for item in document.breaks:
        commit = item.commit
        who = "unknown" if isinstance(commit, str) else f"{commit.commit[:12]} {commit.subject}"
        change = {True: "  <- the series is no longer clean", False: "  <- clean again"}
        lines.append(f"{item.date[:10]} {item.item.removeprefix('patch:')}")
        lines.append(f"           {item.before} -> {item.after}")
        if item.worse is not None:
            lines[-1] += change[item.worse] if item.worse else ""
        lines.append(f"           {plain(who)}")
    if not document.breaks:
        lines.append("no answer changes over the range")
    far = document.furthest
    if far is None:
        lines.append("furthest clean pin: none, the series is not clean at its start")
    else:
        lines.append(f"furthest clean pin: {far.commit} ({far.index} of {document.revisions})")
    if document.clean_again:
        lines.append(f"clean again at {document.clean_again} later revisions")
    lines.append("drift:")
    lines += [
        f"    {item.touched:>5} touches, {item.contents:>4} contents, {item.answers} answers  "
        f"{item.item.removeprefix('patch:')}"
        for item in document.drift
    ]
    lines.append(f"at {document.to[:12]}: {document.verdict}")
    return "\n".join(lines)
