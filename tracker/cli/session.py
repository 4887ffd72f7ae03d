"""What every command shares: options, progress, output, and errors turned into exit statuses.

A command calls ``finish`` with its document, or raises; ``run_app`` maps every outcome to one exit
status. Nothing below ``tracker.cli`` prints or exits.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import typer

from tracker import errors

if TYPE_CHECKING:
    from tracker.config import Config
    from tracker.evidence.base import Value
    from tracker.evidence.verdict import Verdict
    from tracker.progress import Progress


@dataclass(frozen=True, slots=True)
class Session:
    """The global options. ``config_file`` None: search upwards from the working directory."""

    config_file: Path | None
    verbosity: int

    def config(self) -> Config:
        from tracker import config

        return config.load(self.config_file or config.find(Path.cwd()))

    @property
    def program(self) -> str:
        """How a command that we print begins, so that it works as it stands."""
        return _program(self.config_file)

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """A bar on a terminal, plain lines elsewhere, nothing with ``-q``; always on stderr."""
        from tracker.cli import display

        with display.progress(self.verbosity) as shown:
            yield shown


def _program(config_file: Path | str | None) -> str:
    return "lloyal-track" + (f" --config {shlex.quote(str(config_file))}" if config_file else "")


def session(context: typer.Context) -> Session:
    """The session of this invocation."""
    found = context.obj
    assert isinstance(found, Session)  # noqa: S101  (set by the root callback)
    return found


class Document(Protocol):
    """A document of ``tracker.evidence`` that carries a verdict."""

    @property
    def verdict(self) -> Verdict: ...


def finish(document: Any, *, json: bool, show: Callable[[], str], styled: bool = False) -> NoReturn:
    """Print ``document`` (JSON) or ``show()`` (for people) on stdout and exit by its verdict.

    ``styled``: the text has colours of ours, and what it quotes is harmless already.

    Raises:
        typer.Exit: always.
    """
    if json:
        write_json(document)
    else:
        from tracker.cli.printed import printed

        text = show()
        if text:
            typer.echo(printed(text, styled=styled))
    raise typer.Exit(document.verdict.exit_code)


def write_json(document: Value) -> None:
    """Exactly one JSON document on stdout."""
    from tracker.evidence.base import to_json

    sys.stdout.buffer.write(to_json(document))
    sys.stdout.buffer.flush()


def run_app(app: typer.Typer) -> NoReturn:
    """Run the command line; the one place where an exception becomes text and an exit status."""
    wants_json = "--json" in sys.argv[1:]
    # A scheduler's SIGTERM unwinds like Ctrl-C, so locks and children are released.
    signal.signal(signal.SIGTERM, _interrupted)
    try:
        code = app(standalone_mode=False)
    except Exception as fault:
        _exit_with(fault, app, wants_json=wants_json)
    except (KeyboardInterrupt, _Terminated):
        _say_interrupted(wants_json=wants_json)
    if code == _INTERRUPTED:  # Typer turns KeyboardInterrupt into this, without a word
        _say_interrupted(wants_json=wants_json)
    raise SystemExit(code if isinstance(code, int) else 0)


# Typer carries its own copy of click from 0.20-odd on and an installed one before; either way this
# is the class of every complaint about the command line.
_CLICK_ERROR: Any = typer.BadParameter.__mro__[2]


class _Terminated(BaseException):
    pass


def _interrupted(_signal: int, _frame: object) -> NoReturn:
    raise _Terminated


def _exit_with(fault: Exception, app: typer.Typer, *, wants_json: bool) -> NoReturn:
    if isinstance(fault, typer.Exit):
        raise SystemExit(fault.exit_code)
    if isinstance(fault, typer.Abort):
        _say_interrupted(wants_json=wants_json)
    if isinstance(fault, _CLICK_ERROR):
        hint = _hint(fault, app)
        if not wants_json:
            fault.show()
            if hint:
                typer.echo(f"  next:  {hint}", err=True)
            raise SystemExit(2)
        fault = errors.UsageError(
            fault.format_message(), next_step=hint or "see `lloyal-track --help`"
        )
    if isinstance(fault, BrokenPipeError):
        # The reader of our output went away (`| head`): nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0)
    known = _as_track_error(fault)
    if known is None:
        if wants_json:
            _print_error(f"{type(fault).__name__}: {fault}", "", _REPORT_IT, 70, wants_json=True)
        traceback.print_exception(fault)
        typer.echo(f"\nThis is a bug in lloyal-track. {_REPORT_IT}", err=True)
        raise SystemExit(70)
    next_step = _configured(known.next_step, app)
    _print_error(known.what, known.where, next_step, known.exit_code, wants_json=wants_json)
    raise SystemExit(known.exit_code)


def _hint(fault: Any, app: typer.Typer) -> str:
    """What to do about an option that only lloyal-track itself has."""
    name = getattr(fault, "option_name", "")
    own = {opt for param in typer.main.get_command(app).params for opt in param.opts}
    if name and name in own and fault.ctx is not None and fault.ctx.parent is not None:
        command = fault.ctx.command_path.partition(" ")[2]
        return f"{name} stands before the command: lloyal-track {name} … {command}"
    return ""


def _configured(next_step: str, app: typer.Typer) -> str:
    """``next_step`` with the ``--config`` of this call in every command that it names.

    The rooms that know the step do not know which file was given.
    """
    words = iter(sys.argv[1:])
    given = next(
        (
            word.partition("=")[2] or next(words, "")
            for word in words
            if word == "--config" or word.startswith("--config=")
        ),
        "",
    )
    listed = getattr(typer.main.get_command(app), "commands", ())
    commands = [name for name in listed if name != "init"]  # which reads none, but writes one
    if not given or not commands:
        return next_step
    return re.sub(
        rf"\blloyal-track (?=(?:{'|'.join(commands)})\b)",
        lambda _: f"{_program(given)} ",
        next_step,
    )


_INTERRUPTED = 130
_REPORT_IT = "Nothing was moved; please report it with the lines above."
_MENDABLE = {
    errno.ENOSPC: "free some space and run it again",
    errno.EDQUOT: "free some space and run it again",
    errno.EROFS: "use a state_dir that can be written",
    errno.EACCES: "check the permissions of that file or folder",
    errno.EPERM: "check the permissions of that file or folder",
}


def _as_track_error(fault: Exception) -> errors.TrackError | None:
    if isinstance(fault, errors.TrackError):
        return fault
    if isinstance(fault, OSError) and fault.errno in _MENDABLE:
        return errors.EnvironmentFault(
            fault.strerror or str(fault),
            where=str(fault.filename or ""),
            next_step=_MENDABLE[fault.errno],
        )
    return None


def _print_error(what: str, where: str, next_step: str, code: int, *, wants_json: bool) -> None:
    if wants_json:
        from tracker.evidence.error import ErrorDocument

        write_json(ErrorDocument(what=what, where=where, next_=next_step, exit=code))
        return
    from tracker.cli.printed import printed

    typer.secho("error: ", fg="red", bold=True, err=True, nl=False)
    typer.echo(printed(what), err=True)
    if where:
        typer.echo(printed(f"  where: {where}"), err=True)
    if next_step:
        typer.echo(printed(f"  next:  {next_step}"), err=True)


def _say_interrupted(*, wants_json: bool) -> NoReturn:
    _print_error(
        "interrupted",
        "",
        "nothing was moved; run the same command again to go on",
        _INTERRUPTED,
        wants_json=wants_json,
    )
    raise SystemExit(_INTERRUPTED)
