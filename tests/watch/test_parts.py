"""Parts of definitions: anchors of each kind, fields, signatures, patterns, whole files."""

from __future__ import annotations

import pytest

from tracker.watch.locate import Absent, Region, in_file
from tracker.watch.selector import parse

SOURCE = b"""\
#pragma once
struct cell {
    int pos = -1;
    int src; // comment
    struct inner { int deep; };
    std::set<int> ids;
    bool (*compare)(int, int);
    bool has(int id) const;
    bool used() const { return pos >= 0; }
#ifdef BIG
    long big;
#endif
};
enum kind { A, B = 4 };
#define LIMIT(x) ((x) + 1)
static const int table[] = { 1, 2 };

bool declared(int a, int b = 2);

int work(int n, const char * s = "def}ault") {
    for (int i = 0; i < n; ++i) {
        while (i) {
            log("loop text");
        }
    }
    switch (n) {
        case A: log("case text"); break;
        default: break;
    }
    if (n) {
        if (n > 1) {
            log("inner \\"text\\"");
        }
    }
    if (n == 2) {
        log("twice");
    } else {
        log("twice");
    }
    return say("bye");
}
"""


def lines(selector: str) -> list[tuple[int, int]]:
    found = in_file(parse(f"x.h{selector}", "x"), "x.h", SOURCE)
    assert isinstance(found, Region), found
    assert not found.doubt
    return [(piece.start, piece.end) for piece in found.pieces]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("", [(1, 41)]),
        ("::cell", [(2, 13)]),
        ("::cell @fields", [(2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (11, 11)]),
        ("::kind @fields", [(14, 14), (14, 14), (14, 14)]),
        ("::kind", [(14, 14)]),
        ("::LIMIT", [(15, 15)]),
        ("::table", [(16, 16)]),
        ("::declared", [(18, 18)]),
        ("::declared @signature", [(18, 18)]),
        ("::cell::has @signature", [(8, 8)]),
        ("::cell::used @signature", [(9, 9)]),
        ("::work @signature", [(20, 20)]),
        ('::work @for "loop text"', [(21, 25)]),
        ('::work @while "loop text"', [(22, 24)]),
        ('::work @switch "case text"', [(26, 29)]),
        ('::work @case "case text"', [(27, 27)]),
        ('::work @case "A"', [(27, 27)]),
        ('::work @if "text"', [(31, 33)]),
        ('::work @if "twice"', [(35, 39)]),
        ('::work @return "bye"', [(40, 40)]),
        ('::work @call "say"', [(40, 40)]),
        (' @regex "^enum \\\\w+"', [(14, 14)]),
        (' @regex "case A|default"', [(27, 27), (28, 28)]),
        (' @regex "struct cell \\\\{[^}]*"', [(2, 5)]),
    ],
)
def test_each_selector_takes_exactly_its_lines(
    selector: str, expected: list[tuple[int, int]]
) -> None:
    """A selector's pieces are the lines that it names, no more."""
    assert lines(selector) == expected


@pytest.mark.parametrize(
    "selector",
    [
        "::nothing",
        "::used",
        '::work @if "no such text"',
        '::work @if "loop text"',
        '::cell @if "x"',
        ' @regex "^nothing$"',
        "::table @fields",
    ],
)
def test_what_is_not_there_is_absent(selector: str) -> None:
    """No piece is made up for a selector that matches nothing."""
    assert isinstance(in_file(parse(f"x.h{selector}", "x"), "x.h", SOURCE), Absent)


def test_a_broken_anchor_is_in_doubt() -> None:
    """Where the grammar gives up inside the statement the answer says so."""
    source = (
        b'int f(int n) {\n    if (n) {\n        log("text" @@ PRId64);\n    }\n    return 0;\n}\n'
    )
    found = in_file(parse('x.cpp::f @if "text"', "x"), "x.cpp", source)
    assert isinstance(found, Region)
    assert "cannot read" in found.doubt


@pytest.mark.parametrize(
    ("selector", "line"),
    [
        ("::cell @fields", b"    int src; // comment\n"),
        ('::work @for "loop text"', b'            log("loop text");\n'),
        ('::work @return "bye"', b'    return say("bye");\n'),
    ],
)
def test_a_condition_inside_the_definition_is_part_of_it(selector: str, line: bytes) -> None:
    """An ``#ifdef`` put around a field or a statement is other code; under ``#if 0`` it is gone."""
    wanted = parse(f"x.h{selector}", "x")
    before = in_file(wanted, "x.h", SOURCE)
    guarded = in_file(wanted, "x.h", SOURCE.replace(line, b"#ifdef Q\n" + line + b"#endif\n"))
    dead = in_file(wanted, "x.h", SOURCE.replace(line, b"#if 0\n" + line + b"#endif\n"))
    assert isinstance(before, Region)
    assert isinstance(guarded, Region)
    assert before.tokens != guarded.tokens
    if selector.endswith("@fields"):
        assert isinstance(dead, Region)
        assert len(dead.pieces) == len(before.pieces) - 1
    else:
        assert isinstance(dead, Absent)
