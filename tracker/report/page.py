"""A bump document -> one self-contained HTML file, from templates/report.html.

No script, nothing loaded: the content policy in the head allows only the one style sheet, by its
digest. Everything that comes from a document is escaped by the template engine.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment
from markupsafe import Markup

from tracker.bundled import bundled
from tracker.evidence.bump import BumpDocument
from tracker.evidence.history import WatchHistoryDocument
from tracker.evidence.soak import SoakDocument
from tracker.evidence.sweep import SweepDocument
from tracker.evidence.verdict import Status, Verdict
from tracker.evidence.watch import RoutingAnswer, RoutingStatus
from tracker.report.along import timeline_of
from tracker.report.environment import page_environment
from tracker.report.glance import glance
from tracker.report.plot import canvas, ends
from tracker.report.sessions import name_of, plot_of
from tracker.report.stages.check import real_classes
from tracker.report.stages.watch import short_arch
from tracker.report.standing import STATUS_OF, worst_status
from tracker.report.timeline import Timeline, picture, turn_rows
from tracker.report.view import View

GLYPHS = {
    Status.PASS: "✓",
    Status.ATTENTION: "!",
    Status.FAIL: "✗",
    Status.UNKNOWN: "?",
    Status.HUMAN: "☐",
}
_TICKET = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)#([1-9][0-9]*)")
LINE_TONES = {"done": Status.PASS, "open": Status.HUMAN, "unknown": Status.UNKNOWN}


@dataclass(frozen=True, slots=True)
class _Section:
    anchor: str
    title: str
    status: Status


@dataclass(frozen=True, slots=True)
class _RoutingRow:
    """``before``, ``after``: (class, what the source leaves open). ``empty``: what none means."""

    arch: str
    when: str
    before: tuple[tuple[str, tuple[str, ...]], ...]
    after: tuple[tuple[str, tuple[str, ...]], ...]
    empty: str
    measured: tuple[str, ...]


def html(
    document: BumpDocument,
    *,
    sweep: SweepDocument | None = None,
    watched: WatchHistoryDocument | None = None,
    soak: SoakDocument | None = None,
) -> str:
    """The page. Same evidence, same bytes. A part that is None is left out."""
    timeline = timeline_of(sweep, watched)
    plot = plot_of(soak) if soak else None
    view = View(document)
    style, digest = _style()
    template = _environment().get_template("report.html")
    return template.render(
        document=document,
        view=view,
        glance=glance(view),
        sections=_sections(view, timeline, soak),
        routing=_routing(document),
        patches=_patches(document),
        diffs=view.diffs,
        timeline=timeline,
        picture=picture(timeline) if timeline else None,
        turns=turn_rows(timeline) if timeline else (),
        soak=soak,
        plot=plot,
        canvas=canvas(plot) if plot else None,
        plot_ends=ends(plot) if plot else (),
        glyphs=GLYPHS,
        line_tones=LINE_TONES,
        style=style,
        style_digest=digest,
    )


@cache
def _environment() -> Environment:
    environment = page_environment()
    environment.filters["anchor"] = anchor
    environment.filters["diff_lines"] = lambda text: list(diff_lines(text))
    environment.filters["ticket_url"] = ticket_url
    environment.filters["session"] = name_of
    environment.filters["tone"] = tone
    return environment


@cache
def _style() -> tuple[Markup, str]:
    """The style sheet, and its digest as a content policy names it."""
    text = (bundled("templates") / "report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(text), f"sha256-{digest}"  # noqa: S704  (our own file)


def ticket_url(key: str) -> str:
    """Where a reader finds ``owner/repo#number``; "" for anything else."""
    found = _TICKET.fullmatch(key)
    return f"https://github.com/{found.group(1)}/issues/{found.group(2)}" if found else ""


def tone(verdict: Verdict) -> Status:
    """The colours of a verdict are those of its status."""
    return STATUS_OF[verdict]


def anchor(item_id: str) -> str:
    """An id for links inside the page: readable, and different for different items."""
    plain = "".join(char if char.isascii() and char.isalnum() else "-" for char in item_id)
    return f"{plain}-{hashlib.sha256(item_id.encode()).hexdigest()[:6]}"


def diff_lines(text: str) -> Iterator[tuple[str, str]]:
    """Each line of a unified diff with its kind: ``add``, ``del``, ``hunk`` or ``context``."""
    for line in text.splitlines():
        if line.startswith(("+++", "---", "@@", "diff ", "index ")):
            yield "hunk", line
        elif line.startswith("+"):
            yield "add", line
        elif line.startswith("-"):
            yield "del", line
        else:
            yield "context", line


def _sections(view: View, timeline: Timeline | None, soak: SoakDocument | None) -> list[_Section]:
    items = view.document.items
    open_items = [item for item in items if item.status is not Status.PASS and not item.accepted]
    needs = worst_status(item.status for item in open_items) if open_items else Status.PASS
    listed = [_Section("needs", "Needs you", needs)]
    if view.document.lines:
        states = [LINE_TONES[line.state] for line in view.document.lines]
        listed.append(_Section("tracker", "Tracker", worst_status(states)))
    if timeline:
        ends_as = worst_status(track.stretches[-1].status for track in timeline.tracks)
        listed.append(_Section("timeline", "Timeline", ends_as))
    listed += [_Section(group.kind, group.title, group.status) for group in view.groups]
    if soak:
        listed.append(_Section("soak", "Long session", STATUS_OF[soak.verdict]))
    listed.append(_Section("provenance", "Provenance", Status.PASS))
    return listed


def _routing(document: BumpDocument) -> list[_RoutingRow]:
    measured = real_classes(document.check)
    return [
        _RoutingRow(
            arch=short_arch(found.arch),
            when=found.when,
            before=_open(found.from_),
            after=_open(found.to),
            empty="unresolved" if found.status is RoutingStatus.UNRESOLVED else "not there",
            measured=measured.get(short_arch(found.arch), ()) if found.when == "default" else (),
        )
        for found in (document.watch.routing if document.watch else ())
    ]


def _open(answers: tuple[RoutingAnswer, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each answer without the conditions that the situation assumes: those are its name."""
    return tuple(
        (
            answer.class_,
            tuple(part for part in answer.conditions if not part.endswith("(assumed)")),
        )
        for answer in answers
    )


def _patches(document: BumpDocument) -> dict[str, object]:
    """Item id -> the patch behind it."""
    return {
        f"patch:{patch.name}": patch
        for patch in (document.rebase.patches if document.rebase else ())
    }
