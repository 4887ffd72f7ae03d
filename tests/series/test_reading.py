"""Reading patch files and folders of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.patches import diff, series_of
from tests.support.repos import File
from tracker.errors import ConfigError
from tracker.series.patch import Binary, Kind
from tracker.series.reading import read_patch, read_series, series_digest

_HUNK = b"--- a/x.c\n+++ b/x.c\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"


def test_a_mail_is_read_with_its_subject_and_message() -> None:
    """Without [PATCH n/m]; other bracketed words belong to the subject (P23)."""
    raw = diff({"a": "1\n"}, {"a": "2\n"}, subject="[mtmd] fix pos\n\nWhy it is so.\n")
    patch = read_patch(raw, "x.patch")
    assert patch.subject == "[mtmd] fix pos"
    assert patch.description == "Why it is so."
    assert [(f.kind, f.path) for f in patch.files] == [(Kind.MODIFY, "a")]
    assert not patch.fault


def test_a_mail_without_a_message_has_no_description() -> None:
    """The separator comes at once; the diff is not taken for text (P27)."""
    patch = read_patch(diff({"a": "1\n"}, {"a": "2\n"}, subject="only this"), "x.patch")
    assert (patch.subject, patch.description) == ("only this", "")


def test_a_plain_diff_is_known_by_its_first_words() -> None:
    """Or by its file name."""
    assert read_patch(b"Make b big.\n\nBecause.\n\n" + _HUNK, "x.patch").subject == "Make b big."
    assert read_patch(_HUNK, "0001-fix.patch").subject == "0001-fix"


def test_bytes_that_are_not_utf8_do_not_stop_the_reader() -> None:
    """An author in Latin-1 and a byte 0xA0 in the context (P21)."""
    raw = b"From: J\xfcrgen <j@x>\nSubject: fix\n\n---\n" + _HUNK.replace(b" a\n", b" a\xa0\n")
    patch = read_patch(raw, "x.patch")
    assert patch.files[0].hunks[0].old[0] == b"a\xa0\n"
    assert patch.subject == "fix"


def test_an_encoded_subject_is_decoded() -> None:
    """RFC 2047 words, folded over lines."""
    raw = b"Subject: [PATCH 2/3] =?UTF-8?q?caf=C3=A9?=\n long\n\n---\n" + _HUNK
    assert read_patch(raw, "x.patch").subject == "caf\u00e9 long"


def test_lines_end_at_lf_only() -> None:
    """A lone CR, a form feed and a line separator are content (P07)."""
    odd = b's = "abc\rdef\x0c\xe2\x80\xa8";\n'
    raw = b"--- a/x.c\n+++ b/x.c\n@@ -1,3 +1,3 @@\n " + odd + b"-b\n+B\n c\n"
    hunk = read_patch(raw, "x.patch").files[0].hunks[0]
    assert hunk.old == (odd, b"b\n", b"c\n")


def test_the_marker_of_a_missing_newline_is_not_content() -> None:
    """It belongs to the line before it; a content line with the same words stays one (P11)."""
    marker = b"\\ No newline at end of file\n"
    raw = b"--- a/x\n+++ b/x\n@@ -1 +1,3 @@\n-a\n" + marker + b"+a\n+" + marker + b"+b\n" + marker
    hunk = read_patch(raw, "x.patch").files[0].hunks[0]
    assert hunk.removed == (b"a",)
    assert hunk.added == (b"a\n", marker, b"b")


def test_a_missing_final_newline_is_mended() -> None:
    """And said; the result is that of the whole patch (P09)."""
    patch = read_patch(_HUNK[:-1], "x.patch")
    assert not patch.fault
    assert patch.files[0].hunks == read_patch(_HUNK, "x.patch").files[0].hunks
    assert "no final newline" in patch.remarks[0]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (_HUNK[: _HUNK.index(b" c\n")], "truncated"),
        (_HUNK.decode().encode("utf-16"), "UTF-16"),
        (b"", "empty"),
        (b"   \n\n", "empty"),
        (b"Just a letter.\n", "nothing in it"),
        (_HUNK.replace(b"@@ -1,3 +1,3 @@", b"@@ -1,9 +1,3 @@"), "truncated"),
        (_HUNK.replace(b"@@ -1,3 +1,3 @@", b"@@ -1,2 +1,2 @@"), "more lines"),
        (b"Binary files a/x.png and b/x.png differ\n", "binary data missing"),
        (
            b"diff --git a/x.png b/x.png\nindex 1111111..2222222 100644\n"
            b"Binary files a/x.png and b/x.png differ\n",
            "binary data missing",
        ),
        (b"diff --git a/x b/x\nGIT binary patch\n", "binary data missing"),
        (_HUNK.replace(b"-b\n+B\n", b" b\n b\n").replace(b"1,3", b"1,4"), "changes nothing"),
        (b"@@ -1 +1 @@\n-a\n+b\n", "without a file name"),
    ],
)
def test_what_cannot_be_used_is_a_fault_with_its_reason(raw: bytes, why: str) -> None:
    """Never a traceback, never a clean patch with nothing in it (P09, P10, P16)."""
    patch = read_patch(raw, "x.patch")
    assert re.search(why, patch.fault), patch.fault


def test_two_new_files_without_git_headers_are_two_files() -> None:
    """unidiff alone takes them for a rename (P13)."""
    one = b"--- /dev/null\n+++ b/1.txt\n@@ -0,0 +1 @@\n+one\n"
    patch = read_patch(one + one.replace(b"1.txt", b"2.txt"), "x.patch")
    found = [(f.kind, f.new_path) for f in patch.files]
    assert found == [(Kind.ADD, "1.txt"), (Kind.ADD, "2.txt")]


@pytest.mark.parametrize("name", ["caf\u00e9", "tab\there", "a b/c b/d", 'quo"te', "back\\s"])
def test_names_are_those_that_git_meant(name: str) -> None:
    """Octal escapes, tabs, quotes, and names that look like two (P14, P15)."""
    changed = read_patch(diff({name: "1\n"}, {name: "2\n"}), "x.patch")
    assert [f.path for f in changed.files] == [name]
    added = read_patch(diff({}, {name: ""}), "x.patch")
    assert [(f.kind, f.new_path, f.hunks) for f in added.files] == [(Kind.ADD, name, ())]
    mode = read_patch(diff({name: "1\n"}, {name: ("100755", b"1\n")}), "x.patch")
    assert [(f.path, f.old_mode, f.new_mode) for f in mode.files] == [(name, "100644", "100755")]
    assert not (changed.fault or added.fault or mode.fault)


def test_renames_copies_deletions_and_binary_data_are_told_apart() -> None:
    """By git's extended headers."""
    text = "".join(f"line {n}\n" for n in range(20))
    old: Mapping[str, File] = {"a": text, "gone": "x\n", "bin": b"\0\1\2" * 50}
    new: Mapping[str, File] = {
        "a": None,
        "moved": text + "more\n",
        "gone": None,
        "bin": b"\0\3\4" * 60,
    }
    files = {f.path: f for f in read_patch(diff(old, new, "--binary", "-M"), "x").files}
    assert (files["a"].kind, files["a"].new_path) == (Kind.RENAME, "moved")
    assert files["gone"].kind is Kind.DELETE
    assert files["bin"].binary is Binary.DATA


@pytest.mark.parametrize("option", ["--no-prefix", "--src-prefix=i/", "--dst-prefix=w/"])
def test_prefixes_of_other_settings_are_understood(option: str) -> None:
    """diff.noprefix and diff.mnemonicPrefix of whoever made the patch (G01, G02)."""
    patch = read_patch(diff({"src/a.c": "1\n"}, {"src/a.c": "2\n"}, option), "x.patch")
    assert [f.path for f in patch.files] == ["src/a.c"]


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "a/../../x",
        "/etc/x",
        ".git/config",
        "d/.GIT/x",
        ".g\u200cit/x",
        "git~1/x",
        ".git./x",
    ],
)
def test_a_path_that_leaves_the_tree_is_refused(path: str) -> None:
    """Or that reaches into .git, also under its other names."""
    raw = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n".encode()
    assert "refused" in read_patch(raw, "x.patch").fault


def test_a_patch_file_with_crlf_is_read_as_lf() -> None:
    """Its own header lines end in CRLF too; blank context lines keep their place (P04, P05)."""
    raw = _HUNK.replace(b" a\n", b"\n").replace(b"\n", b"\r\n")
    patch = read_patch(raw, "x.patch")
    assert not patch.fault
    assert patch.crlf
    assert "CRLF" in patch.remarks[0]


def test_without_a_series_file_names_count_naturally(tmp_path: Path) -> None:
    """fix2 before fix10, and a remark that text order differs (P37)."""
    for name in ("fix1", "fix2", "fix10"):
        (tmp_path / f"{name}.patch").write_bytes(_HUNK)
    series = read_series(tmp_path)
    assert [m.patch.name for m in series.members] == ["fix1.patch", "fix2.patch", "fix10.patch"]
    assert series.ordered_by == "names"
    assert "natural order" in series.remarks[0]


def test_a_series_file_orders_and_the_rest_is_told(tmp_path: Path) -> None:
    """Every file in the folder is accounted for."""
    for name in ("a.patch", "b.patch", "c.patch"):
        (tmp_path / name).write_bytes(_HUNK)
    (tmp_path / "series").write_text("# order\nc.patch -p1\na.patch # why\n")
    series = read_series(tmp_path)
    assert [m.patch.name for m in series.members] == ["c.patch", "a.patch"]
    assert series.remarks == ("b.patch is in the folder but not in the series: not applied",)
    assert series.unnamed == ("b.patch",)


@pytest.mark.parametrize(
    ("toml", "why"),
    [
        ("[[patch]]\nfile = 'none.patch'\n", "not there"),
        ("[[patch]]\nfile = '0001.patch'\nfles = 1\n", "unknown field"),
        ("[[patch]\n", "not a valid series"),
        ("[[patch]]\nfile = '0001.patch'\n[[patch]]\nfile = '0001.patch'\n", "named twice"),
        ("[[patch]]\nfile = '../x.patch'\n", "outside"),
        ("[[patch]]\nfile = '0001.patch'\nrequires = ['0002.patch']\n", "not an earlier patch"),
    ],
)
def test_a_broken_series_names_file_and_reason(tmp_path: Path, toml: str, why: str) -> None:
    """It stops the command: which patches to judge is not known."""
    series_of(tmp_path, _HUNK, toml=toml)
    with pytest.raises(ConfigError, match=why) as caught:
        read_series(tmp_path)
    assert "series.toml" in caught.value.where


def test_the_digest_follows_what_is_carried(tmp_path: Path) -> None:
    """Bytes and order count, the purpose's words do not."""
    one = series_of(tmp_path / "1", _HUNK, toml="[[patch]]\nfile = '0001.patch'\n")
    two = series_of(tmp_path / "2", _HUNK, toml="[[patch]]\nfile = '0001.patch'\npurpose = 'x'\n")
    three = series_of(tmp_path / "3", _HUNK + b"\n", toml="[[patch]]\nfile = '0001.patch'\n")
    digests = [series_digest(read_series(folder)) for folder in (one, two, three)]
    assert digests[0] == digests[1] != digests[2]


def test_no_folder_is_a_configuration_error(tmp_path: Path) -> None:
    """A missing series is never an empty one (P29)."""
    with pytest.raises(ConfigError, match="no such folder"):
        read_series(tmp_path / "none")


@pytest.mark.parametrize("first", [f"From {'1' * 40} Mon Sep 17 00:00:00 2001", "From a@b Mon Sep"])
def test_a_mail_that_a_mail_reader_saved_has_its_subject(first: str) -> None:
    """The line that begins it names an address where git puts an id."""
    head = f"{first}\nFrom: A <a@b>\nSubject: [PATCH] its subject\n\nwhy\n---\n"
    patch = read_patch(head.encode() + b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "p.patch")
    assert (patch.subject, patch.description, patch.fault) == ("its subject", "why", "")
