"""The part of a file that can define a name, at a fraction of the price of reading it all.

A file is cut where a brace returns to depth 0; whatever defines a name stands in a piece that holds
it as a word. All other pieces are blanked, preprocessor lines and line numbers kept. Where the cut
is in doubt the file is left whole: focusing may cost time, never an answer.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache

from tracker.source import lexer

# Each match eats the run of harmless bytes in front, so no byte is tried twice. A quote between
# digits is a separator; what follows an R is a raw string if it can be one.
_SKELETON = re.compile(
    rb"[^/#\"'{}]*(?:"
    + b"|".join(
        (
            rb"(?P<brace>[{}])",
            b"(?P<comment>" + lexer.COMMENT + b")",
            b"(?P<directive>" + lexer.DIRECTIVE + b")",
            rb'(?P<raw>(?<=R)"(?P<fence>[^()\\\s]{0,16})\((?s:.*?)\)(?P=fence)")',
            rb'"(?:\\(?s:.)|[^"\\\n])*"',
            rb"(?<=[0-9A-Fa-f])(?<!u8)'(?=[0-9A-Fa-f])",
            rb"'(?:\\(?s:.)|[^'\\\n])+'",
            rb"(?s:.)",
        )
    )
    + b")"
)
_RAW_PREFIX = re.compile(rb"(?<![0-9A-Za-z_$])(?:u8|[uUL])?R\Z")
_DECLARATORS = re.compile(rb"[\w\s*,\[\]]*;")
_BRANCH = re.compile(rb"#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b")


_OPENING = ord("{")


@dataclass(frozen=True, slots=True)
class _Cut:
    """``pieces``: byte ranges that together are the file. ``directives``: ranges, in order."""

    pieces: tuple[tuple[int, int], ...]
    directives: tuple[tuple[int, int], ...]


def focused(source: bytes, word: str) -> bytes:
    """``source`` with every piece blanked that does not hold ``word``; line numbers stay."""
    name = word.encode()
    cut = _cut(source)
    if cut is None:
        return source
    out: list[bytes] = []
    directives = iter(cut.directives)
    directive = next(directives, None)
    for start, end in cut.pieces:
        if source.find(name, start, end) >= 0:
            out.append(source[start:end])
            while directive is not None and directive[0] < end:
                directive = next(directives, None)
            continue
        at = start
        while directive is not None and directive[0] < end:
            out.append(b"\n" * source.count(b"\n", at, directive[0]))
            out.append(source[directive[0] : directive[1]])
            at = directive[1]
            directive = next(directives, None)
        out.append(b"\n" * source.count(b"\n", at, end))
    return b"".join(out)


def fingerprint(source: bytes, word: str) -> bytes:
    """Equal for two files only if the pieces that can define ``word`` are the same text, and so are
    all preprocessor lines; blank lines and everything else may differ.
    """
    lines = focused(source, word).split(b"\n")
    kept = b"\n".join(line for line in lines if line and not line.isspace())
    return hashlib.sha256(kept).digest()


class _Doubt(Exception):
    """Braces and branches do not add up, so no piece is safe to leave out."""


@lru_cache(maxsize=64)
def _cut(source: bytes) -> _Cut | None:
    """None where the cut is in doubt."""
    try:
        return _cut_surely(source)
    except _Doubt:
        return None


def _cut_surely(source: bytes) -> _Cut:
    pieces: list[tuple[int, int]] = []
    directives: list[tuple[int, int]] = []
    depth = start = 0
    opened: list[int] = []
    for match in _SKELETON.finditer(source):
        kind = match.lastgroup
        if kind == "brace":
            depth += 1 if source[match.end() - 1] == _OPENING else -1
            if depth == 0:
                # `} name;` after a type belongs to it.
                after = _DECLARATORS.match(source, match.end())
                stop = after.end() if after else match.end()
                pieces.append((start, stop))
                start = stop
            elif depth < 0:
                raise _Doubt
        elif kind == "directive":
            directives.append(match.span("directive"))
            depth = _after_branch(match["directive"], depth, opened)
        elif kind == "raw":
            at = match.start("raw")
            if not _RAW_PREFIX.search(source, max(0, at - 4), at):
                raise _Doubt
    if depth or opened:
        raise _Doubt
    pieces.append((start, len(source)))
    return _Cut(tuple(pieces), tuple(directives))


def _after_branch(directive: bytes, depth: int, opened: list[int]) -> int:
    """The depth behind a directive: each branch starts where the group did."""
    branch = _BRANCH.match(directive)
    if branch is None:
        return depth
    if branch[1].startswith(b"if"):
        opened.append(depth)
        return depth
    if not opened:
        raise _Doubt
    if branch[1] == b"endif":
        opened.pop()
        return depth
    return opened[-1]
