"""Which function a line stands in; the seam to ``tracker.source``.

Reading a whole file for one line is the dearest step of a verdict, so the stretch between two
closing braces in column 0 is tried first. Its answer counts only where ``tracker.source`` calls it
reliable (grammar and brackets agree, every bracket of it matches); else the whole file is read.
A stretch may start inside a namespace, so its names can lack outer parts: ``same_name`` knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tracker.source.outline import Definition, Kind, is_cpp, outline

_COUNTED = frozenset({Kind.FUNCTION, Kind.TYPE, Kind.ENUM, Kind.VARIABLE, Kind.MACRO})


@dataclass(frozen=True, slots=True)
class Scope:
    """A definition with its lines ``start..end`` (0-based, half-open). ``name``: qualified."""

    name: str
    start: int
    end: int
    is_function: bool


@dataclass(frozen=True, slots=True)
class _Outlined:
    found: tuple[Definition, ...]
    sound: bool

    def at(self, line: int) -> Definition | None:
        """The innermost function around the 0-based ``line``, else the innermost other scope."""
        around = [item for item in self.found if item.start - 1 <= line < item.end]
        if not around:
            return None
        return min(around, key=lambda d: (d.kind is not Kind.FUNCTION, d.last - d.first))


@lru_cache(maxsize=512)
def _outlined(text: bytes) -> _Outlined:
    seen = outline(text)
    return _Outlined(tuple(d for d in seen.definitions if d.kind in _COUNTED), seen.sound)


def scope_at(lines: Sequence[bytes], path: str, line: int) -> Scope | None:
    """The scope of the 0-based ``line``; None outside of any, and for files that are not C++."""
    if not is_cpp(path) or not lines:
        return None
    line = min(line, len(lines) - 1)
    first, last = _stretch(lines, line)
    near = _outlined(b"".join(lines[first:last]))
    item = near.at(line - first)
    if (item is not None and item.reliable) or (item is None and near.sound):
        return _scope(item, first)
    return _scope(_outlined(b"".join(lines)).at(line), 0)


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


def _scope(item: Definition | None, offset: int) -> Scope | None:
    if item is None:
        return None
    is_function = item.kind is Kind.FUNCTION
    return Scope(item.name, item.start - 1 + offset, item.end + offset, is_function)
