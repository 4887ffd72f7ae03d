"""A bump document -> the checklist in Markdown, from templates/checklist.md."""

from __future__ import annotations

from tracker.evidence.bump import BumpDocument
from tracker.report.environment import markdown_environment
from tracker.report.glance import glance
from tracker.report.view import View


def markdown(document: BumpDocument) -> str:
    """Sections start with ``## ``, so that a body that must be cut can be cut between them."""
    view = View(document)
    template = markdown_environment().get_template("checklist.md")
    return template.render(view=view, glance=glance(view), diffs=view.diffs, document=document)
