"""A bump document -> the table that ``bump`` ends with, for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tracker.evidence.bump import BumpDocument
from tracker.evidence.verdict import Status, Verdict
from tracker.report.glance import glance, named
from tracker.report.view import Bundle, View, revision_name

_STYLES = {
    Status.PASS: "green",
    Status.ATTENTION: "yellow",
    Status.FAIL: "bold red",
    Status.UNKNOWN: "magenta",
    Status.HUMAN: "cyan",
}
_VERDICT_STYLES = {
    Verdict.OK: "bold green",
    Verdict.ATTENTION: "bold yellow",
    Verdict.UNKNOWN: "bold magenta",
}


_FORBIDDING_SHOWN = 5
# Columns below which the headings take a line each instead of a column.
_NARROW = 60


def terminal(document: BumpDocument, *, width: int | None = None) -> str:
    """The table as text, with colours if stdout is a terminal and ``NO_COLOR`` is not set.

    ``width``: columns; default: the terminal's. Control characters of upstream's text are dropped.
    """
    console = Console(width=width, highlight=False, emoji=False, markup=False)
    with console.capture() as caught:
        for part in _parts(View(document), narrow=console.width < _NARROW):
            console.print(part, soft_wrap=isinstance(part, Text) and part.no_wrap is True)
    text = "\n".join(line.rstrip() for line in caught.get().splitlines()) + "\n"
    # A terminal or file that can't show an arrow must not turn the last lines into a traceback.
    return text if _can_show(console.encoding, "→") else text.replace("→", "->")


def _can_show(encoding: str, text: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _parts(view: View, *, narrow: bool) -> Iterator[RenderableType]:
    document = view.document
    names = f"{revision_name(document.from_)} → {revision_name(document.to)}"
    yield Text.assemble(("Pin bump  ", "bold"), _plain(names))
    yield ""
    yield Padding(_stacked(view) if narrow else _table(view), (0, 0, 0, 1))
    yield ""
    yield Text.assemble(
        (f"{document.verdict.upper()}  ", _VERDICT_STYLES.get(document.verdict, "bold red")),
        (_plain(document.summary), "bold"),
    )
    for bundle in view.forbidding[:_FORBIDDING_SHOWN]:
        yield from _forbidding(bundle)
    more = len(view.forbidding) - _FORBIDDING_SHOWN
    if more > 0:
        yield Text(f"  and {more} more, all in the checklist", "dim")


def _table(view: View) -> Table:
    """Status, heading and sentence beside one another."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in glance(view):
        table.add_row(
            Text(row.status, _STYLES[row.status]),
            Text(_plain(row.title), "bold"),
            Text(_plain(row.said)),
        )
    return table


def _stacked(view: View) -> RenderableType:
    """A heading; below it status and sentence beside one another."""
    parts: list[RenderableType] = []
    for row in glance(view):
        if row.title:
            parts.append(Text(_plain(row.title), "bold"))
        line = Table.grid(padding=(0, 1, 0, 0))
        line.add_column(no_wrap=True, min_width=max(map(len, Status)))
        line.add_column(overflow="fold")
        line.add_row(Text(row.status, _STYLES[row.status]), Text(_plain(row.said)))
        parts.append(line)
    return Group(*parts)


def _forbidding(bundle: Bundle) -> Iterator[RenderableType]:
    """What is wrong, folded; then the command on one line, whole, so that it can be copied."""
    said = Text.assemble(
        (f"{bundle.first.status}  ", _STYLES[bundle.first.status]),
        _plain(f"{named(bundle)}: {bundle.said}"),
    )
    yield Padding(said, (0, 0, 0, 2))
    if bundle.first.reproduce:
        yield Text(f"    see: {_plain(bundle.first.reproduce)}", "dim", no_wrap=True)
    if bundle.first.accept:
        yield Text(f"    accept: {_plain(bundle.first.accept)}", "dim", no_wrap=True)


def _plain(text: str) -> str:
    """``text`` without anything that moves the cursor, hides or reorders."""
    return "".join(char if char.isprintable() else " " for char in text)
