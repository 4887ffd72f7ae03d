"""Evidence -> items -> checklist, as Markdown, JSON, a terminal table and one HTML file.

Pure: documents in, values and text out; reads no file but its own templates, and no clock. The same
evidence gives the same bytes. It must never call anything better than its document does: a stage
that did not run, and a thing that was configured but not judged, are ``unknown``.

    stages = Stages(start=…, target=…, rebase=…, not_run={"build": "no compiler"})
    found = items(config, stages)          # every line of the checklist
    tracker_lines(config, found, stages)   # the tracker's own list, answered by them
    forbidden_by(found)                    # ids; empty: the pin may move
    conclusion(found, rebase)              # the verdict of the whole
    sentence(found, move)                  # the verdict in one sentence
    markdown(document), html(document), terminal(document)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.report.conclusion import conclusion, forbidden_by, sentence
from tracker.report.draw import items
from tracker.report.gathered import Stages
from tracker.report.lines import tracker_lines

if TYPE_CHECKING:
    from tracker.evidence.bump import BumpDocument
    from tracker.evidence.checklist import ChecklistDocument
    from tracker.evidence.history import WatchHistoryDocument
    from tracker.evidence.soak import SoakDocument
    from tracker.evidence.sweep import SweepDocument

__all__ = [
    "Stages",
    "checklist",
    "conclusion",
    "forbidden_by",
    "html",
    "items",
    "markdown",
    "sentence",
    "summary",
    "terminal",
    "tracker_lines",
]


def checklist(document: BumpDocument) -> ChecklistDocument:
    """The checklist as a document of its own, for ``checklist --json``."""
    from tracker.evidence.checklist import ChecklistDocument

    return ChecklistDocument(
        verdict=document.verdict,
        summary=document.summary,
        from_=document.from_,
        to=document.to,
        items=document.items,
        lines=document.lines,
        pin=document.pin,
        provenance=document.provenance,
        started_at=document.started_at,
    )


def markdown(document: BumpDocument) -> str:
    """The checklist in Markdown; fits a pull request's body after ``publish`` cuts it."""
    from tracker.report.markdown_sheet import markdown as render

    return render(document)


def summary(document: BumpDocument) -> str:
    """The first screen of the checklist in Markdown: for a job's summary."""
    from tracker.report.markdown_sheet import summary as render

    return render(document)


def html(
    document: BumpDocument,
    *,
    sweep: SweepDocument | None = None,
    watched: WatchHistoryDocument | None = None,
    soak: SoakDocument | None = None,
) -> str:
    """One self-contained page: no script, nothing loaded from elsewhere.

    ``sweep`` and ``watched`` become its timeline, ``soak`` its plot.
    """
    from tracker.report.page import html as render

    return render(document, sweep=sweep, watched=watched, soak=soak)


def terminal(document: BumpDocument, *, width: int | None = None) -> str:
    """The table that ``bump`` ends with, coloured if stdout is a terminal (``NO_COLOR`` obeyed)."""
    from tracker.report.table import terminal as render

    return render(document, width=width)
