"""What only a person can tick -> items."""

from __future__ import annotations

from tracker.config import Config
from tracker.evidence.item import Item
from tracker.evidence.verdict import Status
from tracker.report.gathered import Stages


def items(config: Config, stages: Stages) -> tuple[Item, ...]:
    """One per configured line; its evidence names the target if a decision is due at every bump."""
    return tuple(
        Item(
            id=f"human:{table.name}",
            title=table.title,
            status=Status.HUMAN,
            blocking=False,
            summary=table.why or "only a person can tell",
            evidence=(f"for target {stages.target.commit}",) if table.every_bump else (),
            reproduce=stages.command("bump --to {target} --accept ")
            + f'human:{table.name} --because "..."',
        )
        for table in config.checklist.human
    )
