"""``lloyal-track resume``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tracker.cli.series_options import Json, opened, state_of
from tracker.cli.session import Session, finish, session

if TYPE_CHECKING:
    from tracker.statedir import StateDir

EPILOG = """Examples:

`lloyal-track resume`: after the files of a conflict were edited, or after a move was killed.
"""


def resume(context: typer.Context, json: Json = False) -> None:
    """Finish an interrupted move of pins, or a resolved conflict."""
    from tracker import pins

    this = session(context)
    state = state_of(this)
    with state.locked():
        moved = pins.resume(state)
    if moved is None:
        _rebase(this, state, json=json)
        return
    from tracker.evidence.operation import ResumeDocument

    document = ResumeDocument(to=moved.to, places=moved.places)
    finish(
        document,
        json=json,
        show=lambda: f"the move to {document.to} is finished; every pin says so",
    )


def _rebase(this: Session, state: StateDir, *, json: bool) -> None:
    from tracker.cli.rebase import run
    from tracker.series.merging import Merger
    from tracker.series.writing import keep_resolutions, read_operation

    with state.locked():
        operation = read_operation(state)
        series = Path(operation.series)
        configured = state.upstream.resolve() == Path(operation.upstream)
        upstream = None if configured else Path(operation.upstream)
        with opened(this, series, upstream, writing=True) as bench:
            keep_resolutions(operation, Merger(bench.quarantine), state)
    run(this, operation.onto, operation.from_, series, upstream, write=True, json=json)
