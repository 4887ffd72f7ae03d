"""Parts -> one answer. Pure, but for reading the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tracker.errors import ConfigError
from tracker.evidence.parts import (
    Answer,
    ItemChange,
    MergeDocument,
    Part,
    PartDocument,
    PlanDocument,
    RefusedPart,
)
from tracker.evidence.verdict import Verdict, worst

_MOST_BYTES = 256 << 20


def read_plan(file: Path) -> PlanDocument:
    """The plan in ``file``.

    Raises:
        ConfigError: there is none, or it is damaged or of another version.
    """
    try:
        return msgspec.json.decode(file.read_bytes(), type=PlanDocument)
    except (OSError, msgspec.DecodeError) as fault:
        raise ConfigError(
            f"the plan cannot be read: {fault}",
            where=str(file),
            next_step="make it with `lloyal-track plan ... -o FILE`",
        ) from None


def read_parts(folder: Path) -> tuple[list[tuple[str, PartDocument]], list[RefusedPart]]:
    """Every JSON file below ``folder``, by name; those that are no part are refused."""
    parts: list[tuple[str, PartDocument]] = []
    refused: list[RefusedPart] = []
    for file in sorted(folder.rglob("*.json")):
        name = file.relative_to(folder).as_posix()
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _MOST_BYTES:
            refused.append(RefusedPart(file=name, why="no regular file of a plausible size"))
            continue
        try:
            parts.append((name, msgspec.json.decode(file.read_bytes(), type=PartDocument)))
        except (OSError, msgspec.DecodeError) as fault:
            refused.append(RefusedPart(file=name, why=f"not a part: {fault}"))
    return parts, refused


def merge(
    plan: PlanDocument,
    found: Sequence[tuple[str, PartDocument]],
    refused: Sequence[RefusedPart] = (),
) -> MergeDocument:
    """Put the parts together. ``found``: with the names of their files."""
    planned = {part.id: part for part in plan.parts}
    given: dict[str, list[tuple[str, PartDocument]]] = {}
    turned_away = list(refused)
    for name, document in found:
        why = _why_not(plan, planned, document)
        if why:
            turned_away.append(RefusedPart(file=name, why=why))
        else:
            given.setdefault(document.part.id, []).append((name, document))
    believed: dict[str, PartDocument] = {}
    for part, answers in given.items():
        if all(_judged(document) == _judged(answers[0][1]) for _, document in answers):
            believed[part] = answers[0][1]
        else:
            why = "answered more than once, and differently: neither is believed"
            turned_away += [RefusedPart(file=name, why=why) for name, _ in answers]
    missing = tuple(part.id for part in plan.parts if part.id not in believed)
    verdicts = [document.verdict for document in believed.values()]
    if missing:
        verdicts.append(Verdict.UNKNOWN)
    if turned_away:
        verdicts.append(Verdict.ATTENTION)
    return MergeDocument(
        verdict=worst(verdicts),
        inputs=plan.inputs,
        answers=tuple(_answer(believed[part.id]) for part in plan.parts if part.id in believed),
        missing=missing,
        refused=tuple(turned_away),
        changes=tuple(_changes(plan, believed)),
    )


def _why_not(plan: PlanDocument, planned: dict[str, Part], document: PartDocument) -> str:
    """Why a part is refused; "": it is not."""
    if document.inputs != plan.inputs:
        return f"made from other inputs ({document.inputs}) than the plan ({plan.inputs})"
    if planned.get(document.part.id) != document.part:
        return f"the plan has no such part: {document.part.id}"
    if document.bump.to.commit != document.part.revision:
        return f"its evidence is about {document.bump.to.commit[:12]}, not its own revision"
    if document.verdict is not document.bump.verdict:
        return "its verdict is not that of its evidence"
    return ""


def _judged(document: PartDocument) -> dict[str, str]:
    return {item.id: f"{item.status}: {item.summary}" for item in document.bump.items}


def _answer(document: PartDocument) -> Answer:
    return Answer(
        part=document.part,
        verdict=document.verdict,
        summary=document.bump.summary,
        forbidden_by=document.bump.pin.forbidden_by,
    )


def _changes(plan: PlanDocument, believed: dict[str, PartDocument]) -> list[ItemChange]:
    """Where an item's status changes from one answered revision of the plan to the next."""
    tracks: dict[tuple[str, tuple[int, ...], tuple[str, ...]], list[Part]] = {}
    for part in plan.parts:
        tracks.setdefault((part.recipe, part.n_ubatch, part.patches), []).append(part)
    found: list[ItemChange] = []
    for parts in tracks.values():
        before: tuple[int, PartDocument] | None = None
        for place, part in enumerate(parts):
            document = believed.get(part.id)
            if document is None:
                continue
            if before:
                found += _between(before[1], document, place - before[0] - 1)
            before = (place, document)
    return found


def _between(old: PartDocument, new: PartDocument, gap: int) -> list[ItemChange]:
    was = {item.id: item.status.value for item in old.bump.items}
    now = {item.id: item.status.value for item in new.bump.items}
    return [
        ItemChange(
            item=name,
            recipe=new.part.recipe,
            patches=new.part.patches,
            from_=old.part.name,
            to=new.part.name,
            before=was.get(name, "absent"),
            after=now.get(name, "absent"),
            between=gap,
        )
        for name in dict.fromkeys([*was, *now])
        if was.get(name) != now.get(name)
    ]
