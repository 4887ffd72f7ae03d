"""What a source file defines, each range checked: the tree proposes, the brackets dispose.

Lines are 1-based and inclusive, byte ranges half-open. Never guesses: a range whose brackets do not
match, or on which tree and brackets disagree without one being right by proof, is not reliable.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePosixPath

from tracker.source.brackets import brackets
from tracker.source.scan import Scanned, scan
from tracker.source.tree import Proposed, parse, proposals

_SUFFIXES = frozenset(
    {".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp"}
    | {".cu", ".cuh", ".m", ".mm", ".metal", ".cl", ".comp"}
)


class Kind(StrEnum):
    """What a definition defines."""

    FUNCTION = "function"
    DECLARATION = "declaration"
    TYPE = "type"
    ENUM = "enum"
    MACRO = "macro"
    VARIABLE = "variable"
    ALIAS = "alias"


@dataclass(frozen=True, slots=True)
class Definition:
    """``name``: qualified, without template arguments. ``namespaces``: how many leading parts of it
    come from namespaces around it. ``start``..``end``: lines. ``first``..``last``: byte range.
    ``body``: byte offset of its ``{`` or None. ``guards``: preprocessor conditions around it.
    ``reliable``: the range is proven. ``by_tree``: the grammar saw it too.
    """

    kind: Kind
    name: str
    namespaces: int
    start: int
    end: int
    first: int
    last: int
    body: int | None
    guards: tuple[bytes, ...]
    reliable: bool
    by_tree: bool

    def is_named(self, name: str) -> bool:
        """``name`` is its qualified name; leading namespaces may be left out, a class never."""
        parts = self.name.split("::")
        return any(name == "::".join(parts[cut:]) for cut in range(self.namespaces + 1))


@dataclass(frozen=True, slots=True)
class Found:
    """One definition with its text. ``span``: first and last line. ``others``: how many further
    definitions bear the same name (overloads, ``#if`` variants).
    """

    definition: Definition
    span: tuple[int, int]
    text: bytes
    reliable: bool
    others: int


@dataclass(frozen=True, slots=True)
class Outline:
    """All definitions of one file, in file order. ``sound``: all brackets of the file match.

    ``directives``: offset and text of all that are not known to be dead, in order.
    """

    definitions: tuple[Definition, ...]
    sound: bool
    directives: tuple[tuple[int, bytes], ...]

    def named(self, name: str, kinds: frozenset[Kind] | None = None) -> tuple[Definition, ...]:
        """The definitions with this qualified name: exact ones, else those found without their
        leading namespaces.
        """
        fit = [d for d in self.definitions if kinds is None or d.kind in kinds]
        exact = tuple(d for d in fit if d.name == name)
        return exact or tuple(d for d in fit if d.is_named(name))


def is_cpp(path: str) -> bool:
    """The path's suffix says C, C++, CUDA, Objective-C or a shader in C's syntax."""
    return PurePosixPath(path).suffix.lower() in _SUFFIXES


@lru_cache(maxsize=64)
def outline(source: bytes) -> Outline:
    """Everything that ``source`` defines outside of function bodies. Remembered by content."""
    return _Reading(source).outline()


class _Reading:
    """One file while it is read: its brackets and what the scan saw."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.matched = brackets(source)
        self._line = (0, 1)  # an offset and its line
        self.scanned = {item.body: item for item in scan(self.matched)}
        code = self.matched.code
        self.opened = {code[index].start: index for index in self.matched.match}

    def outline(self) -> Outline:
        found = [
            item
            for proposed in proposals(parse(self.source))
            if (item := self._checked(proposed)) is not None
        ]
        known = {item.body for item in found}
        found += [self._scanned(item) for body, item in self.scanned.items() if body not in known]
        found.sort(key=lambda item: (item.first, -item.last))
        directives = tuple((t.start, t.text) for t in self.matched.code if t.kind == "directive")
        return Outline(tuple(found), not self.matched.faults, directives)

    def _checked(self, proposed: Proposed) -> Definition | None:
        """The proposal with a range that the brackets confirm or correct; None: dead code."""
        start, end, body = proposed.start, proposed.end, proposed.body
        if not self.matched.live(start if body is None else body):
            return None
        reliable = self.matched.sound(start, end)
        if body is None:
            return self._definition(proposed, start, end, reliable=reliable)
        index = self.opened.get(body)
        if index is None:  # the brace has no partner
            return self._definition(proposed, start, end, reliable=False)
        close = self.matched.code[self.matched.match[index]].end
        agrees = close <= end and not self.source[close:end].strip(b" \t\r\n;")
        second = self.scanned.get(body)
        if second is not None and not (agrees and _qualified(second) == _qualified(proposed)):
            return self._scanned(second)  # what broke the grammar does not disturb the brackets
        return self._definition(
            proposed, start, end if agrees else close, reliable=agrees and reliable
        )

    def _scanned(self, item: Scanned) -> Definition:
        reliable = self.matched.sound(item.start, item.end) and self._closes_in_column(item)
        return self._definition(item, item.start, item.end, reliable=reliable)

    def _closes_in_column(self, item: Scanned) -> bool:
        """Where brackets of the file do not match, the last one must stand below the first word."""
        if not self.matched.faults:
            return True
        opening = item.start - (self.source.rfind(b"\n", 0, item.start) + 1)
        closing = item.end - 1 - (self.source.rfind(b"\n", 0, item.end) + 1)
        return opening == closing

    def _definition(
        self, item: Proposed | Scanned, first: int, last: int, *, reliable: bool
    ) -> Definition:
        namespaces = 0
        for _, is_namespace in item.scopes:
            if not is_namespace:
                break
            namespaces += 1
        return Definition(
            kind=Kind(item.kind),
            name=_qualified(item),
            namespaces=namespaces,
            start=self._line_of(first),
            end=self._line_of(max(last - 1, first)),
            first=first,
            last=last,
            body=item.body,
            guards=self.matched.guard_at(first),
            reliable=reliable,
            by_tree=isinstance(item, Proposed),
        )

    def _line_of(self, offset: int) -> int:
        """Counted from the last one that was asked for: definitions come nearly in order."""
        at, line = self._line
        if offset >= at:
            line += self.source.count(b"\n", at, offset)
        else:
            line -= self.source.count(b"\n", offset, at)
        self._line = (offset, line)
        return line


def _qualified(item: Proposed | Scanned) -> str:
    parts = [*(scope for scope, _ in item.scopes), *item.name]
    return b"::".join(parts).decode("utf-8", "replace")


def definition(source: bytes, name: str) -> Found | None:
    """The definition of ``name`` (a function's body before a mere declaration), or None.

    With several of that name the first is returned and ``others`` counts the rest.
    """
    named = outline(source).named(name)
    bodies = [item for item in named if item.kind is not Kind.DECLARATION] or list(named)
    if not bodies:
        return None
    item = bodies[0]
    return Found(
        item, (item.start, item.end), source[item.first : item.last], item.reliable, len(bodies) - 1
    )


def enclosing_function(source: bytes, path: str, line: int) -> str | None:
    """The qualified name of the function whose head or body holds ``line``; None outside of any.

    None too where ``path`` is not C++. Innermost wins.
    """
    return _enclosing(source, path, line, frozenset({Kind.FUNCTION}))


def enclosing_scope(source: bytes, path: str, line: int) -> str | None:
    """Like ``enclosing_function``, but a struct, class, enum or variable counts where no function
    holds the line.
    """
    return enclosing_function(source, path, line) or _enclosing(
        source, path, line, frozenset({Kind.TYPE, Kind.ENUM, Kind.VARIABLE})
    )


def _enclosing(source: bytes, path: str, line: int, kinds: frozenset[Kind]) -> str | None:
    if not is_cpp(path):
        return None
    around = [
        item
        for item in outline(source).definitions
        if item.kind in kinds and item.start <= line <= item.end
    ]
    return min(around, key=lambda item: item.last - item.first).name if around else None
