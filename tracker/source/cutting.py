"""Where a file can be cut: behind each brace that returns to depth 0.

Cutting must know comments, literals and ``#if`` branches, but no grammar, so it is cheap. A content
that resembles one that was cut before costs only what differs: wherever the reader stands behind
the same kind of brace, at the same depth, in front of the same bytes, it would decide the same.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from tracker.source import lexer

# Each match eats the run of harmless bytes in front, so no byte is tried twice. A quote between
# digits is a separator; what follows an R is a raw string if it can be one. A quote that opens no
# literal is refused, so that no match depends on bytes behind its own end: `like` builds on that.
_SKELETON = re.compile(
    rb"[^/#\"'{}]*(?:"
    + b"|".join(
        (
            rb"(?P<brace>[{}])",
            b"(?P<comment>" + lexer.COMMENT + b")",
            b"(?P<directive>" + lexer.DIRECTIVE + b")",
            rb'(?P<raw>(?<=R)"(?P<fence>[^()\\\s]{0,16})\((?s:.*?)\)(?P=fence)")',
            rb'(?P<stray_raw>(?<=R)"[^()\\\s]{0,16}\()',
            rb'"(?:\\(?s:.)|[^"\\\n])*"',
            rb"(?<=[0-9A-Fa-f])(?<!u8)'(?=[0-9A-Fa-f])",
            rb"'(?:\\(?s:.)|[^'\\\n])+'",
            rb"(?P<stray>[\"'])",
            rb"(?s:.)",
        )
    )
    + b")"
)
_RAW_PREFIX = re.compile(rb"(?<![0-9A-Za-z_$])(?:u8|[uUL])?R\Z")
_DECLARATORS = re.compile(rb"[\w\s*,\[\]]*")
_BRANCH = re.compile(rb"#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b")
_FUNCTION = re.compile(rb"\)\s*(?:(?:const|noexcept|override|final)\s*)*\Z")
_SCOPE = re.compile(rb"(?:namespace|class|struct|union|enum|extern)\b")
_COMMENTED = frozenset({"comment", "directive"})
_QUOTED = frozenset({"raw", "stray", "stray_raw"})
_OPENING = ord("{")
_SEMICOLON = ord(";")
_MARKED = 3  # depth; the cases of a switch in a function are told apart
_AHEAD = 64  # marks, and pieces, of the known content that are tried
_ALIKE = 96  # bytes that must follow alike to try
_KEPT = 64  # cuts that are remembered
_CHUNK = 1 << 14  # bytes

# Depths at which the `#if` groups that are open at a place began, outermost first.
Groups = tuple[int, ...]
Span = tuple[int, int]


class _Mark(NamedTuple):
    """A place behind a closing brace inside a piece."""

    offset: int
    depth: int
    groups: Groups


_offset = attrgetter("offset")


class Piece(NamedTuple):
    """``groups``: which are open at its end. ``body``: offset of its first brace, -1 for none.

    ``marks`` and ``directives``: in order; offsets count from its start.
    """

    text: bytes
    groups: Groups
    body: int
    marks: tuple[_Mark, ...]
    directives: tuple[Span, ...]

    def may_define(self, word: bytes) -> bool:
        """A definition of ``word`` may stand in it; surely not where the word stands in the body of
        a function only.
        """
        if word not in self.text:
            return False
        head = self.text[: max(self.body, 0)]
        if word in head or not _FUNCTION.search(head) or _SCOPE.search(head):
            return True
        directives = [self.text[begin:end] for begin, end in self.directives]
        return word in self.text[self.text.rfind(b"}") :] or any(
            word in directive or _BRANCH.match(directive) for directive in directives
        )

    def blanked(self) -> bytes:
        """Its line ends and its directives."""
        if not self.directives:
            return b"\n" * self.text.count(b"\n")
        out: list[bytes] = []
        at = 0
        for begin, stop in self.directives:
            out += (b"\n" * self.text.count(b"\n", at, begin), self.text[begin:stop])
            at = stop
        out.append(b"\n" * self.text.count(b"\n", at))
        return b"".join(out)


@dataclass(frozen=True, slots=True)
class Cut:
    """``pieces``: together they are ``source``. Cuts of like contents share equal pieces."""

    source: bytes
    pieces: tuple[Piece, ...]


class _Doubt(Exception):
    """Braces and branches do not add up, so no piece is safe to leave out."""


_cuts: OrderedDict[bytes, Cut | None] = OrderedDict()  # by content, the last few


def cut(source: bytes) -> Cut | None:
    """None where the cut is in doubt."""
    if source not in _cuts:
        return _keep(source, whole(source))
    _cuts.move_to_end(source)
    return _cuts[source]


def recut(known: bytes, source: bytes) -> tuple[Cut, Cut] | None:
    """The cuts of both, that of ``source`` made from that of ``known``; None if one is in doubt."""
    model = cut(known)
    if model is None:
        return None
    found = cut(source) if source in _cuts else _keep(source, like(model, source))
    return (model, found) if found is not None else None


def _keep(source: bytes, found: Cut | None) -> Cut | None:
    _cuts[source] = found
    if len(_cuts) > _KEPT:
        _cuts.popitem(last=False)
    return found


def whole(source: bytes) -> Cut | None:
    """The cut of a content that resembles none."""
    reader = _Reader(source)
    try:
        for _ in reader.read():
            pass
    except _Doubt:
        return None
    return Cut(source, tuple(reader.pieces))


def like(model: Cut, source: bytes) -> Cut | None:
    """The same as :func:`whole`, cheap where ``source`` is nearly the model's."""
    guide = _Guide(model)
    reader = _Reader(source)
    try:
        while not guide.skip(reader):
            if not any(guide.meets(reader) for _ in reader.read()):
                break
    except _Doubt:
        return None
    return Cut(source, tuple(reader.pieces))


class _Reader:
    """Reads ``source`` from ``at`` on, where it stands in ``depth`` braces and ``groups``.

    ``start``: where the piece begins that it is in.
    """

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.pieces: list[Piece] = []
        self.at = self.start = self.depth = 0
        self.groups: Groups = ()
        self.body = -1
        self.marks: list[_Mark] = []
        self.directives: list[Span] = []

    def read(self) -> Iterator[None]:
        """To the end of the source; stops behind each piece and each mark.

        Raises:
            _Doubt: they do not add up.
        """
        source = self.source
        for match in _SKELETON.finditer(source, self.at):
            kind = match.lastgroup
            if kind == "brace":
                if source[match.end() - 1] == _OPENING:
                    if self.depth == 0 and self.body < 0:
                        self.body = match.end() - 1 - self.start
                    self.depth += 1
                    continue
                self.depth -= 1
                if self.depth > _MARKED:
                    continue
                if self.depth < 0:
                    raise _Doubt
                self.at = match.end()
                if self.depth:
                    self.marks.append(_Mark(self.at - self.start, self.depth, self.groups))
                else:
                    self.close(_behind_declarators(source, self.at))
                yield
            elif kind in _COMMENTED and match.end() == len(source) and _is_open(match[kind]):
                raise _Doubt
            elif kind == "directive":
                begin, stop = match.span("directive")
                self.directives.append((begin - self.start, stop - self.start))
                self._branch(match["directive"])
            elif kind in _QUOTED and not _is_raw(match):
                raise _Doubt
        if self.depth or self.groups:
            raise _Doubt
        self.close(len(source))

    def close(self, end: int) -> None:
        """A piece ends here, the next begins."""
        self.pieces.append(
            Piece(
                self.source[self.start : end],
                self.groups,
                self.body,
                tuple(self.marks),
                tuple(self.directives),
            )
        )
        self.at = self.start = end
        self.body = -1
        self.marks, self.directives = [], []

    def _branch(self, directive: bytes) -> None:
        """Behind an ``#if`` or the like: each branch starts at the depth where the group did."""
        branch = _BRANCH.match(directive)
        if branch is None:
            return
        if branch[1].startswith(b"if"):
            self.groups = (*self.groups, self.depth)
        elif not self.groups:
            raise _Doubt
        elif branch[1] == b"endif":
            self.groups = self.groups[:-1]
        else:
            self.depth = self.groups[-1]


class _Guide:
    """A content that was cut before. ``at``: the place in it that the reader's place is like;
    ``place``: the index of the piece that it is in.
    """

    def __init__(self, model: Cut) -> None:
        self.model = model
        self.starts = [0, *accumulate(len(piece.text) for piece in model.pieces)]
        self.at = self.place = 0

    def skip(self, reader: _Reader) -> bool:
        """Take over what the same bytes decide from here on; True if that is all the rest."""
        run = _common_head(self.model.source, self.at, reader.source, reader.at)
        stop = self.at + run
        rest = stop == len(self.model.source) and reader.at + run == len(reader.source)
        while self.place < len(self.model.pieces):
            piece, start = self.model.pieces[self.place], self.starts[self.place]
            end = start + len(piece.text)
            if not (rest or self._settled(end, stop)):
                place = bisect_right(piece.marks, stop - start, key=_offset) - 1
                if place >= 0 and start + piece.marks[place].offset > self.at:
                    mark = piece.marks[place]
                    self._take(reader, piece, start, mark.offset)
                    reader.depth, reader.groups = mark.depth, mark.groups
                return False
            if self.at == start and reader.at == reader.start:
                reader.pieces.append(piece)
                reader.at = reader.start = reader.at + len(piece.text)
                reader.depth, reader.groups = 0, piece.groups
                self.at = end
            else:
                self._take(reader, piece, start, len(piece.text))
                reader.depth, reader.groups = 0, piece.groups
                reader.close(reader.at)
            self.place += 1
        return True

    def _take(self, reader: _Reader, piece: Piece, start: int, stop: int) -> None:
        """What ``piece`` holds from here to its offset ``stop``."""
        here = self.at - start
        shift = reader.at - reader.start - here
        if reader.body < 0 and here <= piece.body < stop:
            reader.body = piece.body + shift
        reader.marks += [
            _Mark(offset + shift, depth, groups)
            for offset, depth, groups in piece.marks
            if here < offset <= stop
        ]
        reader.directives += [
            (begin + shift, end + shift) for begin, end in piece.directives if here <= begin < stop
        ]
        reader.at += stop - here
        self.at = start + stop

    def _settled(self, end: int, stop: int) -> bool:
        """That a piece ends here was decided by bytes in front of ``stop``; of the last piece the
        end of the file decided it.
        """
        source = self.model.source
        if end > stop or self.place == len(self.model.pieces) - 1:
            return False
        run = _DECLARATORS.match(source, end)
        return source[end - 1] == _SEMICOLON or (run is not None and run.end() < stop)

    def meets(self, reader: _Reader) -> bool:
        """A place of the same kind, with the same bytes behind it, comes next; go there."""
        following = reader.source[reader.at : reader.at + _ALIKE]
        for at, place in self._marks(reader) if reader.depth else self._ends(reader):
            if self.model.source.startswith(following, at):
                self.at, self.place = at, place
                return True
        return False

    def _ends(self, reader: _Reader) -> Iterator[tuple[int, int]]:
        for place in range(self.place, min(self.place + _AHEAD, len(self.model.pieces))):
            groups = self.model.pieces[place - 1].groups if place else ()
            if self.starts[place] >= self.at and groups == reader.groups:
                yield self.starts[place], place

    def _marks(self, reader: _Reader) -> Iterator[tuple[int, int]]:
        tried = 0
        for place in range(self.place, min(self.place + _AHEAD, len(self.model.pieces))):
            start, marks = self.starts[place], self.model.pieces[place].marks
            first = bisect_left(marks, self.at - start, key=_offset)
            for offset, depth, groups in marks[first : first + _AHEAD - tried]:
                if depth == reader.depth and groups == reader.groups:
                    yield start + offset, place
            tried += len(marks) - first
            if tried >= _AHEAD:
                return


def _is_open(text: bytes) -> bool:
    """Whether a comment may begin in ``text`` that does not end there."""
    return not text.startswith(b"//") and text.rfind(b"/*") + 1 >= text.rfind(b"*/")


def _is_raw(match: re.Match[bytes]) -> bool:
    """What follows the R is a raw string that ends, and the R is not the end of another word."""
    at = match.start("raw")
    return at >= 0 and _RAW_PREFIX.search(match.string, max(0, at - 4), at) is not None


def _behind_declarators(source: bytes, at: int) -> int:
    """`} name;` after a type belongs to it."""
    after = _DECLARATORS.match(source, at)
    stop = after.end() if after else at
    return stop + 1 if source[stop : stop + 1] == b";" else at


def _common_head(one: bytes, at: int, other: bytes, there: int) -> int:
    """How many bytes are the same from the offsets on."""
    size = min(len(one) - at, len(other) - there)
    same, step = 0, _CHUNK
    while step:
        if (
            same + step <= size
            and one[at + same : at + same + step] == (other[there + same : there + same + step])
        ):
            same += step
        else:
            step //= 2
    return same
