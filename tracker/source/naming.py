"""Whether a file may define a name at all: a look at the bytes around each place that holds it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_LOOK_BACK = 64  # bytes; a longer run of white space counts as a definition
_WORD = re.compile(rb"[0-9A-Za-z_$\x80-\xff]")
_BEHIND = re.compile(rb"[\w*&>:)}\]]\Z")
_PARAMETERS = re.compile(rb"\s*\(")
_TYPE = re.compile(rb"\b(?:struct|class|union|enum|define)\b[^;{}()]*\Z")
_COMMENT_LINE = re.compile(rb"[ \t]*//")
_CALLED = re.compile(rb"(?:\b(?:return|else|case|not|and|or|throw)|&&|->|\bstd::)\Z")


@lru_cache(maxsize=4096)
def may_define(source: bytes, word: bytes, *, names: bool = False) -> bool:
    """``word`` stands somewhere as a definition's name does: behind a type, a star or a scope.

    ``names``: and in front of a parenthesis, or as the name of a type or macro. Cheap: behind
    ``return``, ``&&`` or other marks it is taken for a call. A function that returns an rvalue
    reference is therefore not found, and a condition on it stays open.
    """
    for at in _places(source, word):
        before = source[max(0, at - _LOOK_BACK) : at].rstrip()
        if not before or (_BEHIND.search(before) and not _CALLED.search(before)):
            behind = at + len(word)
            if not names or (
                (
                    _PARAMETERS.match(source, behind)
                    or _TYPE.search(source, max(0, at - _LOOK_BACK), at)
                )
                and not _COMMENT_LINE.match(source, source.rfind(b"\n", 0, at) + 1)
            ):
                return True
    return False


@lru_cache(maxsize=4096)
def may_define_type(source: bytes, word: bytes) -> bool:
    """``word`` stands somewhere behind ``struct`` or the like, in front of any bracket."""
    return any(_TYPE.search(source, max(0, at - _LOOK_BACK), at) for at in _places(source, word))


def _places(source: bytes, word: bytes) -> Iterator[int]:
    """Where ``word`` stands as a whole word; an empty one stands nowhere."""
    at = source.find(word) if word else -1
    while at >= 0:
        behind = at + len(word)
        if not _WORD.match(source, max(0, at - 1), at) and not _WORD.match(source, behind):
            yield at
        at = source.find(word, behind)
