"""Which function a line stands in; the seam to ``tracker.source``.

Reading a whole file for one line is the dearest step of a verdict, so the stretch between two
closing braces in column 0 is tried first. Its answer counts only where it is reliable: the grammar
finds no error inside the definition, or grammar and brackets agree on it; else the whole file is
read. A stretch may start inside a namespace, so names can lack outer parts: ``same_name`` knows.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tracker.source.outline import Kind, is_cpp, outline
from tracker.source.tree import error_lines, parse, proposals

_COUNTED = frozenset({"function", "type", "enum", "variable", "macro"})


@dataclass(frozen=True, slots=True)
class Scope:
    """A definition with its lines ``start..end`` (0-based, half-open). ``name``: qualified."""

    name: str
    start: int
    end: int
    is_function: bool
    reliable: bool = True

    def moved(self, lines: int) -> Scope:
        return replace(self, start=self.start + lines, end=self.end + lines)


@dataclass(frozen=True, slots=True)
class _Outlined:
    found: tuple[Scope, ...]
    sound: bool

    def at(self, line: int) -> Scope | None:
        """The innermost function around the 0-based ``line``, else the innermost other scope."""
        around = [scope for scope in self.found if scope.start <= line < scope.end]
        if not around:
            return None
        return min(around, key=lambda scope: (not scope.is_function, scope.end - scope.start))


@lru_cache(maxsize=1024)
def _by_grammar(text: bytes) -> _Outlined:
    """A definition without an error inside is reliable: the grammar matched its brackets."""
    tree = parse(text)
    broken = error_lines(tree.root_node) if tree.root_node.has_error else []
    starts = [0, *(match.end() for match in re.finditer(b"\n", text))]
    scopes = []
    for item in proposals(tree):
        if item.kind in _COUNTED:
            parts = (*(part for part, _ in item.scopes), *item.name)
            name = b"::".join(part for part in parts if part != b"::").decode("utf-8", "replace")
            first = bisect.bisect_right(starts, item.start) - 1
            last = bisect.bisect_right(starts, max(item.end - 1, item.start))
            whole = bisect.bisect_right(broken, first) == bisect.bisect_right(broken, last)
            scopes.append(Scope(name, first, last, item.kind == "function", whole))
    return _Outlined(tuple(scopes), sound=not broken)


@lru_cache(maxsize=256)
def _by_brackets(text: bytes) -> _Outlined:
    """Grammar and brackets together; dearer."""
    seen = outline(text)
    found = tuple(
        Scope(d.name, d.start - 1, d.end, d.kind is Kind.FUNCTION, d.reliable)
        for d in seen.definitions
        if d.kind.value in _COUNTED
    )
    return _Outlined(found, seen.sound)


def scope_at(lines: Sequence[bytes], path: str, line: int) -> Scope | None:
    """The scope of the 0-based ``line``; None outside of any, and for files that are not C++."""
    if not is_cpp(path) or not lines:
        return None
    line = min(line, len(lines) - 1)
    first, last = _stretch(lines, line)
    near = b"".join(lines[first:last])
    for read in (_by_grammar, _by_brackets):
        seen = read(near)
        item = seen.at(line - first)
        if item is not None and item.reliable:
            return item.moved(first)
        if item is None and seen.sound:
            return None
    return _by_brackets(b"".join(lines)).at(line)


def same_name(one: str, other: str) -> bool:
    """Equal, or equal but for outer parts that one of them lacks."""
    return one == other or one.endswith("::" + other) or other.endswith("::" + one)


def _stretch(lines: Sequence[bytes], line: int) -> tuple[int, int]:
    first = line
    while first > 0 and not lines[first - 1].startswith(b"}"):
        first -= 1
    last = line
    while last < len(lines) and not lines[last].startswith(b"}"):
        last += 1
    return first, min(last + 1, len(lines))
