"""Merges that are clean only to somebody who knows the language.

Two reasons for a conflict that are none to a reader: upstream indented the lines anew, or gave a
local another name. Each is undone on the pin's side and the patch's side, and the merge is tried
again. The result is `structural`: a human reads it, and it never moves a pin by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from tracker.series.merging import Change, Merger, Triple, to_new, touching
from tracker.series.placing import split_lines
from tracker.series.regions import regions
from tracker.series.scopes import Scope, scope_at
from tracker.source.lexer import lex
from tracker.source.outline import is_cpp

_NAME = re.compile(rb"[A-Za-z_]\w*")
_MOST_NAMES = 4  # renamed locals in one function; more is a rewrite


def merge(merger: Merger, triple: Triple, path: str) -> bytes | None:
    """The merged text, None where this knows no way either."""
    if not is_cpp(path):
        return None
    for attempt in (triple, _without_renames(merger, triple, path)):
        if attempt is None:
            continue
        if attempt != triple:
            merged = merger.merge([attempt])[attempt]
            if merged.clean:
                return merger.quarantine.read(merged.oid)
        found = _indented_anew(merger, attempt)
        if found is not None:
            return found
    return None


def _indented_anew(merger: Merger, triple: Triple) -> bytes | None:
    """Merge without the white space at the lines' ends; new lines get the indentation around."""
    bare = Triple(*(_bare(merger, oid) for oid in (triple.base, triple.ours, triple.theirs)))
    if bare == triple:
        return None
    merger.compare([(bare.base, bare.ours), (bare.base, bare.theirs)])
    upstream = merger.changes(bare.base, bare.ours)
    carried = merger.changes(bare.base, bare.theirs)
    if upstream is None or carried is None or any(touching(upstream, c) for c in carried):
        return None
    base, ours, theirs = (merger.lines(o) for o in (triple.base, triple.ours, triple.theirs))
    if not (
        len(base) == len(merger.lines(bare.base)) and len(ours) == len(merger.lines(bare.ours))
    ):
        return None
    out: list[bytes] = []
    position = 0
    for change in carried:
        start = to_new(upstream, change.start)
        out += ours[position:start]
        shift = _shift(base, ours, change, start)
        out += [_indented(line, shift) for line in theirs[change.new_start : change.new_end]]
        position = start + (change.end - change.start)
    out += ours[position:]
    return b"".join(out)


def _bare(merger: Merger, oid: str) -> str:
    lines = (line.strip() + b"\n" for line in merger.lines(oid))
    return merger.quarantine.write_blob(b"".join(lines))


def _shift(
    base: Sequence[bytes], ours: Sequence[bytes], change: Change, start: int
) -> tuple[bytes, bytes]:
    """How upstream indents here: the white space that it took away, and what it put instead."""
    pairs = [(change.start, start), (change.start - 1, start - 1)]
    for old, new in pairs:
        if 0 <= old < len(base) and 0 <= new < len(ours):
            one, other = base[old], ours[new]
            if one.strip() and one.strip() == other.strip():
                before, after = _indent(one), _indent(other)
                if after.startswith(before):
                    return b"", after[len(before) :]
                if before.startswith(after):
                    return before[len(after) :], b""
                return before, after
    return b"", b""


def _indent(line: bytes) -> bytes:
    return line[: len(line) - len(line.lstrip(b" \t"))]


def _indented(line: bytes, shift: tuple[bytes, bytes]) -> bytes:
    gone, put = shift
    if not line.strip():
        return line
    return put + (line.removeprefix(gone) if gone else line)


def _without_renames(merger: Merger, triple: Triple, path: str) -> Triple | None:
    """The triple as if the pin and the patch had upstream's names for the locals it renamed."""
    upstream = merger.changes(triple.base, triple.ours)
    carried = merger.changes(triple.base, triple.theirs)
    if upstream is None or carried is None:
        return None
    base, ours, theirs = (merger.lines(o) for o in (triple.base, triple.ours, triple.theirs))
    old, mine = list(base), list(theirs)
    found = False
    for region in regions(upstream, carried):
        scopes = [
            scope_at(side, path, part[0])
            for side, part in (
                (base, region.base),
                (ours, region.ours),
                (theirs, region.theirs),
            )
        ]
        if any(scope is None or not scope.is_function for scope in scopes):
            return None
        whole = [scope for scope in scopes if scope is not None]
        if len({scope.name for scope in whole}) > 1:
            return None
        names = _renamed(_text(base, whole[0]), _text(ours, whole[1]))
        if not names:
            return None
        _rename(old, whole[0], names)
        _rename(mine, whole[2], names)
        found = True
    if not found:
        return None
    write = merger.quarantine.write_blob
    return Triple(write(b"".join(old)), triple.ours, write(b"".join(mine)))


def _text(lines: Sequence[bytes], scope: Scope) -> bytes:
    return b"".join(lines[scope.start : scope.end])


@lru_cache(maxsize=256)
def _renamed(old: bytes, new: bytes) -> Mapping[bytes, bytes]:
    """Names that became other names everywhere in the function; empty if there are none or many.

    Remembered: over a range the same function meets many contents of its file.
    """
    before = [token.text for token in lex(old)]
    after = [token.text for token in lex(new)]
    gone, came = set(before) - set(after), set(after) - set(before)
    if not any(map(_NAME.fullmatch, gone)) or not any(map(_NAME.fullmatch, came)):
        return {}  # the comparison below is slow on a long function
    pairs: set[tuple[bytes, bytes]] = set()
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "replace" and i2 - i1 == j2 - j1:
            pairs |= {
                (one, other)
                for one, other in zip(before[i1:i2], after[j1:j2], strict=True)
                if one != other and _NAME.fullmatch(one) and _NAME.fullmatch(other)
            }
    names = {one: other for one, other in pairs if one not in after and other not in before}
    unique = len(names) == len(set(names.values()))
    return names if unique and 0 < len(names) <= _MOST_NAMES else {}


def _rename(lines: list[bytes], scope: Scope, names: Mapping[bytes, bytes]) -> None:
    text = _text(lines, scope)
    out, position = [], 0
    for token in lex(text):
        if token.text in names:
            out += [text[position : token.start], names[token.text]]
            position = token.end
    out.append(text[position:])
    lines[scope.start : scope.end] = split_lines(b"".join(out))
