"""A region at two revisions -> its status, its diff, and the sentence that says why.

Unchanged is said only of equal text or equal tokens whose ranges are proven, or of equal files.
"""

from __future__ import annotations

import difflib
import re
from itertools import zip_longest

from tracker.config import RegionTable
from tracker.evidence.watch import RegionResult, RegionStatus, Span
from tracker.source import tokens
from tracker.watch.locate import Absent, Region

_HUNK = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def compare(table: RegionTable, before: Region | Absent, after: Region | Absent) -> RegionResult:
    """The result without its commits, which only the history knows."""
    status, why = judge(before, after)
    difference = ""
    if isinstance(before, Region) and isinstance(after, Region):
        difference = diff(before, after)
    return RegionResult(
        name=table.name,
        selector=table.selector,
        status=status,
        from_=span(before),
        to=span(after),
        commits=(),
        why=why,
        blocking=table.blocking,
        diff=difference,
    )


def judge(before: Region | Absent, after: Region | Absent) -> tuple[RegionStatus, str]:
    """The status of a region and one sentence for it."""
    if isinstance(before, Absent) or isinstance(after, Absent):
        return _judge_absent(before, after)
    if before.blob == after.blob and before.path == after.path:
        return RegionStatus.UNCHANGED, "the file is the same"
    for side, region in (("pin", before), ("target", after)):
        if region.doubt:
            return RegionStatus.UNPARSED, f"at the {side}, {region.doubt}"
    if before.path != after.path or before.name != after.name:
        return _judge_moved(before, after)
    return _judge_in_place(before, after)


def _judge_absent(before: Region | Absent, after: Region | Absent) -> tuple[RegionStatus, str]:
    for region in (before, after):
        if isinstance(region, Absent) and region.unread:
            return RegionStatus.UNPARSED, region.why
    if isinstance(after, Absent):
        where = "at neither revision: " if isinstance(before, Absent) else ""
        return RegionStatus.MISSING, f"{where}{after.why}{_near(after)}"
    why = before.why if isinstance(before, Absent) else ""
    return RegionStatus.CHANGED, f"new at the target; before, {why}"


def _judge_in_place(before: Region, after: Region) -> tuple[RegionStatus, str]:
    if _code(before) != _code(after):
        return RegionStatus.CHANGED, _what_changed(before, after)
    if before.text != after.text:
        return RegionStatus.COSMETIC, "only comments, white space or line breaks differ"
    return RegionStatus.UNCHANGED, _shift(before, after)


def _judge_moved(before: Region, after: Region) -> tuple[RegionStatus, str]:
    place = _place(before, after)
    if _code(before) == _code(after):
        return RegionStatus.MOVED, f"{place}; its code is the same"
    return RegionStatus.MOVED_AND_CHANGED, f"{place}; {_what_changed(before, after)}"


def _code(region: Region) -> tuple[tuple[bytes, ...], ...]:
    """The tokens, with the region's own qualified name taken out so that a rename is no change."""
    if region.name is None:
        return region.tokens
    name = tuple(tokens(region.name.encode()))
    return tuple(_without(piece, name) for piece in region.tokens)


def _without(stream: tuple[bytes, ...], name: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """``stream`` with the first full occurrence of ``name`` replaced by a mark."""
    size = len(name)
    for at in range(len(stream) - size + 1):
        if stream[at : at + size] == name:
            return (*stream[:at], b"\0name", *stream[at + size :])
    return stream


def _what_changed(before: Region, after: Region) -> str:
    if len(before.pieces) != len(after.pieces):
        return f"{len(before.pieces)} places became {len(after.pieces)}"
    guards = [piece.guards for piece in before.pieces] != [piece.guards for piece in after.pieces]
    same = [tokens(p.text) for p in before.pieces] == [tokens(p.text) for p in after.pieces]
    if guards and same:
        return "its preprocessor conditions changed"
    around = [piece.around for piece in before.pieces] != [piece.around for piece in after.pieces]
    if around and same:
        return "a loop or a condition that it stands in changed"
    if same:
        return "a macro that it uses, or a pragma in front of it, changed"
    old, new = before.text.splitlines(), after.text.splitlines()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    lost = gained = 0
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            lost, gained = lost + i2 - i1, gained + j2 - j1
    return f"its code changed ({gained} lines added, {lost} removed)"


def _place(before: Region, after: Region) -> str:
    if before.name != after.name:
        return f"renamed from {before.name} in {before.path} to {after.name} in {after.path}"
    return f"moved from {before.path} to {after.path}"


def _shift(before: Region, after: Region) -> str:
    old, new = span(before), span(after)
    assert old is not None and new is not None  # noqa: S101
    if (old.start, old.end) == (new.start, new.end):
        return "the same text in the same lines"
    return f"the same text; its lines moved from {old.start}-{old.end} to {new.start}-{new.end}"


def _near(absent: Absent) -> str:
    return f"; near: {', '.join(absent.near)}" if absent.near else ""


def span(region: Region | Absent) -> Span | None:
    """The lines from the first piece's start to the last one's end."""
    if isinstance(region, Absent):
        return None
    return Span(path=region.path, start=region.pieces[0].start, end=region.pieces[-1].end)


def diff(before: Region, after: Region) -> str:
    """Unified diff of the region only, with the line numbers of the whole files; "" if equal."""
    found: list[str] = []
    for old, new in zip_longest(before.pieces, after.pieces):
        lines = list(
            difflib.unified_diff(
                _lines(old.text if old else b""), _lines(new.text if new else b""), lineterm="", n=3
            )
        )[2:]
        for line in lines:
            hunk = _HUNK.match(line)
            if hunk:
                shifted = (
                    int(hunk[1]) + (old.start if old else 1) - 1,
                    int(hunk[3]) + (new.start if new else 1) - 1,
                )
                line = f"@@ -{shifted[0]}{hunk[2] or ''} +{shifted[1]}{hunk[4] or ''} @@"  # noqa: PLW2901
            found.append(line)
    if not found:
        return ""
    head = [f"--- a/{before.path}", f"+++ b/{after.path}"]
    return "\n".join([*head, *found]) + "\n"


def _lines(text: bytes) -> list[str]:
    return text.decode("utf-8", "replace").splitlines()
