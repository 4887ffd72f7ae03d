"""The first revision of a range where a region or a routing answer is no longer the start's."""

from __future__ import annotations

from typing import Literal

import msgspec

from tracker.config import WatchTable
from tracker.evidence.sweep import BisectDocument
from tracker.evidence.verdict import Verdict
from tracker.git.repository import Repository
from tracker.progress import Progress
from tracker.watch.history import watch_range


def first_break(
    repository: Repository,
    table: WatchTable,
    *,
    until: Literal["region", "routing"],
    from_: str,
    to: str,
    progress: Progress,
) -> BisectDocument:
    """The oldest break point of the range, with every item that breaks there.

    Contents are read once each, so all revisions are judged: an answer that came back later hides
    nothing, as it would from a search by halves.

    Raises:
        ConfigError: a selector or a situation in ``table`` cannot be used.
        UsageError: ``from_`` is no ancestor of ``to``.
    """
    empty = {"routing": ()} if until == "region" else {"regions": ()}
    asked = msgspec.structs.replace(table, **empty)
    document = watch_range(repository, asked, from_=from_, to=to, progress=progress)
    oldest = document.breaks[0] if document.breaks else None
    there = [point for point in document.breaks if oldest and point.to == oldest.to]
    return BisectDocument(
        verdict=Verdict.UNKNOWN if document.unknown else document.verdict,
        until=until,
        from_=from_,
        to=to,
        commit=oldest.commit if oldest else None,
        first=oldest.to if oldest else None,
        last_before=oldest.from_ if oldest else None,
        before="; ".join(f"{point.item}: {point.before}" for point in there) or "the same",
        after="; ".join(f"{point.item}: {point.after} ({point.status})" for point in there)
        or "the same",
        tried=document.revisions,
        revisions=document.revisions,
        items=tuple(point.item for point in there),
    )
