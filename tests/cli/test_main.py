"""The command line as a whole: what it lists, what it loads, what a shell can complete."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from typing import Any

import pytest
import typer

from tracker.cli.main import app

_ROOT: Any = typer.main.get_command(app)


_CONTEXT = typer.Context(_ROOT, info_name="lloyal-track")


def _command(name: str) -> Any:
    return _ROOT.resolve_command(_CONTEXT, [name])[1]


@pytest.mark.parametrize("name", list(_ROOT.commands))
def test_the_list_says_what_the_command_says_of_itself(name: str) -> None:
    """--help of the whole and --help of a command start with the same line."""
    assert _command(name).help.splitlines()[0] == _ROOT.commands[name].help


@pytest.mark.parametrize("name", list(_ROOT.commands))
def test_every_command_shows_examples_that_it_takes(name: str) -> None:
    """--help of each command has examples, and no example names an option that is not there."""
    command = _command(name)
    children = getattr(command, "commands", None) or {name: command}
    epilog = " ".join(child.epilog or "" for child in children.values())
    heading, *examples = epilog.partition("Examples:")[1:]
    assert heading
    spans = re.findall(r"`([^`]*)`", " ".join(examples[0].split()))
    calls = [call for span in spans for call in re.findall(r"lloyal-track[^|&]*", span)]
    assert calls
    for call in calls:
        words = shlex.split(call)[1:]
        called, chosen, rest = _ROOT.resolve_command(
            _CONTEXT, words[2 * (words[0] == "--config") :]
        )
        chosen.make_context(called, rest, parent=_CONTEXT)


def test_listing_the_commands_imports_none_of_them() -> None:
    """--help and a mistyped command load no command, and a command only itself."""
    code = (
        "import sys; from tracker.cli.main import run\n"
        "try: run()\n"
        "except SystemExit: pass\n"
        "print(*[m for m in sys.modules if m.startswith('tracker.')], file=sys.stderr)"
    )
    loaded = {
        words: set(
            subprocess.run(
                [sys.executable, "-c", code, *words.split()],
                capture_output=True,
                text=True,
                check=True,
            ).stderr.split()
        )
        for words in ("--help", "statsu", "status --help")
    }
    assert {m for m in loaded["--help"] if m.startswith("tracker.cli")} == {
        "tracker.cli",
        "tracker.cli.main",
        "tracker.cli.session",
    }
    assert loaded["--help"] == {m for m in loaded["statsu"] if m.startswith("tracker.")}
    assert loaded["status --help"] - loaded["--help"] == {"tracker.cli.status"}


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (
            "bump --config x --to y",
            "--config stands before the command: lloyal-track --config … bump",
        ),
        ("upstream fetch -q", "-q stands before the command: lloyal-track -q … upstream fetch"),
        ("bump --nope", ""),
    ],
)
def test_an_option_in_the_wrong_place_is_told_its_own(typed: str, hint: str) -> None:
    code = "from tracker.__main__ import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code, *typed.split()], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "No such option" in done.stderr) == (2, True)
    assert hint in done.stderr
    assert ("stands before" in done.stderr) is bool(hint)


def test_an_interrupt_before_the_command_is_read_shows_no_traceback() -> None:
    """Ctrl-C while the libraries load, which takes longer than a slip of the finger."""
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from tracker.__main__ import run; run()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "error: interrupted, before anything began\n"


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (["lloyal-track", "ch"], {"check", "checklist"}),
        (["lloyal-track", "bump", "--dry"], {"--dry-run"}),
        (["lloyal-track", "upstream", "f"], {"fetch"}),
    ],
)
def test_a_shell_completes_commands_and_options(typed: list[str], wanted: set[str]) -> None:
    """Completion knows the commands, and the options of each."""
    code = "import sys; sys.argv[0] = 'lloyal-track'; from tracker.cli.main import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "_LLOYAL_TRACK_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(typed),
            "COMP_CWORD": str(len(typed) - 1),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) == wanted
