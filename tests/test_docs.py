"""The documentation: what it tells to type works, and what it points to is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"^```(\w+)(?: exit=(\d+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_END = "--- the end of block"
_LINK = re.compile(r"(?<!`)\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)|(?:src|srcset)=\"([^\"]+)\"")


@dataclass(frozen=True)
class Step:
    """Commands as they stand on the page, their exit status, and the lines that are shown."""

    commands: str
    code: int
    shown: tuple[str, ...]


def steps(*pages: str) -> list[Step]:
    found: list[Step] = []
    for page in pages:
        for language, code, text in _BLOCK.findall((_ROOT / "docs" / page).read_text()):
            if language == "sh":
                found.append(Step(text, int(code or 0), ()))
            else:
                assert language == "text", f"{page}: what is {language}?"
                assert not found[-1].shown, f"{page}: two outputs of one block"
                found[-1] = Step(found[-1].commands, found[-1].code, tuple(text.splitlines()))
    return found


def run(folder: Path, listed: list[Step]) -> list[tuple[int, str]]:
    """One shell for all of them, as a reader has: exit status and output of each block."""
    tools = folder / "bin"
    tools.mkdir()
    program = tools / "lloyal-track"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tracker "$@"\n')
    program.chmod(0o755)
    room = folder / "empty"
    room.mkdir()
    script = "".join(
        f"set {'+' if step.code else '-'}e\n{step.commands}echo '{_END}' $?\n" for step in listed
    )
    who = {f"GIT_{role}_{fact}": "reader@example.invalid"
           for role in ("AUTHOR", "COMMITTER") for fact in ("NAME", "EMAIL")}  # fmt: skip
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=room,
        env={
            **os.environ,
            **who,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "PYTHONPATH": str(_ROOT),
            "COLUMNS": "80",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    outputs = re.split(rf"^{_END} (\d+)\n", done.stdout, flags=re.MULTILINE)
    return [(int(code), text) for text, code in zip(outputs[::2], outputs[1::2], strict=False)]


def test_the_tutorial_and_the_page_on_conflicts_run_as_written(tmp_path: Path) -> None:
    """Typed one after another in an empty folder, every block ends and says what the page shows.

    ``…`` on a page stands for anything within the line.
    """
    listed = steps("tutorial.md", "conflicts.md")
    results = run(tmp_path, listed)
    assert len(results) == len(listed)
    for step, (code, output) in zip(listed, results, strict=True):
        assert code == step.code, f"{step.commands}\n{output}"
        lines = iter(output.splitlines())
        for shown in step.shown:
            wanted = re.compile(".*".join(map(re.escape, shown.split("…"))))
            assert any(wanted.match(line) for line in lines), f"{shown!r} is not in\n{output}"


@pytest.mark.parametrize(
    "page",
    sorted(
        p.relative_to(_ROOT).as_posix() for p in (*_ROOT.glob("*.md"), *_ROOT.glob("docs/*.md"))
    ),
)
def test_every_link_leads_somewhere(page: str) -> None:
    """Files and headings that a page points to exist."""
    text = (_ROOT / page).read_text()
    for file, heading, picture in _LINK.findall(text):
        target = (_ROOT / page).parent / (file or picture) if file or picture else _ROOT / page
        assert target.exists(), f"{page}: {file or picture}"
        if heading:
            titles = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}
            assert heading in anchors, f"{page}: {file}#{heading}"
