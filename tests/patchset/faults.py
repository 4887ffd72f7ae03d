"""Small faults made from the lines that the patch set adds: one fault, one changed line.

Pure. The rules are those of mutation testing: a statement is forgotten, a comparison or a constant
is off by one, a condition is turned around. Which lines they hit is not picked by hand.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_RULES = (
    (" < ", " <= "),
    (" <= ", " < "),
    (" > ", " >= "),
    (" == ", " != "),
    (" && ", " || "),
    (" || ", " && "),
    (" + 1", ""),
    (" - 1", ""),
    ("1 + ", ""),
    ("min(", "max("),
    ("max(", "min("),
    ("true", "false"),
    ("false", "true"),
    (" % size", ""),
    (" % size", " / size"),
    ("/size", "%size"),
    ("i_snap*size + ", ""),
    (" > 1)", " > 2)"),
    ("!", ""),
)
_DECLARES = re.compile(r"^\s*(?:const\b|auto\b|bool\b|int|uint|llama_|std::vector|return\b|break;)")


@dataclass(frozen=True, slots=True)
class Fault:
    """``line``: 0-based in the patched text, replaced by ``text``; "" if it is left out."""

    line: int
    before: str
    text: str

    def applied(self, lines: Sequence[str]) -> str:
        return "".join([*lines[: self.line], self.text, *lines[self.line + 1 :]])

    def __str__(self) -> str:
        after = self.text.strip() or "(left out)"
        return f"{self.line + 1}: {self.before.strip()} -> {after}"


def faults(plain: Sequence[str], patched: Sequence[str]) -> Iterator[Fault]:
    """Every fault of the lines that ``patched`` has and ``plain`` has not."""
    matcher = difflib.SequenceMatcher(None, plain, patched, autojunk=False)
    for tag, _i1, _i2, start, end in matcher.get_opcodes():
        if tag in ("insert", "replace"):
            for at in range(start, end):
                yield from _of_line(at, patched[at])


def _of_line(at: int, line: str) -> Iterator[Fault]:
    code, slashes, comment = line.partition("//")
    if not code.strip():
        return
    if code.rstrip().endswith(";") and not _DECLARES.match(code):
        yield Fault(at, line, "")
    for old, new in _RULES:
        for found in re.finditer(re.escape(old), code):
            changed = code[: found.start()] + new + code[found.end() :]
            yield Fault(at, line, changed + slashes + comment)


#: Faults that change nothing, as what stands before and behind the arrow of ``str(fault)``, by why.
_UNSEEN: dict[str, tuple[tuple[str, str], ...]] = {
    "no ubatch has both or neither": (("ubatch.embd && !ubatch.token", "ubatch.embd || !"),),
    "y and x of a row are never below its t": (("end, t + 1, ny", "end, t, ny"),),
    "the state's own snapshot is never in front of p0": (("cell.src/size + 1", "cell.src/size;"),),
    "a shared cell leaves another one empty": (("return false;", "return true;"),),
    "used only tells where a search starts, and is counted anew": (("used++;", "(left out)"),),
    "no snapshot ends behind the state, and that one is in the range": (
        ("pos < p1 ?", "pos <= p1 ?"),
    ),
    "only the end of a sequence is divided, which nobody does": (
        ("p1 ? d : 1", "|| pos < p1 ? d"),
    ),
    "of two cells that change places, the one that keeps its snapshots has a copy of the other's": (
        ("std::swap(dst_cell.snap, src_cell.snap);", "(left out)"),
    ),
    "a copy has the snapshots of what it was copied from": (
        ("dst_cell.snap = src_cell.snap;", "(left out)"),
    ),
    "the first row of an image comes behind no other": ((": cell.row = {};", "(left out)"),),
    "row 0 is the state of cell 0 itself, which is read from no other cell": (
        ("cells[i].src < 0 ?", "cells[i].src <= 0 ?"),
    ),
}


def unseen(fault: Fault) -> bool:
    """Whether the fault is known to change nothing; the reasons are in ``_UNSEEN``."""
    before, _, after = str(fault).partition(" -> ")
    known = (pair for pairs in _UNSEEN.values() for pair in pairs)
    return any(old in before and new in after for old, new in known)
