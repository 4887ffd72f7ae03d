"""``lloyal-track upstream fetch``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.session import finish, session

if TYPE_CHECKING:
    from tracker.config import Config
    from tracker.evidence.upstream import FetchDocument
    from tracker.progress import Progress

_SHOWN = 10

app = typer.Typer(
    help="Upstream's history in the state_dir.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)

EPILOG = """Examples:

`lloyal-track upstream fetch`: clone or update the configured repository, without file contents.

`lloyal-track --config archives.toml upstream fetch`: a mirror from package archives.
"""


@app.callback()
def _group() -> None:
    """Upstream's history in the state_dir."""


@app.command(epilog=EPILOG)
def fetch(
    context: typer.Context,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="URL|registry",
            help="Instead of the configured source: a git address, or `registry` for archives.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Bring upstream's history up to date: a blob-filtered clone, or a mirror of archives."""
    from tracker.statedir import StateDir

    this = session(context)
    config = this.config()
    with StateDir(config.state_dir).locked(), this.progress() as progress:
        progress.stage("upstream")
        document = _fetch(config, from_, progress)
    finish(document, json=json, show=lambda: _text(document))


def _fetch(config: Config, from_: str | None, progress: Progress) -> FetchDocument:
    from tracker import upstream

    if from_ == "registry" or (from_ is None and config.upstream.source == "registry"):
        return upstream.fetch_registry(config, progress=progress)
    return upstream.fetch_git(config, from_, progress=progress)


def _text(document: FetchDocument) -> str:
    head = document.head
    lines = [f"{document.origin}: {'fetched' if document.changed else 'nothing new'}"]
    if document.commits:
        lines += [
            f"  {revision.name:<10} {revision.commit[:12]}  upstream {revision.upstream_commit}  "
            f"{revision.date[:10]}"
            for revision in document.commits
        ]
    else:
        named = "" if head.commit.startswith(head.name) else f" ({head.name})"
        lines.append(f"  head {head.commit[:12]}{named}, {head.date[:10]}")
        if document.new_tags:
            shown = ", ".join(document.new_tags[-_SHOWN:])
            lines.append(f"  {len(document.new_tags)} new tags, the last: {shown}")
    lines += [
        f"  tag {tag.name} was moved by upstream: {tag.from_[:12]} -> {tag.to[:12]}"
        for tag in document.moved_tags
    ]
    if document.gone_tags:
        gone = ", ".join(document.gone_tags[:_SHOWN])
        lines.append(f"  {len(document.gone_tags)} tags are gone upstream, kept here: {gone}")
    lines.append(f"  in {document.repository}")
    return "\n".join(lines)
