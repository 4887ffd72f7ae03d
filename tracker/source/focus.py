"""The part of a file that can define a name, at a fraction of the price of reading it all.

A file is cut where a brace returns to depth 0; whatever defines a name stands in a piece that holds
it, and not in the body of another function. All other pieces are blanked, preprocessor lines and
line numbers kept. Where the cut is in doubt the file is left whole: focusing may cost time, never
an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracker.source.cutting import Piece, cut, recut


def focused(source: bytes, word: str) -> bytes:
    """``source`` with every piece blanked that cannot define ``word``; line numbers stay."""
    found = cut(source)
    if found is None:
        return source
    name = word.encode()
    return b"".join(p.text if p.may_define(name) else _stub(p) for p in found.pieces)


def kept(source: bytes, wanted: Callable[[bytes], bool]) -> bytes:
    """``source`` with every piece blanked of whose text ``wanted`` is false; line numbers stay."""
    found = cut(source)
    if found is None:
        return source
    return b"".join(p.text if wanted(p.text) else _stub(p) for p in found.pieces)


def _stub(piece: Piece) -> bytes:
    """The piece blanked, with a lone ``;`` for its code: an ``#ifndef`` that follows would else
    look like the file's include guard.
    """
    return piece.blanked() + (b";" if piece.body >= 0 else b"")


def same_focus(known: bytes, source: bytes, word: str) -> bool:
    """True only if the pieces that can define ``word`` are the same text in both files, and so are
    all preprocessor lines; blank lines and everything else may differ.

    Only what differs is read, if ``known`` was read before.
    """
    both = recut(known, source)
    if both is None:
        return False
    one, other = (found.pieces for found in both)
    shared = {id(piece) for piece in one} & {id(piece) for piece in other}
    name = word.encode()
    return _telling(one, shared, name) == _telling(other, shared, name)


def _telling(pieces: Sequence[Piece], shared: set[int], word: bytes) -> list[int | list[bytes]]:
    """What must be the same, in order: the pieces themselves where both contents share them, and
    what stands in focus between these.
    """
    found: list[int | list[bytes]] = []
    own: list[Piece] = []
    for piece in pieces:
        if id(piece) not in shared:
            own.append(piece)
            continue
        if own:
            found += _lines(own, word)
            own = []
        found.append(id(piece))
    return found + _lines(own, word)


def _lines(pieces: Sequence[Piece], word: bytes) -> list[list[bytes]]:
    """What in focus is not blank, as one entry; none if all is. The marks stand for the text around
    it.
    """
    parts: list[bytes] = []
    for piece in pieces:
        if piece.may_define(word):
            parts.append(piece.text)
        else:
            parts.append(piece.blanked() if piece.directives else b"\n")
    part = b"".join(parts)
    if not part or part.isspace():
        return []
    return [[line for line in (b"<%b>" % part).split(b"\n") if line and not line.isspace()]]
