"""A C++ lexer: tokens without comments and white space, each with its place.

It knows what a comparison of two texts must not get wrong: raw strings, digit separators, line
continuations (also at the end of a ``//`` comment), and that a line end matters inside a
preprocessor directive only. It never fails: a stray quote is a token of its own. It expands no
macro.

Source: C++ working draft, [lex.phases], [lex.pptoken], [lex.string].
"""

from __future__ import annotations

import re
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
_SPACE = rb"(?:[ \t\r\n\f\v]+|\\\r?\n)+"
DIRECTIVE = rb"\#(?:" + STRING + rb"|//(?:\\\r?\n|[^\n])*|/\*(?s:.*?)(?:\*/|\Z)|\\\r?\n|[^\n])*"


def _pattern(*, directives: bool) -> re.Pattern[bytes]:
    groups = [
        b"(?P<space>" + _SPACE + b")",
        b"(?P<comment>" + COMMENT + b")",
        b"(?P<raw>" + RAW + b")",
        b"(?P<string>" + STRING + b")",
        b"(?P<character>" + CHARACTER + b")",
        b"(?P<word>" + _WORD + b")",
        b"(?P<number>" + NUMBER + b")",
        b"(?P<mark>" + _MARK + b")",
    ]
    if directives:
        groups.insert(2, b"(?P<directive>" + DIRECTIVE + b")")
    return re.compile(b"|".join(groups))


_CODE = _pattern(directives=True)
_INSIDE_DIRECTIVE = _pattern(directives=False)
_DEFINE_WITH_PARAMETERS = re.compile(rb"#[ \t]*define[ \t]+[0-9A-Za-z_$\x80-\xff]+\(")
LINE_END = b"\n"


class Token(NamedTuple):
    """``kind``: directive, raw, string, character, word, number or mark. Bytes [start, end)."""

    kind: str
    text: bytes
    start: int
    end: int


def lex(source: bytes, start: int = 0) -> list[Token]:
    """The tokens from byte ``start`` on; a whole preprocessor directive is one token."""
    found: list[Token] = []
    for match in _CODE.finditer(source, start):
        kind = match.lastgroup
        if kind is None or kind in {"space", "comment"}:
            continue
        found.append(Token(kind, match.group(), match.start(), match.end()))
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
        match.group()
        for match in _INSIDE_DIRECTIVE.finditer(directive)
        if match.lastgroup not in {"space", "comment"}
    ]
    if _DEFINE_WITH_PARAMETERS.match(directive):
        parts[2:4] = [parts[2] + b"("]
    return parts
