"""Builds the ``lloyal-track`` command from one file per command."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from tracker import __version__
from tracker.cli.session import Session, run_app

# Panel of --help -> command -> the first line of its own help. That line stands here too, because
# importing every command only to list it would be a third of what --help takes. A command is the
# function (or the Typer app named ``app``) of its name in the module of its name under tracker.cli.
# In the order a newcomer needs them.
_PANELS = {
    "Start here": {
        "init": "Write the configuration from the pins and patches found here.",
        "doctor": "What is missing on this machine, and the step that mends it.",
    },
    "The main job": {
        "bump": "May the pin move to REV? Gather the evidence; move it if so.",
        "checklist": "The last bump's checklist: what passes, forbids, or waits.",
        "status": "Where are we? The last bump in short; contacts nobody.",
    },
    "Parts of it": {
        "upstream": "Upstream's history in the state_dir.",
        "poll": "What is new in the watched issues and pull requests?",
        "rebase": "What becomes of each patch on REV?",
        "watch": "What did upstream do to the code we depend on?",
        "sweep": "The series on every revision of a range: what broke it, and when.",
        "bisect": "The first revision of a range where an answer changes.",
        "resume": "Finish an interrupted move of pins, or a resolved conflict.",
        "abort": "Give up the open operation; everything is as before it.",
        "build": "Does the native core build, without and with the patches?",
        "check": "Does the core behave on an image, without and with the patches?",
        "soak": "Does a long session of text and images survive, grow, or crash?",
        "log": "What does this log say: warnings, images, crashes, failures?",
    },
    "Many machines": {
        "publish": "Keep one pull request or issue in step with the last bump.",
        "plan": "Split a question over many machines.",
        "part": "Run one part of a plan on this machine.",
        "merge": "Put the parts of a plan together.",
    },
}

_SUMMARY = """Carry patches on a fast upstream, and move the pin only on evidence.

Does the patch series still apply and still mean the same on a new upstream revision, what did
upstream do to the code you depend on, does the rebuilt core still behave: one command answers.

First in a project of yours: `lloyal-track init`, then `lloyal-track doctor`.

Then whenever you like: `lloyal-track bump --to master --dry-run`.

Exit status: 0 ok, 1 needs a human or failed, 2 usage or configuration, 3 a patch conflicts,
4 the environment (tool, network, disk), 70 a bug, 130 interrupted.
"""


class _Commands(TyperGroup):
    """Lists every command, and imports the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for panel, commands in _PANELS.items():
            for name, says in commands.items():
                self.commands[name] = TyperCommand(name, help=says, rich_help_panel=panel)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and _command(str(listed.name)), rest


def _command(name: str) -> Any:
    """The command itself, as Typer builds it from its module."""
    module = import_module(f"tracker.cli.{name}")
    nested = getattr(module, "app", None)
    if nested is None:
        nested = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        nested.command(name, epilog=getattr(module, "EPILOG", None))(getattr(module, name))
    command = typer.main.get_command(nested)
    command.name = name
    return command


app = typer.Typer(
    cls=_Commands,
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


def run() -> NoReturn:
    """The console script."""
    run_app(app)
