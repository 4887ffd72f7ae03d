"""Where a region came from or went to: by its qualified name, by its anchor, by its content.

A guess is never followed: one place must be left that fits, and by content it must be the only one
that resembles the region, in a file that lost it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

from tracker.source import Kind, is_cpp, kept, may_define, outline, tokens
from tracker.watch.locate import Region, in_file
from tracker.watch.selector import Selector

_ALIKE = 0.6
_APART = 0.1
_TELLING = 6  # letters; shorter words stand everywhere
_ASKED = 3  # words that a search looks for
_SMALLEST = 24  # tokens; below, resemblance means nothing
_COMPARED = frozenset({Kind.FUNCTION, Kind.TYPE, Kind.ENUM, Kind.VARIABLE})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that differs between two revisions. ``there``: where the region is looked for.

    ``here``: the same path where the region is known, None if there is no such file.
    """

    path: str
    there: bytes
    here: bytes | None


class Search(Protocol):
    """The files that differ between the revision where a region is known and another one."""

    def holding(self, texts: Sequence[str]) -> Iterable[Candidate]:
        """Those that hold one of ``texts`` there; all of them if ``texts`` is empty."""


@dataclass(frozen=True, slots=True)
class Several:
    """More than one place bears the name: none is followed."""

    paths: tuple[str, ...]


def follow(
    region: Region, selector: Selector, search: Search
) -> tuple[Selector, Region] | Several | None:
    """The selector that finds ``region`` again and what it finds; None if nothing surely fits."""
    if selector.name is None:
        return _same_file(region, selector, list(search.holding(())))
    named = [
        (wanted, found)
        for item in search.holding((_last(selector.name),))
        if is_cpp(item.path) and may_define(item.there, _last(selector.name).encode())
        for wanted in [replace(selector, path=item.path)]
        if isinstance(found := in_file(wanted, item.path, item.there), Region)
        and found.declared is region.declared
        and not _defines(item.here, selector, item.path)
    ]
    if len(named) > 1:
        return Several(tuple(found.path for _, found in named))
    if named:
        return named[0]
    if selector.anchor is not None:
        return _by_anchor(selector, search.holding((selector.literal or "",)))
    return _by_content(region, selector, search)


def _last(name: str) -> str:
    return name.rpartition("::")[2]


def _defines(blob: bytes | None, selector: Selector, path: str) -> bool:
    """The region stands in that file at the known revision too, so it did not move from there."""
    return blob is not None and isinstance(in_file(selector, path, blob), Region)


def _by_anchor(selector: Selector, files: Iterable[Candidate]) -> tuple[Selector, Region] | None:
    assert selector.literal is not None  # noqa: S101
    found: list[tuple[Selector, Region]] = []
    literal = selector.literal.encode()
    for item in files:
        if not is_cpp(item.path) or literal not in item.there:
            continue
        part = kept(item.there, lambda text: literal in text)
        for definition in outline(part).definitions:
            text = part[definition.first : definition.last]
            if definition.kind is not Kind.FUNCTION or literal not in text:
                continue
            wanted = replace(selector, path=item.path, name=definition.name)
            region = in_file(wanted, item.path, item.there)
            if isinstance(region, Region):
                found.append((wanted, region))
    return found[0] if len(found) == 1 else None


def _by_content(
    region: Region, selector: Selector, search: Search
) -> tuple[Selector, Region] | None:
    shape = _shape(region.text)
    words = _words(region.text)
    if shape.total() < _SMALLEST or not words:
        return None
    longest = sorted(words, key=lambda word: (-len(word), word))[:_ASKED]
    files = list(search.holding([word.decode("ascii", "replace") for word in longest]))
    scored: list[tuple[float, Selector]] = []
    for item in files:
        if not is_cpp(item.path) or _share(words, item.there) < _ALIKE:
            continue
        part = kept(item.there, lambda text: _share(words, text) >= _ALIKE / 2)
        found = [
            (score, definition.name)
            for definition in outline(part).definitions
            if definition.kind in _COMPARED
            for text in [part[definition.first : definition.last]]
            if _share(words, text) >= _ALIKE / 2
            and (score := _alike(shape, _shape(text))) >= _ALIKE
        ]
        stayed = {d.name for d in outline(item.here).definitions} if found and item.here else set()
        scored += [
            (score, replace(selector, path=item.path, name=name))
            for score, name in found
            if name not in stayed
        ]
    scored.sort(key=lambda pair: -pair[0])
    if not scored or (len(scored) > 1 and scored[0][0] - scored[1][0] < _APART):
        return None
    wanted = scored[0][1]
    blob = next(item.there for item in files if item.path == wanted.path)
    there = in_file(wanted, wanted.path, blob)
    return (wanted, there) if isinstance(there, Region) else None


def _words(text: bytes) -> frozenset[bytes]:
    return frozenset(w for w in tokens(text) if len(w) >= _TELLING and w[:1].isalpha())


def _share(words: frozenset[bytes], text: bytes) -> float:
    """How much of ``words`` stands in ``text``."""
    return sum(word in text for word in words) / len(words)


def _shape(text: bytes) -> Counter[tuple[bytes, bytes]]:
    """Pairs of neighbouring tokens: order matters a little, place not at all."""
    stream = tokens(text)
    return Counter(pairwise(stream))


def _alike(one: Counter[tuple[bytes, bytes]], other: Counter[tuple[bytes, bytes]]) -> float:
    """0 (nothing shared) to 1 (the same pairs)."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def _same_file(
    region: Region, selector: Selector, files: list[Candidate]
) -> tuple[Selector, Region] | None:
    """A whole file or a pattern: a file that appeared on that side and is mostly the same lines."""
    lines = Counter(region.blob.splitlines())
    scored = [
        (
            2
            * (lines & (other := Counter(item.there.splitlines()))).total()
            / max(1, lines.total() + other.total()),
            item,
        )
        for item in files
        if item.here is None
    ]
    scored.sort(key=lambda pair: -pair[0])
    if not scored or scored[0][0] < _ALIKE:
        return None
    if len(scored) > 1 and scored[0][0] - scored[1][0] < _APART:
        return None
    wanted = replace(selector, path=scored[0][1].path)
    found = in_file(wanted, wanted.path, scored[0][1].there)
    return (wanted, found) if isinstance(found, Region) else None
