"""``lloyal-track status``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.session import finish, session

if TYPE_CHECKING:
    from tracker.config import Config
    from tracker.evidence.bump import BumpDocument
    from tracker.evidence.status import StatusDocument
    from tracker.statedir import StateDir

EPILOG = """Examples:

`lloyal-track status`: what the last bump said, what forbids, what is open or unfinished.
"""


def status(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Where are we? The last bump in short; contacts nobody."""
    from tracker.statedir import StateDir

    this = session(context)
    config = this.config()
    document = _document(config, StateDir(config.state_dir))
    again = f"{this.program} bump --to {config.upstream.branch} --dry-run"
    finish(document, json=json, show=lambda: _text(document, this.program, again))


def _document(config: Config, state: StateDir) -> StatusDocument:
    from tracker.cli.last import last_bump
    from tracker.evidence.status import StatusDocument
    from tracker.evidence.verdict import Status, Verdict

    operation = _open_operation(state)
    if not state.bump.exists():
        return StatusDocument(
            verdict=Verdict.UNKNOWN,
            summary="no bump was run with this configuration yet",
            pin="",
            target="",
            at="",
            forbidden_by=(),
            open_items=(),
            operation=operation,
        )
    last = last_bump(state.bump)
    elsewhere = _elsewhere(config, last)
    return StatusDocument(
        verdict=Verdict.ATTENTION if elsewhere and last.verdict is Verdict.OK else last.verdict,
        summary=last.summary,
        pin=last.to.name if last.pin.outcome in ("moved", "already-there") else last.from_.name,
        target=last.to.name,
        at=last.started_at,
        forbidden_by=last.pin.forbidden_by,
        open_items=tuple(
            item.id
            for item in last.items
            if item.status is not Status.PASS and not item.accepted and not item.forbids
        ),
        operation=operation,
        elsewhere=elsewhere,
    )


def _elsewhere(config: Config, last: BumpDocument) -> tuple[str, ...]:
    """Pins that were put elsewhere since: a commit of an old submodule, a checkout, a revert."""
    from tracker import pins

    there = last.to if last.pin.outcome in ("moved", "already-there") else last.from_
    return tuple(
        f"{read.place} says {read.value}, not {there.name}"
        for read in pins.read_pins_offline(config)
        if not read.fixed and read.commit not in (None, there.commit)
    )


def _open_operation(state: StateDir) -> str:
    import json as codec

    try:
        return str(codec.loads(state.operation.read_bytes())["kind"])
    except FileNotFoundError:
        return ""
    except (ValueError, KeyError, TypeError):
        return "unreadable"


def _text(document: StatusDocument, program: str, again: str) -> str:
    lines = [document.summary]
    if document.at:
        lines.append(f"  last run   {document.at}, target {document.target}: {document.verdict}")
    else:
        lines.append(f"  next       {again}")
    if document.operation:
        lines.append(f"  unfinished {document.operation}: {program} resume, or abort")
    lines += [f"  pin        {said}" for said in document.elsewhere]
    lines += [f"  forbids    {item}" for item in document.forbidden_by]
    lines += [f"  open       {item}" for item in document.open_items]
    return "\n".join(lines)
