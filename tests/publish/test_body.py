"""Bodies within GitHub's limit, and the hidden marker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tracker.publish.body import MOST_UNITS, Marker, fitted, marker_of, units, unmarked

_MARKER = Marker("default", "digest", "state", "the pin may move")


def _sections(count: int, lines: int) -> str:
    return "# Bump\n\n" + "".join(
        f"## Section {number}\n\n" + "a line of evidence\n" * lines + "\n"
        for number in range(count)
    )


def test_a_body_that_fits_is_whole() -> None:
    """Nothing is cut without need, and the marker is read back."""
    body = fitted("# Bump\n\ntext\n", _MARKER)
    assert body.startswith("# Bump\n\ntext\n\n<!--")
    assert marker_of(body) == _MARKER


def test_a_long_body_is_cut_at_the_end_of_a_section() -> None:
    """600 commits and 40 diffs: the body ends with whole sections, a note and the marker (C07)."""
    body = fitted(_sections(60, 80), _MARKER, run_url="https://example.invalid/run/1")
    assert units(body) <= MOST_UNITS
    assert marker_of(body) == _MARKER
    kept, _, note = body.partition("\n\n_Cut here")
    assert "https://example.invalid/run/1" in note
    assert kept.endswith("a line of evidence")
    last = kept.rpartition("## Section ")[2]
    assert last.count("a line of evidence") == 80


def test_one_section_that_is_too_long_is_cut_at_a_line() -> None:
    """Then a code block and a fold that were open are closed, so the note is not inside them."""
    long = "# Bump\n\n<details>\n\n```diff\n" + "+ added line\n" * 9000 + "```\n\n</details>\n"
    body = fitted(long, _MARKER)
    assert units(body) <= MOST_UNITS
    tokens = MarkdownIt("commonmark").parse(body)
    assert [token.type for token in tokens].count("fence") == 1
    assert body.count("<details") == body.count("</details>")
    assert any("Cut here" in (token.content or "") for token in tokens if token.type == "inline")


def test_a_heading_in_a_code_block_is_no_section() -> None:
    """A cut never happens at a line of a diff that looks like a heading."""
    long = "# A\n\ntext\n\n```\n" + "# not a heading\n" * 6000 + "```\n"
    body = fitted(long, _MARKER)
    tokens = MarkdownIt("commonmark").parse(body)
    (block,) = [token for token in tokens if token.type == "fence"]
    assert set(block.content.splitlines()) == {"# not a heading"}
    assert any("Cut here" in token.content for token in tokens if token.type == "inline")


def test_length_is_counted_as_github_counts() -> None:
    """An emoji is two units."""
    assert units("é👩") == 3
    assert units(fitted("👩" * 40000 + "\n", _MARKER)) <= MOST_UNITS


@given(st.text(), st.text())
def test_any_marker_is_read_back(key: str, standing: str) -> None:
    """Whatever a key holds, the marker stays one comment and is read back as it was."""
    marker = Marker(key, "d", "s", standing)
    assert str(marker).count("-->") == 1
    assert "--" not in str(marker)[4:-3]
    assert marker_of(f"text\n\n{marker}\n") == marker


@pytest.mark.parametrize(
    "body",
    [
        None,
        "",
        "<!-- lloyal-track {} -->",
        '<!-- lloyal-track {"key":1,"other":2} -->',
        f"> {_MARKER}\n\nquoted",
        "<!-- lloyal-track {broken -->",
        '<!-- lloyal-track {"key":1,"digest":[],"state":null} -->',
    ],
)
def test_what_is_no_marker(body: str | None) -> None:
    """A marker that is quoted in a line of text, or damaged, is none."""
    assert marker_of(body) is None


def test_what_a_person_adds_below_does_not_hide_the_marker() -> None:
    """The last one on a line of its own counts, with the line ends of a browser, too."""
    quoted = Marker("other", "x", "y")
    body = f"text\n\n```\n{quoted}\n```\n\n{_MARKER}\n\ncc @somebody\n"
    assert marker_of(body) == marker_of(body.replace("\n", "\r\n")) == _MARKER
    assert unmarked(f"text\n\n{_MARKER}\n\ncc") == "text\n\n\n\ncc"
