"""A bump document -> the table that ``bump`` ends with, for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tracker.evidence.bump import BumpDocument
from tracker.evidence.item import Item
from tracker.evidence.verdict import Status, Verdict
from tracker.report.standing import plural, worst_status
from tracker.report.view import Behaviour, Bundle, Group, View, bundles, key_of, revision_name

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
_NAMES_SHOWN = 3
_SCENARIOS_SHOWN = 6


@dataclass(frozen=True, slots=True)
class _Row:
    status: Status
    said: str


def terminal(document: BumpDocument, *, width: int | None = None) -> str:
    """The table as text, with colours if stdout is a terminal and ``NO_COLOR`` is not set.

    ``width``: columns; default: the terminal's. Control characters of upstream's text are dropped.
    """
    console = Console(width=width, highlight=False, emoji=False, markup=False)
    with console.capture() as caught:
        for part in _parts(View(document)):
            console.print(part)
    text = "\n".join(line.rstrip() for line in caught.get().splitlines()) + "\n"
    # A terminal or file that can't show an arrow must not turn the last lines into a traceback.
    return text if _can_show(console.encoding, "→") else text.replace("→", "->")


def _can_show(encoding: str, text: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _parts(view: View) -> Iterator[RenderableType]:
    document = view.document
    names = f"{revision_name(document.from_)} → {revision_name(document.to)}"
    yield Text.assemble(("Pin bump  ", "bold"), _plain(names))
    yield ""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for group in view.groups:
        for number, row in enumerate(_rows(group, view.behaviour)):
            table.add_row(
                Text(row.status, _STYLES[row.status]),
                Text("" if number else group.title, "bold"),
                Text(_plain(row.said)),
            )
    yield Padding(table, (0, 0, 0, 1))
    yield ""
    yield Text.assemble(
        (f"{document.verdict.upper()}  ", _VERDICT_STYLES.get(document.verdict, "bold red")),
        (_plain(document.summary), "bold"),
    )
    for bundle in view.forbidding:
        yield _forbidding(bundle)


def _forbidding(bundle: Bundle) -> RenderableType:
    said = Text.assemble(
        (f"{bundle.first.status}  ", _STYLES[bundle.first.status]),
        _plain(f"{_named(bundle)}: {bundle.said}"),
    )
    if bundle.first.reproduce:
        said.append(f"\n  see: {_plain(bundle.first.reproduce)}", "dim")
    return Padding(said, (0, 0, 0, 2))


def _rows(group: Group, behaviour: Behaviour | None) -> Iterator[_Row]:
    if group.kind == "check" and behaviour is not None:
        yield from _behaviour_rows(group, behaviour)
        return
    if group.kind == "human":
        for status in dict.fromkeys(item.status for item in group.items):
            names = [key_of(item) for item in group.items if item.status is status]
            yield _Row(status, ", ".join(names))
        return
    for bundle in bundles(group.items):
        yield _Row(bundle.first.status, _said(group.kind, bundle))


def _said(kind: str, bundle: Bundle) -> str:
    count = len(bundle.items)
    passing = bundle.first.status is Status.PASS
    if kind == "patch" and passing:
        return f"{plural(count, 'patch')} rebased: {bundle.said}"
    return f"{_named(bundle)}: {bundle.said}"


def _named(bundle: Bundle) -> str:
    """The keys of the items, or how many there are if they are many."""
    if len(bundle.items) > _NAMES_SHOWN:
        return plural(len(bundle.items), bundle.first.kind)
    return ", ".join(key_of(item) for item in bundle.items)


def _behaviour_rows(group: Group, behaviour: Behaviour) -> Iterator[_Row]:
    """Warnings without -> with the patch, a line per scenario; then what stands in no cell."""
    shown = behaviour.rows[:_SCENARIOS_SHOWN]
    for scenario, cells in shown:
        counts = " → ".join(cell.text if cell else "not run" for cell in cells)
        statuses = [cell.status if cell else Status.UNKNOWN for cell in cells]
        yield _Row(worst_status(statuses), f"{counts} warnings {_where(scenario)}")
    covered = {scenario for scenario, _ in shown}
    rest = [item for item in group.items if _scenario(item) not in covered]
    wrong = [item for item in group.items if item.status is not Status.PASS and item not in rest]
    for bundle in bundles([*wrong, *rest]):
        yield _Row(bundle.first.status, f"{_named(bundle)}: {bundle.said}")
    prefills = [item for item in group.items if "bit-equal" in item.summary]
    if prefills and all(item.status is Status.PASS for item in prefills):
        yield _Row(Status.PASS, "logits bit-equal with and without the patch")


def _where(scenario: str) -> str:
    size = scenario.removeprefix("image-")
    return f"at n_ubatch {size}" if size.isdigit() else f"in scenario {scenario}"


def _scenario(item: Item) -> str:
    return key_of(item).partition("/")[0]


def _plain(text: str) -> str:
    """``text`` without anything that moves the cursor, hides or reorders."""
    return "".join(char if char.isprintable() else " " for char in text)
