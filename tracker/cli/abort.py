"""``lloyal-track abort``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from tracker.cli.series_options import Json, state_of, tidy
from tracker.cli.session import finish, session

if TYPE_CHECKING:
    from tracker.evidence.operation import AbortDocument
    from tracker.pins.transaction import Journal
    from tracker.statedir import StateDir

EPILOG = """Examples:

`lloyal-track abort`: as if the interrupted command had never been started.
"""


def abort(context: typer.Context, json: Json = False) -> None:
    """Give up the open operation; everything is as before it."""
    from tracker import pins

    this = session(context)
    state = state_of(this)
    with state.locked():
        moving = pins.abort(state)
        document = _rebase(state) if moving is None else _pins(moving)
    tidy(this)
    finish(document, json=json, show=lambda: _text(document))


def _pins(moving: Journal) -> AbortDocument:
    from tracker.evidence.operation import AbortDocument

    return AbortDocument(kind="pin", to=moving.to, places=moving.places)


def _rebase(state: StateDir) -> AbortDocument:
    from tracker.evidence.operation import AbortDocument
    from tracker.series.writing import close, read_operation

    operation = read_operation(state)
    close(state)
    return AbortDocument(kind="rebase", to=operation.onto, places=(operation.series,))


def _text(document: AbortDocument) -> str:
    if document.kind == "pin":
        return f"the move to {document.to} is undone; every pin is as it was before it"
    return f"rebase onto {document.to[:12]} given up; no patch file was changed"
