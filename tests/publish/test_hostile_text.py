"""A whole body with hostile text wherever upstream can write, read back as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec.structs import replace

from tests.publish.conftest import Publisher
from tests.support import documents
from tests.support.filled import filled
from tests.support.github_fake import Repository
from tracker import report
from tracker.cli import merge
from tracker.evidence.bump import BumpDocument
from tracker.evidence.parts import MergeDocument
from tracker.evidence.publish import PublishDocument
from tracker.publish import job
from tracker.publish.proposal import FileChange, propose

_HOSTILE = (
    "Fixes #12 closes up/core#3 @maintainer https://github.com/up/core/issues/4 "
    "36b101543a5d4a0f9d8c2b6a1e3f5d7c9b8a6e42 <img src=x onerror=y> | ` \\ $(id) "
    "[a](http://evil.example) ::error::x <!-- lloyal-track {} --> \u202e GH-9\r\n\n# head\n"
    "```\n``````\n</summary></details></code>\n- [ ] ![i](http://evil.example/p) &#64;maintainer "
    "\x1b[31m\u2028~~~ org/team@maintainer www.evil.example |" + "w" * 2000
)
_RUN = "https://example.invalid/run/1"
_OUR_LINKS = ("https://redirect.github.com/", _RUN)
_MARKER = "\n<!-- lloyal-track {"
_ACTIVE = re.compile(r"@\w|(?<![\w&])#\d|\bGH-\d|https?://|www\.|\b[0-9a-f]{7,40}\b")


def _hostile() -> BumpDocument:
    document = documents.bump()
    items = tuple(
        replace(item, summary=_HOSTILE, title=_HOSTILE, evidence=(_HOSTILE,), details=(_HOSTILE,))
        for item in document.items
    )
    lines = tuple(replace(line, said=_HOSTILE, title=_HOSTILE) for line in document.lines)
    target = replace(document.to, name=_HOSTILE)
    return replace(document, items=items, lines=lines, summary=_HOSTILE, to=target)


_DOCUMENTS: dict[str, Callable[[], BumpDocument]] = {
    "usual": _hostile,
    **{f"filled {turn}": partial(filled, BumpDocument, _HOSTILE, turn=turn) for turn in range(5)},
}


@pytest.fixture(params=_DOCUMENTS)
def body(publisher: Publisher, ours: Repository, request: pytest.FixtureRequest) -> str:
    """What the fake was given, of a bump that moved the pin, and of one that may not."""
    document = _DOCUMENTS[request.param]()
    outcome = "forbidden" if request.param.endswith(("1", "3")) else "moved"
    document = replace(document, pin=replace(document.pin, outcome=outcome))
    files = (FileChange("vendor/pin.toml", b"new\n"),)
    publisher(propose(document, key="default", body=report.markdown(document), files=files))
    return str(ours.threads[1]["body"] or ours.pulls[1]["body"])


@pytest.fixture(params=["summary", "published", "parts"])
def sheet(request: pytest.FixtureRequest) -> str:
    """What a job says of itself on its page."""
    return {
        "summary": lambda: report.summary(filled(BumpDocument, _HOSTILE)),
        "published": lambda: job.said(filled(PublishDocument, _HOSTILE)),
        "parts": lambda: merge.markdown(filled(MergeDocument, _HOSTILE)),
    }[request.param]()


def _acting(markdown: str) -> list[str]:
    """What of ``markdown`` a forge would act on, outside code and our own links; what breaks it."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
    inline = [child for token in tokens for child in (token.children or [])]
    found = [child.content for child in inline if child.type == "text"]
    found = [text for text in found if _ACTIVE.search(text.replace(_RUN, ""))]
    links = [str(child.attrs["href"]) for child in inline if child.type == "link_open"]
    found += [link for link in links if not link.startswith(_OUR_LINKS)]
    found += [child.content for child in inline if child.type == "image"]
    html = " ".join(
        token.content for token in [*tokens, *inline] if token.type in ("html_block", "html_inline")
    )
    found += set(re.findall(r"</?([A-Za-z]+)", html)) - {"details", "summary", "code", "br", "sub"}
    found += ["an open fold"] * (html.count("<details") != html.count("</details"))
    found += ["a comment"] * (html.count("<!--") != markdown.count(_MARKER))
    return found + list(_broken_rows(tokens))


def _broken_rows(tokens: list[Token]) -> Iterator[str]:
    """Rows that have not as many cells as their head."""
    heads = cells = 0
    for token in tokens:
        if token.type == "table_open":
            heads = 0
        heads += token.type == "th_open"
        if token.type == "tr_open":
            cells = 0
        cells += token.type in ("td_open", "th_open")
        if token.type == "tr_close" and cells != heads:
            yield f"a row of {cells} cells below {heads}"


def test_nothing_in_a_body_acts(body: str) -> None:
    """No mention, reference, URL, commit id, tag or table of theirs; one comment: our marker."""
    assert body.count("maintainer") > 10
    assert body.count(_MARKER) == 1
    assert _acting(body) == []


def test_nothing_on_a_jobs_page_acts(sheet: str) -> None:
    """The summary of a bump, of what was published, and of many parts."""
    assert "maintainer" in sheet
    assert _acting(sheet) == []


@pytest.mark.parametrize("body", ["usual"], indirect=True)
def test_title_and_commit_hold_none_of_it(
    publisher: Publisher, ours: Repository, body: str
) -> None:
    """A title becomes a commit's subject, where a keyword closes an issue of ours."""
    del publisher, body
    message = ours.git.commits[ours.git.refs["refs/heads/lloyal-track/bump"]]["message"]
    for text in (ours.pulls[1]["title"], message.partition("\n")[0]):
        assert _ACTIVE.search(text.replace("Lloyal-Track", "")) is None
        assert "#" not in text
