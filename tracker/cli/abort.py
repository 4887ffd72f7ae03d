"""``lloyal-track abort``."""

from __future__ import annotations

import typer

from tracker.cli.session import session

EPILOG = """Examples:

`lloyal-track abort`: as if the interrupted command had never been started.
"""


def abort(context: typer.Context) -> None:
    """Give up the open operation; everything is as before it."""
    from tracker import pins
    from tracker.series.writing import close, read_operation
    from tracker.statedir import StateDir

    this = session(context)
    state = StateDir(this.config().state_dir)
    with state.locked():
        moving = pins.abort(state)
        if moving is not None:
            typer.echo(f"the move to {moving} is undone; every pin is as it was before it")
            return
        operation = read_operation(state)
        close(state)
    typer.echo(f"rebase onto {operation.onto[:12]} given up; no patch file was changed")
