"""The report in a real browser: what a reader sees, hears and can reach."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.report.test_page import PAGES
from tests.support import chromium, documents
from tests.support.chromium import Page
from tracker import report

pytestmark = pytest.mark.browser

LONG = "x" * 300
# Colours of every text that is directly in an element, with the background it stands on.
_CONTRASTS = """
(() => {
  const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.closest('svg') || !e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    const [a, b] = [light(parse(style.color)), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push([e.className, e.textContent.slice(0, 30), ratio]);
  }
  return bad;
})()
"""


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium.page() as found:
        yield found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    document = documents.bump()
    long_names = tuple(
        replace(item, id=f"{item.id}{LONG}", summary=LONG, evidence=(LONG,), reproduce=LONG)
        for item in document.items
    )
    made: dict[str, str] = {name: make() for name, make in PAGES.items()}
    made["long"] = report.html(replace(document, items=long_names, summary=LONG))
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in made}


@pytest.mark.parametrize("name", ["usual", "whole", "hostile", "long"])
def test_nothing_is_loaded_and_nothing_complains(
    page: Page, files: dict[str, Path], name: str
) -> None:
    """The only request is the file itself; the content policy has nothing to refuse."""
    page.requests.clear()
    page.complaints.clear()
    page.view(1440)
    page.open(files[name])
    page.picture()
    assert page.requests == [files[name].resolve().as_uri()]
    assert page.complaints == []
    assert page.run("getComputedStyle(document.querySelector('nav')).position") == "sticky"


@pytest.mark.parametrize("name", ["usual", "whole", "hostile", "long"])
@pytest.mark.parametrize("width", [320, 360, 768, 1440])
def test_no_width_scrolls_sideways(
    page: Page, files: dict[str, Path], name: str, width: int
) -> None:
    """Wide tables, commands and pictures scroll in themselves; the page never does."""
    page.view(width)
    page.open(files[name])
    page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.run("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read(page: Page, files: dict[str, Path], dark: bool) -> None:
    """Every text has a contrast of at least 4.5 to its ground, in light and dark."""
    page.view(1440, dark=dark)
    page.open(files["whole"])
    page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    ground = page.run("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")
    assert page.run(_CONTRASTS) == []


def test_the_keyboard_reaches_and_opens_everything(page: Page, files: dict[str, Path]) -> None:
    """Tab starts at the skip link; Enter follows it; an item opens with Enter."""
    page.view(1440)
    page.open(files["whole"])
    page.press("Tab", 9)
    assert page.run("document.activeElement.className") == "skip"
    page.press("Enter", 13, "\r")
    assert page.run("location.hash") == "#content"
    page.run("document.querySelector('#patch summary').focus()")
    page.press("Enter", 13, "\r")
    assert page.run("document.querySelector('#patch details').open") is True
    visible = "getComputedStyle(document.querySelector('.break .tip')).visibility"
    assert page.run(visible) == "hidden"
    page.run("document.querySelector('.break').focus()")
    assert page.run(visible) == "visible"


def test_a_link_to_an_item_opens_it(page: Page, files: dict[str, Path]) -> None:
    """What needs you leads to the evidence without a further click."""
    page.view(1440)
    page.open(files["usual"])
    page.run("document.querySelector('#needs .keys a').click()")
    target = page.run("location.hash.slice(1)")
    assert page.run(f"document.getElementById('{target}').closest('details').open") is True
    top = page.run(f"document.getElementById('{target}').getBoundingClientRect().top")
    assert 0 <= top <= 900


def test_the_filter_hides_what_passes(page: Page, files: dict[str, Path]) -> None:
    """Without a script: one choice, and only what does not pass is left."""
    page.view(1440)
    page.open(files["usual"])
    shown = (
        "[...document.querySelectorAll('details.item')].filter(d => d.getClientRects().length)"
        ".map(d => d.classList.contains('pass') ? 'passes' : 'open')"
    )
    before = page.run(shown)
    assert set(before) == {"passes", "open"}
    page.run("document.querySelector('#only-open').click()")
    assert page.run(shown) == ["open"] * before.count("open")


def test_on_a_phone_a_wide_table_says_what_it_is(page: Page, files: dict[str, Path]) -> None:
    """A caption wraps within the screen; while the table scrolls, caption and row names stay."""
    page.view(360)
    page.open(files["usual"])
    page.run("document.querySelector('table.behaviour').parentElement.scrollLeft = 60")
    edges = (
        "(() => { const r = document.querySelector('{}').getBoundingClientRect();"
        " return [r.left, r.right]; })()"
    )
    for seen in ("table.behaviour caption span", "table.behaviour tbody th"):
        left, right = page.run(edges.replace("{}", seen))
        assert 0 <= left < right <= 360, seen


def test_a_screen_reader_gets_the_whole_structure(page: Page, files: dict[str, Path]) -> None:
    """Landmarks, headings without gaps, and a name for all that can be followed or scrolled."""
    page.view(1440)
    page.open(files["whole"])
    tree = page.tree()
    roles = {role for role, _ in tree}
    assert {"banner", "navigation", "main", "contentinfo"} <= roles
    for role, name in tree:
        if role in ("link", "button", "table", "image", "radio", "DisclosureTriangle", "region"):
            assert name.strip(), role
    levels = page.run("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    names = [name for role, name in tree if role == "DisclosureTriangle"]
    assert any("pass" in name and "find_slot" in name for name in names)


def test_printed_nothing_is_folded_away(page: Page, files: dict[str, Path]) -> None:
    """On paper every item is open, navigation and filter are gone, and it becomes a PDF."""
    page.view(800, media="print")
    page.open(files["whole"])
    assert page.run("document.querySelector('nav').getClientRects().length") == 0
    assert page.run("document.querySelector('.filter').getClientRects().length") == 0
    folded = (
        "[...document.querySelectorAll('details.item .more')]"
        ".filter(m => !m.getBoundingClientRect().height).length"
    )
    assert page.run(folded) == 0
    assert page.pdf().startswith(b"%PDF")
