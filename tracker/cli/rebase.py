"""``lloyal-track rebase``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.series_options import Bench, Json, SeriesFolder, Upstream, opened, tidy
from tracker.cli.session import Session, finish, session

if TYPE_CHECKING:
    from tracker.evidence.rebase import ConflictFile, PatchResult, RebaseDocument
    from tracker.series.writing import Written

EPILOG = """Examples:

`lloyal-track rebase --onto master`: judge, write nothing.

`lloyal-track rebase --onto master --write`: refresh the patch files, or open the first conflict.
"""


def rebase(
    context: typer.Context,
    onto: Annotated[str, typer.Option("--onto", metavar="REV", help="The new revision.")],
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="REV", help="What the patches are for; default: the pin."),
    ] = None,
    series: SeriesFolder = None,
    upstream: Upstream = None,
    write: Annotated[
        bool, typer.Option("--write", help="Refresh the patch files for the new revision.")
    ] = False,
    json: Json = False,
) -> None:
    """What becomes of each patch on REV?

    Does it still apply, still mean the same, is it still needed?
    """
    run(session(context), onto, from_, series, upstream, write=write, json=json)


def run(
    this: Session,
    onto: str,
    from_: str | None,
    series: Path | None,
    upstream: Path | None,
    *,
    write: bool,
    json: bool,
) -> None:
    """The command; ``resume`` runs it again after a conflict."""
    from tracker.series.rebasing import rebase_with_engine
    from tracker.series.writing import write as write_files

    with this.progress() as progress, opened(this, series, upstream, writing=write) as bench:
        progress.stage("rebase")
        rebased = rebase_with_engine(
            bench.repository,
            bench.series,
            from_=bench.commit(from_) if from_ is not None else bench.pin(),
            onto=bench.commit(onto),
            quarantine=bench.quarantine,
            progress=progress,
            command=_command(this, onto, from_, series, upstream),
        )
        written = None
        if write:
            assert bench.state is not None  # noqa: S101  (opened for writing)
            with bench.state.locked():
                place = upstream or bench.repository.git_dir
                written = write_files(rebased, bench.series, bench.state, place)
        remarks = bench.series.remarks
    if write:
        tidy(this)
    finish(
        rebased.document,
        json=json,
        show=lambda: text(this, rebased.document, remarks, written, bench),
    )


def _command(
    this: Session, onto: str, from_: str | None, series: Path | None, upstream: Path | None
) -> str:
    """The command line that repeats this one, for the commands that a conflict prints."""
    words = ["lloyal-track"]
    if this.config_file is not None:
        words += ["--config", str(this.config_file)]
    words += ["rebase", "--onto", onto]
    for option, value in (("--from", from_), ("--series", series), ("--upstream", upstream)):
        if value is not None:
            words += [option, str(value)]
    return shlex.join(words)


def text(
    this: Session,
    document: RebaseDocument,
    remarks: tuple[str, ...],
    written: Written | None,
    bench: Bench,
) -> str:
    """The document for people. Names and subjects are foreign text and shown as one plain line."""
    from tracker.evidence.rebase import Outcome
    from tracker.markup import plain

    left_out = (Outcome.CONFLICT, Outcome.UNUSABLE)

    lines = [
        f"{document.from_[:12]} -> {document.onto[:12]}: {document.verdict}{_counts(document)}"
    ]
    lines += [f"note: {plain(remark)}" for remark in remarks]
    if not document.patches:
        lines.append("the series holds no patch")
    for result in document.patches:
        lines += _patch(result)
    out = [n for n, result in enumerate(document.patches) if result.outcome in left_out]
    if out and out[0] + 1 < len(document.patches):
        behind = plain(document.patches[out[0]].name)
        without = "it" if len(out) == 1 else f"the {len(out)} that do not apply"
        lines.append(f"the patches behind {behind} are judged without {without}")
    if written is not None:
        lines += _written(written, bench, this.program)
    elif document.verdict.exit_code == 0 and any(result.notes for result in document.patches):
        lines += ["", "Refresh the patch files with --write."]
    return "\n".join(lines)


def _counts(document: RebaseDocument) -> str:
    """How many patches have which outcome, best first; of more than one."""
    from collections import Counter

    from tracker.evidence.rebase import Outcome

    found = Counter(result.outcome for result in document.patches)
    if len(document.patches) < 2:  # noqa: PLR2004
        return ""
    each = ", ".join(f"{found[outcome]} {outcome}" for outcome in Outcome if outcome in found)
    return f" ({len(document.patches)} patches: {each})"


def _patch(result: PatchResult) -> list[str]:
    from tracker.markup import code_line, plain

    marks = [*result.flags, *result.notes]
    shown = f"{result.outcome:<16} {plain(result.name)}"
    if result.form != result.name:
        shown += f" as {plain(result.form)}"
    if marks:
        shown += f"  [{', '.join(marks)}]"
    if result.alone is not None and result.alone is not result.outcome:
        shown += f"  (alone: {result.alone})"
    lines = [shown]
    for sentence in result.why.split("; "):
        if sentence and not sentence.startswith("alone: "):
            lines.append(f"{'':<17}{plain(sentence)}")
    if result.culprit is not None:
        culprit = result.culprit
        if isinstance(culprit, str):
            lines.append(f"{'':<17}changed by: unknown")
        else:
            lines.append(f"{'':<17}changed by: {culprit.commit[:12]} {plain(culprit.subject)}")
    if result.conflict is not None:
        for file in result.conflict.files:
            lines += _card(file)
        if result.conflict.commands:
            lines.append(f"{'':<17}to finish:")
            lines += [f"{'':<21}{code_line(command)}" for command in result.conflict.commands]
        else:
            lines.append(f"{'':<17}no text can settle it: rewrite the patch, or drop it")
    return lines


_MOST = 24  # lines shown of one side


def _card(file: ConflictFile) -> list[str]:
    from tracker.markup import plain

    lines = []
    if not file.hunks:
        lines.append(f"{'':<17}{plain(file.path)}: as a whole")
    for hunk in file.hunks:
        where = f" in {plain(hunk.function)}" if hunk.function else ""
        lines.append(f"{'':<17}{plain(file.path)}:{hunk.ours_start}{where}")
        lines += _side("upstream", _difference(hunk.base, hunk.ours))
        lines += _side("patch", _difference(hunk.base, hunk.theirs))
        if hunk.proposal is not None:
            lines += _side("proposal", hunk.proposal.splitlines())
    return lines


def _side(title: str, shown: list[str]) -> list[str]:
    from tracker.markup import code_line

    lines = [
        f"{'':<19}{'' if number else title:<9}| {code_line(line)}"
        for number, line in enumerate(shown[:_MOST])
    ]
    if len(shown) > _MOST:
        lines.append(f"{'':<28}| ... {len(shown) - _MOST} more lines")
    return lines


def _difference(old: str, new: str) -> list[str]:
    """What one side did to the pin's lines, with a line of context."""
    from difflib import unified_diff

    made = unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm="")
    return [line for line in made if not line.startswith(("---", "+++", "@@"))]


def _written(written: Written, bench: Bench, program: str) -> list[str]:
    lines = [""]
    lines += [f"written: {name}" for name in written.files]
    lines += [f"not written: {name}: {why}" for name, why in written.not_written]
    if written.operation is not None and bench.state is not None:
        lines.append(
            f"{written.operation.patch} is in conflict; nothing of the series was written."
        )
        lines.append(f"Edit, then `{program} resume`; or `{program} abort`:")
        lines += [f"    {bench.state.folder / file.file}" for file in written.operation.files]
    elif not written.files and not written.not_written:
        lines.append("written: nothing, every file is as it should be")
    return lines
