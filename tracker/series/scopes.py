"""Which function a line stands in, remembered by content; the seam to ``tracker.source``."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Scopes:
    """All definitions of one text. ``broken``: 0-based lines at which the grammar gave up."""

    found: tuple[Scope, ...]
    broken: tuple[int, ...]

    def at(self, line: int) -> Scope | None:
        """The innermost function around the 0-based ``line``, else the innermost other scope."""
        around = [scope for scope in self.found if scope.start <= line < scope.end]
        if not around:
            return None
        return min(around, key=lambda scope: (not scope.is_function, scope.end - scope.start))

    def doubtful(self, scope: Scope | None) -> bool:
        """The grammar gave up where the answer comes from."""
        if scope is None:
            return bool(self.broken)
        place = bisect.bisect_left(self.broken, scope.start)
        return place < len(self.broken) and self.broken[place] < scope.end


@lru_cache(maxsize=96)
def _by_grammar(content: bytes) -> Scopes:
    tree = parse(content)
    starts = [0]
    at = content.find(b"\n")
    while at >= 0:
        starts.append(at + 1)
        at = content.find(b"\n", at + 1)
    found = []
    for item in proposals(tree):
        if item.kind in _COUNTED:
            names = [part for part, _ in item.scopes] + list(item.name)
            name = b"::".join(n for n in names if n != b"::").decode("utf-8", "replace")
            first = bisect.bisect_right(starts, item.start) - 1
            last = bisect.bisect_right(starts, max(item.end - 1, item.start))
            found.append(Scope(name, first, last, item.kind == "function"))
    return Scopes(tuple(found), tuple(line - 1 for line in error_lines(tree.root_node)))


@lru_cache(maxsize=32)
def _by_brackets(content: bytes) -> Scopes:
    found = tuple(
        Scope(item.name, item.start - 1, item.end, item.kind is Kind.FUNCTION)
        for item in outline(content).definitions
        if item.kind.value in _COUNTED
    )
    return Scopes(found, ())


def scope_at(content: bytes, path: str, line: int) -> Scope | None:
    """The scope of the 0-based ``line``; None outside of any, and for files that are not C++.

    The grammar answers; where it gave up, the brackets do.
    """
    if not is_cpp(path):
        return None
    scopes = _by_grammar(content)
    scope = scopes.at(line)
    if scopes.doubtful(scope):
        return _by_brackets(content).at(line)
    return scope
