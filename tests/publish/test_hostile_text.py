"""A whole body with hostile text wherever upstream can write, read back as Markdown."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace

from tests.publish.conftest import Publisher
from tests.support import documents
from tests.support.github_fake import Repository
from tracker import report
from tracker.evidence.bump import BumpDocument
from tracker.publish.proposal import FileChange, propose

_HOSTILE = (
    "Fixes #12 closes up/core#3 @maintainer https://github.com/up/core/issues/4 "
    "36b101543a5d4a0f9d8c2b6a1e3f5d7c9b8a6e42 <img src=x onerror=y> | ` \\ $(id) "
    "[a](http://evil.example) ::error::x <!-- lloyal-track {} --> \u202e GH-9"
)
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


@pytest.fixture
def body(publisher: Publisher, ours: Repository) -> str:
    """What the fake was given."""
    document = _hostile()
    files = (FileChange("vendor/pin.toml", b"new\n"),)
    publisher(propose(document, key="default", body=report.markdown(document), files=files))
    return str(ours.pulls[1]["body"])


def test_nothing_in_a_body_acts(body: str) -> None:
    """Outside code and our own links there is no mention, reference, URL, commit id or keyword."""
    assert body.count("maintainer") > 10
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(body)
    inline = [child for token in tokens for child in (token.children or [])]
    text = [child.content for child in inline if child.type == "text"]
    assert [line for line in text if _ACTIVE.search(line)] == []
    links = {str(child.attrs["href"]) for child in inline if child.type == "link_open"}
    ours = ("https://redirect.github.com/", "https://example.invalid/run/1")
    assert all(link.startswith(ours) for link in links), links


def test_no_html_of_others_is_in_a_body(body: str) -> None:
    """The only tags are our folds, and the only comment is our marker."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(body)
    html = [token.content for token in tokens if token.type == "html_block"]
    html += [
        child.content
        for token in tokens
        for child in (token.children or [])
        if child.type == "html_inline"
    ]
    tags = set(re.findall(r"</?([a-z]+)", " ".join(html)))
    assert tags <= {"details", "summary", "code", "br", "sub"}
    assert " ".join(html).count("<!--") == 1


def test_no_table_is_broken(body: str) -> None:
    """Every row has as many cells as its head."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(body)
    heads = cells = 0
    for token in tokens:
        if token.type == "table_open":
            heads = 0
        heads += token.type == "th_open"
        if token.type == "tr_open":
            cells = 0
        cells += token.type in ("td_open", "th_open")
        if token.type == "tr_close":
            assert cells == heads


def test_title_and_commit_hold_none_of_it(
    publisher: Publisher, ours: Repository, body: str
) -> None:
    """A title becomes a commit's subject, where a keyword closes an issue of ours."""
    del publisher, body
    message = ours.git.commits[ours.git.refs["refs/heads/lloyal-track/bump"]]["message"]
    for text in (ours.pulls[1]["title"], message.partition("\n")[0]):
        assert _ACTIVE.search(text.replace("Lloyal-Track", "")) is None
        assert "#" not in text
