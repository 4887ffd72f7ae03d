from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser

import pytest
from msgspec.structs import replace

from tests.support import documents
from tests.support.filled import filled
from tracker import report
from tracker.evidence.bump import BumpDocument
from tracker.evidence.history import WatchHistoryDocument
from tracker.evidence.rebase import Conflict, ConflictFile, ConflictHunk, Flag, Note, Outcome
from tracker.evidence.soak import SoakDocument
from tracker.evidence.sweep import SweepDocument

HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(2)> \"'& \u2028\u202e"
_VOID = {"meta", "link", "br", "input"}


class _Outline(HTMLParser):
    """Tags in order, ids, links, and whether every tag that was opened is closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.ids: Counter[str] = Counter()
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            self.attributes.add(name)
            if name == "id" and value:
                self.ids[value] += 1
            if name in ("href", "src", "aria-labelledby") and value:
                self.links.extend(
                    f"#{part}" if name == "aria-labelledby" else part for part in value.split(" ")
                )
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def hostile_document() -> BumpDocument:
    """Every text that upstream or a patch file can choose holds markup."""
    stages = documents.stages()
    assert stages.watch
    conflict = Conflict(
        files=(
            ConflictFile(
                path=HOSTILE,
                base=None,
                ours=None,
                theirs=None,
                hunks=(
                    ConflictHunk(
                        function=HOSTILE,
                        ours_start=3,
                        base=HOSTILE,
                        ours=HOSTILE,
                        theirs=HOSTILE,
                        proposal=HOSTILE,
                    ),
                ),
            ),
        ),
        commands=(HOSTILE,),
    )
    patch = replace(
        documents.patch(outcome=Outcome.CONFLICT),
        name=HOSTILE,
        subject=HOSTILE,
        why=HOSTILE,
        conflict=conflict,
        diff=f"--- a\n+++ b\n+{HOSTILE}\n",
        flags=(Flag.SCOPE_CHANGED,),
        notes=(Note.FORM,),
        form=f"{HOSTILE}, again",
    )
    document = documents.bump()
    items = tuple(
        replace(
            item,
            title=HOSTILE,
            summary=HOSTILE,
            evidence=(HOSTILE,),
            details=(HOSTILE,),
            reproduce=HOSTILE,
            lapsed=HOSTILE,
        )
        for item in document.items
    )
    regions = tuple(
        replace(region, diff=f"@@ -1 +1 @@\n-{HOSTILE}\n") for region in stages.watch.regions
    )
    return replace(
        document,
        summary=HOSTILE,
        items=(*items, replace(items[0], id=f"patch:{HOSTILE}", accepted=HOSTILE)),
        lines=tuple(replace(line, title=HOSTILE, said=HOSTILE) for line in document.lines),
        rebase=documents.rebase(patch),
        watch=replace(stages.watch, regions=regions),
        to=replace(document.to, name=HOSTILE),
    )


def _filled(turn: int) -> str:
    """Every field of every document that a page shows holds hostile text."""
    text = f"{HOSTILE} \x1b[2J\x07\x9b \u202e"
    return report.html(
        filled(BumpDocument, text, turn=turn, also={"id": f"patch:{text}"}),
        sweep=filled(SweepDocument, text, turn=turn),
        watched=filled(WatchHistoryDocument, text, turn=turn),
        soak=filled(SoakDocument, text, turn=turn),
    )


PAGES: dict[str, Callable[[], str]] = {
    "usual": lambda: report.html(documents.bump()),
    "whole": lambda: report.html(
        documents.bump(),
        sweep=documents.sweep(),
        watched=documents.watch_history(),
        soak=documents.soak(),
    ),
    "hostile": lambda: report.html(hostile_document()),
    **{f"filled {turn}": partial(_filled, turn) for turn in range(4)},
}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_well_formed_and_complete_in_itself(name: str) -> None:
    """Every tag is closed in order, every id is there once, every link leads somewhere."""
    outline = _Outline(PAGES[name]())
    assert max(outline.ids.values()) == 1
    targets = {link for link in outline.links if link.startswith("#")}
    assert targets <= {f"#{name}" for name in outline.ids}
    away = {link for link in outline.links if not link.startswith("#") and link != "data:,"}
    assert all(re.fullmatch(r"https://github\.com/[\w./-]+/issues/\d+", link) for link in away)


@pytest.mark.parametrize("name", PAGES)
def test_the_page_runs_and_loads_nothing(name: str) -> None:
    """No script, image, frame, inline style or handler, whatever the texts hold."""
    outline = _Outline(PAGES[name]())
    for tag in ("script", "img", "iframe", "object", "embed", "form"):
        assert outline.tags[tag] == 0
    assert not {name for name in outline.attributes if name.startswith("on")}
    assert "style" not in outline.attributes
    assert outline.tags["style"] == 1


def test_nothing_in_a_diff_can_hide() -> None:
    """Characters that reorder or hide text are shown as what they are: replaced, not obeyed."""
    page = PAGES["hostile"]()
    assert "\u202e" not in page
    assert "\u2028" not in page
    assert "\ufffd" in page


def test_the_policy_allows_this_style_sheet_alone() -> None:
    """The digest in the content policy is that of the style element as it stands in the page."""
    page = PAGES["usual"]()
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in page
    assert "unsafe-inline" not in page


def test_the_verdict_is_the_first_thing_said() -> None:
    """The one sentence is the page's only first-level heading and comes before everything else."""
    page = PAGES["usual"]()
    assert page.count("<h1>") == 1
    assert page.index("<h1>The pin moved from 0.3.29 to 0.3.36") < page.index("<nav")


def test_every_item_and_every_line_is_in_the_page() -> None:
    """Nothing that was judged is left out, nor the command that shows it again."""
    document = documents.bump()
    page = re.sub(r"<[^>]*>", "", report.html(document))
    for item in document.items:
        assert item.id.partition(":")[2] in page
    for command in {item.reproduce for item in document.items}:
        assert command.replace('"', "&#34;") in page
    for line in document.lines:
        assert line.title.replace("'", "&#39;") in page


def test_the_same_evidence_gives_the_same_bytes() -> None:
    """In another process, with other hashes and another locale, every format comes out equal."""
    script = (
        "from tests.support import documents as d; from tracker import report as r;"
        "import sys; b = d.bump();"
        "w = d.watch_history();"
        "sys.stdout.buffer.write((r.html(b, sweep=d.sweep(), watched=w, soak=d.soak())"
        " + r.markdown(b) + r.terminal(b, width=80)).encode())"
    )
    made = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=documents.REPOSITORY,
            env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale},
            capture_output=True,
            check=True,
        ).stdout
        for seed, locale in (("1", "C.UTF-8"), ("2", "C"), ("3", "C.UTF-8"))
    }
    assert len(made) == 1


def test_a_conflict_shows_its_three_sides_and_the_way_on() -> None:
    """Base, upstream, patch and proposal, with the commands that finish it."""
    conflict = Conflict(
        files=(
            ConflictFile(
                path="a.cpp",
                base="1",
                ours="2",
                theirs="3",
                hunks=(
                    ConflictHunk(
                        function="f",
                        ours_start=7,
                        base="old();",
                        ours="new(int);",
                        theirs="old(rank);",
                        proposal="new(rank);",
                    ),
                ),
            ),
        ),
        commands=("edit a.cpp", "lloyal-track resume"),
    )
    patch = replace(documents.patch(outcome=Outcome.CONFLICT), conflict=conflict)
    document = replace(documents.bump(), rebase=documents.rebase(patch))
    page = report.html(document)
    for text in ("old();", "new(int);", "old(rank);", "new(rank);", "lloyal-track resume"):
        assert text in page


@pytest.mark.parametrize("name", PAGES)
def test_the_file_of_the_page_steers_no_terminal(name: str) -> None:
    """Who reads the file there sees text: no control character, none that hides or reorders."""
    kinds = {c: unicodedata.category(c) for c in set(PAGES[name]()) - set("\n\t")}
    assert [c for c, kind in kinds.items() if kind in ("Cc", "Cf", "Cs", "Zl", "Zp")] == []
