"""Finished resolutions of conflicts, kept by content and used again by anyone.

A resolution is one file under ``patchset/resolutions``, named by what stood against one another:
the three texts of one place, or of the whole file where a human changed more than that place. So it
still fits when upstream changes other lines of the file, and never fits when it changes these.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from tracker.errors import ConfigError
from tracker.series.merging import Change, Merger, Triple, overlapping, to_new
from tracker.series.placing import Placed
from tracker.series.regions import Region, regions
from tracker.series.verdicts import FileJudged
from tracker.statedir import write_whole

FOLDER = "resolutions"
_HEAD = re.compile(rb"lloyal-track resolution 1\npath: ([^\n]*)\nof: ([0-9a-f]{64})\n\n")


class Resolutions:
    """The resolutions of one series folder; reads when asked, writes only in ``keep``."""

    def __init__(self, series_folder: Path) -> None:
        self.folder = series_folder / FOLDER

    def resolve(self, merger: Merger, triple: Triple) -> bytes | None:
        """The whole merged text, if every place of the conflict was resolved once.

        Raises:
            ConfigError: a resolution file is not what was kept.
        """
        if not self.folder.is_dir():
            return None
        sides = [merger.quarantine.read(o) for o in (triple.base, triple.ours, triple.theirs)]
        whole = self._find(sides)
        if whole is not None:
            return whole
        parts = _parts(merger, triple)
        if parts is None:
            return None
        fixed, texts = parts
        found = [self._find(three) for three in texts]
        if not found or any(text is None for text in found):
            return None
        out = [fixed[0]]
        for text, after in zip(found, fixed[1:], strict=True):
            out += [text or b"", after]
        return b"".join(out)

    def keep(self, merger: Merger, triple: Triple, path: str, resolved: bytes) -> list[Path]:
        """Store a resolved file, place by place where that is possible; the files written."""
        parts = _parts(merger, triple)
        pieces = _pieces(resolved, parts[0]) if parts is not None else None
        if parts is None or pieces is None:
            sides = [merger.quarantine.read(o) for o in (triple.base, triple.ours, triple.theirs)]
            return [self._write(path, sides, resolved)]
        return [
            self._write(path, three, piece) for three, piece in zip(parts[1], pieces, strict=True)
        ]

    def _find(self, texts: Sequence[bytes]) -> bytes | None:
        key = _key(texts)
        file = self.folder / f"{key[:16]}.resolution"
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            return None
        head = _HEAD.match(content)
        if head is None or head[2].decode("ascii") != key:
            raise ConfigError(
                "not a resolution of this conflict",
                where=str(file),
                next_step="delete the file and resolve the conflict again",
            )
        return content[head.end() :]

    def _write(self, path: str, texts: Sequence[bytes], resolved: bytes) -> Path:
        key = _key(texts)
        shown = path.encode("utf-8", "surrogateescape").replace(b"\n", b" ")
        file = self.folder / f"{key[:16]}.resolution"
        file.parent.mkdir(parents=True, exist_ok=True)
        head = b"lloyal-track resolution 1\npath: %s\nof: %s\n\n" % (shown, key.encode())
        write_whole(file, head + resolved)
        return file


def conflict_text(merger: Merger, triple: Triple) -> bytes | None:
    """The file for a human to finish, places marked; None if a side is binary."""
    parts = _parts(merger, triple)
    if parts is None:
        return None
    fixed, texts = parts
    out = [fixed[0]]
    for (base, ours, theirs), after in zip(texts, fixed[1:], strict=True):
        out += [
            *(b"<<<<<<< upstream\n", _whole_line(ours)),
            *(b"||||||| pin\n", _whole_line(base)),
            *(b"=======\n", _whole_line(theirs)),
            *(b">>>>>>> patch\n", after),
        ]
    return b"".join(out)


def text_to_settle(merger: Merger, files: Sequence[FileJudged]) -> list[bytes] | None:
    """What a human edits to settle the conflict in ``files``; None if a text cannot settle it."""
    texts = [conflict_text(merger, f.triple) if f.triple is not None else None for f in files]
    found = [text for text in texts if text is not None]
    return found if len(found) == len(files) else None


def dropped_hunks(
    merger: Merger, triple: Triple, result: str, placed: Sequence[Placed]
) -> frozenset[Placed]:
    """The hunks of which the resolution ``result`` left nothing: it has upstream's own lines there.

    None where it differs from upstream's text elsewhere too, for that may be the hunk's change.
    """
    upstream = merger.changes(triple.base, triple.ours)
    made = merger.changes(triple.ours, result)
    if upstream is None or made is None:
        return frozenset()
    near = {
        place: overlapping(made, to_new(upstream, place.at) - 1, to_new(upstream, place.end) + 1)
        for place in placed
    }
    if {change for found in near.values() for change in found} != set(made):
        return frozenset()
    return frozenset(place for place, found in near.items() if not found)


def has_markers(text: bytes) -> bool:
    """Some place is still as we wrote it."""
    marks = rb"^(<<<<<<< upstream|\|\|\|\|\|\|\| pin|>>>>>>> patch)$"
    return re.search(marks, text.replace(b"\r\n", b"\n"), re.MULTILINE) is not None


def _whole_line(text: bytes) -> bytes:
    return text + b"\n" if text and not text.endswith(b"\n") else text


def _parts(
    merger: Merger, triple: Triple
) -> tuple[list[bytes], list[tuple[bytes, bytes, bytes]]] | None:
    """The merged text around the places, one piece more than places; and each place's three texts:
    base, ours, theirs.
    """
    upstream = merger.changes(triple.base, triple.ours)
    carried = merger.changes(triple.base, triple.theirs)
    if upstream is None or carried is None:
        return None
    base, ours, theirs = (merger.lines(o) for o in (triple.base, triple.ours, triple.theirs))
    fixed: list[bytes] = []
    texts: list[tuple[bytes, bytes, bytes]] = []
    piece: list[bytes] = []
    position = 0
    for region in _every(upstream, carried):
        piece += base[position : region.base[0]]
        position = region.base[1]
        three = (
            b"".join(base[slice(*region.base)]),
            b"".join(ours[slice(*region.ours)]),
            b"".join(theirs[slice(*region.theirs)]),
        )
        if three[1] == three[2] or three[0] == three[2]:
            piece.append(three[1])
        elif three[0] == three[1]:
            piece.append(three[2])
        else:
            fixed.append(b"".join(piece))
            texts.append(three)
            piece = []
    piece += base[position:]
    fixed.append(b"".join(piece))
    return fixed, texts


def _every(upstream: Sequence[Change], carried: Sequence[Change]) -> list[Region]:
    return regions(upstream, carried, both=False)


def _pieces(resolved: bytes, fixed: Sequence[bytes]) -> list[bytes] | None:
    """What stands between the fixed pieces; None unless each is there once, in order."""
    if not resolved.startswith(fixed[0]) or not resolved.endswith(fixed[-1]):
        return None
    end = len(resolved) - len(fixed[-1])
    position = len(fixed[0])
    pieces = []
    for text in fixed[1:-1]:
        at = resolved.find(text, position, end)
        if at < 0 or not text or resolved.find(text, at + 1, end) >= 0:
            return None
        pieces.append(resolved[position:at])
        position = at + len(text)
    if position > end:
        return None
    return [*pieces, resolved[position:end]]


def _key(texts: Sequence[bytes]) -> str:
    whole = hashlib.sha256()
    for text in texts:
        whole.update(b"%d\n" % len(text))
        whole.update(text)
    return whole.hexdigest()
