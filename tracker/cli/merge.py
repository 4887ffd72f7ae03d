"""``lloyal-track merge``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.session import finish

if TYPE_CHECKING:
    from tracker.evidence.parts import Answer, MergeDocument

EPILOG = """Examples:

`lloyal-track merge plan.json parts`: after every machine has left its file in `parts`.
"""


def merge(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The plan.")],
    parts: Annotated[Path, typer.Argument(metavar="DIR", help="The folder with the parts.")],
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Put the parts of a plan together.

    The answers, what changed where, and which parts are missing.

    Parts made from other inputs are refused; a missing part makes the whole unknown.
    """
    from tracker.cli.runner_files import append
    from tracker.parts.merging import merge as join
    from tracker.parts.merging import read_parts, read_plan

    found, refused = read_parts(parts)
    document = join(read_plan(plan), found, refused)
    append("GITHUB_STEP_SUMMARY", markdown(document))
    finish(document, json=json, show=lambda: _text(document))


def _text(document: MergeDocument) -> str:
    from tracker.markup import plain

    lines = [
        f"{answer.verdict:<10} {answer.part.id:<48} {plain(answer.summary)}"
        for answer in document.answers
    ]
    lines += [f"{'missing':<10} {name}" for name in document.missing]
    lines += [f"{'refused':<10} {plain(each.file)}: {plain(each.why)}" for each in document.refused]
    lines += [
        f"{change.item}: {change.before} -> {change.after} between {change.from_} and {change.to}"
        + (f", {change.between} revisions between them unanswered" if change.between else "")
        for change in document.changes
    ]
    lines.append(
        f"{document.verdict}: {len(document.answers)} parts, {len(document.missing)} missing, "
        f"{len(document.refused)} refused"
    )
    return "\n".join(lines)


def markdown(document: MergeDocument) -> str:
    """For a job's summary: revisions down, kinds of machine across."""
    from tracker.markup import code, code_cell
    from tracker.report.environment import VERDICT_MARKS

    columns = list(dict.fromkeys(_column(answer) for answer in document.answers))
    rows: dict[str, dict[str, Answer]] = {}
    for answer in document.answers:
        rows.setdefault(answer.part.name, {})[_column(answer)] = answer
    lines = [f"# {len(document.answers)} parts: {document.verdict}", ""]
    lines.append("| revision | " + " | ".join(code_cell(name) for name in columns) + " |")
    lines.append("|---" * (len(columns) + 1) + "|")
    for name, row in rows.items():
        cells = [
            f"{VERDICT_MARKS[row[column].verdict]} {row[column].verdict}" if column in row else "-"
            for column in columns
        ]
        lines.append(f"| {code_cell(name)} | " + " | ".join(cells) + " |")
    lines.append("")
    lines += [
        f"- {code(change.item)}: {code(change.before)} → {code(change.after)} between "
        f"{code(change.from_)} and {code(change.to)} ({code(change.recipe)})"
        for change in document.changes
    ]
    lines += [f"- missing: {code(name)}" for name in document.missing]
    lines += [f"- refused: {code(each.file)}: {code(each.why)}" for each in document.refused]
    return "\n".join(lines) + "\n"


def _column(answer: Answer) -> str:
    part = answer.part
    sizes = ",".join(map(str, part.n_ubatch))
    return " ".join([part.recipe, sizes, *part.patches])
