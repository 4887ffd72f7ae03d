"""The Jinja2 environments; every value that reaches a template is neutralised on its way out.

In Markdown there is no autoescape: a template writes ``{{ x|text }}`` or ``{{ x|code }}``. A plain
``{{ x }}`` is neutralised as text too (``finalize``), so that forgetting the filter is harmless.
"""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tracker.bundled import bundled
from tracker.evidence.verdict import Status, Verdict
from tracker.report import view

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
    from tracker.markup import markdown_text

    return value if isinstance(value, _Markdown) else _Markdown(markdown_text(str(value)))


@cache
def markdown_environment() -> Environment:
    """For the .md templates."""
    from tracker.markup import markdown_code, markdown_text

    environment = _bare(autoescape=False)
    environment.finalize = _finalize
    environment.filters["text"] = lambda value: _Markdown(markdown_text(str(value)))
    environment.filters["code"] = lambda value: _Markdown(markdown_code(str(value)))
    environment.filters["raw"] = _Markdown
    environment.filters["mark"] = lambda status: _Markdown(MARKS[status])
    environment.filters["verdict_mark"] = lambda verdict: _Markdown(VERDICT_MARKS[verdict])
    return environment


def page_environment() -> Environment:
    """For the .html and .svg templates: everything is escaped."""
    return _bare(autoescape=True)


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
