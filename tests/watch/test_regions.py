"""What the watch says of a region after each kind of upstream edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.upstream_like import FILES, KV, MODEL_H, RECURRENT, changed
from tests.watch.support import FIND_SLOT, region, run, table
from tracker.errors import ConfigError
from tracker.evidence.verdict import Verdict
from tracker.evidence.watch import RegionStatus, Span
from tracker.watch.compare import judge
from tracker.watch.locate import in_file
from tracker.watch.selector import parse

WARN = f'{FIND_SLOT} @if "odd token position"'
ABOVE = "#include <vector>\n#include <array>\n" + FILES[RECURRENT]


@pytest.mark.parametrize(("selector", "start", "end"), [(FIND_SLOT, 10, 20), (WARN, 13, 16)])
def test_lines_that_only_shift_are_unchanged(
    tmp_path: Path, selector: str, start: int, end: int
) -> None:
    """New lines above a region leave it unchanged, and both spans are told."""
    found = region(tmp_path, selector, {RECURRENT: ABOVE})
    assert found.status is RegionStatus.UNCHANGED
    assert found.from_ == Span(path=RECURRENT, start=start, end=end)
    assert found.to == Span(path=RECURRENT, start=start + 2, end=end + 2)
    assert found.diff == ""


def test_a_changed_token_is_changed_and_shown(tmp_path: Path) -> None:
    """One other token is a change; the diff holds that region only, with the file's lines."""
    found = region(tmp_path, FIND_SLOT, changed(RECURRENT, "cell.pos >= 0", "cell.pos > 0"))
    assert found.status is RegionStatus.CHANGED
    assert found.diff.splitlines()[:3] == [
        f"--- a/{RECURRENT}",
        f"+++ b/{RECURRENT}",
        "@@ -10,7 +10,7 @@",
    ]
    assert "+        if (cell.pos > 0 &&" in found.diff
    assert "seq_rm" not in found.diff


def test_comments_and_line_breaks_are_cosmetic(tmp_path: Path) -> None:
    """A rewritten comment and a wrapped line are cosmetic; the verdict stays ok."""
    text = FILES[RECURRENT].replace("// positions jump", "// an image repeats positions")
    text = text.replace("if (cell.pos >= 0 &&", "if (cell.pos >= 0\n            &&")
    document = run(tmp_path, table(FIND_SLOT, WARN), {RECURRENT: text})
    assert [found.status for found in document.regions] == [RegionStatus.COSMETIC] * 2
    assert document.verdict is Verdict.OK


def test_a_sibling_class_is_not_ours(tmp_path: Path) -> None:
    """An edit of another class's find_slot leaves ours unchanged."""
    found = region(tmp_path, FIND_SLOT, changed(KV, "return false;", "abort();"))
    assert found.status is RegionStatus.UNCHANGED


def test_a_gone_name_is_missing_with_near_names(tmp_path: Path) -> None:
    """A name that no file defines any more is missing, never the sibling's; near names are told."""
    head = FILES[RECURRENT].partition("bool memory_recurrent::find_slot")[0]
    text = head + "bool memory_rs::find_slot() { return 1; }\n"
    found = region(tmp_path, FIND_SLOT, {RECURRENT: text})
    assert found.status is RegionStatus.MISSING
    assert "memory_rs::find_slot" in found.why
    assert found.to is None


@pytest.mark.parametrize("edit", [False, True])
def test_renamed_code_is_followed_by_its_content(tmp_path: Path, edit: bool) -> None:
    """The same body under a new name is that region, renamed; a sibling is never taken for it."""
    text = FILES[RECURRENT].replace("memory_recurrent::find_slot", "memory_rs::pick_cell")
    text = text.replace("cell.pos >= 0", "cell.pos > 0") if edit else text
    found = region(tmp_path, FIND_SLOT, {RECURRENT: text})
    assert found.status is (RegionStatus.MOVED_AND_CHANGED if edit else RegionStatus.MOVED)
    assert "renamed from memory_recurrent::find_slot" in found.why
    assert "memory_rs::pick_cell" in found.why


def test_an_anchor_is_followed_by_its_literal(tmp_path: Path) -> None:
    """The warning that moved into another function is found by the text that it prints."""
    text = FILES[RECURRENT].replace("memory_recurrent::find_slot", "check_order")
    text = text.replace("        cell.pos = ub.last(s);\n", "")
    found = region(tmp_path, WARN, {RECURRENT: None, "src/order.cpp": text})
    assert found.status is RegionStatus.MOVED
    assert found.to == Span(path="src/order.cpp", start=13, end=16)


@pytest.mark.parametrize("edit", [False, True])
def test_code_is_followed_into_another_file(tmp_path: Path, edit: bool) -> None:
    """A renamed file is followed by the qualified name: moved, or moved and changed."""
    text = FILES[RECURRENT].replace("cell.pos >= 0", "cell.pos > 0") if edit else FILES[RECURRENT]
    found = region(tmp_path, FIND_SLOT, {RECURRENT: None, "src/rs/memory.cpp": text})
    assert found.status is (RegionStatus.MOVED_AND_CHANGED if edit else RegionStatus.MOVED)
    assert found.to == Span(path="src/rs/memory.cpp", start=10, end=20)


def test_a_name_in_two_other_files_is_not_guessed(tmp_path: Path) -> None:
    """Moved code that could be in either of two files is missing, with both named."""
    text = FILES[RECURRENT]
    found = region(tmp_path, FIND_SLOT, {RECURRENT: None, "a/x.cpp": text, "b/x.cpp": text})
    assert found.status is RegionStatus.MISSING
    assert "a/x.cpp, b/x.cpp" in found.why


def test_a_twin_that_was_there_before_is_not_where_it_went(tmp_path: Path) -> None:
    """Another file that defined the same name all along is not followed."""
    twin = "src/twin.cpp"
    gone = FILES[RECURRENT].partition("bool memory_recurrent::find_slot")[0]
    found = region(
        tmp_path,
        FIND_SLOT,
        {RECURRENT: gone, twin: FILES[RECURRENT] + "int edited;\n"},
        {twin: FILES[RECURRENT]},
    )
    assert found.status is RegionStatus.MISSING


def test_a_copy_that_was_there_before_is_not_where_it_went(tmp_path: Path) -> None:
    """A function of the same content, known under its own name before, is not followed."""
    head, ours = FILES[RECURRENT].split("bool memory_recurrent::find_slot")
    copy = "bool sibling::find_place" + ours
    found = region(
        tmp_path, FIND_SLOT, {RECURRENT: head + copy}, {RECURRENT: FILES[RECURRENT] + copy}
    )
    assert found.status is RegionStatus.MISSING


def test_a_declaration_is_not_where_a_definition_went(tmp_path: Path) -> None:
    """A header that declares the name, edited too, does not make the move ambiguous."""
    header = "struct memory_recurrent { bool find_slot(const ubatch & ub); };\n"
    found = region(
        tmp_path,
        FIND_SLOT,
        {RECURRENT: None, "src/rs/memory.cpp": FILES[RECURRENT], "src/m.h": header},
        {"src/m.h": "struct memory_recurrent;\n"},
    )
    assert found.status is RegionStatus.MOVED
    assert found.to is not None
    assert found.to.path == "src/rs/memory.cpp"


def test_a_new_condition_around_the_code_is_a_change(tmp_path: Path) -> None:
    """The same text under a new ``#if`` is not the same code."""
    head, tail = FILES[RECURRENT].split("bool memory_recurrent::find_slot")
    text = f"{head}#ifdef SLOTS\nbool memory_recurrent::find_slot{tail}#endif\n"
    found = region(tmp_path, FIND_SLOT, {RECURRENT: text})
    assert found.status is RegionStatus.CHANGED
    assert "preprocessor" in found.why


def test_code_put_under_if_0_is_gone(tmp_path: Path) -> None:
    """A function that upstream disabled with ``#if 0`` is missing, not unchanged."""
    head, tail = FILES[RECURRENT].split("bool memory_recurrent::find_slot")
    text = f"{head}#if 0\nbool memory_recurrent::find_slot{tail}#endif\n"
    found = region(tmp_path, FIND_SLOT, {RECURRENT: text})
    assert found.status is RegionStatus.MISSING


def test_a_range_without_proof_is_unparsed(tmp_path: Path) -> None:
    """Branches that open different blocks leave the function's end unknown: unparsed."""
    line = "        auto & cell = cells[s];\n"
    branches = "#ifdef FAST\n        if (s) {\n#else\n        skip();\n#endif\n"
    text = FILES[RECURRENT].replace(line, branches + line)
    document = run(tmp_path, table(FIND_SLOT), {RECURRENT: text})
    assert document.regions[0].status is RegionStatus.UNPARSED
    assert document.verdict is Verdict.UNKNOWN


def test_a_macro_run_hides_nothing(tmp_path: Path) -> None:
    """Bare macros that lose functions to the grammar do not hide a change, nor make one up."""
    before = FILES[RECURRENT].replace(
        "    return true;\n",
        "    ADD ADD ADD\n    if (size) {\n        ADD\n    }\n    return true;\n",
    )
    same = region(tmp_path / "1", FIND_SLOT, {MODEL_H: ""}, {RECURRENT: before})
    shifted = region(tmp_path / "2", FIND_SLOT, {RECURRENT: "\n" + before}, {RECURRENT: before})
    other = region(
        tmp_path / "3",
        FIND_SLOT,
        {RECURRENT: before.replace("        ADD\n", "        SUB\n")},
        {RECURRENT: before},
    )
    assert [found.status for found in (same, shifted)] == [RegionStatus.UNCHANGED] * 2
    assert other.status is RegionStatus.CHANGED


def test_a_selector_that_never_matched_is_a_finding(tmp_path: Path) -> None:
    """A selector that matches nothing at either revision is missing, not silence."""
    document = run(tmp_path, table(f"{RECURRENT}::memory_recurrent::find_slots"), {MODEL_H: ""})
    assert document.regions[0].status is RegionStatus.MISSING
    assert "at neither revision" in document.regions[0].why
    assert "memory_recurrent::find_slot" in document.regions[0].why
    assert document.verdict is Verdict.FAIL


def test_a_selector_with_an_old_path_is_found_where_the_code_is(tmp_path: Path) -> None:
    """Where the named file is at neither revision, the one file that defines the name is taken;
    a mere declaration elsewhere is not.
    """
    header = "struct memory_recurrent { bool find_slot(int); bool only_here(int); };\n"
    before = {"src/memory-recurrent.h": header}
    old = "src/old/path.cpp::memory_recurrent"
    found = region(tmp_path / "1", f"{old}::find_slot", {RECURRENT: ABOVE}, before)
    assert found.status is RegionStatus.UNCHANGED
    assert found.to == Span(path=RECURRENT, start=12, end=22)
    declared = region(tmp_path / "2", f"{old}::only_here", {RECURRENT: ABOVE}, before)
    assert declared.status is RegionStatus.MISSING


def test_a_new_region_is_a_change(tmp_path: Path) -> None:
    """Code that exists only at the target is told as new."""
    new = FILES[RECURRENT] + "void memory_recurrent::rank() { x(); }\n"
    found = region(tmp_path, f"{RECURRENT}::memory_recurrent::rank", {RECURRENT: new})
    assert found.status is RegionStatus.CHANGED
    assert found.from_ is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/etc/passwd",
        "../x.cpp",
        "x.cpp::",
        "x.cpp::f @if",
        'x.cpp @if "a"',
        "x.cpp::f @loop",
        'x.cpp::f @fields "a"',
        'x.cpp @regex "("',
        'x.cpp @regex ""',
        'x.cpp @regex "a*"',
        'x.cpp::f @if "a" @if "b"',
    ],
)
def test_a_selector_outside_the_language_is_a_configuration_error(
    tmp_path: Path, text: str
) -> None:
    """A selector that cannot mean anything stops the command, with the region named."""
    with pytest.raises(ConfigError) as caught:
        run(tmp_path, table(text), {MODEL_H: ""})
    assert "watch.regions" in caught.value.where


MACRO = "#define LOG_WARN(...)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", MACRO),
        ("#define find_slot slots\n", ""),
        (MACRO, "#define LOG_WARN(...) puts(__VA_ARGS__)\n"),
        (MACRO, MACRO + "#undef LOG_WARN\n"),
        ("", '#pragma GCC optimize ("O0")\n'),
        ("#ifndef A\n#define A\n", "#ifndef A\n#define A\nint x;\n#else\n"),
    ],
)
def test_what_stands_in_front_may_change_the_meaning(
    tmp_path: Path, before: str, after: str
) -> None:
    """A macro of the same file that the region uses, a pragma, the other branch of a guard."""
    end = "#endif\n" if "#ifndef" in before else ""
    old, new = (head + FILES[RECURRENT] + end for head in (before, after))
    found = region(tmp_path, FIND_SLOT, {RECURRENT: new}, {RECURRENT: old})
    assert found.status is RegionStatus.CHANGED


def test_a_macro_that_it_does_not_use_leaves_it_unchanged(tmp_path: Path) -> None:
    """Nor does a pragma about warnings."""
    text = '#define OTHER 1\n#pragma GCC diagnostic ignored "-Wall"\n' + FILES[RECURRENT]
    assert region(tmp_path, FIND_SLOT, {RECURRENT: text}).status is RegionStatus.UNCHANGED


@pytest.mark.parametrize(
    "after",
    [
        "struct cell : base { int pos; int src; void f(); };\n",
        "struct alignas(64) cell { int pos; int src; void f(); };\n",
        "struct cell { int pos; int src; virtual void f(); };\n",
        "union cell { int pos; int src; void f(); };\n",
        "#pragma pack(1)\nstruct cell { int pos; int src; void f(); };\n",
        "struct cell { int src; int pos; void f(); };\n",
    ],
)
def test_a_layout_hangs_on_more_than_the_fields(tmp_path: Path, after: str) -> None:
    """Bases, alignment, packing, a first virtual method: who mirrors the type must know."""
    before = "struct cell { int pos; int src; void f(); };\n"
    found = region(tmp_path, "src/c.h::cell @fields", {"src/c.h": after}, {"src/c.h": before})
    assert found.status is RegionStatus.CHANGED


def test_a_condition_behind_other_code_is_no_include_guard() -> None:
    """Its name may change a meaning; that of a file's include guard may not."""
    code = "int first() {\n    return 1;\n}\n"
    guarded = "#ifndef X\n#define X\n%sint f() {\n    return 2;\n}\n#endif\n"
    for text, status in (
        (code + guarded % "", RegionStatus.CHANGED),
        (guarded % code, RegionStatus.UNCHANGED),
    ):
        before, after = (
            in_file(parse("f.h::f", "r"), "f.h", one.encode())
            for one in (text, text.replace(" X\n", " Y\n"))
        )
        assert judge(before, after)[0] is status
