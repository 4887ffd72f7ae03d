"""The look that decides whether a file is read: it may say yes in vain, never no by mistake."""

from __future__ import annotations

import pytest

from tracker.source import may_define, may_define_type


@pytest.mark.parametrize(
    "text",
    [
        b"int take(int n) { return n; }",
        b"auto & box::take (int n);",
        b"}\ntake(int n);",
        b"#define take(n) n",
        b"struct take {};",
        b"int x; // a line\nint\ntake(int n);",
        b'const char * s = "http://"; void take(int n);',
    ],
)
def test_a_definition_is_never_passed_over(text: bytes) -> None:
    assert may_define(text, b"take", names=True)
    assert may_define(text, b"take")


@pytest.mark.parametrize(
    "text",
    [
        b"int mistake(int n);",
        b"int take_all(int n);",
        b"void f() { box->take(1); }",
        b"void f() { return take(1); }",
        b"// what you take (or leave)\nint f();",
        b"int take;",
    ],
)
def test_what_only_looks_like_one_costs_nothing(text: bytes) -> None:
    assert not may_define(text, b"take", names=True)


def test_a_type_is_seen_behind_its_keyword_only() -> None:
    assert may_define_type(b"template <typename T> class API box {", b"box")
    assert not may_define_type(b"struct crate { int box; };", b"box")
    assert not may_define_type(b"struct boxes {};", b"box")


def test_no_name_is_defined_nowhere() -> None:
    assert not may_define(b"int f();", b"")
