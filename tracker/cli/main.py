"""Builds the ``lloyal-track`` command from one file per command."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tracker import __version__
from tracker.cli.session import Session, run_app

# Module under tracker.cli -> panel of --help. Each has a function (or a Typer app named ``app``)
# of the command's own name. In the order a newcomer needs them.
_COMMANDS = {
    "init": "Start here",
    "doctor": "Start here",
    "bump": "The main job",
    "checklist": "The main job",
    "status": "The main job",
    "upstream": "Parts of it",
    "poll": "Parts of it",
    "rebase": "Parts of it",
    "watch": "Parts of it",
    "sweep": "Parts of it",
    "bisect": "Parts of it",
    "resume": "Parts of it",
    "abort": "Parts of it",
    "build": "Parts of it",
    "check": "Parts of it",
    "soak": "Parts of it",
    "log": "Parts of it",
    "publish": "Many machines",
    "plan": "Many machines",
    "part": "Many machines",
    "merge": "Many machines",
}

_SUMMARY = """Carry patches on a fast upstream, and move the pin only on evidence.

Does the patch series still apply and still mean the same on a new upstream revision, what did
upstream do to the code you depend on, does the rebuilt core still behave: one command answers.

First steps: `lloyal-track doctor`, then `lloyal-track bump --to master --dry-run`.
Without a configuration of your own: `lloyal-track --config archives.toml bump --to master`.

Exit status: 0 ok, 1 needs a human or failed, 2 usage or configuration, 3 a patch conflicts,
4 the environment (tool, network, disk), 70 a bug, 130 interrupted.
"""

app = typer.Typer(
    help=_SUMMARY,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lloyal-track {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="The configuration; default: lloyal-track.toml here or in a folder above.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="More detail.")] = False,
    _show_version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    context.obj = Session(config_file=config, verbosity=-1 if quiet else int(verbose))


def _register() -> None:
    for name, panel in _COMMANDS.items():
        module = import_module(f"tracker.cli.{name}")
        nested = getattr(module, "app", None)
        if nested is not None:
            app.add_typer(nested, name=name, rich_help_panel=panel)
        else:
            epilog = getattr(module, "EPILOG", None)
            app.command(name, rich_help_panel=panel, epilog=epilog)(getattr(module, name))


_register()


def run() -> NoReturn:
    """The console script."""
    run_app(app)


if __name__ == "__main__":
    run()
