"""What the command costs before it does anything: --help and ``status`` beside a bare Typer app.

Two peers, both with Typer's defaults and nothing of ours imported:

- *same surface*: the same commands in the same panels, with the same options and the same words.
  The fair one: both have as much to build and to draw. Goal: at most 1.3 times.
- *two commands*: the smallest app there is. It draws a fifth of the lines; a bound, not a peer.

Runs are interleaved, so a noisy moment of the machine meets all of them.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import typer

from tests.support import documents
from tracker.cli.main import app

_ROUNDS = 30
_TWO = """
import typer
app = typer.Typer()
@app.command()
def one(name: str) -> None:
    "One."
@app.command()
def two(name: str) -> None:
    "Two."
app()
"""


def main() -> None:
    """One row for each; medians of wall time."""
    with TemporaryDirectory(prefix="start-bench-") as scratch:
        folder = Path(scratch)
        (folder / "two.py").write_text(_TWO)
        (folder / "same.py").write_text(_same_surface())
        _project(folder)
        ours = [sys.executable, "-m", "tracker"]
        seconds = _interleaved(
            {
                "lloyal-track --help": [*ours, "--help"],
                "same surface --help": [sys.executable, str(folder / "same.py"), "--help"],
                "two commands --help": [sys.executable, str(folder / "two.py"), "--help"],
                "lloyal-track status": [*ours, "--config", str(folder / "own.toml"), "status"],
            }
        )
    told = seconds["lloyal-track --help"]
    print("| what | median ms | beside `lloyal-track --help` |\n|---|---|---|")
    for name, median in seconds.items():
        print(f"| {name} | {1000 * median:.0f} | {median / told:.2f} |")
    fair, least = (told / seconds[f"{peer} --help"] for peer in ("same surface", "two commands"))
    more = seconds["lloyal-track status"] - told
    print(
        f"\n--help: {fair:.2f} times what the same surface takes in bare Typer (goal 1.3), and "
        f"{least:.2f} times what two commands take;\nstatus {more:+.2f} s beside it (goal 0.5)"
    )


def _interleaved(commands: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Median wall seconds of each; the first round only warms the caches."""
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(_ROUNDS + 1):
        for name, command in commands.items():
            begin = time.perf_counter()
            done = subprocess.run(command, capture_output=True, check=False)
            taken[name].append(time.perf_counter() - begin)
            assert done.stdout, done.stderr
    return {name: statistics.median(found[1:]) for name, found in taken.items()}


def _same_surface() -> str:
    """A program with our commands, panels, options and words, and nothing behind them."""
    root: Any = typer.main.get_command(app)
    context = typer.Context(root, info_name="lloyal-track")
    lines = [
        "from typing import Annotated",
        "import typer",
        f"app = typer.Typer(help={root.help!r})",
    ]
    lines += ["@app.callback()", f"def _root({_options(root)}) -> None:", "    pass"]
    for name, listed in root.commands.items():
        command = root.resolve_command(context, [name])[1]
        lines.append(f"@app.command({name!r}, rich_help_panel={listed.rich_help_panel!r})")
        lines.append(f"def _{name}({_options(command)}) -> None:\n    {command.help!r}")
    return "\n".join([*lines, "app()\n"])


def _options(command: Any) -> str:
    found = (
        f"p{number}: Annotated[str, typer.Option({option!r}, help={parameter.help or ''!r})] = ''"
        for number, parameter in enumerate(command.params)
        for option in parameter.opts[:1]
        if option.startswith("--")
    )
    return ", ".join(found)


def _project(folder: Path) -> None:
    """A project whose last bump is a real document."""
    (folder / "own.toml").write_text('[upstream]\nurl = "https://example.invalid/x.git"\n')
    evidence = folder / "vendor" / "evidence"
    evidence.mkdir(parents=True)
    (evidence / "bump.json").write_bytes(msgspec.json.encode(documents.bump()))
