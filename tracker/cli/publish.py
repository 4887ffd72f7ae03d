"""``lloyal-track publish``."""

from __future__ import annotations

import os
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.session import finish, session
from tracker.errors import UsageError

if TYPE_CHECKING:
    from tracker.config import Config
    from tracker.evidence.bump import BumpDocument
    from tracker.evidence.publish import PublishDocument
    from tracker.publish.proposal import Proposal

EPILOG = """Examples:

`lloyal-track publish --dry-run`: what would be opened, updated or closed.

`lloyal-track publish --hand-over DIR`: in the job without a token, after `bump`.

`lloyal-track publish --from DIR`: in the job with a token, which runs no upstream code.
"""


def publish(
    context: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")
    ] = False,
    hand_over: Annotated[
        Path | None,
        typer.Option(
            "--hand-over", metavar="DIR", help="Only put the last bump's evidence and pins there."
        ),
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="Publish what another job put there."),
    ] = None,
    failed: Annotated[
        str | None,
        typer.Option("--run-failed", metavar="WHY", help="Publish that the run itself broke."),
    ] = None,
    repository: Annotated[
        str | None,
        typer.Option(
            envvar="GITHUB_REPOSITORY", metavar="OWNER/REPO", help="Where; default: origin."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Keep one pull request or issue in step with the last bump.

    Needs GITHUB_TOKEN (or `gh auth login`) with write access to contents, pull requests and issues.
    """
    from tracker.cli.last import last_bump
    from tracker.statedir import StateDir

    config = session(context).config()
    state = StateDir(config.state_dir)
    if hand_over is not None:
        _handed_over(config, last_bump(state.bump), state.evidence, hand_over)
        return
    from tracker.forge.access import from_environment
    from tracker.publish.pin_files import left_out, top_of
    from tracker.publish.proposal import broken, mended
    from tracker.publish.publishing import publish as run

    key = _key(config)
    run_url = _run_url()
    proposals: tuple[Proposal, ...]
    notes: tuple[str, ...] = ()
    document: BumpDocument | None = None
    if from_ is not None and failed is None and not (from_ / "bump.json").is_file():
        failed = "The job that builds and checks left no evidence."
    if failed is not None:
        proposals = (broken(key=key, run_url=run_url, why=failed),)
    else:
        document = last_bump(from_ / "bump.json" if from_ else state.bump)
        proposals = (_proposed(config, document, key, from_), mended(key=key))
        if proposals[0].kind == "pull":
            notes = left_out(config, top_of(config.base.resolve()))
    published = run(
        proposals,
        repository=repository or _origin(config),
        access=from_environment(),
        now=datetime.now(UTC),
        dry_run=dry_run,
        run_url=run_url,
        workflow=_workflow(config),
        notes=notes,
    )
    _summarise(document, published)
    finish(published, json=json, show=lambda: _shown(published))


def _key(config: Config) -> str:
    """One living thread for each configuration of a repository."""
    name = config.file.stem
    return "default" if name == "lloyal-track" else name


def _run_url() -> str:
    parts = [
        os.environ.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")
    ]
    return f"{parts[0]}/{parts[1]}/actions/runs/{parts[2]}" if all(parts) else ""


def _workflow(config: Config) -> str:
    """The file name of the scheduled workflow: the running one, else the one that publishes."""
    # owner/repo/.github/workflows/x.yml@ref
    found = re.search(r"\.github/workflows/([\w.-]+)@", os.environ.get("GITHUB_WORKFLOW_REF", ""))
    if found:
        return found.group(1)
    from tracker.publish.workflow import publishing_files

    return next((file.name for file in publishing_files(config.base)), "")


def _origin(config: Config) -> str:
    from tracker.git.calls import run_git

    asked = run_git(["remote", "get-url", "origin"], cwd=config.base, check=False)
    url = asked.stdout.decode(errors="replace").strip().removesuffix(".git")
    found = re.search(r"[:/]([\w.-]+/[\w.-]+)$", url)
    if asked.code != 0 or found is None:
        raise UsageError(
            "no repository to publish to",
            where=str(config.base),
            next_step="name it: --repository OWNER/REPO",
        )
    return found.group(1)


def _proposed(
    config: Config, document: BumpDocument, key: str, handed_over: Path | None
) -> Proposal:
    from tracker import report
    from tracker.publish.pin_files import changes, top_of
    from tracker.publish.proposal import propose

    if document.pin.outcome == "would-move" and handed_over is None:
        raise UsageError(
            "the last bump was a dry run: no pin was moved",
            next_step="run `lloyal-track bump` without --dry-run, then publish",
        )
    files = (
        changes(config, document, top_of(config.base.resolve()), handed_over)
        if document.pin.outcome == "moved"
        else ()
    )
    # Drawn here from the checked document: a text from elsewhere could hold anything.
    return propose(document, key=key, body=report.markdown(document), files=files)


def _handed_over(config: Config, document: BumpDocument, evidence: Path, folder: Path) -> None:
    """Copy what the other job needs, and tell this job's own page."""
    from tracker import report
    from tracker.cli.runner_files import append
    from tracker.publish import job
    from tracker.publish.pin_files import top_of, tracked_pins

    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted(evidence.iterdir()):
        if file.is_file() and not file.is_symlink():
            shutil.copyfile(file, folder / file.name)
    top = top_of(config.base.resolve())
    if document.pin.outcome == "moved":
        for table, path in tracked_pins(config, top):
            if table.kind != "submodule":
                target = folder / "files" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(top / path, target)
    append("GITHUB_OUTPUT", job.output_lines(job.outputs(document)))
    append("GITHUB_STEP_SUMMARY", job.cut(report.markdown(document)))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in job.remarks(document):
            typer.echo(line)
    typer.echo(f"handed over to {folder}: {document.verdict}, pin {document.pin.outcome}")


def _summarise(document: BumpDocument | None, published: PublishDocument) -> None:
    from tracker import report
    from tracker.cli.runner_files import append
    from tracker.publish import job

    head = report.summary(document) if document else "# The scheduled run broke\n"
    append("GITHUB_STEP_SUMMARY", job.cut(head + job.said(published)))
    numbers = [str(step.number) for step in published.steps if step.number]
    values = {"published": published.verdict.value, "thread": numbers[0] if numbers else ""}
    append("GITHUB_OUTPUT", job.output_lines(values))


def _shown(document: PublishDocument) -> str:
    from tracker.markup import plain

    lines = ["dry run: nothing was changed"] if document.dry_run else []
    for step in document.steps:
        thread = f" #{step.number}" if step.number else ""
        why = f": {plain(step.why)}" if step.why else ""
        lines.append(f"{step.done.value.replace('-', ' ')}{thread}{why} {step.url}".rstrip())
    lines += [f"note: {plain(note, 400)}" for note in document.notes]
    return "\n".join(lines)
