"""The selector language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tracker.errors import ConfigError
from tracker.watch.selector import Selector, parse

DOCS = Path(__file__).parents[2] / "docs" / "selectors.md"


@pytest.mark.parametrize(
    ("text", "path", "name", "rest"),
    [
        ("a/b.cpp", "a/b.cpp", None, (None, None, None)),
        ("a.cpp::A::b", "a.cpp", "A::b", (None, None, None)),
        ("a.h::A @fields", "a.h", "A", (None, "fields", None)),
        ("a.h::f  @signature", "a.h", "f", (None, "signature", None)),
        ('a.cpp::A::f @if "x: %d"', "a.cpp", "A::f", ("if", None, "x: %d")),
        ('a.cpp::f @case "LABEL"', "a.cpp", "f", ("case", None, "LABEL")),
        (r'a.cpp::f @if "say \"x\" \\ y"', "a.cpp", "f", ("if", None, 'say "x" \\ y')),
        (r'a.cpp @regex "^int \w+;$"', "a.cpp", None, (None, "regex", r"^int \w+;$")),
        ("a.cpp::A::operator==", "a.cpp", "A::operator==", (None, None, None)),
    ],
)
def test_each_form_is_read(
    text: str, path: str, name: str | None, rest: tuple[str | None, ...]
) -> None:
    """Path, name, anchor or part, and the quoted text."""
    found = parse(text, "x")
    assert (found.path, found.name) == (path, name)
    assert (found.anchor, found.part, found.literal) == rest


def test_the_documented_selectors_are_in_the_language() -> None:
    """Every selector of the table in docs/selectors.md can be read."""
    table = DOCS.read_text().partition("Besides `@if`")[0]
    selectors = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert len(selectors) == 9
    assert all(isinstance(parse(text, "docs"), Selector) for text in selectors)


@pytest.mark.parametrize("text", ["a.cpp::", "a.cpp::A::", "a.cpp::::f", 'a.cpp::A:: @if "x"'])
def test_a_name_without_one_of_its_parts_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="a selector is PATH or PATH::name"):
        parse(text, "x")
