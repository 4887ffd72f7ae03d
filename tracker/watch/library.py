"""Definitions that a source file can see: itself, what it includes by quotes, and their siblings.

A routing function calls small predicates that live in other files; this finds them without reading
the whole tree.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from tracker.source import Definition, Kind, focused, may_define, may_define_type, outline, tokens
from tracker.watch.snapshot import Files

_INCLUDE = re.compile(rb'#[ \t]*include[ \t]*"([^"\n]+)"')  # begins plainly: searched fast
_MACRO = re.compile(rb"#[ \t]*define[ \t]+(\w+)")
_USING = re.compile(rb"using\s+(\w+)\s*=")
_TYPEDEF = re.compile(rb"typedef\b[^;{}()]*?(\w+)\s*;")
_ENUM = re.compile(rb"enum\b[^;{}()]*\{")  # begins with a plain word: searched fast
_IMPLEMENTATIONS = (".cpp", ".cc", ".cxx", ".c")
_FOLDERS = ("", "include", "src")
_DEPTH = 2


@dataclass(frozen=True, slots=True)
class Known:
    """A definition and the file that holds it."""

    path: str
    source: bytes
    definition: Definition

    @property
    def text(self) -> bytes:
        return self.source[self.definition.first : self.definition.last]


@dataclass(slots=True)
class Library:
    """``start``: the file whose view this is. ``enumerations``: constant -> file of its enum, for
    those that were asked for.
    """

    snapshot: Files
    start: str
    enumerations: dict[str, str] = field(default_factory=dict)
    _files: list[tuple[str, bytes]] | None = None
    _enumerators: dict[str, frozenset[str]] = field(default_factory=dict)
    _last: dict[str, tuple[Known, ...]] = field(default_factory=dict)
    _functions: dict[str, tuple[Known, ...]] = field(default_factory=dict)

    def functions(self, name: str) -> tuple[Known, ...]:
        """The function definitions of that qualified name; several if it is overloaded."""
        if name not in self._functions:
            self._functions[name] = tuple(
                known for known in self._named(name) if known.definition.kind is Kind.FUNCTION
            )
        return self._functions[name]

    @property
    def visible(self) -> tuple[str, ...]:
        """The files that were looked at."""
        return tuple(path for path, _ in self._visible())

    @property
    def used(self) -> tuple[Known, ...]:
        """Every function that was asked for and found."""
        return tuple(known for found in self._functions.values() for known in found)

    def by_last_name(self, word: str) -> tuple[Known, ...]:
        """Everything whose name ends in ``word``, of any scope."""
        if word not in self._last:
            self._last[word] = tuple(self._ending_in(word))
        return self._last[word]

    def _ending_in(self, word: str) -> Iterator[Known]:
        for path, source in self._visible():
            if not may_define(source, word.encode(), names=True):
                continue
            part = focused(source, word)
            for item in outline(part).definitions:
                if item.name.rpartition("::")[2] == word:
                    yield Known(path, part, item)

    def types_named(self, word: str) -> tuple[Known, ...]:
        """The types with a body whose name ends in ``word``, of any scope."""
        if not any(may_define_type(source, word.encode()) for _, source in self._visible()):
            return ()
        return tuple(
            known
            for known in self.by_last_name(word)
            if known.definition.kind is Kind.TYPE and known.definition.body is not None
        )

    def types_in(self, paths: Iterable[str]) -> tuple[Known, ...]:
        """The types that the files define, nested ones too."""
        return tuple(
            Known(path, source, item)
            for path in paths
            if (source := self.snapshot.read(path)) is not None
            for item in outline(source).definitions
            if item.kind is Kind.TYPE
        )

    def other_meaning(self, words: Iterable[bytes]) -> str:
        """Why one of ``words`` may not mean what it says: a macro or an alias bears its name in a
        file that can be seen. "" if none does.
        """
        wanted = frozenset(words)
        for path, source in self._visible():
            if not wanted & renamed_words(source):
                continue
            for name, line in _renamed(source):
                if name in wanted:
                    return f"{name.decode()} has another meaning ({path}:{line})"
        return ""

    def enumeration_of(self, constant: str) -> frozenset[str]:
        """All enumerators of the enum that holds ``constant``; empty if none does."""
        if constant not in self._enumerators:
            self._enumerators[constant] = self._enumeration(constant)
        return self._enumerators[constant]

    def _enumeration(self, constant: str) -> frozenset[str]:
        for other, known in self._enumerators.items():
            if constant in known:
                self.enumerations[constant] = self.enumerations[other]
                return known
        for path, source in self._visible():
            found = _enumerators_beside(constant, source)
            if found:
                self.enumerations[constant] = path
                return found
        return frozenset()

    def _named(self, name: str) -> Iterator[Known]:
        word = name.rpartition("::")[2]
        for path, source in self._visible():
            if may_define(source, word.encode()):
                part = focused(source, word)
                for item in outline(part).named(name):
                    yield Known(path, part, item)

    def _visible(self) -> list[tuple[str, bytes]]:
        if self._files is None:
            self._files = list(self._walk())
        return self._files

    def _walk(self) -> Iterator[tuple[str, bytes]]:
        seen: set[str] = set()
        level = [self.start]
        for _ in range(_DEPTH + 1):
            following: list[str] = []
            for path in level:
                if path in seen:
                    continue
                seen.add(path)
                source = self.snapshot.read(path)
                if source is None:
                    continue
                yield path, source
                following.extend(self._included(path, source))
            level = following

    def _included(self, path: str, source: bytes) -> Iterator[str]:
        for targets in _targets(posixpath.dirname(path), source):
            for target in targets:
                if self.snapshot.read(target) is not None:
                    yield target
                    stem = posixpath.splitext(target)[0]
                    yield from (stem + suffix for suffix in _IMPLEMENTATIONS)
                    break


@lru_cache(maxsize=512)
def _targets(folder: str, source: bytes) -> tuple[tuple[str, ...], ...]:
    """Where each file may stand that ``source`` in ``folder`` includes by quotes, best first.

    Remembered: headers seldom change.
    """
    return tuple(
        tuple(
            target
            for place in dict.fromkeys((folder, *_FOLDERS))
            for target in [posixpath.normpath(posixpath.join(place, name))]
            if not target.startswith("..")
        )
        for match in _INCLUDE.finditer(source)
        if not source[source.rfind(b"\n", 0, match.start()) + 1 : match.start()].strip()
        for name in [match[1].decode("utf-8", "surrogateescape")]
    )


@lru_cache(maxsize=512)
def renamed_words(source: bytes) -> frozenset[bytes]:
    """The words that a file makes macros or aliases."""
    return frozenset(name for name, _ in _renamed(source))


@lru_cache(maxsize=512)
def _renamed(source: bytes) -> tuple[tuple[bytes, int], ...]:
    """The names of macros and aliases in a file, each with its line."""
    return tuple(
        (name, source.count(b"\n", 0, match.start()) + 1)
        for pattern in (_MACRO, _USING, _TYPEDEF)
        for match in pattern.finditer(source)
        for name in [match[1]]
    )


@lru_cache(maxsize=2048)
def _enumerators_beside(constant: str, source: bytes) -> frozenset[str]:
    """All enumerators of the enum in ``source`` that holds ``constant``; empty if none does."""
    word = constant.encode()
    part = focused(source, constant) if word in source else b""
    if not _ENUM.search(part):
        return frozenset()
    for item in outline(part).definitions:
        if item.kind is Kind.ENUM:
            stream = tokens(part[item.first : item.last])
            if word in stream:
                return _enumerators(stream)
    return frozenset()


def _enumerators(stream: tuple[bytes, ...]) -> frozenset[str]:
    """The constants of an enum, without those that are another one's equal (``A = B``)."""
    names = [piece.decode("ascii", "replace") for piece in stream]
    equal = {
        name
        for place, sign in enumerate(names)
        if sign == "=" and names[place + 1][:1].isalpha()
        for name in (names[place - 1], names[place + 1])
    }
    return frozenset(names) - equal
