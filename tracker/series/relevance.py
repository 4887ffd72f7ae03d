"""Whether upstream changed the function around a hunk in a way that concerns the hunk.

"The enclosing function changed" taken literally flags a third of a real queue, because functions of
a thousand lines change all the time; a flag that is always up is not read. Measured on three bumps
of a real queue (tests/bench/queue_bench.py), a change counts if the function is small, if most of
it changed, or if the change is near and uses a name that the hunk uses.
"""

from __future__ import annotations

import re
from collections import Counter

from tracker.series.merging import Change
from tracker.series.patch import Group
from tracker.series.placing import Placed
from tracker.series.scopes import Scope
from tracker.series.texts import Texts
from tracker.source.lexer import tokens

_SMALL = 40  # lines: every change of such a function is read
_NEAR = 20  # lines between the change and the hunk
_MOST = 0.5  # share of the function's lines
_NAME = re.compile(rb"[A-Za-z_]\w*")
# Words of the language, and names so common that sharing one tells nothing.
_COMMON = frozenset(
    b"auto bool break case catch char class const constexpr continue default delete do double else"
    b" enum explicit extern false float for goto if inline int long namespace new nullptr operator"
    b" private protected public return short signed sizeof static struct switch template this throw"
    b" true try typedef typename union unsigned using virtual void volatile while std string vector"
    b" size_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t NULL c_str size"
    b" __func__ __FILE__ __LINE__ define include ifdef ifndef endif elif".split()
)


def scope_change(texts: Texts, item: Placed, groups: list[Group], scope: Scope | None) -> str:
    """One sentence if upstream changed ``scope`` and it concerns the hunk, else "".

    ``scope``: the function on the pin that holds the hunk's first change, None if it is in none.
    """
    if scope is None:
        return ""
    inside = [
        change
        for change in texts.upstream
        if change.start < scope.end and change.end > scope.start and _has_meaning(texts, change)
    ]
    if not inside:
        return ""
    lines = scope.end - scope.start
    size = sum(max(c.end - c.start, c.new_end - c.new_start) for c in inside)
    if lines <= _SMALL or size > _MOST * lines:
        places = "1 place" if len(inside) == 1 else f"{len(inside)} places"
        return f"upstream changed {scope.name} ({places})"
    names = _names(b"".join(line for group in groups for line in (*group.removed, *group.added)))
    for change in inside:
        if max(change.start - item.end, item.at - change.end) > _NEAR:
            continue
        shared = sorted(names & _changed_names(texts, change))
        if shared:
            shown = b", ".join(shared[:3]).decode("ascii", "replace")
            return f"upstream changed the use of {shown} nearby in {scope.name}"
    return ""


def _has_meaning(texts: Texts, change: Change) -> bool:
    """More than comments and white space."""
    old = b"".join(texts.base[change.start : change.end])
    new = b"".join(texts.ours[change.new_start : change.new_end])
    return tokens(old) != tokens(new)


def _changed_names(texts: Texts, change: Change) -> set[bytes]:
    """Names that the change uses more or less often than before."""
    old = Counter(_NAME.findall(b"".join(texts.base[change.start : change.end])))
    new = Counter(_NAME.findall(b"".join(texts.ours[change.new_start : change.new_end])))
    return set(((old - new) + (new - old)).keys())


def _names(text: bytes) -> set[bytes]:
    return {name for name in _NAME.findall(text) if len(name) > 1 and name not in _COMMON}
