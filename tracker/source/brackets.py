"""Which bracket closes which, counted over tokens and not over the grammar.

This is the independent check on the tree. Code under a literal ``#if 0`` does not exist. Of an
``#if`` group every branch is matched by itself, starting from the same depth; the depth after the
group is the one after its first live branch. Where branches end at different depths, or a bracket
has no partner, the place is remembered: no range that holds it may be called reliable.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from itertools import islice

from tracker.source.lexer import Token, directive_tokens, lex

_OPEN = {b"(": b")", b"[": b"]", b"{": b"}"}
_CLOSE = frozenset(_OPEN.values())
_CONDITIONAL = re.compile(rb"#[ \t]*(ifdef|ifndef|if|elifdef|elifndef|elif|else|endif)\b")
_OPENING = frozenset({b"if", b"ifdef", b"ifndef"})
_NEVER = ([b"if", b"0"], [b"if", b"false"])
_ALWAYS = ([b"if", b"1"], [b"if", b"true"])
_GUARD = (b"ifndef", b"define")


@dataclass(slots=True)
class Brackets:
    """``code``: live tokens, directives included, in order. ``match``: index of an opening bracket
    -> index of its partner, and back. ``faults``: byte offsets of brackets or branches that do not
    fit, sorted.
    """

    code: list[Token]
    match: dict[int, int]
    faults: list[int]
    _guards: list[tuple[int, tuple[bytes, ...]]] = field(default_factory=list)

    def guard_at(self, offset: int) -> tuple[bytes, ...]:
        """The conditions that hold at byte ``offset``, outermost first, as normalised text."""
        found: tuple[bytes, ...] = ()
        for start, guards in self._guards:
            if start > offset:
                break
            found = guards
        return found

    def live(self, offset: int) -> bool:
        """The byte offset starts a token that the preprocessor may keep."""
        place = bisect.bisect_left(self.code, offset, key=lambda token: token.start)
        return place < len(self.code) and self.code[place].start == offset

    def sound(self, start: int, end: int) -> bool:
        """No bracket or branch between the byte offsets is in doubt."""
        return not any(start <= fault < end for fault in self.faults)


@dataclass(slots=True)
class _Group:
    """An open ``#if`` group. ``after``: the stack after the first live branch, once known."""

    before: list[int]
    headers: list[bytes]
    dead: bool
    settled: bool
    start: int
    after: list[int] | None = None

    @property
    def condition(self) -> bytes:
        """What the current branch depends on, e.g. ``if A / elif B / else``."""
        return b" / ".join(b" ".join(directive_tokens(text)[1:]) for text in self.headers)


def brackets(source: bytes) -> Brackets:
    """Match the brackets of ``source``; never fails."""
    result = Brackets(code=[], match={}, faults=[])
    stack: list[int] = []
    groups: list[_Group] = []
    dead = 0
    every = lex(source)
    for token in every:
        if token.kind == "directive":
            conditional = _CONDITIONAL.match(token.text)
            if conditional:
                stack = _branch(result, groups, stack, token, conditional.group(1))
                dead = sum(group.dead for group in groups)
                guards = _conditions(groups, every)
                result._guards.append((token.end, guards))
        if dead:
            continue
        index = len(result.code)
        result.code.append(token)
        if token.text in _OPEN:
            stack.append(index)
        elif token.text in _CLOSE:
            _close(result, stack, index, token)
    result.faults.extend(result.code[index].start for index in stack)
    result.faults.extend(group.start for group in groups)
    result.faults.sort()
    return result


def _close(result: Brackets, stack: list[int], index: int, token: Token) -> None:
    if stack and _OPEN[result.code[stack[-1]].text] == token.text:
        opener = stack.pop()
        # Where each branch of a group closes the same bracket the last one counts: it ends later.
        result.match[opener] = index
        result.match[index] = opener
        return
    result.faults.append(token.start)
    if token.text == b"}":  # a brace outranks the parentheses that were left open inside it
        for depth in range(len(stack) - 1, -1, -1):
            if result.code[stack[depth]].text == b"{":
                result.faults.extend(result.code[lost].start for lost in stack[depth + 1 :])
                opener = stack[depth]
                del stack[depth:]
                result.match[opener] = index
                result.match[index] = opener
                return


def _branch(
    result: Brackets, groups: list[_Group], stack: list[int], token: Token, word: bytes
) -> list[int]:
    """The stack that holds after this conditional directive."""
    words = directive_tokens(token.text)[1:]
    if word in _OPENING:
        group = _Group(list(stack), [token.text], words in _NEVER, words in _ALWAYS, token.start)
        groups.append(group)
        return stack
    if not groups:
        result.faults.append(token.start)
        return stack
    group = groups[-1]
    if not group.dead:
        if group.after is None:
            group.after = list(stack)
        elif _shape(result, group.after) != _shape(result, stack):
            result.faults.append(token.start)
    if word != b"endif":
        group.headers.append(token.text)
        group.dead = group.settled
        group.settled = group.settled or words[1:] in ([b"1"], [b"true"])
        return list(group.before)
    groups.pop()
    if group.after is None:  # every branch was dead
        return group.before
    # `#ifdef __cplusplus extern "C" {` ends in a group of its own: we read C++.
    exhaustive = (
        group.settled
        or directive_tokens(group.headers[-1])[1] == b"else"
        or b"__cplusplus" in group.headers[0]
    )
    if not exhaustive and _shape(result, group.after) != _shape(result, group.before):
        result.faults.append(token.start)
    return group.after


def _shape(result: Brackets, stack: list[int]) -> list[bytes]:
    return [result.code[index].text for index in stack]


def _conditions(groups: list[_Group], every: list[Token]) -> tuple[bytes, ...]:
    """The conditions of the open groups, without a header's include guard."""
    return tuple(
        group.condition for group in groups if not (group is groups[0] and _is_guard(group, every))
    )


def _is_guard(group: _Group, every: list[Token]) -> bool:
    """The file opens with ``#ifndef NAME``, ``#define NAME`` and this is that group, in its first
    branch.
    """
    if len(group.headers) > 1:
        return False
    pair = list(islice((token for token in every if token.text != b"#pragma once"), 2))
    if len(pair) != len(_GUARD) or pair[0].start != group.start or pair[1].kind != "directive":
        return False
    first, second = (directive_tokens(token.text) for token in pair)
    return (first[1], second[1]) == _GUARD and first[2:3] == second[2:3]
