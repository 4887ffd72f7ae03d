"""What is printed of others' text: nothing steers the terminal, nothing commands a runner."""

from __future__ import annotations

import io
import re
import unicodedata

import pytest
import typer
from rich.console import Console

from tests.support.filled import filled
from tracker import report
from tracker.cli import display, session
from tracker.cli.printed import printed
from tracker.evidence.bump import BumpDocument
from tracker.evidence.tickets import TicketsDocument

HOSTILE = (
    "red\x1b[31m title\x1b]0;t\x07 \x9b2J back\b\r\nnext\n::set-output name=x::y\n"
    " \t::error::z ##[add-mask]a\n"
    "turned\u202e hidden\u200b\u2066 \u2028::stop-commands::x [/bold] [link=http://x]y"
)


def _moves(text: str) -> set[str]:
    """The characters that a terminal obeys, or that hide or reorder."""
    found = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
    return found - set("\n\t")


def _steers(text: str) -> set[str]:
    """Those, and the lines that a runner obeys."""
    lines = text.split("\n")
    return _moves(text) | {line for line in lines if line.strip().startswith("::") or "##[" in line}


@pytest.fixture(autouse=True)
def _in_a_workflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")


def test_what_a_command_prints_steers_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a command shows: its lines stay lines, and each is text."""
    document = filled(TicketsDocument, HOSTILE)
    with pytest.raises(typer.Exit):
        session.finish(document, json=False, show=lambda: f"{HOSTILE}\n  {HOSTILE}")
    out = capsys.readouterr().out
    assert _steers(out) == set()
    assert "red [31m title" in out


@pytest.mark.parametrize("turn", range(5))
@pytest.mark.parametrize("width", [40, 100])
def test_the_table_steers_nothing(
    capsys: pytest.CaptureFixture[str], turn: int, width: int
) -> None:
    """The table of a bump has colours, and all of them are its own."""
    document = filled(BumpDocument, HOSTILE, turn=turn)
    with pytest.raises(typer.Exit):
        session.finish(
            document, json=False, show=lambda: report.terminal(document, width=width), styled=True
        )
    assert _steers(capsys.readouterr().out) == set()


def test_an_error_steers_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """What, where and next may quote a name of upstream's."""
    session._print_error(HOSTILE, HOSTILE, HOSTILE, 1, wants_json=False)
    assert _steers(re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().err)) == set()


def test_lines_of_progress_steer_nothing() -> None:
    """As a job's log shows it."""
    lines = io.StringIO()
    plain = display._Plain(lines, 0.0)
    plain.stage(HOSTILE)
    plain.step(1, 2, HOSTILE)
    assert _steers(lines.getvalue()) == set()


def test_a_bar_steers_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Brackets in a name are no styles, and no crash."""
    console = Console(width=300)
    with display._Live() as live:
        live.stage("[/bold]")
        live.step(1, 2, HOSTILE)
        live.say(HOSTILE)
        with console.capture() as caught:
            console.print(live._bars.get_renderable())
    assert "[/bold]" in caught.get()
    assert _moves(caught.get()) == set()
    assert _steers(capsys.readouterr().err) == set()


def test_what_is_shown_is_still_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tabs, blanks, emoji and letters of every script stay; CRLF is a line's end."""
    text = "a\tb  c\r\n  naïve 日本語 👩\u200d💻\n::std"
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert printed(text) == text.replace("\r\n", "\n")
