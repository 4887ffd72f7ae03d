"""The hunks of one file, read by unidiff.

unidiff counts lines and refuses hunks that are too long or too short. It is given one file's hunks
at a time, as latin-1 text split at LF only: what it gets wrong on whole patches (quoted names, two
new files in a row, empty files, line separators inside a line) never reaches it. Two things are
mended here: it takes any line that begins with a backslash for the marker of a missing newline at
any place, and it ignores what follows the last hunk.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracker.series.patch import Hunk, Line

_HEADER = re.compile(
    rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)", re.DOTALL
)

_AFTER = (b"--- ", b"-- \n", b"--\n", b"-- \r\n")  # the next file, or a mail's signature


class HunkFault(Exception):
    """The hunks cannot be read; ``at``: 1-based line of the patch file."""

    def __init__(self, why: str, at: int) -> None:
        super().__init__(why)
        self.why = why
        self.at = at


def read_hunks(lines: Sequence[bytes], start: int) -> tuple[tuple[Hunk, ...], int]:
    """The hunks that begin at index ``start`` of ``lines``, and the index behind them.

    ``lines``: of the whole patch file, with their LF.

    Raises:
        HunkFault: a count is wrong, or a line is none of a hunk.
    """
    hunks: list[Hunk] = []
    position = start
    while position < len(lines) and lines[position].startswith(b"@@ "):
        header = _HEADER.match(lines[position])
        if header is None:
            raise HunkFault("not a hunk header", position + 1)
        end = _end_of_hunk(lines, position + 1, _count(header[2]), _count(header[4]))
        hunks.append(_parsed(lines[position:end], header, position + 1))
        position = end
    return tuple(hunks), position


def _count(text: bytes | None) -> int:
    return 1 if text is None else int(text)


def _end_of_hunk(lines: Sequence[bytes], position: int, old: int, new: int) -> int:
    """The index behind the last line of a hunk with ``old`` and ``new`` lines."""
    first = position
    while old > 0 or new > 0:
        if position >= len(lines):
            raise HunkFault("the patch ends in the middle of a hunk: truncated?", position)
        mark = lines[position][:1]
        if mark in (b" ", b"\n", b"\r"):  # a blank context line may have lost its blank
            old, new = old - 1, new - 1
        elif mark == b"-":
            old -= 1
        elif mark == b"+":
            new -= 1
        elif mark != b"\\" or position == first:
            raise HunkFault("the hunk has fewer lines than its header says", position + 1)
        position += 1
        if old < 0 or new < 0:
            raise HunkFault("the hunk has more lines than its header says", position)
    if position < len(lines) and lines[position].startswith(b"\\ "):
        position += 1
    behind = lines[position] if position < len(lines) else b""
    if behind[:1] in (b" ", b"+", b"-") and not behind.startswith(_AFTER):
        # git apply ignores such lines; a change must not be dropped in silence.
        raise HunkFault("the hunk has more lines than its header says", position + 1)
    return position


def _parsed(lines: Sequence[bytes], header: re.Match[bytes], at: int) -> Hunk:
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    counts = b"@@ -%s,%d +%s,%d @@\n" % (
        header[1],
        _count(header[2]),
        header[3],
        _count(header[4]),
    )
    texts = [b"--- a/file\n", b"+++ b/file\n", counts, *lines[1:]]
    try:
        files = PatchSet(text.decode("latin-1") for text in texts)
    except UnidiffParseError as fault:
        raise HunkFault(str(fault), at) from None
    if len(files) != 1 or len(files[0]) != 1:
        raise HunkFault("the hunk cannot be read", at)
    found: list[Line] = []
    for line in files[0][0]:
        if line.line_type == "\\":
            last = found.pop()
            found.append(Line(last.mark, last.text.removesuffix(b"\n")))
        else:
            found.append(Line(line.line_type, line.value.encode("latin-1")))
    if all(line.mark == " " for line in found):
        raise HunkFault("the hunk changes nothing", at)
    return Hunk(int(header[1]), int(header[3]), header[5].strip(b"\r\n"), tuple(found), at)
