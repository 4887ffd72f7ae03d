"""The Jinja2 environments; every value that reaches a template is neutralised on its way out.

In Markdown a plain ``{{ x }}`` is made harmless as prose by ``finalize``, so that forgetting a
filter is harmless too; ``code`` and ``code_cell`` make code spans, ``diff`` a fenced block.
"""

from __future__ import annotations

import unicodedata
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tracker.bundled import bundled
from tracker.evidence.verdict import Status, Verdict
from tracker.markup import block, code, code_cell, html, ticket_link
from tracker.report import view
from tracker.report.prose import MOST_CHARACTERS, prose, prose_cell

_DIFF_LINES = 60

MARKS = {
    Status.PASS: "✅",
    Status.ATTENTION: "⚠️",
    Status.FAIL: "❌",
    Status.UNKNOWN: "❓",
    Status.HUMAN: "👤",
}
VERDICT_MARKS = {
    Verdict.OK: "✅",
    Verdict.ATTENTION: "⚠️",
    Verdict.UNKNOWN: "❓",
    Verdict.FAIL: "❌",
    Verdict.CONFLICT: "❌",
    Verdict.ERROR: "❌",
}


class _Markdown(str):
    """Text that is Markdown already."""

    __slots__ = ()


def _finalize(value: object) -> str:
    """Prose that is safe anywhere, in a cell too."""
    return value if isinstance(value, _Markdown) else _Markdown(prose_cell(str(value)))


@cache
def markdown_environment() -> Environment:
    """For the .md templates."""
    environment = _bare(autoescape=False)
    environment.finalize = _finalize
    environment.filters["text"] = lambda value: _Markdown(prose(str(value)))
    environment.filters["code"] = lambda value: _Markdown(code(str(value), MOST_CHARACTERS))
    environment.filters["code_cell"] = lambda value: _Markdown(
        code_cell(str(value), MOST_CHARACTERS)
    )
    environment.filters["diff"] = _diff
    environment.filters["source"] = lambda value: _Markdown(block(_head_of(value, _DIFF_LINES)))
    environment.filters["html_text"] = lambda value: _Markdown(html(value))
    environment.filters["ticket"] = lambda value: _Markdown(ticket_link(value))
    environment.filters["raw"] = _Markdown
    environment.filters["mark"] = lambda status: _Markdown(MARKS[status])
    environment.filters["verdict_mark"] = lambda verdict: _Markdown(VERDICT_MARKS[verdict])
    return environment


def _diff(text: str, most: int = _DIFF_LINES) -> _Markdown:
    return _Markdown(block(_head_of(text, most), "diff"))


def _head_of(text: str, most: int) -> str:
    """The first ``most`` lines of a diff or a source, and how many more there are."""
    lines = text.splitlines()
    more = len(lines) - most
    return "\n".join([*lines[:most], *([f"... {more} more lines"] if more > 0 else [])])


def page_environment() -> Environment:
    """For the .html and .svg templates: everything is escaped, and nothing in it hides."""
    environment = _bare(autoescape=True)
    environment.finalize = _seen
    return environment


def _seen(value: object) -> object:
    """Text as it is, but for characters that reorder or hide what a reader believes to see, or
    that would steer the terminal of one who reads the file there.

    A diff is shown so that somebody decides on it: an override that turns a line around must not
    work here, and must not vanish either.
    """
    if not isinstance(value, str) or value.isprintable():
        return value
    seen = "".join("\ufffd" if _hides(character) else character for character in value)
    return type(value)(seen)


def _hides(character: str) -> bool:
    return character not in "\n\t\u200c\u200d" and unicodedata.category(character) in (
        "Cc",
        "Cf",
        "Cs",
        "Zl",
        "Zp",
    )


def _bare(*, autoescape: bool) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(bundled("templates"), encoding="utf-8"),
        undefined=StrictUndefined,
        autoescape=autoescape,  # noqa: S701  (Markdown: finalize neutralises)
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["key"] = view.key_of
    environment.filters["revision"] = view.revision_name
    environment.filters["counted"] = view.counted
    return environment
