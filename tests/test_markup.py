"""Foreign text in Markdown, read back with a Markdown parser that knows tables and links."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tracker import markup

_HOSTILE = (
    "[MX | Triton] Create op",
    "a backtick ` and a trailing backslash \\",
    "``two`` ` one ```three```",
    "`",
    "a\\|b and c\\\\|d",
    "fix (#27941)",
    "ggml-org/llama.cpp#28166",
    "https://github.com/ggml-org/llama.cpp/issues/28166",
    "https://github.com/ggml-org/llama.cpp/commit/36b101543",
    "36b101543a5d4a0f9d8c2b6a1e3f5d7c9b8a6e42",
    "Fixes #12",
    "@ggml-org/maintainers please",
    '$(id)`id`"; echo x',
    "<img src=x><script>alert(1)</script>",
    "**bold** _it_ ~~no~~ [a](javascript:1) ![x](http://e/x.png)",
    "::error::x",
    "<!-- lloyal-track:key -->",
    "</td></table>",
)


def _tokens(text: str) -> list[Token]:
    parsed = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    return [child for token in parsed for child in (token.children or [token])]


def _visible(text: str) -> str:
    """What a reader sees, without the invisible joiner."""
    return text.replace("\u2060", "")


@pytest.mark.parametrize("title", _HOSTILE)
def test_a_title_is_one_literal_code_span(title: str) -> None:
    """In a sentence, the title is exactly one code span and nothing else comes of it (C01-C06)."""
    tokens = _tokens(f"before {markup.code(title)} after")
    spans = [token for token in tokens if token.type == "code_inline"]
    assert [span.content.strip() for span in spans] == [title.strip()]
    others = {token.type for token in tokens} - {"code_inline", "text"}
    assert others == {"paragraph_open", "paragraph_close"}


@pytest.mark.parametrize("title", _HOSTILE)
def test_a_title_stays_in_its_cell(title: str) -> None:
    """In a table, the row has its three cells and the title reads as it was written (C01)."""
    table = f"| a | b | c |\n|---|---|---|\n| x | {markup.code_cell(title)} | y |\n"
    tokens = _tokens(table)
    assert sum(token.type == "td_open" for token in tokens) == 3
    (span,) = [token for token in tokens if token.type == "code_inline"]
    assert _visible(span.content).strip() == title.strip()
    assert tokens[-1].type == "table_close"


@pytest.mark.parametrize("title", _HOSTILE)
def test_no_reader_splits_the_cell(title: str) -> None:
    """A bar in a cell is escaped by one backslash that no other one precedes, for every reader."""
    cell = markup.code_cell(title)
    assert re.search(r"(?<!\\)\|", cell) is None
    assert re.search(r"\\\\\|", cell) is None


@given(st.text())
def test_any_text_is_one_span_on_one_line(text: str) -> None:
    """Whatever upstream writes: one line, one code span, no control character."""
    span = markup.code(text)
    assert len(span.splitlines()) == 1
    assert "\x1b" not in span
    tokens = _tokens(f"x {span} x")
    assert [token.type for token in tokens].count("code_inline") == 1


@given(st.text(alphabet="|\\`a "))
def test_any_cell_is_one_cell(text: str) -> None:
    """Bars, backslashes and backticks in any order never add or take a cell."""
    tokens = _tokens(f"| a | b |\n|---|---|\n| {markup.code_cell(text)} | y |\n")
    assert [token.type for token in tokens].count("td_open") == 2


def test_breaks_of_every_kind_are_one_space() -> None:
    """Line breaks, also U+2028 and NUL, become one space; text that reorders is dropped (C06)."""
    assert markup.plain("a\r\nb\u2028c\u2029d\x00e\x85f") == "a b c d e f"
    assert markup.plain("safe\u202egnp.exe\u2066") == "safegnp.exe"
    assert markup.plain("family 👩\u200d💻") == "family 👩\u200d💻"


def test_a_long_title_is_cut_and_says_so() -> None:
    """A cut title ends in an ellipsis and has the length that was allowed."""
    cut = markup.plain("x" * 500, 100)
    assert len(cut) == 100
    assert cut.endswith("…")


def test_a_link_leaves_no_note_upstream() -> None:
    """A link to a thread goes through the host that makes no back reference (C03)."""
    assert markup.ticket_link("ggml-org/llama.cpp#28166") == (
        "[`ggml-org/llama.cpp#28166`](https://redirect.github.com/ggml-org/llama.cpp/issues/28166)"
    )
    assert markup.ticket_link("x) [a](b") == "`x) [a](b`"
    assert markup.commit_link("o/r", "36b101543") == (
        "[`36b101543`](https://redirect.github.com/o/r/commit/36b101543)"
    )
    assert markup.commit_link("o/r", "../../x") == "`../../x`"


def test_html_is_text() -> None:
    """In HTML nothing of it is a tag or ends an attribute."""
    assert markup.html('<img src=x onerror="a">\'') == (
        "&lt;img src=x onerror=&quot;a&quot;&gt;&#x27;"
    )


def test_a_block_cannot_be_left() -> None:
    """Text with a fence in it stays in its block."""
    text = "```\n</details>\n````\nx\x1b[31m"
    tokens = MarkdownIt("commonmark").parse(markup.block(text, "diff"))
    assert [token.type for token in tokens] == ["fence"]
    assert "\x1b" not in tokens[0].content


def test_an_annotation_is_one_command() -> None:
    """A title cannot end the command or start another."""
    made = markup.annotation("notice", "a,b:c", "x\n::error::y %0A")
    assert made == "::notice title=a%2Cb%3Ac::x ::error::y %250A"
