"""Items -> which forbid, the verdict of the whole, and its one sentence."""

from __future__ import annotations

from tracker.evidence.item import Item
from tracker.evidence.pins import PinMove
from tracker.evidence.rebase import Outcome, RebaseDocument
from tracker.evidence.verdict import Status, Verdict, worst
from tracker.report.standing import VERDICT_OF, worst_status

_NAMED = 2


def forbidden_by(items: tuple[Item, ...]) -> tuple[str, ...]:
    """Ids of the items that forbid the pin to move, in checklist order; empty: it may move."""
    return tuple(item.id for item in items if item.forbids)


def conclusion(items: tuple[Item, ...], rebase: RebaseDocument | None) -> Verdict:
    """The verdict of a bump: ok if nothing forbids, else the worst of what does.

    Advisory items are shown and never change it. No items at all is unknown.
    """
    if not items:
        return Verdict.UNKNOWN
    conflicts = {
        f"patch:{patch.name}"
        for patch in (rebase.patches if rebase else ())
        if patch.outcome is Outcome.CONFLICT
    }
    against = [
        Verdict.CONFLICT if item.id in conflicts else VERDICT_OF[item.status]
        for item in items
        if item.forbids
    ]
    return worst(against) if against else Verdict.OK


def sentence(items: tuple[Item, ...], move: PinMove) -> str:
    """The verdict in one sentence, plain text."""
    here, there = move.from_.name, move.to.name
    if move.outcome == "forbidden":
        return f"The pin stays at {here}: {_against(items)} the move to {there}."
    said = {
        "moved": f"The pin moved from {here} to {there}",
        "would-move": f"The pin can move from {here} to {there}",
        "already-there": f"The pin is at {there} already",
    }[move.outcome]
    return f"{said}; {left(items)}."


def _against(items: tuple[Item, ...]) -> str:
    """``a forbids`` / ``a, b and 3 more forbid``: the worst ones by name, the others counted."""
    against = [item for item in items if item.forbids]
    worst_ones = [
        item.id
        for item in against
        if item.status is worst_status(other.status for other in against)
    ]
    named = worst_ones[:_NAMED]
    more = len(against) - len(named)
    tail = f" and {more} more" if more > 0 else ""
    return f"{', '.join(named)}{tail} {'forbids' if len(against) == 1 else 'forbid'}"


def left(items: tuple[Item, ...]) -> str:
    """What is left for the reader: ``3 to look at, 2 unknown, 3 for a person``."""
    open_ones = [item for item in items if not item.accepted]
    counted = (
        (sum(item.status is Status.FAIL for item in open_ones), "failed"),
        (sum(item.status is Status.ATTENTION for item in open_ones), "to look at"),
        (sum(item.status is Status.UNKNOWN for item in open_ones), "unknown"),
        (sum(item.status is Status.HUMAN for item in open_ones), "for a person"),
    )
    return ", ".join(f"{count} {what}" for count, what in counted if count) or "nothing to look at"
