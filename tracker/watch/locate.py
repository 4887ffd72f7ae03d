"""Find a selector's region in one revision: where it should be, else where it went.

Never says "found" on a guess: a range without proof is ``reliable=False``, a name that is gone is
``Absent`` with the names near it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tracker.source import Definition, Kind, Outline, focused, outline, tokens
from tracker.source.brackets import brackets
from tracker.source.lexer import directive_tokens
from tracker.watch.selector import Selector
from tracker.watch.snapshot import Files
from tracker.watch.statements import Anchored, anchored, fields, signature

_NEAR = 5
# A macro by its name, and the pragmas that change what code behind them means.
_SETTING = re.compile(
    rb"#[ \t]*(?:(?:define|undef)[ \t]+(?P<macro>\w+)"
    rb"|pragma[ \t]+(?:pack|optimize|STDC|GCC[ \t]+(?:optimize|target|p\w+_options))\b)"
)
_DECLARED = frozenset({Kind.DECLARATION, Kind.ALIAS})


@dataclass(frozen=True, slots=True)
class Piece:
    """One connected part of a region: lines ``start``..``end``, its text, the conditions around.

    ``setting``: the macros of the same file that it uses, and the pragmas in force, as tokens.
    ``around``: the loops and conditions that an anchored statement stands in, as tokens.
    """

    start: int
    end: int
    text: bytes
    guards: tuple[bytes, ...]
    setting: tuple[bytes, ...] = ()
    around: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Region:
    """A region in one revision. ``pieces``: in file order, at least one; several where overloads or
    ``#if`` variants bear one name. ``name``: under which it was found. ``doubt``: why its range is
    not proven, "" if it is. ``blob``: the whole file, for the proof by equality. ``declared``: only
    declarations bear the name there.
    """

    path: str
    name: str | None
    pieces: tuple[Piece, ...]
    doubt: str
    blob: bytes
    declared: bool = False

    @property
    def text(self) -> bytes:
        return b"\n".join(piece.text for piece in self.pieces)

    @property
    def tokens(self) -> tuple[tuple[bytes, ...], ...]:
        """What is compared: per piece its guards, its setting, what it stands in, its tokens."""
        return tuple(
            (*piece.guards, b"\n", *piece.setting, b"\n", *piece.around, b"\n", *tokens(piece.text))
            for piece in self.pieces
        )


@dataclass(frozen=True, slots=True)
class Absent:
    """The selector matches nothing. ``why``: one sentence. ``name`` and ``blob``: what was looked
    for in which content, None where there is no file or no name. ``unread``: the file is there, its
    content is not, so nothing is known.
    """

    why: str
    name: str | None = None
    blob: bytes | None = None
    unread: bool = False

    @property
    def near(self) -> tuple[str, ...]:
        """Similar names in that file, best first."""
        if self.name is None or self.blob is None:
            return ()
        return near_names(self.name, self.blob)


def locate(selector: Selector, files: Files) -> Region | Absent:
    """The region in the file that the selector names."""
    blob = files.read(selector.path)
    if blob is None:
        return Absent(f"there is no file {selector.path}")
    return in_file(selector, selector.path, blob)


def anywhere(
    selector: Selector, files: Files, here: Absent, paths: Iterable[str]
) -> Region | Absent:
    """The region in the one file of ``paths`` that defines its name.

    ``here``: what the file that the selector names gave.
    """
    if selector.name is None:
        return here
    found: list[Region] = []
    for path in paths:
        source = files.read(path) if path != selector.path else None
        region = in_file(selector, path, source) if source is not None else here
        if isinstance(region, Region) and not region.declared:
            found.append(region)
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(region.path for region in found)
        return replace(here, why=f"{here.why}; several files define it: {places}")
    return replace(here, why=f"{here.why}, and no other file defines {selector.name}")


def in_file(selector: Selector, path: str, blob: bytes) -> Region | Absent:
    """The region inside one file's content."""
    if selector.part == "regex":
        return _matched(selector, path, blob)
    if selector.name is None:
        lines = blob.count(b"\n") + (not blob.endswith(b"\n"))
        whole = Piece(1, max(lines, 1), blob, ())
        return Region(path, None, (whole,), "", blob)
    part = focused(blob, selector.last_name or "")
    known = outline(part)
    named = known.named(selector.name)
    chosen = _preferred(named, selector)
    if not chosen:
        return Absent(f"{path} defines no {selector.name}", selector.name, blob)
    doubts = [item for item in chosen if not item.reliable]
    doubt = f"the end of {selector.name} in {path} cannot be told for sure" if doubts else ""
    if selector.anchor is None and selector.part is None:
        pieces = tuple(_piece(item, part, known) for item in chosen)
        declared = all(item.kind in _DECLARED for item in chosen)
        return Region(path, chosen[0].name, pieces, doubt, blob, declared)
    found, doubt = _inside(selector, part, known, chosen, doubt)
    if found:
        return Region(path, chosen[0].name, found, doubt, blob)
    what = f'@{selector.anchor} "{selector.literal}"' if selector.anchor else selector.part
    return Absent(f"{selector.name} is in {path}, but holds no {what}")


def _preferred(named: tuple[Definition, ...], selector: Selector) -> tuple[Definition, ...]:
    """Definitions before declarations; a type before the alias of the same name."""
    if selector.part == "fields":
        return tuple(item for item in named if item.kind in (Kind.TYPE, Kind.ENUM))
    if selector.anchor is not None:
        return tuple(item for item in named if item.kind is Kind.FUNCTION)
    if selector.part == "signature":
        return tuple(item for item in named if item.kind in (Kind.FUNCTION, Kind.DECLARATION))
    defined = tuple(item for item in named if item.kind not in _DECLARED)
    return defined or named


def _inside(
    selector: Selector,
    source: bytes,
    known: Outline,
    chosen: tuple[Definition, ...],
    doubt: str,
) -> tuple[tuple[Piece, ...], str]:
    """The selected parts of the definitions, and why they are in doubt; without any part but with
    a doubt, the whole definitions.
    """
    pieces: list[Piece] = []
    for item in chosen:
        text = source[item.first : item.last]
        matched = brackets(text)
        if selector.part == "fields":
            parts = [Anchored(part, ()) for part in fields(text)]
        elif selector.part == "signature":
            body = None if item.body is None else item.body - item.first
            parts = [Anchored(part, ()) for part in signature(text, body)]
        else:
            assert selector.anchor is not None and selector.literal is not None  # noqa: S101
            parts, fault = anchored(text, selector.anchor, selector.literal)
            doubt = doubt or fault
        for (begin, end), around in parts:
            if not matched.live(begin):
                continue
            guards = (*item.guards, *matched.guard_at(begin))
            first = item.start + text.count(b"\n", 0, begin)
            last = item.start + text.count(b"\n", 0, max(end - 1, begin))
            setting = _setting(known, item.first + begin, text[begin:end])
            pieces.append(Piece(first, last, text[begin:end], guards, setting, around))
    if not pieces and doubt:
        return tuple(_piece(item, source, known) for item in chosen), doubt
    return tuple(pieces), doubt


def _piece(item: Definition, source: bytes, known: Outline) -> Piece:
    text = source[item.first : item.last]
    return Piece(item.start, item.end, text, item.guards, _setting(known, item.first, text))


def _setting(known: Outline, first: int, text: bytes) -> tuple[bytes, ...]:
    """What directives in front of the offset make of ``text``: its words as macros, its layout."""
    found: list[bytes] = []
    words: frozenset[bytes] | None = None
    for start, directive in known.directives:
        match = _SETTING.match(directive)
        if start >= first or match is None:
            continue
        if match["macro"] is not None:
            words = words if words is not None else frozenset(tokens(text))
            if match["macro"] not in words:
                continue
        found += directive_tokens(directive)
    return tuple(found)


def _matched(selector: Selector, path: str, blob: bytes) -> Region | Absent:
    """Whole lines, so that what is compared does not depend on where in a line a match begins."""
    assert selector.literal is not None  # noqa: S101  (the selector's parser saw to it)
    pieces: list[Piece] = []
    for match in re.finditer(selector.literal.encode(), blob, re.MULTILINE):
        begin = blob.rfind(b"\n", 0, match.start()) + 1
        stop = blob.find(b"\n", max(match.end() - 1, match.start()))
        stop = len(blob) if stop < 0 else stop
        start = blob.count(b"\n", 0, begin) + 1
        if pieces and start <= pieces[-1].end:
            continue
        text = blob[begin:stop]
        pieces.append(Piece(start, start + text.count(b"\n"), text, ()))
    if not pieces:
        return Absent(f"the pattern matches nothing in {path}")
    return Region(path, None, tuple(pieces), "", blob)


def near_names(name: str, blob: bytes) -> tuple[str, ...]:
    """Names in the file that resemble ``name``: same last part first, then by letters."""
    names = {item.name for item in outline(blob).definitions if item.kind is not Kind.VARIABLE}
    last = name.rpartition("::")[2]
    twins = sorted(other for other in names if other.rpartition("::")[2] == last)
    close = difflib.get_close_matches(name, sorted(names - set(twins)), n=_NEAR, cutoff=0.6)
    return tuple([*twins, *close][:_NEAR])
