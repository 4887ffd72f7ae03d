"""Rebase document -> one item per patch."""

from __future__ import annotations

from tracker.evidence.item import Item
from tracker.evidence.rebase import Culprit, Flag, Note, Outcome, PatchResult
from tracker.evidence.verdict import Status
from tracker.report.gathered import Stages
from tracker.report.standing import plural

_SAID = {
    Outcome.UNCHANGED: "applies exactly, on the same lines",
    Outcome.OFFSET: "applies exactly, on other lines",
    Outcome.MERGED: "merges cleanly; its surroundings changed",
    Outcome.STRUCTURAL: "fits only by structure: read the result before using it",
    Outcome.UPSTREAMED: "found in upstream, nothing of it is left: drop it?",
    Outcome.PARTLY_UPSTREAMED: "part of it is in upstream: take the reduced patch?",
    Outcome.CONFLICT: "conflicts",
    Outcome.UNUSABLE: "cannot be used as a patch",
    Outcome.NOT_APPLICABLE: "not applicable: the code it is for does not exist at this revision",
}
_FLAGGED = {
    Flag.LANDED_ELSEWHERE: "it landed in another function than on the pin",
    Flag.AMBIGUOUS: "its context stands more than once",
    Flag.SILENT_REVERT: "it deletes lines that upstream added since the pin",
    Flag.SCOPE_CHANGED: "the function it changes was changed upstream",
    Flag.NO_BASE: "its base is not known, so no three-way merge could confirm it",
    Flag.ALREADY_PRESENT: "lines that it adds already stand nearby",
}
_NOTED = {
    Note.REFRESH_NEEDED: "the stored file needs a refresh: rebase --write",
    Note.RESOLUTION_USED: "a stored resolution was used",
    Note.FORM: "the patch has forms for other shapes of the code, and one of those was used",
}
_PASSES = (Outcome.NOT_APPLICABLE,)
_NAMES_SHOWN = 3
_FAILS = (Outcome.CONFLICT, Outcome.UNUSABLE)


def items(stages: Stages) -> tuple[Item, ...]:
    """One per patch, in series order, then the files that the series does not name;
    ``patch:series`` when there is no patch to judge.

    Without a resulting tree, although every patch looks applied, nothing was proven: unknown.
    """
    command = stages.command("rebase --from {start} --onto {target}")
    document = stages.rebase
    unnamed = tuple(_unnamed(name, command) for name in (document.unnamed if document else ()))
    if document is None or not document.patches:
        why = (
            f"the series was not tried: {stages.why_not('rebase')}"
            if document is None
            else "the series holds no patch, so nothing was tried"
        )
        return (_series(Status.UNKNOWN, why, command), *unnamed)
    # A decision about a patch holds for what was read: this series on this revision.
    bound = f"tree {document.tree[:12]}" if document.tree else f"revision {document.onto[:12]}"
    found = tuple(_item(patch, command, bound) for patch in document.patches)
    if document.tree is None and all(item.status is Status.PASS for item in found):
        why = "no resulting tree, though every patch is said to apply"
        return (*found, _series(Status.UNKNOWN, why, command), *unnamed)
    return (*found, *unnamed)


def _series(status: Status, said: str, command: str) -> Item:
    return Item(
        id="patch:series",
        title="the patch series",
        status=status,
        blocking=True,
        summary=said,
        reproduce=command,
    )


def _unnamed(name: str, command: str) -> Item:
    return Item(
        id=f"patch:{name}",
        title=name,
        status=Status.ATTENTION,
        blocking=False,
        summary="in the folder, but the series does not name it: not applied",
        reproduce=command,
    )


def _item(patch: PatchResult, command: str, bound: str) -> Item:
    status = _status(patch)
    return Item(
        id=f"patch:{patch.name}",
        title=patch.subject or patch.name,
        status=status,
        blocking=True,
        summary=_summary(patch),
        evidence=(*_evidence(patch), *([] if status is Status.PASS else [f"seen in {bound}"])),
        details=tuple(_hunks(patch)),
        reproduce=command,
    )


def _status(patch: PatchResult) -> Status:
    if patch.outcome in _FAILS:
        return Status.FAIL
    if patch.flags:
        return Status.ATTENTION
    if patch.outcome.clean or patch.outcome in _PASSES:
        return Status.PASS
    return Status.ATTENTION


def _summary(patch: PatchResult) -> str:
    said = _SAID[patch.outcome]
    if Note.FORM in patch.notes:
        said += ", in another form"
    if patch.outcome.clean and not patch.flags:
        places = _functions(patch)
        if places:
            said += f", {places}" if places[0].isdigit() else f", in {places}"
    parts = [said, *(_FLAGGED[flag] for flag in patch.flags)]
    if patch.why:
        parts.append(patch.why)
    return "; ".join(parts)


def _functions(patch: PatchResult) -> str:
    """Where the hunks landed: names if they are few; "" if any of them is not known."""
    landed = [hunk.landed_in for file in patch.files for hunk in file.hunks]
    names = dict.fromkeys(name.rpartition("::")[2] for name in landed if name)
    if not names or not all(landed):
        return ""
    if len(names) > _NAMES_SHOWN:
        return f"{plural(len(landed), 'hunk')} in {len(names)} functions"
    return ", ".join(names)


def _evidence(patch: PatchResult) -> list[str]:
    said = [f"outcome {patch.outcome}" + "".join(f", flag {flag}" for flag in patch.flags)]
    if patch.alone is not None and patch.alone is not patch.outcome:
        said.append(f"alone, without the patches before it: {patch.alone}")
    if patch.requires:
        said.append(f"judged on top of {', '.join(patch.requires)}")
    said += [_NOTED[note] for note in patch.notes]
    match patch.culprit:
        case Culprit(commit=commit, subject=subject, pr=pr):
            number = f" (#{pr})" if pr is not None and f"#{pr}" not in subject else ""
            said.append(f"changed upstream by {commit[:12]} {subject}{number}")
        case "unknown":
            said.append("which upstream commit changed it is unknown: the history is a snapshot")
        case None:
            pass
    if patch.conflict is not None:
        for file in patch.conflict.files:
            places = [hunk.function or f"line {hunk.ours_start}" for hunk in file.hunks]
            said.append(f"conflict in {file.path}: {', '.join(places) or 'the whole file'}")
    return said


def _hunks(patch: PatchResult) -> list[str]:
    lines = []
    for file in patch.files:
        path = (
            file.path if file.new_path in (None, file.path) else f"{file.path} -> {file.new_path}"
        )
        for hunk in file.hunks:
            to = f" -> {hunk.new_start}" if hunk.new_start is not None else ""
            place = hunk.landed_in or hunk.function or "outside any function"
            lines.append(f"{path}:{hunk.old_start}{to} {hunk.outcome} in {place}")
    if patch.form != patch.name:
        lines.append(f"form used: {patch.form}")
    return lines
