"""Text of others, made harmless before it reaches Markdown, HTML or a workflow's log. Pure.

Titles, names, subjects and log lines of upstream are untrusted. In a document of ours they must be
one literal line: no mention that pings, no reference that leaves a note on somebody's issue, no
closing keyword that acts, no HTML, no broken table, nothing for a shell. In Markdown the only place
where none of these rules is at work is a code span, so everything foreign goes into one.

Source: GitHub Flavored Markdown 0.29, sections 4.10 (tables), 6.3 (code spans); GitHub's
documentation of autolinked references and of workflow commands.
"""

from __future__ import annotations

import html as _html
import re
import unicodedata

MOST_CHARACTERS = 240
_JOINERS = "\u200c\u200d"  # needed by scripts and emoji
_WORD_JOINER = "\u2060"
_KEY = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)#([1-9][0-9]*)")
_COMMAND = re.compile(r"(^\s*:(?=:)|##(?=\[))", re.MULTILINE)
# GitHub leaves no "mentioned this" note for links to this host, which leads to the same page.
_NO_BACK_REFERENCE = "https://redirect.github.com"


def plain(text: str, most: int = MOST_CHARACTERS) -> str:
    """One line: no control characters, nothing that reorders or hides text, at most ``most`` long.

    Line breaks of every kind become one space. A cut is marked by ``…``.
    """
    kept = "".join(_visible(character) for character in text)
    line = " ".join(kept.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def code_line(text: str) -> str:
    """One line of code as it is, indentation too, without what could steer a terminal."""
    return "".join(c if c == "\t" or c.isprintable() else "\ufffd" for c in text)


def steady(text: str) -> str:
    """Lines for a terminal: nothing in them moves the cursor, hides or reorders. A tab stays."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return "".join(c if c in "\n\t" else _visible(c) for c in text)


def unobeyed(text: str) -> str:
    """Lines of which none is a command to a workflow's runner.

    It looks for ``::`` at the start of a line, behind white space too, and for ``##[`` anywhere.
    """
    return _COMMAND.sub(r"\1 ", text)


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category in ("Cc", "Zl", "Zp"):
        return " "
    if category == "Cf" and character not in _JOINERS:
        return ""
    return "\ufffd" if category in ("Cs", "Co", "Cn") else character


def code(text: str, most: int = MOST_CHARACTERS) -> str:
    """A Markdown code span with ``text``; in a table use ``code_cell``."""
    return _span(plain(text, most))


def code_cell(text: str, most: int = MOST_CHARACTERS) -> str:
    """As ``code``, for a cell of a Markdown table.

    A bar is escaped there even in a code span. A backslash before it would undo the escape in some
    readers and not in others, so an invisible word joiner keeps the two apart.
    """
    line = plain(text, most).replace("\\|", f"\\{_WORD_JOINER}|")
    return _span(line.replace("|", "\\|"))


def _span(line: str) -> str:
    if not line:
        return "`(empty)`"
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def block(text: str, language: str = "") -> str:
    """A fenced code block with the lines of ``text``; control characters are shown as U+FFFD."""
    kept = "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs")
        else "\ufffd"
        for character in text.replace("\r\n", "\n")
    )
    longest = max((len(run) for run in re.findall(r"`+", kept)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{kept.rstrip()}\n{fence}"


def html(text: str, most: int = MOST_CHARACTERS) -> str:
    """``text`` as one line for HTML, in an element or a quoted attribute."""
    return _html.escape(plain(text, most), quote=True)


def ticket_link(key: str) -> str:
    """A Markdown link to ``owner/repo#number`` that leaves no note on that thread.

    Anything else than such a key becomes a code span.
    """
    found = _KEY.fullmatch(key)
    if found is None:
        return code(key)
    return f"[`{key}`]({_NO_BACK_REFERENCE}/{found.group(1)}/issues/{found.group(2)})"


def commit_link(repository: str, commit: str) -> str:
    """A Markdown link to an upstream commit that leaves no note there."""
    if not re.fullmatch(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+", repository) or not re.fullmatch(
        r"[0-9a-f]{7,64}", commit
    ):
        return code(commit)
    return f"[`{commit[:12]}`]({_NO_BACK_REFERENCE}/{repository}/commit/{commit})"


def annotation(level: str, title: str, message: str) -> str:
    """A workflow command that shows ``message`` on the run's page.

    ``level``: notice, warning or error.
    """
    safe_title = plain(title, 100).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={safe_title}::{plain(message, 1000).replace('%', '%25')}"
