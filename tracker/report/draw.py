"""Stage documents -> items, in the order of the checklist."""

from __future__ import annotations

import shlex
from typing import Protocol

from msgspec.structs import replace

from tracker.config import Config
from tracker.evidence.item import Item
from tracker.evidence.verdict import Status, Verdict
from tracker.report.gathered import Stages
from tracker.report.stages import build, check, people, pins, proof, rebase, tickets, watch
from tracker.report.standing import STATUS_OF


def items(config: Config, stages: Stages) -> tuple[Item, ...]:
    """Every item of the checklist: pins, patches, regions, routing, build, check, tickets, people.

    Without decisions (see ``decisions``). An id that ``config.checklist.blocking`` names exactly,
    and that nothing judged, becomes an item of its own: unknown, and blocking.
    """
    drawn = [
        *pins.items(config, stages),
        *_with_remainder("patch", stages.rebase, rebase.items(stages)),
        *_with_remainder("region", stages.watch, watch.items(config, stages)),
        *_with_remainder("build", stages.build, build.items(config, stages)),
        *_with_remainder("check", stages.check, check.items(config, stages)),
        *proof.items(stages),
        *_with_remainder("ticket", stages.tickets, tickets.items(config, stages)),
        *people.items(config, stages),
    ]
    known = {item.id for item in drawn}
    unjudged = [
        Item(
            id=name,
            title=name,
            status=Status.UNKNOWN,
            blocking=True,
            summary="named in checklist.blocking, but nothing of that name was judged",
        )
        for name in dict.fromkeys(config.checklist.blocking)
        if not name.endswith("*") and name not in known
    ]
    return tuple(
        _acceptable(_bound(_weighed(item, config), stages), stages) for item in [*drawn, *unjudged]
    )


def _acceptable(item: Item, stages: Stages) -> Item:
    """A failure can be accepted too, but to mend it is the way that is shown."""
    if not item.blocking or item.status not in (Status.ATTENTION, Status.UNKNOWN):
        return item
    words = f' {shlex.quote(item.id)} --because "..."'
    return replace(item, accept=stages.command("bump --to {target} --accept") + words)


class _Judged(Protocol):
    @property
    def verdict(self) -> Verdict: ...


def _with_remainder(kind: str, document: _Judged | None, drawn: tuple[Item, ...]) -> list[Item]:
    """``drawn``, and an item for a stage that concluded worse than all of its parts.

    A document whose verdict is not ok although every item passes has seen something that no item
    shows; dropping that would be the silent kind of wrong.
    """
    if document is None or document.verdict is Verdict.OK:
        return list(drawn)
    if any(item.status is not Status.PASS for item in drawn):
        return list(drawn)
    stage = Item(
        id=f"{kind}:stage",
        title="the stage as a whole",
        status=STATUS_OF[document.verdict],
        blocking=kind != "ticket",
        summary=f"the stage concluded `{document.verdict}`, though each of its parts passes",
    )
    return [*drawn, stage]


def _weighed(item: Item, config: Config) -> Item:
    """``item`` with the weight that the configuration gives it; the longest match wins."""
    wanted = {True: config.checklist.blocking, False: config.checklist.advisory}
    matches = [
        (len(pattern.rstrip("*")), not pattern.endswith("*"), blocking)
        for blocking, patterns in wanted.items()
        for pattern in patterns
        if matches_id(pattern, item.id)
    ]
    if not matches:
        return item
    # On a tie True, blocking, is the larger: a contradiction must not weaken a verdict.
    return replace(item, blocking=max(matches)[2])


def _bound(item: Item, stages: Stages) -> Item:
    """``item``, tied to the target if accepting it would let the pin move past a failure.

    "Not built" or "killed by signal 11" reads the same at every revision; a reason that was good
    for one must not open the gate for all that follow.
    """
    if item.blocking and item.status in (Status.FAIL, Status.UNKNOWN):
        return replace(item, evidence=(*item.evidence, f"for target {stages.target.commit}"))
    return item


def matches_id(pattern: str, item_id: str) -> bool:
    """``pattern`` is an item id, or a prefix of one followed by ``*``."""
    if pattern.endswith("*"):
        return item_id.startswith(pattern[:-1])
    return item_id == pattern
