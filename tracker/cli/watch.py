"""``lloyal-track watch``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracker.cli.series_options import Json, Upstream
from tracker.cli.session import Session, finish, session
from tracker.cli.sweep import ends
from tracker.errors import UsageError

if TYPE_CHECKING:
    from tracker.config import Config
    from tracker.evidence.history import BreakPoint, WatchHistoryDocument
    from tracker.evidence.sweep import BisectDocument
    from tracker.evidence.watch import (
        RegionResult,
        RoutingResult,
        Span,
        UpstreamCommit,
        WatchDocument,
    )
    from tracker.git.repository import Repository
    from tracker.watch import Touched

EPILOG = """Examples:

`lloyal-track watch`: from the pin to the configured branch.

`lloyal-track watch --from b9581 --to b10525 --diff`: with the diff of each changed region.

`lloyal-track watch b9581..master`: every commit of the range that changed an answer.
"""
_COMMITS_SHOWN = 10


def watch(
    context: typer.Context,
    revisions: Annotated[
        str | None, typer.Argument(metavar="A..B", help="Judge every revision of this range.")
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="REV", help="Default: the pin.")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="REV", help="Default: the configured branch.")
    ] = None,
    upstream: Upstream = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show the diff of each changed region.")
    ] = False,
    json: Json = False,
) -> None:
    """What did upstream do to the code we depend on?

    And which memory class does each model get?
    """
    from tracker import watch as room

    if revisions is not None and (from_ or to):
        raise UsageError("A..B and --from/--to exclude each other", next_step="give one of them")
    this = session(context)
    config = this.config()
    with this.progress() as progress, _repository(config, upstream) as repository:
        progress.stage("watch")
        if revisions is not None:
            start, end = (_commit(rev, config, repository) for rev in ends(revisions))
            history = room.watch_range(
                repository, config.watch, from_=start, to=end, progress=progress
            )
            finish(history, json=json, show=lambda: history_text(history))
        start = _commit(from_, config, repository) if from_ else _pin(config, repository)
        end = _commit(to or config.upstream.branch, config, repository)
        document = room.watch(
            repository,
            config.watch,
            from_=start,
            to=end,
            progress=progress,
            touched=_touched(config),
        )
    finish(document, json=json, show=lambda: text(document, diff=diff))


def _touched(config: Config) -> tuple[Touched, ...]:
    """What the carried patches change; nothing in a project that carries none yet."""
    from tracker import series
    from tracker.changed_lines import changed_lines

    if not config.series_dir.exists():
        return ()
    return changed_lines(series.read_series(config.series_dir))


def watched(
    this: Session, until: Literal["region", "routing"], start: str, end: str, upstream: Upstream
) -> BisectDocument:
    """What ``bisect --until region|routing`` finds."""
    from tracker.watch import first_break

    config = this.config()
    with this.progress() as progress, _repository(config, upstream) as repository:
        progress.stage("bisect")
        return first_break(
            repository,
            config.watch,
            until=until,
            from_=_commit(start, config, repository),
            to=_commit(end, config, repository),
            progress=progress,
        )


@contextmanager
def _repository(config: Config, upstream_dir: Upstream) -> Iterator[Repository]:
    from tracker import upstream
    from tracker.git.quarantine import Quarantine
    from tracker.git.repository import Repository
    from tracker.statedir import StateDir

    if upstream_dir is None:
        with upstream.open_repository(config) as repository:
            yield repository
        return
    with Repository.open(upstream_dir) as repository:
        if repository.is_partial:
            folder = StateDir(config.state_dir).objects_over(repository.git_dir)
            with Quarantine(repository, folder) as store:
                repository.fetch_into(store.objects)
        yield repository


def _commit(rev: str, config: Config, repository: Repository) -> str:
    from tracker import upstream

    return upstream.resolve(repository, rev, config).commit


def _pin(config: Config, repository: Repository) -> str:
    from tracker import pins

    return pins.pinned_revision(config, repository).commit


def text(document: WatchDocument, *, diff: bool) -> str:
    """The document for people."""
    lines = [f"{document.from_[:12]} -> {document.to[:12]}", ""]
    for region in document.regions:
        lines += _region(region, diff=diff)
    if document.routing:
        lines.append("")
    for row in document.routing:
        lines += _routing(row)
    for found in document.classes:
        lines.append(f"{found.change} memory class {found.name}  ({' '.join(found.evidence)})")
    if not document.regions and not document.routing:
        lines.append("Nothing is watched: add [[watch.regions]] to lloyal-track.toml.")
    lines += ["", f"verdict: {document.verdict}"]
    return "\n".join(lines)


def _region(region: RegionResult, *, diff: bool) -> list[str]:
    from tracker.markup import plain

    mark = "blocking" if region.blocking else ""
    lines = [f"{region.name:<28} {region.status:<18} {mark}".rstrip()]
    lines.append(f"    {_span(region.from_)} -> {_span(region.to)}")
    lines.append(f"    {plain(region.why)}")
    lines += [f"    by {who}" for who in _commits(region.commits)]
    if diff and region.diff:
        lines += [f"    {line}" for line in _printable(region.diff)]
    return lines


def _routing(row: RoutingResult) -> list[str]:
    from tracker.markup import plain

    mark = "blocking" if row.blocking else ""
    lines = [f"{row.name + '/' + row.when:<28} {row.status:<22} {mark}".rstrip()]
    lines.append(f"    {plain(row.why)}")
    for answer in row.to:
        condition = f" if {' and '.join(answer.conditions)}" if answer.conditions else ""
        lines.append(f"    {plain(answer.class_ + condition)}")
        lines.append(f"        decided at {_decided(answer.evidence)}")
    return lines


def _decided(evidence: tuple[str, ...]) -> str:
    """``a.cpp:1,2 b.cpp:3``: a path once for each run of its lines."""
    runs: list[tuple[str, list[str]]] = []
    for place in evidence:
        path, _, line = place.rpartition(":")
        if not runs or runs[-1][0] != path:
            runs.append((path, []))
        runs[-1][1].append(line)
    return " ".join(f"{path}:{','.join(lines)}" for path, lines in runs)


def history_text(document: WatchHistoryDocument) -> str:
    """The document for people."""
    lines = [
        f"{document.from_[:12]}..{document.to[:12]}: {document.revisions} revisions, "
        f"{document.contents} distinct contents read"
    ]
    for point in document.breaks:
        lines += _break(point)
    if not document.breaks:
        lines.append("no answer changes over the range")
    lines += [f"unknown: {reason}" for reason in document.unknown]
    lines.append(f"verdict: {document.verdict}")
    return "\n".join(lines)


def _break(point: BreakPoint) -> list[str]:
    from tracker.markup import plain

    lines = [f"{point.date[:10]} {point.item}  {point.status}"]
    if point.before != point.after:
        lines.append(f"           {plain(point.before)} -> {plain(point.after)}")
    lines.append(f"           {plain(point.why)}")
    by = point.commit
    lines.append(f"           by {'unknown' if isinstance(by, str) else _commit_line(by)}")
    return lines


def _commits(commits: tuple[UpstreamCommit, ...] | str) -> list[str]:
    if isinstance(commits, str):
        return ["unknown: the history is made of snapshots"]
    more = len(commits) - _COMMITS_SHOWN
    shown = [_commit_line(commit) for commit in commits[:_COMMITS_SHOWN]]
    return [*shown, f"{more} older commits"] if more > 0 else shown


def _commit_line(commit: UpstreamCommit) -> str:
    from tracker.markup import plain

    return f"{commit.commit[:12]} {plain(commit.subject)}"


def _span(span: Span | None) -> str:
    return f"{span.path}:{span.start}-{span.end}" if span is not None else "absent"


def _printable(diff: str) -> list[str]:
    """Upstream's code as lines that cannot steer a terminal."""
    return [
        "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in line)
        for line in diff.splitlines()
    ]
