"""Two texts are equal in tokens exactly if the compiler reads the same."""

from __future__ import annotations

import pytest

from tracker.source import tokens


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"int a=b+c;", b"int  a = b\n  + c ; // sum"),
        (b"f(/* x */ 1);", b"f(\n1\r\n)\t;"),
        (b"#define N 1\nint x;", b"#  define N /* one */ 1\n\n\nint x;"),
        (b"#define F(x) \\\n  (x)\n", b"#define F(x) (x)\n"),
        (b"// a \\\n still a comment\nint x;", b"int x;"),
        (b"a\\\n+b", b"a+b"),
    ],
)
def test_form_makes_no_difference(one: bytes, other: bytes) -> None:
    """Comments, white space and line breaks are not tokens."""
    assert tokens(one) == tokens(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"a+b", b"a-b"),
        (b'"// no comment"', b'"// no  comment"'),
        (b'R"(a b)"', b'R"(a  b)"'),
        (b'R"x(a)" b)x"', b'R"x(a)" c)x"'),
        (b"'\"'", b"'\\''"),
        (b"1'000", b"1'001"),
        (b"#define N 1\nint x;", b"#define N 1 int x;"),
        (b"#define F(x) x\n", b"#define F (x) x\n"),
        (b"#if A\nx\n#endif", b"x"),
        (b"a - -b", b"a--b"),
        (b"x /* unterminated y", b"x y"),
    ],
)
def test_a_difference_in_meaning_is_a_difference_in_tokens(one: bytes, other: bytes) -> None:
    """What the compiler reads differently never compares equal."""
    assert tokens(one) != tokens(other)


def test_a_stray_quote_swallows_nothing() -> None:
    """An apostrophe in an ``#error`` text or alone does not hide the lines after it."""
    text = b"#error don't do this\nint a;\nint don't;\nint b;"
    assert tokens(text)[-3:] == (b"int", b"b", b";")


def test_raw_strings_hide_their_quotes_and_braces() -> None:
    """A raw string is one token, whatever stands in it."""
    assert tokens(b'x = R"json({"a": ")\\" }{)json";') == (
        b"x",
        b"=",
        b'R"json({"a": ")\\" }{)json"',
        b";",
    )
