"""A C++ lexer: tokens without comments and white space, each with its place.

It knows what a comparison of two texts must not get wrong: raw strings, digit separators, line
continuations (also at the end of a ``//`` comment), and that a line end matters inside a
preprocessor directive only. It never fails: a stray quote is a token of its own. It expands no
macro.

Source: C++ working draft, [lex.phases], [lex.pptoken], [lex.string].
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

COMMENT = rb"//(?:\\\r?\n|[^\n])*|/\*(?s:.*?)(?:\*/|\Z)"
STRING = rb'(?:u8|[uUL])?"(?:\\(?s:.)|[^"\\\n])*"'
CHARACTER = rb"(?:u8|[uUL])?'(?:\\(?s:.)|[^'\\\n])+'"
RAW = rb'(?:u8|[uUL])?R"(?P<fence>[^()\\\s]{0,16})\((?s:.*?)\)(?P=fence)"'
NUMBER = rb"\.?[0-9](?:[eEpP][+-]|'?[0-9A-Za-z_]|\.)*"
_WORD = rb"[A-Za-z_$\x80-\xff][0-9A-Za-z_$\x80-\xff]*"
_MARK = (
    rb"<<=|>>=|<=>|\.\.\.|->\*|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|##|\.\*|(?s:.)"
)
DIRECTIVE = rb"\#(?:" + STRING + rb"|//(?:\\\r?\n|[^\n])*|/\*(?s:.*?)(?:\*/|\Z)|\\\r?\n|[^\n])*"


def _pattern(*, directives: bool) -> re.Pattern[bytes]:
    """One match is one token with the space in front of it. What most tokens are is tried first: a
    word that no literal can begin with, and a mark that begins no longer one.
    """
    groups = [
        b"(?P<word>(?![uULR])" + _WORD + b")",
        rb"(?P<mark>[(){}\[\];,?~])",
        b"(?P<comment>" + COMMENT + b")",
        b"(?P<raw>" + RAW + b")",
        b"(?P<string>" + STRING + b")",
        b"(?P<character>" + CHARACTER + b")",
        b"(?P<other_word>" + _WORD + b")",
        b"(?P<number>" + NUMBER + b")",
        b"(?P<other_mark>" + _MARK + b")",
        rb"(?P<end>\Z)",
    ]
    if directives:
        groups.insert(3, b"(?P<directive>" + DIRECTIVE + b")")
    return re.compile(rb"(?:[ \t\r\n\f\v]++|\\\r?\n)*+(?:" + b"|".join(groups) + b")")


_CODE = _pattern(directives=True)
_INSIDE_DIRECTIVE = _pattern(directives=False)
_KINDS = {group: group for group in _CODE.groupindex} | {
    "other_word": "word",
    "other_mark": "mark",
    "comment": "",
    "end": "",
}
_DEFINE_WITH_PARAMETERS = re.compile(rb"#[ \t]*define[ \t]+[0-9A-Za-z_$\x80-\xff]+\(")
LINE_END = b"\n"


class Token(NamedTuple):
    """``kind``: directive, raw, string, character, word, number or mark. Bytes [start, end)."""

    kind: str
    text: bytes
    start: int
    end: int


# The class's own way of making one costs as much as the match.
_new: Callable[[type[Token], tuple[str, bytes, int, int]], Token] = tuple.__new__


def lex(source: bytes, start: int = 0) -> list[Token]:
    """The tokens from byte ``start`` on; a whole preprocessor directive is one token."""
    found: list[Token] = []
    for match in _CODE.finditer(source, start):
        group = match.lastgroup or ""
        kind = _KINDS[group]
        if kind:
            begin, end = match.span(group)
            found.append(_new(Token, (kind, source[begin:end], begin, end)))
    return found


def tokens(text: bytes) -> tuple[bytes, ...]:
    """The text as the compiler reads it: two texts differ only in form if these are equal.

    A directive ends with a line-end token, and the parenthesis that makes a macro function-like
    stays glued to its name, because white space means something there.
    """
    found: list[bytes] = []
    for token in lex(text):
        if token.kind != "directive":
            found.append(token.text)
            continue
        pieces = directive_tokens(token.text)
        if len(pieces) > 1:  # a lone `#` does nothing
            found.extend(pieces)
            found.append(LINE_END)
    return tuple(found)


def directive_tokens(directive: bytes) -> list[bytes]:
    """The tokens of one directive, ``#`` first."""
    parts = [
        match[group]
        for match in _INSIDE_DIRECTIVE.finditer(directive)
        if _KINDS[group := match.lastgroup or "end"]
    ]
    if _DEFINE_WITH_PARAMETERS.match(directive):
        parts[2:4] = [parts[2] + b"("]
    return parts
