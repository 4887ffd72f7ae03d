"""A sentence of ours that may quote others, made harmless for Markdown.

``tracker.markup`` puts foreign text into code spans, which is right for a title or a name. A
sentence of the checklist mixes our words with theirs ("conflicts; changed upstream by ..."): here
everything that GitHub would act on (mentions, references, links, commit ids) goes into a code span
of its own, and every other character stands for itself.
"""

from __future__ import annotations

import re

from tracker.markup import code, code_cell, plain

MOST_CHARACTERS = 600

# What a forge turns into a link, a note on somebody's thread, or a closed issue. A closing keyword
# acts only before a reference, so taking the reference away is enough.
_ACTIVE = re.compile(
    r"""
      [a-z][a-z0-9+.-]*://\S+          # any URL
    | www\.\S+
    | \S+@\S+                          # an address, and team mentions glued to a word
    | @\S+                             # a mention
    | [\w./-]*\#\w+                    # #12, owner/repo#12
    | \bgh-\d+                         # the long form of #12
    | \b[0-9a-f]{7,64}\b               # a commit id
    """,
    re.VERBOSE | re.IGNORECASE,
)
_TRAILING = ".,;:!?)]}'\""
# Only what acts where it stands: raw Markdown is read by people too.
_INLINE = re.compile(r"([\\`*\[\]|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_AT_START = re.compile(r"^(\d+)([.)])(?=\s|$)|^([#+\->=])")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;"})


def prose(text: str) -> str:
    """``text`` as one line of Markdown that reads as it stands, in a paragraph or a list."""
    return _rendered(text, in_cell=False)


def prose_cell(text: str) -> str:
    """As ``prose``, for a cell of a table."""
    return _rendered(text, in_cell=True)


def _rendered(text: str, *, in_cell: bool) -> str:
    span = code_cell if in_cell else code
    rendered = "".join(
        span(part, MOST_CHARACTERS) if active else _literal(part)
        for active, part in _parts(plain(text, MOST_CHARACTERS))
    )
    return _AT_START.sub(_escaped_start, rendered)


def _parts(line: str) -> list[tuple[bool, str]]:
    """``line`` in pieces, with whether a forge would act on one; no two of a kind side by side."""
    parts: list[tuple[bool, str]] = []
    end = 0
    for found in _ACTIVE.finditer(line):
        active = found.group().rstrip(_TRAILING)
        if not active:
            continue
        if found.start() > end or not parts:
            parts.append((False, line[end : found.start()]))
            parts.append((True, active))
        else:  # two code spans in touch would be read as one with a wrong end
            parts[-1] = (True, parts[-1][1] + active)
        end = found.start() + len(active)
    return [*parts, (False, line[end:])]


def _literal(text: str) -> str:
    return _INLINE.sub(r"\\\1", text).translate(_ENTITIES)


def _escaped_start(found: re.Match[str]) -> str:
    number, point, sign = found.groups()
    return f"{number}\\{point}" if number else f"\\{sign}"
