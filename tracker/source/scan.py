"""Functions and types found by brackets alone: the second opinion on the tree.

Walks namespaces and classes, skips every body, and reads the head in front of each ``{``. It needs
no valid syntax, only brackets that match, so it still sees functions that macros hide from the
grammar. It judges nothing inside a body.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tracker.source.brackets import Brackets
from tracker.source.lexer import Token

_NOT_A_NAME = frozenset(
    b"if for while switch catch return sizeof decltype alignas alignof noexcept requires "
    b"static_assert __attribute__ __declspec asm __asm__ defined throw new delete explicit".split()
)
_TAIL = frozenset(b"const volatile noexcept override final try requires throw & && ->".split())
_TYPE_WORDS = frozenset(b"class struct union enum".split())
_ACCESS = frozenset(b"public private protected signals slots".split())


@dataclass(frozen=True, slots=True)
class Scanned:
    """``name``: without the scopes around it. ``start``..``end``: byte range of the definition.

    ``body``: byte offset of its ``{``. ``scopes``: the names around it, outermost first, and
    whether each is a namespace.
    """

    kind: Literal["function", "type"]
    name: tuple[bytes, ...]
    scopes: tuple[tuple[bytes, bool], ...]
    start: int
    body: int
    end: int


def scan(brackets: Brackets) -> list[Scanned]:
    """Every function and named type outside of function bodies, in file order."""
    return list(_scope(brackets, 0, len(brackets.code), ()))


def _scope(
    brackets: Brackets, begin: int, end: int, scopes: tuple[tuple[bytes, bool], ...]
) -> Iterator[Scanned]:
    code, match = brackets.code, brackets.match
    head: list[int] = []
    index = begin
    while index < end:
        token = code[index]
        if token.kind == "directive":
            index += 1
            continue
        if token.text == b";" or (token.text == b":" and _is_access(code, head)):
            head = []
            index += 1
            continue
        if token.text in (b"(", b"["):
            head.append(index)
            index = max(match.get(index, index), index) + 1
            continue
        if token.text != b"{":
            head.append(index)
            index += 1
            continue
        close = match.get(index)
        if close is None or close >= end:
            head = []
            index += 1
            continue
        meaning = _meaning(code, head)
        if meaning == "initialiser":
            head.append(index)
            index = close + 1
            continue
        if isinstance(meaning, _Namespace):
            inner = (*scopes, *((name, True) for name in meaning.names))
            yield from _scope(brackets, index + 1, close, inner)
        elif isinstance(meaning, _Head):
            yield Scanned(
                meaning.kind,
                meaning.name,
                scopes,
                code[meaning.first].start,
                token.start,
                code[close].end,
            )
            if meaning.kind == "type":
                inner = (*scopes, *((name, False) for name in meaning.name))
                yield from _scope(brackets, index + 1, close, inner)
        head = []
        index = close + 1


@dataclass(frozen=True, slots=True)
class _Namespace:
    names: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class _Head:
    kind: Literal["function", "type"]
    name: tuple[bytes, ...]
    first: int


def _is_access(code: list[Token], head: list[int]) -> bool:
    return len(head) in (1, 2) and all(code[index].text in _ACCESS for index in head)


def _meaning(code: list[Token], head: list[int]) -> _Namespace | _Head | str | None:
    """What the ``{`` after ``head`` opens; None: something unnamed (skip it, forget the head)."""
    texts = [code[index].text for index in head]
    if b"namespace" in texts[:2]:
        return _Namespace(tuple(t for i, t in zip(head, texts, strict=True) if _is_name(code[i])))
    if texts[:1] == [b"extern"] and len(texts) == 2:  # noqa: PLR2004
        return _Namespace(())
    function = _function(code, head, texts)
    if function:
        initialises = b":" in [code[i].text for i in head if i > function.first] and _is_name(
            code[head[-1]]
        )
        listed = initialises and texts[-1] not in _TAIL and _after_group(code, head)
        return "initialiser" if listed else function
    if b"=" in texts or not head:
        return "initialiser" if head else None
    words = [place for place, text in enumerate(texts) if text in _TYPE_WORDS]
    if words:
        return _type(code, head, texts, words)
    return "initialiser"


def _after_group(code: list[Token], head: list[int]) -> bool:
    """The last word of the head stands in a constructor's initialiser list: ``: a(1), b{``."""
    for place in range(len(head) - 2, -1, -1):
        text = code[head[place]].text
        if text in (b",", b":"):
            return True
        if text not in (b"::", b">", b"<") and not _is_name(code[head[place]]):
            return False
    return False


def _type(code: list[Token], head: list[int], texts: list[bytes], words: list[int]) -> _Head | None:
    place = words[0]
    if texts[0] == b"template":  # `template <class T> struct X`: the words inside <> do not count
        depth = 0
        outside = []
        for at, text in enumerate(texts):
            depth += {b"<": 1, b">": -1, b">>": -2}.get(text, 0)
            if text in _TYPE_WORDS and depth <= 0:
                outside.append(at)
        if not outside:
            return None
        place = outside[0]
    names: list[bytes] = []
    for at in range(place + 1, len(head)):
        text = texts[at]
        if text in (b":", b"<"):
            break
        if text in _TYPE_WORDS or text in (b"final", b"::", b"[", b"(", b"alignas"):
            continue
        if _is_name(code[head[at]]):
            if at and texts[at - 1] != b"::":
                names = []  # an attribute macro stood before the name
            names.append(text)
    return _Head("type", tuple(names), head[0]) if names else None


def _is_name(token: Token) -> bool:
    return token.kind == "word" and token.text not in (b"namespace", b"inline", b"final")


def _function(code: list[Token], head: list[int], texts: list[bytes]) -> _Head | None:
    first = 0
    for place, text in enumerate(texts):
        if text != b"(" or place == 0:
            continue
        if b"=" in texts[first:place] and b"operator" not in texts[first:place]:
            return None
        name = _name_before(code, head, texts, place)
        after = texts[place + 1] if place + 1 < len(texts) else None
        if name and name[-1] == b"operator" and after == b"(":
            continue
        if name and _tail_fits(code, head, place + 1, at_start=place - 1 == first):
            return _Head("function", name, head[first])
        if name and name[-1] not in _NOT_A_NAME and after not in (b"(", b":", b","):
            first = place + 1  # a macro call stood before the head
    return None


def _tail_fits(code: list[Token], head: list[int], place: int, *, at_start: bool) -> bool:
    """What stands at ``place`` may follow a function's parameters.

    ``at_start``: nothing stands before the name. Then an upper-case word after it is more likely
    the next of several macro calls than an attribute of a function without a return type.
    """
    if place >= len(head):
        return True
    token = code[head[place]]
    if token.text in _TAIL or token.text in (b":", b"[", b"__attribute__"):
        return True
    return not at_start and token.kind == "word" and token.text.isupper()


def _name_before(
    code: list[Token], head: list[int], texts: list[bytes], place: int
) -> tuple[bytes, ...] | None:
    """The qualified name that ends just before ``texts[place]``, template arguments dropped."""
    at = place - 1
    if b"operator" in texts[:place]:
        start = max(i for i in range(place) if texts[i] == b"operator")
        marks = [text.replace(b"[", b"[]") for text in texts[start:place]]
        words = all(code[index].kind == "word" for index in head[start:place])
        parts = [(b" " if words else b"").join(marks)]
        if texts[place - 1] == b"operator" and texts[place : place + 2] == [b"(", b"("]:
            return (b"operator",)
        if texts[start + 1 : start + 2] == [b"("] and place == start + 2:
            parts = [b"operator()"]
        return (*_scope_before(code, head, texts, start - 1), *parts)
    at = _skip_arguments(texts, at)
    if at < 0 or code[head[at]].kind != "word" or texts[at] in _NOT_A_NAME:
        return None
    last = texts[at]
    if at and texts[at - 1] == b"~":
        last, at = b"~" + last, at - 1
    return (*_scope_before(code, head, texts, at - 1), last)


def _scope_before(
    code: list[Token], head: list[int], texts: list[bytes], at: int
) -> tuple[bytes, ...]:
    names: list[bytes] = []
    while at > 0 and texts[at] == b"::":
        at = _skip_arguments(texts, at - 1)
        if at < 0 or code[head[at]].kind != "word":
            break
        names.insert(0, texts[at])
        at -= 1
    return tuple(names)


def _skip_arguments(texts: list[bytes], at: int) -> int:
    """From a closing ``>`` to the place before its ``<``; ``at`` itself where there is none."""
    if at < 0 or texts[at] not in (b">", b">>"):
        return at
    depth = 0
    while at >= 0:
        depth += {b">": 1, b">>": 2, b"<": -1}.get(texts[at], 0)
        at -= 1
        if depth <= 0:
            break
    return at
