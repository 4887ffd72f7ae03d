"""Leaving out what cannot matter never changes an answer."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.watch.archived import archived
from tracker.source import Kind, focused, is_cpp, outline, same_focus

PARTS = [
    b"void f() { a; }\n",
    b"struct s { int f; };\n",
    b"typedef struct { int x; } f;\n",
    b"#ifdef A\nvoid f(int) { }\n#else\nvoid f() { b; }\n#endif\n",
    b"#if 0\nvoid f() { dead(; }\n#endif\n",
    b"// void f() { no }\n",
    b'const char * t = R"(void f() { )";\n',
    b"namespace n { void f() { c; } void g() { } }\n",
    b"int x = 1'000; char c = '{'; char d = '\"';\n",
    b"#define f(x) { x\n",
    b"void g() { f(); }\n",
    b"enum e { f, h };\n",
    b"void h() {\n#define f(x) x\n}\n",
    b"SPACE(n) { void f() { d; } }\n",
    b'SPACE("n") { void f() { e; } }\n',
    b"static void g(int) const noexcept { int f; struct f { }; }\n",
    b"#if A\nvoid g() {\n#else\nvoid f() {\n#endif\n}\n",
    b"s g() { f } f;\n",
]


def named(source: bytes, name: str) -> list[tuple[object, ...]]:
    return [
        (d.kind, d.name, d.start, d.end, source[d.first : d.last], d.guards, d.reliable)
        for d in outline(source).named(name)
    ]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(PARTS), max_size=8))
def test_a_focused_file_defines_the_same(parts: list[bytes]) -> None:
    """Whatever stands around it, a name has the same definitions at the same lines."""
    source = b"".join(parts)
    for name in ("f", "s", "n::f", "g", "e"):
        assert named(focused(source, name.rpartition("::")[2]), name) == named(source, name)


@example([b"void g() { f(); }\n", b"/*", b"/*", b"// void f() { no }\n"])
@example([b"void g() { f(); }\n", b"#define X /*", b"void f() { no }\n"])
@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([*PARTS, b"}", b"{", b"#endif\n", b"#if X\n", b'"', b"/*"])))
def test_a_broken_file_is_not_cut_wrong(parts: list[bytes]) -> None:
    """Unbalanced braces, branches, quotes and comments: the same places, and no line is lost. What
    the parser takes a broken piece for may hang on its neighbours.
    """
    source = b"".join(parts)
    assert focused(source, "f").count(b"\n") == source.count(b"\n")
    found, wanted = ({d[2:4] for d in named(text, "f")} for text in (focused(source, "f"), source))
    assert found == wanted


@pytest.mark.archives
def test_real_files_define_the_same_in_focus() -> None:
    """Of real sources, 400 definitions taken by a seed are found alike in the whole file."""
    files = archived("0.3.36").files
    random_ = random.Random(5)  # noqa: S311
    paths = [path for path in sorted(files) if is_cpp(path) and len(files[path]) < 200_000]
    kinds = {Kind.FUNCTION, Kind.TYPE, Kind.ENUM, Kind.MACRO}
    wrong: list[str] = []
    for path in random_.sample(paths, 100):
        source = files[path]
        defined = [d.name for d in outline(source).definitions if d.kind in kinds]
        for name in random_.sample(defined, min(4, len(defined))):
            if named(focused(source, name.rpartition("::")[2]), name) != named(source, name):
                wrong.append(f"{path}: {name}")
    assert not wrong, "\n".join(wrong)


BASE = b"#include <a>\nvoid g() { 1; }\n\nvoid f() {\n    2;\n}\nint h;\n"


@pytest.mark.parametrize(
    ("old", "new", "equal"),
    [
        (b"{ 1; }", b"{ 1; 3; }", True),
        (b"\n\nvoid f", b"\n\n// new\n\n\nvoid f", False),  # a comment in front is in its piece
        (b"void g() { 1; }\n", b"", True),
        (b"2;\n", b"2;\n\n", True),
        (b"2;", b"4;", False),
        (b"#include <a>", b"#include <b>", False),
        (b"void g()", b"#define Q\nvoid g()", False),
        (b"int h;", b"int f;", False),
    ],
)
def test_a_focus_differs_with_what_can_define_the_name(old: bytes, new: bytes, equal: bool) -> None:
    """Equal only if every piece that holds the name, and every directive, is the same text."""
    assert BASE.count(old) == 1
    assert same_focus(BASE, BASE.replace(old, new), "f") is equal
