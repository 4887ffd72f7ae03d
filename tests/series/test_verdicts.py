"""Verdicts that other tools get wrong: what is clean by exit status and is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.series.rebases import Files, judge, judge_one
from tests.support.patches import diff, numbered
from tests.support.repos import Step
from tracker.evidence.rebase import Flag, Note, Outcome
from tracker.evidence.verdict import Verdict


def _function(name: str, *body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body)
    return f"int {name}() {{\n{lines}}}\n"


def test_a_look_alike_block_never_takes_the_hunk(tmp_path: Path) -> None:
    """patch(1) puts it into alpha() with fuzz and exits 0 (P01)."""
    filler = "".join(f"// {n}\n" for n in range(12))
    alpha = _function("alpha", "lock();", "a0();", "step();", "unlock();", "done();")
    beta = ("lock();", "b0();", "step();", "unlock();", "done();")
    pin = {"y.cpp": alpha + filler + _function("beta", *beta)}
    mine = _function("beta", *beta[:3], "patched();", *beta[3:])
    patch = diff(pin, {"y.cpp": alpha + filler + mine})
    target = {"y.cpp": alpha + filler + _function("beta", *beta[:3], "release_all();")}
    document = judge(tmp_path, pin, target, patch)
    assert document.patches[0].outcome is Outcome.CONFLICT
    assert document.verdict is Verdict.CONFLICT
    assert document.tree is None


def test_context_that_stands_twice_is_ambiguous(tmp_path: Path) -> None:
    """git apply takes the nearer copy, in first(); the merge takes the right one and says so
    (P02).
    """
    body = [f"same({n});" for n in range(7)]
    filler = "// filler\n" * 40
    pin = {"a.cpp": "// top\n" + _function("first", *body) + filler + _function("second", *body)}
    mine = [*body[:3], "mine();", *body[3:]]
    patched = "// top\n" + _function("first", *body) + filler + _function("second", *mine)
    patch = diff(pin, {"a.cpp": patched})
    result = judge_one(tmp_path, pin, {"a.cpp": "// more\n" * 45 + str(pin["a.cpp"])}, patch)
    assert Flag.AMBIGUOUS in result.flags
    assert result.verdict is Verdict.ATTENTION
    assert "first" in result.why
    assert "second" in result.why
    assert result.files[0].hunks[0].landed_in == "second"
    assert (tmp_path / "out/a.cpp").read_text().endswith(_function("second", *mine))


def test_an_addition_that_upstream_made_next_to_it_is_already_present(tmp_path: Path) -> None:
    """The forward apply is clean and would leave two cases B (P31)."""
    a = ["case 'A':", "  go_there(1);", "  break;"]
    b = ["case 'B':", "  go_elsewhere(2);", "  break;"]
    rest = ["default:", "  stop();", "  break;"]
    head = ["int x = 0;", "int y = 1;", "int z = 2;", "switch (c) {"]
    pin = {"s.cpp": _function("f", *head, *a, *rest, "}")}
    patch = diff(pin, {"s.cpp": _function("f", *head, *a, *b, *rest, "}")})
    result = judge_one(tmp_path, pin, {"s.cpp": _function("f", *head, *b, *a, *rest, "}")}, patch)
    assert Flag.ALREADY_PRESENT in result.flags
    assert "already" in result.why
    assert result.verdict is Verdict.ATTENTION


def test_a_patch_of_which_upstream_took_a_part_is_partly_upstreamed(tmp_path: Path) -> None:
    """Also when upstream renamed a variable; the rest is still carried (P33)."""
    hybrid = ["int rows = count();", "use(rows);", "finish();"]
    recurrent = [f"step({n});" for n in range(12)]
    pin = {"hybrid.cpp": _function("h", *hybrid), "recurrent.cpp": _function("r", *recurrent)}
    check = "if (rows > limit(rows)) { return report(rows, limit(rows)); }"
    mine = {
        "hybrid.cpp": _function("h", hybrid[0], check, *hybrid[1:]),
        "recurrent.cpp": _function("r", *recurrent[:6], "mine(6);", *recurrent[6:]),
    }
    theirs = {"hybrid.cpp": str(mine["hybrid.cpp"]).replace("rows", "n_rows")}
    result = judge_one(tmp_path, pin, theirs, diff(pin, mine))
    assert result.outcome is Outcome.PARTLY_UPSTREAMED
    outcomes = {file.path: file.hunks[0].outcome for file in result.files}
    assert outcomes == {
        "hybrid.cpp": Outcome.UPSTREAMED,
        "recurrent.cpp": Outcome.UNCHANGED,
    }
    assert (tmp_path / "out/recurrent.cpp").read_text() == mine["recurrent.cpp"]
    assert (tmp_path / "out/hybrid.cpp").read_text() == theirs["hybrid.cpp"]


def test_two_patches_squashed_upstream_are_both_upstreamed(tmp_path: Path) -> None:
    """By content; patch ids never match (P34)."""
    pin = {"a": numbered(1, 20)}
    first = diff(pin, {"a": numbered(1, 20, L3="three")})
    second = diff({"a": numbered(1, 20, L3="three")}, {"a": numbered(1, 20, L3="three", L18="x")})
    target = {"a": numbered(1, 20, L3="three", L18="x")}
    document = judge(tmp_path, pin, target, first, second)
    assert [p.outcome for p in document.patches] == [Outcome.UPSTREAMED] * 2
    assert [p.alone for p in document.patches] == [Outcome.UPSTREAMED] * 2


def test_a_different_change_of_the_same_lines_is_not_upstreamed(tmp_path: Path) -> None:
    """A failed apply proves nothing (P29)."""
    pin = {"a.cpp": _function("f", *[f"step({n}, alpha, beta);" for n in range(9)])}
    mine = {"a.cpp": str(pin["a.cpp"]).replace("step(4, alpha, beta)", "step(44, alpha, beta)")}
    target = {"a.cpp": str(pin["a.cpp"]).replace("step(4, alpha, beta)", "other(4, gamma)")}
    assert judge_one(tmp_path, pin, target, diff(pin, mine)).outcome is Outcome.CONFLICT


def test_a_file_that_upstream_moved_is_followed(tmp_path: Path) -> None:
    """And the move is told, with how alike the files are (P47)."""
    text = _function("f", *[f"step({n});" for n in range(40)])
    pin = {"llama.cpp": text, "other": "x\n"}
    mine = {"llama.cpp": text.replace("step(20);", "mine(20);")}
    moved = text.replace("step(2);", "step(22);")
    target = {"llama.cpp": None, "src/llama.cpp": moved}
    result = judge_one(tmp_path, pin, target, diff(pin, mine))
    assert result.outcome.clean
    assert result.files[0].new_path == "src/llama.cpp"
    assert "moved to src/llama.cpp" in result.why
    assert "% similar" in result.why
    expected = moved.replace("step(20);", "mine(20);")
    assert (tmp_path / "out/src/llama.cpp").read_text() == expected
    assert not (tmp_path / "out/llama.cpp").exists()


def test_a_deleted_file_is_a_conflict_with_its_reason(tmp_path: Path) -> None:
    """It did not move: nothing like it is there."""
    pin = {"a": numbered(1, 20), "b": "1\n"}
    result = judge_one(tmp_path, pin, {"a": None}, diff(pin, {"a": numbered(1, 20, L9="x")}))
    assert result.outcome is Outcome.CONFLICT
    assert "not there any more" in result.why


def test_a_mode_change_is_judged_beside_the_text(tmp_path: Path) -> None:
    """Upstream made the script executable already: no conflict, and said (P18)."""
    text = numbered(1, 20)
    pin = {"x.sh": text}
    mine = {"x.sh": ("100755", numbered(1, 20, L10="mine").encode())}
    target = {"x.sh": ("100755", text.encode())}
    result = judge_one(tmp_path, pin, target, diff(pin, mine))
    assert result.outcome is Outcome.UNCHANGED
    assert "mode change is already present" in result.why


def test_an_empty_new_file_stands_in_the_result(tmp_path: Path) -> None:
    """It has no hunk, and is not nothing (P20)."""
    result = judge_one(tmp_path, {"a": "1\n"}, {"b": "1\n"}, diff({}, {"t/__init__.py": ""}))
    assert result.outcome is Outcome.UNCHANGED
    assert (tmp_path / "out/t/__init__.py").read_bytes() == b""


def test_an_unusable_patch_does_not_stop_the_others(tmp_path: Path) -> None:
    """Binary data is missing: an error for it, a verdict for the rest, no tree (P16)."""
    pin = {"a": numbered(1, 20), "b": numbered(1, 20)}
    bad = (
        b"diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n"
    )
    good = [diff(pin, {name: numbered(1, 20, L9="x")}) for name in ("a", "b")]
    document = judge(tmp_path, pin, {"c": ""}, good[0], bad, good[1])
    outcomes = [p.outcome for p in document.patches]
    assert outcomes == [Outcome.UNCHANGED, Outcome.UNUSABLE, Outcome.UNCHANGED]
    assert document.verdict is Verdict.ERROR
    assert document.tree is None


def test_a_patch_that_fits_neither_pin_nor_index_has_no_base(tmp_path: Path) -> None:
    """A plain apply answers for it, flagged; the patches behind it are judged (P43)."""
    pin = {"a": numbered(1, 30), "b": numbered(1, 20)}
    other = {"a": numbered(1, 30, L14="newer")}
    stale = diff(other, {"a": numbered(1, 30, L14="newer", L12="mine")})
    good = diff(pin, {"b": numbered(1, 20, L9="x")})
    document = judge(tmp_path, pin, {"a": "top\n" + str(other["a"])}, stale, good)
    assert document.patches[0].outcome is Outcome.OFFSET
    assert document.patches[0].flags == (Flag.NO_BASE,)
    assert document.patches[1].outcome is Outcome.UNCHANGED
    assert document.verdict is Verdict.ATTENTION


def test_lines_that_upstream_added_are_not_removed_silently(tmp_path: Path) -> None:
    """The patch was made for a newer revision and drops what upstream added since the pin."""
    pin = {"a": numbered(1, 30)}
    newer = {"a": numbered(1, 30, L14="line 14\nguard the next step")}
    patch = diff(newer, pin)
    result = judge_one(tmp_path, pin, newer, patch)
    assert Flag.SILENT_REVERT in result.flags
    assert "guard the next step" in result.why
    assert result.verdict is Verdict.ATTENTION


def test_a_file_with_a_new_name_is_no_cover_for_a_revert(tmp_path: Path) -> None:
    """Upstream renamed it; what it changed since the pin is told apart from what it only moved."""
    pin = {"a": numbered(1, 30)}
    newer = {"b": numbered(1, 30, L14="line 14\nguard the next step")}
    for number, (mine, flags) in enumerate(
        [(numbered(1, 30), (Flag.SILENT_REVERT,)), (newer["b"].replace("line 12\n", ""), ())]
    ):
        patch = diff(newer, {"b": mine})
        result = judge_one(tmp_path / str(number), pin, {"a": None, **newer}, patch)
        assert tuple(flag for flag in result.flags if flag is not Flag.NO_BASE) == flags


def test_a_patch_may_replace_what_the_one_before_it_added(tmp_path: Path) -> None:
    """That is no line of upstream's."""
    pin = {"a": numbered(1, 30)}
    newer = {"a": numbered(1, 30, L14="line 14\nguard the next step")}
    first = {"a": newer["a"].replace("line 20\n", "line 20\ncarried by the first\n")}
    second = {"a": first["a"].replace("carried by the first", "carried by the second")}
    document = judge(tmp_path, pin, newer, diff(newer, first), diff(first, second))
    assert all(Flag.SILENT_REVERT not in patch.flags for patch in document.patches)


def test_a_byte_order_mark_is_explained(tmp_path: Path) -> None:
    """The hunk has no mark where the file has one (P49)."""
    pin = {"f.cpp": b"\xef\xbb\xbfint a;\nint b;\n"}
    patch = diff({"f.cpp": "int a;\nint b;\n"}, {"f.cpp": "int a;\nint c;\n"})
    result = judge_one(tmp_path, pin, {"x": ""}, patch)
    assert result.outcome is Outcome.CONFLICT
    assert "byte order mark" in result.why


@pytest.mark.parametrize("new_file", [False, True])
def test_a_patch_with_crlf_gives_the_bytes_of_the_lf_one(tmp_path: Path, new_file: bool) -> None:
    """Edits and added files alike, on every git version (P04, P05)."""
    pin: Files = {"x.c": "a\n\nb\nc\n"}
    mine = {"x.c": "a\n\nB\nc\n", **({"n.c": "1\n2\n"} if new_file else {})}
    patch = diff(pin, mine).replace(b"\n", b"\r\n")
    result = judge_one(tmp_path, pin, {"y": ""}, patch)
    assert result.outcome is Outcome.UNCHANGED
    assert "CRLF" in result.why
    for path, text in mine.items():
        assert (tmp_path / "out" / path).read_text() == text


def test_a_file_with_crlf_keeps_it(tmp_path: Path) -> None:
    """Content is bytes; trailing blanks too (G09)."""
    pin = {"x.c": b"a\r\nb\r\nc\r\n"}
    mine = {"x.c": b"a\r\nB  \r\nc\r\n"}
    assert judge_one(tmp_path, pin, {"y": ""}, diff(pin, mine)).outcome is Outcome.UNCHANGED
    assert (tmp_path / "out/x.c").read_bytes() == mine["x.c"]


def test_the_missing_final_newline_stays_missing(tmp_path: Path) -> None:
    """No byte is added (P11)."""
    pin = {"x": b"a"}
    patch = diff(pin, {"x": b"a\nb"})
    judge_one(tmp_path, pin, {"y": ""}, patch)
    assert (tmp_path / "out/x").read_bytes() == b"a\nb"


def test_binary_data_is_applied_or_is_a_conflict(tmp_path: Path) -> None:
    """By its exact base only."""
    pin: Files = {"b": b"\0\1\2" * 90, "t": "1\n"}
    patch = diff(pin, {"b": b"\0\3\4" * 70}, "--binary")
    assert judge_one(tmp_path / "1", pin, {"t": "2\n"}, patch).outcome is Outcome.UNCHANGED
    assert (tmp_path / "1/out/b").read_bytes() == b"\0\3\4" * 70
    assert judge_one(tmp_path / "2", pin, {"b": b"\0\5" * 70}, patch).outcome is Outcome.CONFLICT
    assert judge_one(tmp_path / "3", pin, {"b": b"\0\3\4" * 70}, patch).outcome is (
        Outcome.UPSTREAMED
    )


def test_the_first_clean_form_is_used_and_named(tmp_path: Path) -> None:
    """Each form is for another shape of the code."""
    old = _function("f", *[f"step({n});" for n in range(12)])
    new = old.replace("step(5);", "leap(5);").replace("step(6);", "leap(6);")
    first = diff({"a.cpp": old}, {"a.cpp": old.replace("step(5);", "step(5);\n    mine();")})
    second = diff({"a.cpp": new}, {"a.cpp": new.replace("leap(5);", "leap(5);\n    mine();")})
    toml = "[[patch]]\nfile = '0001.patch'\nforms = ['0002.patch']\n"
    document = judge(tmp_path, {"a.cpp": old}, {"a.cpp": new}, first, second, toml=toml)
    (result,) = document.patches
    assert result.outcome.clean
    assert not result.flags
    assert (result.form, result.notes) == ("0002.patch", (Note.FORM,))
    assert document.verdict is Verdict.OK
    assert "leap(5);\n    mine();" in (tmp_path / "out/a.cpp").read_text()


def test_a_second_run_says_what_the_first_said(tmp_path: Path) -> None:
    """The first run leaves the blobs that the form's index line names: no verdict hangs on them.

    The form was written for this very file, so that it drops what upstream added is no news.
    """
    pin = {"a": numbered(1, 40)}
    newer = {"a": numbered(1, 40, L30="line 30\nguard the next step")}
    first = diff(pin, {"a": numbered(1, 40, L10="mine")})
    on_pin = {"a": numbered(1, 40, L10="mine")}
    second = diff(on_pin, {"a": numbered(1, 40, L10="mine", L30="also mine")})
    on_newer = {"a": numbered(1, 40, L10="mine", L30="line 30\nguard the next step")}
    form = diff(on_newer, {"a": numbered(1, 40, L10="mine", L30="also mine")})
    toml = (
        "[[patch]]\nfile = '0001.patch'\n[[patch]]\nfile = '0002.patch'\nforms = ['0003.patch']\n"
    )
    once = judge(tmp_path, pin, newer, first, second, form, toml=toml)
    again = judge(tmp_path, pin, newer, first, second, form, toml=toml)
    assert once.patches == again.patches
    assert (once.patches[1].form, once.patches[1].flags) == ("0003.patch", ())
    assert once.verdict is Verdict.OK


def test_the_same_lines_dropped_by_a_patch_itself_are_told_every_time(tmp_path: Path) -> None:
    """It was made for a newer revision, but nobody said that it should replace upstream's lines."""
    pin = {"a": numbered(1, 40)}
    newer = {"a": numbered(1, 40, L30="line 30\nguard the next step")}
    first = diff(pin, {"a": numbered(1, 40, L10="mine")})
    on_newer = {"a": numbered(1, 40, L10="mine", L30="line 30\nguard the next step")}
    second = diff(on_newer, {"a": numbered(1, 40, L10="mine", L30="also mine")})
    for _ in range(2):
        document = judge(tmp_path, pin, newer, first, second)
        assert Flag.SILENT_REVERT in document.patches[1].flags
        assert document.verdict is Verdict.ATTENTION


def test_a_patch_whose_symbol_is_absent_is_not_applicable(tmp_path: Path) -> None:
    """Only because the series says so, and only if no file has it."""
    pin = {"a.cpp": _function("find_slot", *[f"step({n});" for n in range(9)])}
    patch = diff(pin, {"a.cpp": str(pin["a.cpp"]).replace("step(4);", "mine(4);")})
    toml = "[[patch]]\nfile = '0001.patch'\nneeds = ['find_slot']\n"
    gone = {"a.cpp": _function("other", "stop();")}
    document = judge(tmp_path / "1", pin, gone, patch, toml=toml)
    assert document.patches[0].outcome is Outcome.NOT_APPLICABLE
    assert document.verdict is Verdict.OK
    assert "find_slot does not exist" in document.patches[0].why
    elsewhere = {**gone, "b.cpp": _function("find_slot", "stop();")}
    assert judge(tmp_path / "2", pin, elsewhere, patch, toml=toml).patches[0].outcome is (
        Outcome.CONFLICT
    )


def test_a_patch_that_requires_another_is_judged_on_top_of_it(tmp_path: Path) -> None:
    """Alone it has no verdict."""
    pin = {"a": numbered(1, 20)}
    one = {"a": numbered(1, 20, L10="mine")}
    first = diff(pin, one)
    second = diff(one, {"a": numbered(1, 20, L10="mine\nand more")})
    toml = (
        "[[patch]]\nfile = '0001.patch'\n"
        "[[patch]]\nfile = '0002.patch'\nrequires = ['0001.patch']\n"
    )
    document = judge(tmp_path, pin, {"b": ""}, first, second, toml=toml)
    assert [p.alone for p in document.patches] == [Outcome.UNCHANGED, None]
    assert [p.outcome for p in document.patches] == [Outcome.UNCHANGED] * 2


def test_a_small_function_that_changed_around_the_hunk_is_told(tmp_path: Path) -> None:
    """A change of comments or white space alone is not."""
    pin = {"a.cpp": _function("f", *[f"step({n});" for n in range(12)])}
    text = str(pin["a.cpp"])
    patch = diff(pin, {"a.cpp": text.replace("step(9);", "mine(9);")})
    changed = {"a.cpp": text.replace("step(2);", "step(2, true);")}
    result = judge_one(tmp_path / "1", pin, changed, patch)
    assert result.flags == (Flag.SCOPE_CHANGED,)
    spaced = {"a.cpp": text.replace("step(2);", "step( 2 ); // two")}
    assert judge_one(tmp_path / "2", pin, spaced, patch).flags == ()


def test_a_conflict_names_the_commit_that_caused_it(tmp_path: Path) -> None:
    """With its pull request; later changes of other lines are not blamed."""
    pin = {"a": numbered(1, 40)}
    steps = [
        Step({"a": numbered(1, 40, L30="x")}, subject="harmless (#1)"),
        Step({"a": numbered(1, 40, L30="x", L10="theirs")}, subject="the cause (#2)"),
        Step({"a": numbered(1, 40, L30="y", L10="theirs")}, subject="later (#3)"),
    ]
    result = judge_one(tmp_path, pin, steps, diff(pin, {"a": numbered(1, 40, L10="mine")}))
    assert result.outcome is Outcome.CONFLICT
    culprit = result.culprit
    assert culprit is not None
    assert culprit != "unknown"
    assert (culprit.subject, culprit.pr) == ("the cause (#2)", 2)
    assert result.conflict is not None
    (card,) = result.conflict.files[0].hunks
    assert (card.base, card.ours, card.theirs) == ("line 10\n", "theirs\n", "mine\n")
    assert card.ours_start == 10


def test_two_changes_of_one_line_that_share_no_word_are_proposed(tmp_path: Path) -> None:
    """A proposal for a human; the outcome stays a conflict."""
    pin = {"a.cpp": _function("f", "call(one, two, three, four, five);", "end();")}
    mine = str(pin["a.cpp"]).replace("five", "5")
    theirs = str(pin["a.cpp"]).replace("one", "1")
    result = judge_one(tmp_path, pin, {"a.cpp": theirs}, diff(pin, {"a.cpp": mine}))
    assert not result.outcome.clean
    assert result.conflict is not None
    (card,) = result.conflict.files[0].hunks
    assert card.proposal == "    call(1, two, three, four, 5);\n"


def test_lines_that_upstream_indented_anew_merge_by_structure(tmp_path: Path) -> None:
    """Attention, never clean; the change stands in the result with upstream's indentation."""
    body = [f"step({n});" for n in range(9)]
    pin = {"a.cpp": _function("f", *body)}
    mine = {"a.cpp": _function("f", *body[:4], "mine(4);", *body[5:])}
    deeper = _function("f", "if (ready()) {", *[f"    {line}" for line in body], "}")
    document = judge(tmp_path, pin, {"a.cpp": deeper}, diff(pin, mine))
    assert document.patches[0].outcome is Outcome.STRUCTURAL
    assert document.verdict is Verdict.ATTENTION
    expected = deeper.replace("        step(4);", "        mine(4);")
    assert (tmp_path / "out/a.cpp").read_text() == expected


def test_a_renamed_local_merges_by_structure(tmp_path: Path) -> None:
    """The patch's new line gets upstream's name."""
    body = ["int rows = count();", "use(rows, 1);", "use(rows, 2);", "finish(rows);"]
    pin = {"a.cpp": _function("f", *body)}
    mine = {"a.cpp": _function("f", *body[:2], "check(rows);", "use(rows, 2 + 2);", body[3])}
    renamed = str(pin["a.cpp"]).replace("rows", "n_rows")
    result = judge_one(tmp_path, pin, {"a.cpp": renamed}, diff(pin, mine))
    assert result.outcome is Outcome.STRUCTURAL
    assert result.verdict is Verdict.ATTENTION
    assert (tmp_path / "out/a.cpp").read_text() == mine["a.cpp"].replace("rows", "n_rows")


def test_a_real_conflict_is_not_merged_by_structure(tmp_path: Path) -> None:
    """Both sides changed what the line does."""
    body = ["int rows = count();", "use(rows, 1);", "finish(rows);"]
    pin = {"a.cpp": _function("f", *body)}
    mine = {"a.cpp": str(pin["a.cpp"]).replace("use(rows, 1)", "use(rows, 7)")}
    theirs = {"a.cpp": str(pin["a.cpp"]).replace("use(rows, 1)", "use(rows, 9)")}
    assert judge_one(tmp_path, pin, theirs, diff(pin, mine)).outcome is Outcome.CONFLICT


def test_a_function_that_moved_to_another_file_takes_its_change_along(tmp_path: Path) -> None:
    """By structure: upstream split the file and touched another line of the function."""
    stay = _function("stay", *[f"keep({n});" for n in range(30)])
    move = _function("move", *[f"step({n});" for n in range(9)])
    pin = {"a.cpp": stay + "\n" + move, "b.cpp": _function("other", "stop();")}
    mine = {"a.cpp": stay + "\n" + move.replace("step(4);", "mine(4);")}
    moved = move.replace("step(8);", "step(88);")
    target = {"a.cpp": stay, "b.cpp": str(pin["b.cpp"]) + "\n" + moved}
    result = judge_one(tmp_path, pin, target, diff(pin, mine))
    assert result.outcome is Outcome.STRUCTURAL
    assert "move moved to b.cpp" in result.why
    expected = str(pin["b.cpp"]) + "\n" + moved.replace("step(4);", "mine(4);")
    assert (tmp_path / "out/b.cpp").read_text() == expected
    assert (tmp_path / "out/a.cpp").read_text() == stay


def test_a_function_that_two_files_define_is_not_followed(tmp_path: Path) -> None:
    """Nothing tells which of them the change is for."""
    stay = _function("stay", *[f"keep({n});" for n in range(30)])
    move = _function("move", *[f"step({n});" for n in range(9)])
    pin = {"a.cpp": stay + "\n" + move}
    mine = {"a.cpp": stay + "\n" + move.replace("step(4);", "mine(4);")}
    target = {"a.cpp": stay, "b.cpp": move, "c.cpp": move}
    assert judge_one(tmp_path, pin, target, diff(pin, mine)).outcome is Outcome.CONFLICT


def test_a_change_that_can_be_cut_in_two_ways_is_upstreamed_all_the_same(tmp_path: Path) -> None:
    """Among equal lines git cuts an insertion at another place than the patch does."""
    block = ["if (a) {", "  b();", "}"]
    pin = {"a.c": _function("f", *block, *block, "end();")}
    mine = {"a.c": _function("f", *block, *block, *block, "end();")}
    first = next(iter(pin["a.c"].splitlines()))
    hunk = [f" {line}" for line in pin["a.c"].splitlines()]
    hunk[1:1] = [f"+    {line}" for line in block]  # at the first copy, not at the last
    patch = "--- a/a.c\n+++ b/a.c\n" + "\n".join(
        [f"@@ -1,{len(hunk) - 3} +1,{len(hunk)} @@ {first}", *hunk, ""]
    )
    later = {"a.c": "// more\n" + str(mine["a.c"])}
    result = judge_one(tmp_path, pin, later, patch.encode())
    assert result.outcome is Outcome.UPSTREAMED
    assert (tmp_path / "out/a.c").read_text() == later["a.c"]


def test_a_function_appended_to_the_file_is_not_taken_for_upstreamed(tmp_path: Path) -> None:
    """Its context changed and nothing stands behind it to compare."""
    pin = {"a.cpp": _function("f", *[f"step({n});" for n in range(5)])}
    mine = {"a.cpp": str(pin["a.cpp"]) + "\n" + _function("added", "go();")}
    target = {"a.cpp": str(pin["a.cpp"]).replace("step(4);", "step(44);")}
    result = judge_one(tmp_path, pin, target, diff(pin, mine))
    assert result.outcome is Outcome.MERGED
    expected = str(target["a.cpp"]) + "\n" + _function("added", "go();")
    assert (tmp_path / "out/a.cpp").read_text() == expected
