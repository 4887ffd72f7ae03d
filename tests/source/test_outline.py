"""Ranges and names of definitions, also where macros and branches confuse the grammar."""

from __future__ import annotations

import pytest

from tracker.source import Kind, definition, enclosing_function, enclosing_scope, outline

CPP = "src/x.cpp"


def functions(source: bytes) -> dict[str, tuple[int, int]]:
    return {d.name: (d.start, d.end) for d in outline(source).definitions if d.kind == "function"}


def test_bare_macros_hide_no_function() -> None:
    """A run of bare macros before and inside a function loses neither it nor its neighbours.

    Macros right before a head count as part of it: only the preprocessor knows better.
    """
    source = b"""\
#define ADD x += 1;
int first(int x) {
    ADD ADD ADD
    if (x) {
        ADD
    }
    return x;
}
ADD_THINGS ADD_MORE
int second() {
    return 2;
}
int third() { return 3; }
"""
    assert functions(source) == {"first": (2, 8), "second": (9, 12), "third": (13, 13)}
    assert all(d.reliable for d in outline(source).definitions)


@pytest.mark.parametrize("fence", ["", "json"])
def test_raw_strings_end_no_function(fence: str) -> None:
    """Braces and quotes in raw strings leave two functions with exact ranges."""
    source = f"""\
void process() {{
    auto a = R"{fence}(< \\b "}} )" {{)" x){fence}";
    auto b = R"{fence}(\\b {{{{ ){fence}";
}}

int main() {{
    print("{{}}");
}}
""".encode()
    assert functions(source) == {"process": (1, 4), "main": (6, 8)}


def test_a_change_right_after_another_function_belongs_to_its_own() -> None:
    """The head and first line of g directly after f are in g, though git's hunk label says f."""
    source = b"void f() {\n  a;\n}\nvoid g() {\n  b;\n}\n"
    assert [enclosing_function(source, CPP, line) for line in range(1, 8)] == [
        *["f"] * 3,
        *["g"] * 3,
        None,
    ]


def test_two_classes_with_one_method_name_are_told_apart() -> None:
    """A method is found by class and name; a bare name never stands for a method."""
    source = b"""\
bool kv::find_slot(int a) { return a; }
bool recurrent::find_slot(int b) { return !b; }
struct inner { bool find_slot() { return 1; } };
"""
    found = definition(source, "recurrent::find_slot")
    assert found is not None
    assert found.text == b"bool recurrent::find_slot(int b) { return !b; }"
    assert found.reliable
    assert definition(source, "find_slot") is None
    assert enclosing_function(source, CPP, 3) == "inner::find_slot"


def test_namespaces_may_be_left_out() -> None:
    """A leading namespace is optional in a name, a class is not."""
    source = b"namespace a { namespace b { struct C { void m() {} }; void f() {} } }"
    for name in ("a::b::C::m", "b::C::m", "C::m", "a::b::f", "f"):
        assert definition(source, name) is not None, name
    assert definition(source, "m") is None


BRANCHES = b"""\
void split(int a) {
#ifdef FAST
    if (a > 1) {
#else
    if (a > 2) {
#endif
        work();
    }
}
void after() {
    more();
}
"""


def test_a_brace_opened_in_two_branches_counts_once() -> None:
    """``#if``/``#else`` that each open the same block do not shift the function's end."""
    assert functions(BRANCHES) == {"split": (1, 9), "after": (10, 12)}
    assert all(d.reliable for d in outline(BRANCHES).definitions)


def test_branches_of_different_depth_make_a_range_unreliable() -> None:
    """Where only one branch opens a block, the end of that function is not proven."""
    source = BRANCHES.replace(b"    if (a > 2) {\n", b"    skip();\n")
    found = definition(source, "split")
    assert found is not None
    assert not found.reliable


def test_dead_code_is_not_a_definition() -> None:
    """A function under ``#if 0`` does not exist; the one in its ``#else`` does."""
    source = b"#if 0\nvoid f() { old(; }\n#else\nvoid f() { now(); }\n#endif\n"
    found = definition(source, "f")
    assert found is not None
    assert found.span == (4, 4)
    assert found.others == 0


@pytest.mark.parametrize("header", [b"#if 1", b"#if true"])
def test_the_else_of_a_branch_that_is_always_taken_is_dead(header: bytes) -> None:
    """What ``#if 1`` leaves to ``#else`` or ``#elif`` does not exist."""
    source = header + b"\nvoid f() { a; }\n#elif X\nvoid f() { b; }\n#else\nvoid f() {\n#endif\n"
    found = definition(source, "f")
    assert found is not None
    assert (found.span, found.others, found.reliable) == ((2, 2), 0, True)


def test_guards_name_the_conditions_around_a_definition() -> None:
    """The preprocessor conditions of a definition are told, an include guard is not one."""
    source = (
        b"#ifndef X_H\n#define X_H\n#ifdef METAL\nvoid f() {}\n#else\nvoid f() {}\n#endif\n#endif\n"
    )
    guards = [d.guards for d in outline(source).definitions if d.kind is Kind.FUNCTION]
    assert guards == [(b"ifdef METAL",), (b"ifdef METAL / else",)]


def test_names_lose_template_arguments_and_keep_operators() -> None:
    """Names are qualified and plain: no template arguments, operators whole, destructors with ~."""
    source = b"""\
template <typename T> void box<T>::put(T v) { v; }
template <> int *box<int>::get() { return 0; }
box<int>::~box() { x(); }
box<int>::box() : a(1), b{2} { y(); }
bool box<int>::operator==(const box & o) const { return true; }
int & box<int>::operator[](int i) { return i; }
box<int>::operator bool() const { return true; }
void box<int>::operator()(int i) { i; }
"""
    assert set(functions(source)) == {
        "box::put",
        "box::get",
        "box::~box",
        "box::box",
        "box::operator==",
        "box::operator[]",
        "box::operator bool",
        "box::operator()",
    }


def test_kinds_other_than_functions_are_found() -> None:
    """Types, enums, macros, variables, aliases and declarations have their kind and range."""
    source = b"""\
#define LIMIT(x) \\
    ((x) + 1)
struct cell {
    int pos = -1;
    int tail(int a, int b = 2) const;
};
enum class kind : int { A, B };
typedef struct { int x; } plain;
using alias = int;
static const int table[] = { 1, 2 };
bool declared(const char * name, int n = 3);
"""
    kinds = {d.name: (str(d.kind), d.start, d.end) for d in outline(source).definitions}
    assert kinds == {
        "LIMIT": ("macro", 1, 2),
        "cell": ("type", 3, 6),
        "cell::pos": ("variable", 4, 4),
        "cell::tail": ("declaration", 5, 5),
        "kind": ("enum", 7, 7),
        "plain": ("type", 8, 8),
        "alias": ("alias", 9, 9),
        "table": ("variable", 10, 10),
        "declared": ("declaration", 11, 11),
    }
    assert enclosing_scope(source, "x.h", 4) == "cell::pos"
    assert enclosing_function(source, "x.h", 4) is None


def test_macro_calls_before_a_function_are_not_its_name() -> None:
    """Macro calls with parentheses before a head, or attributes after it, do not name it."""
    source = b"""\
MAKE(one, 1)
MAKE(two, 2)
API_EXPORT static void real(int a) NOEXCEPT_IF(1) {
    a;
}
"""
    assert set(functions(source)) == {"real"}


def test_a_format_macro_in_a_string_leaves_the_range_proven() -> None:
    """``PRId64`` between string literals is a syntax error to the grammar, not to the brackets."""
    source = b"""\
int f(long n) {
    LOG("n = %" PRId64 "\\n", n) ;
    return (1);
}
int g() { return 2; }
"""
    assert functions(source) == {"f": (1, 4), "g": (5, 5)}


@pytest.mark.parametrize("path", ["README.md", "CMakeLists.txt", "x.py", "x"])
def test_other_languages_have_no_functions(path: str) -> None:
    """A path that is not C++ has no enclosing function."""
    assert enclosing_function(b"void f() {\n x;\n}\n", path, 2) is None


@pytest.mark.parametrize("source", [b"", b"}", b"{{{", b"\xff\xfe{\x00", b"void f( {", b"#endif"])
def test_broken_input_never_raises(source: bytes) -> None:
    """Any bytes are an outline; nothing in them is called reliable without brackets that match."""
    assert not any(d.reliable and d.body is not None for d in outline(source).definitions)
