from __future__ import annotations

import re
from dataclasses import replace as with_fields

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec.structs import replace

from tests.report.test_page import HOSTILE, hostile_document
from tests.support import documents
from tracker import report
from tracker.evidence.rebase import Outcome
from tracker.publish.body import Marker, fitted, units
from tracker.report.prose import prose, prose_cell

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
TEXTS = [
    "plain words, llama_memory_hybrid and seq_rm",
    "*bold* _em_ __strong__ ~~gone~~ `code` [link](http://x) ![img](y) $a$",
    "a | b \\| c \\",
    "# no heading",
    "- no list",
    "+ no list",
    "1. no list",
    "> no quote",
    "=====",
    "<img src=x onerror=alert(1)> &amp; <!-- -->",
    "Fixes #12, closes owner/repo#34, resolves GH-56.",
    "see https://example.org/a_b*c and www.example.org",
    "ping @someone and @org/team, mail a@example.org",
    "reverts 0123456789abcdef0123456789abcdef01234567 (abc1234)",
    '$(id)`id`"; echo x',
    "two\nlines\u2028three\u202e reversed\x1b[31m",
    "#1#1 and @a@b",
    HOSTILE,
]


def shown(markdown: str) -> str:
    """What a reader sees of one paragraph."""
    (paragraph, inline, _) = READER.parse(markdown)
    assert paragraph.type == "paragraph_open"
    return text_of(inline)


def text_of(inline: Token) -> str:
    parts = []
    for token in inline.children or []:
        assert token.type in ("text", "code_inline", "text_special"), token.type
        parts.append(token.content)
    return "".join(parts)


def outside_code(markdown: str) -> str:
    """The texts in which a forge looks for mentions and references."""
    found = []
    for token in READER.parse(markdown):
        for child in token.children or []:
            if child.type in ("text", "text_special"):
                found.append(child.content)
    return "\n".join(found)


def one_line(text: str) -> str:
    kept = text.replace("\u202e", "").replace("\x1b", " ").replace("\n", " ")
    return " ".join(kept.replace("\u2028", " ").split())


@pytest.mark.parametrize("text", TEXTS)
def test_a_sentence_reads_as_it_was_written(text: str) -> None:
    """Rendered, it is one paragraph of the same characters, with no markup of its own."""
    assert shown(prose(text)) == one_line(text)
    assert shown(f"begin {prose(text)}") == f"begin {one_line(text)}"


@pytest.mark.parametrize("text", TEXTS)
def test_a_cell_stays_a_cell(text: str) -> None:
    """Bars and back-slashes neither add nor lose a column."""
    table = f"| a | b |\n|---|---|\n| {prose_cell(text)} | last |\n"
    cells = [token for token in READER.parse(table) if token.type == "inline"]
    assert len(cells) == 4
    assert text_of(cells[2]).replace("\u2060", "") == one_line(text)
    assert text_of(cells[3]) == "last"


@given(st.text(alphabet="ab1 *_`[]()<>&;#@|\\~$-+.=!\"'/:", max_size=40))
def test_any_sentence_reads_as_it_was_written(text: str) -> None:
    """No combination of signs is markup, alone or in a cell."""
    assume(text.strip())
    assert shown(prose(text)) == one_line(text)
    table = f"| a | b |\n|---|---|\n| {prose_cell(text)} | last |\n"
    cells = [token for token in READER.parse(table) if token.type == "inline"]
    assert len(cells) == 4
    assert text_of(cells[2]).replace("\u2060", "") == one_line(text)


_ACTS = re.compile(r"@\w|#\d|\bGH-\d|https?://|\bwww\.|\b[0-9a-f]{7,40}\b|<[a-z!/]", re.IGNORECASE)


@pytest.mark.parametrize("text", TEXTS)
def test_nothing_that_a_forge_acts_on_is_left_outside_code(text: str) -> None:
    """No mention, reference, link, commit id or tag; a closing keyword has nothing to close."""
    left = outside_code(prose(text)).replace("<img", "").replace("</style", "")
    assert not _ACTS.search(re.sub(r"<(script|/script|!)", "", left))


def test_the_checklist_says_the_verdict_first() -> None:
    """Title, one sentence, the counts, the rows at a glance; then what needs a look."""
    text = report.markdown(documents.bump())
    title, _, verdict, *_ = text.splitlines()
    assert title == "# Pin bump 0.3.29 → 0.3.36: ok"
    assert verdict.startswith("✅ **The pin moved from 0.3.29 to 0.3.36;")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == [
        "Worth a look",
        "Behaviour",
        "The tracker's list",
        "For a person",
        "Everything that was judged",
        "Provenance",
    ]


def test_every_item_every_line_and_every_command_is_there() -> None:
    """The list is whole: nothing is summed up away."""
    document = documents.bump()
    text = report.markdown(document)
    for item in document.items:
        assert f"`{item.id.partition(':')[2]}`" in text
        assert f"`{item.reproduce}`" in text
    assert text.count("\n- [ ] **") == 6
    assert "| `image-512` | ✅ 6 | ✅ 0 |" in text


def test_what_forbids_comes_before_what_does_not() -> None:
    """A forbidden move says so in the title, the sentence and the first section."""
    rows = tuple(
        replace(row, rc=-11) if row.variant == "patched" else row for row in documents.check().rows
    )
    stages = with_fields(documents.stages(), check=documents.check(*rows))
    text = report.markdown(documents.bump(stages))
    assert text.startswith("# Pin bump 0.3.29 → 0.3.36: fail\n")
    assert "The pin stays at 0.3.29: check:image-128/patched" in text
    assert text.index("## Forbids the move") < text.index("## Worth a look")
    assert "signal 11" in text
    look = text.partition("## Worth a look")[2].partition("\n## ")[0]
    assert "`check:image-512/patched`" not in look


def test_hostile_text_stays_text() -> None:
    """The only tags are our own folds, and every table keeps its shape."""
    text = report.markdown(hostile_document())
    tokens = READER.parse(text)
    blocks = [token.content.strip() for token in tokens if token.type == "html_block"]
    assert "</details>" in blocks
    for opened in set(blocks) - {"<details><summary>Evidence</summary>", "</details>"}:
        # Our own tags around escaped text; code, so that a forge acts on nothing in it.
        assert re.fullmatch(
            r"<details><summary>(<code>[^<>]*</code>, <code>[^<>]*</code>, line \d+"
            r"|[a-z-]+, as <code>[^<>]*</code>: its diff)</summary>",
            opened,
        )
    assert not [
        child
        for token in tokens
        for child in token.children or []
        if child.type == "html_inline" and child.content not in ("</details>",)
    ]
    left = outside_code(text)
    assert not re.search(r"#\d|@\w|https?://", left)
    widths: list[int] = []
    for token in tokens:
        if token.type == "tr_open":
            widths.append(0)
        elif token.type in ("th_open", "td_open"):
            widths[-1] += 1
    assert set(widths) <= {2, 3, 4}


def with_diffs(*lines: int) -> str:
    """The checklist of patches that moved, each with a diff of so many added lines."""
    rebase = documents.rebase(
        *(
            replace(
                documents.patch(f"000{number}.patch"), diff=f"@@ -1 +{count} @@\n" + "+x\n" * count
            )
            for number, count in enumerate(lines, start=1)
        )
    )
    return report.markdown(documents.bump(with_fields(documents.stages(), rebase=rebase)))


def test_a_patch_whose_text_changed_is_shown_folded() -> None:
    """The diff as it stands on the target, in a fold below the outcome."""
    last = with_diffs(3).rpartition("\n## ")[2]
    assert last == (
        "Patches as they stand on 0.3.36\n\nThose whose text there is not the stored file's.\n\n"
        "### 0001.patch\n\n<details><summary>offset: its diff</summary>\n\n"
        "```diff\n@@ -1 +3 @@\n+x\n+x\n+x\n```\n\n</details>\n\n"
    )


def test_a_patch_that_kept_its_text_is_not() -> None:
    """Applied on the same lines, the stored file is what a reader has already."""
    kept = replace(documents.patch(outcome=Outcome.UNCHANGED), diff="@@ -1 +1 @@\n+x\n")
    stages = with_fields(documents.stages(), rebase=documents.rebase(kept))
    assert "+x" not in report.markdown(documents.bump(stages))


def test_diffs_are_the_first_to_go_from_a_body() -> None:
    """Whole patches fall off at the end; nothing that was judged does."""
    whole = with_diffs(300, 4000, 20)
    judged = whole.rpartition("\n## ")[0]
    assert "... 3601 more lines" in whole
    body = fitted(whole, Marker("k", "d", "s"), most=units(judged) + 1700)
    assert "### 0001.patch" in body
    assert "### 0002.patch" not in body
    assert body.startswith(judged)
    assert body.count("<details>") == body.count("</details>")


def test_passing_scenarios_do_not_bury_the_rest() -> None:
    """Beyond the prefill they stand in the table; their items are counted, not listed."""
    rows = (*documents.check().rows, *documents.further())
    text = report.markdown(
        documents.bump(with_fields(documents.stages(), check=documents.check(*rows)))
    )
    assert "| `rollback` | ✅ 0 + 2/20 wrong | ✅ 0 |" in text
    assert "6 further items pass" in text
    assert "`rollback/patched`" not in text


def test_upstream_numbers_leave_no_note() -> None:
    """References stand in code or lead through the host that leaves none."""
    text = report.markdown(documents.bump())
    assert not re.search(r"#\d", outside_code(text))
    links = re.findall(r"\]\((.*?)\)", text)
    assert links
    assert all(link.startswith("https://redirect.github.com/") for link in links)


def test_a_body_can_be_cut_between_sections() -> None:
    """Every section that may grow starts at a second-level heading outside of any fold."""
    for section in report.markdown(documents.bump()).split("\n## "):
        assert section.count("<details>") == section.count("</details>")
        assert section.count("```") % 2 == 0


def test_the_summary_is_the_first_screen_of_the_checklist() -> None:
    """A job's summary starts with the same bytes, and says who is waited for."""
    document = documents.bump()
    first = report.markdown(document).partition("\n## ")[0]
    summary = report.summary(document)
    assert summary.startswith(first)
    assert "For a person: Discriminator run" in summary
