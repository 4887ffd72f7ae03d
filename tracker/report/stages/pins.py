"""Pins -> items: can each be read and moved, and do they agree."""

from __future__ import annotations

from tracker.config import Config
from tracker.evidence.item import Item
from tracker.evidence.verdict import Status
from tracker.report.gathered import Stages


def items(config: Config, stages: Stages) -> tuple[Item, ...]:
    """One per pin, read or configured; those that need an eye first.

    A pin that can't be read, or can't be moved, blocks: all move together or none does. One that
    reads fine but disagrees with the others is shown and does not block: the move is what brings
    them together.
    """
    command = f"{stages.program} status"
    found = []
    for pin in stages.pins:
        stuck = pin.value is None or bool(pin.obstacle)
        if pin.value is None:
            status, said = Status.FAIL, pin.trouble
        elif pin.obstacle:
            status = Status.FAIL
            said = f"{pin.place} says {pin.value}, and cannot be moved: {pin.obstacle}"
        elif pin.why:
            status, said = Status.ATTENTION, pin.trouble
        else:
            status, said = Status.PASS, f"says {pin.value}"
        found.append(
            Item(
                id=f"pin:{pin.name}",
                title=pin.path,
                status=status,
                blocking=stuck,
                summary=said,
                details=(
                    f"{pin.kind} in {pin.place}",
                    f"means {pin.commit or 'an unknown commit'}",
                ),
                reproduce=command,
            )
        )
    read = {pin.name for pin in stages.pins}
    return tuple(sorted(found, key=lambda item: item.status is Status.PASS)) + tuple(
        Item(
            id=f"pin:{table.name}",
            title=table.path,
            status=Status.UNKNOWN,
            blocking=True,
            summary="configured, but it was not read in this run",
            reproduce=command,
        )
        for table in config.pins
        if table.name not in read
    )
