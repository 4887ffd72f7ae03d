"""The language in which a region of upstream's code is named; see docs/selectors.md.

``PATH``                             the whole file
``PATH::Qualified::name``            a function, type, enum, macro, variable or alias
``PATH::name @fields``               the fields of a type: order, types, initial values
``PATH::name @signature``            what a caller of a function sees
``PATH::name @if "text"``            the innermost ``if`` in it around a string literal with text
``PATH @regex "pattern"``            the lines that a regular expression matches (last resort)

Further anchors like ``@if``: ``@for``, ``@while``, ``@switch``, ``@case``, ``@return``, ``@call``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from tracker.errors import ConfigError

Anchor = Literal["if", "for", "while", "switch", "case", "return", "call"]
Part = Literal["fields", "signature", "regex"]
_ANCHORS: frozenset[str] = frozenset(get_args(Anchor))
_PARTS: frozenset[str] = frozenset(get_args(Part))
_TAIL = re.compile(r"""@(?P<word>[a-z]+)(?:\s+"(?P<text>(?:\\.|[^"\\])*)")?\s*""")


@dataclass(frozen=True, slots=True)
class Selector:
    """``name`` None: the whole file. ``anchor`` with ``literal``: a statement inside ``name``.

    ``part``: fields or signature of ``name``, or the lines that ``literal`` matches.
    """

    text: str
    path: str
    name: str | None = None
    anchor: Anchor | None = None
    part: Part | None = None
    literal: str | None = None

    @property
    def last_name(self) -> str | None:
        """The last component of the name: what a search for moved code looks for."""
        return self.name.rpartition("::")[2] if self.name else None


def parse(text: str, region: str) -> Selector:
    """The selector of the region called ``region``.

    Raises:
        ConfigError: it is not in the language.
    """
    head, tail = _split(text)
    path, separator, name = head.partition("::")
    path, name = path.strip(), name.strip()
    unnamed = separator and "" in map(str.strip, name.split("::"))
    if not path or path.startswith(("/", "../")) or unnamed:
        raise _refusal(
            "a selector is PATH or PATH::name, the path from upstream's top", region, text
        )
    if tail is None:
        return Selector(text=text, path=path, name=name or None)
    match = _TAIL.fullmatch(tail)
    if match is None:
        raise _refusal('after the name stands @WORD or @WORD "text"', region, text)
    word, literal = match["word"], match["text"]
    literal = re.sub(r'\\(["\\])', r"\1", literal) if literal is not None else None
    if word in _ANCHORS:
        if not name or literal is None:
            raise _refusal(f'@{word} needs PATH::function in front and "text" behind', region, text)
        return Selector(text, path, name, anchor=word, literal=literal)  # type: ignore[arg-type]
    if word not in _PARTS:
        raise _refusal(f"unknown anchor @{word}; known: {_known()}", region, text)
    if word == "regex":
        _check_pattern(name, literal, region, text)
    elif not name or literal is not None:
        raise _refusal(f"@{word} needs PATH::name in front and nothing behind", region, text)
    return Selector(text, path, name or None, part=word, literal=literal)  # type: ignore[arg-type]


def _split(text: str) -> tuple[str, str | None]:
    head, separator, tail = text.strip().partition(" @")
    return head, f"@{tail}" if separator else None


def _check_pattern(name: str, literal: str | None, region: str, text: str) -> None:
    if name or not literal:
        raise _refusal('@regex needs a bare PATH in front and a "pattern" behind', region, text)
    try:
        compiled = re.compile(literal.encode(), re.MULTILINE)
    except re.error as fault:
        raise _refusal(f"not a regular expression: {fault}", region, text) from None
    if compiled.match(b""):
        raise _refusal(
            "the pattern matches the empty text, so it would match anywhere", region, text
        )


def _known() -> str:
    return ", ".join(f"@{word}" for word in sorted(_ANCHORS | _PARTS))


def _refusal(what: str, region: str, text: str) -> ConfigError:
    return ConfigError(
        f"bad selector {text!r}: {what}",
        where=f"watch.regions {region!r}",
        next_step="correct it, see docs/selectors.md",
    )
