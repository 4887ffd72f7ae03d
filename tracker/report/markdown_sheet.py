"""A bump document -> Markdown, from templates/checklist.md and templates/summary.md."""

from __future__ import annotations

from tracker.evidence.bump import BumpDocument
from tracker.report.environment import markdown_environment
from tracker.report.glance import glance
from tracker.report.view import View


def markdown(document: BumpDocument) -> str:
    """The checklist. Sections start with ``## ``, so that a body can be cut between them."""
    return _rendered("checklist.md", document)


def summary(document: BumpDocument) -> str:
    """The first screen: verdict, rows at a glance, and what forbids."""
    return _rendered("summary.md", document)


def _rendered(name: str, document: BumpDocument) -> str:
    view = View(document)
    return (
        markdown_environment()
        .get_template(name)
        .render(view=view, glance=glance(view), diffs=view.diffs, document=document)
    )
