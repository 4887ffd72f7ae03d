"""A patch follows its function into another file; part of the structural merge.

Only if the function is gone from its own file and defined in exactly one other: then its text on
the pin, upstream and with the patch are merged like three small files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tracker.series.merging import Merger, Triple, to_new
from tracker.series.placing import Placed, splice, split_lines
from tracker.series.scopes import same_name, scope_at
from tracker.series.trees import Slot, Tree
from tracker.source.outline import definition

Finder = Callable[[str], Sequence[tuple[str, Slot]]]


@dataclass(frozen=True, slots=True)
class Relocated:
    """``changes``: files by path. ``moved``: function name to the path where it is now.

    ``functions``: for each hunk the moved function it went to, None for one that stayed.
    """

    changes: Mapping[str, Slot]
    moved: Mapping[str, str]
    functions: tuple[str | None, ...]


def defines(lines: Sequence[bytes], path: str, function: str) -> bool:
    """The file holds the body of ``function``; looks only where its head could stand."""
    head = re.compile(rb"\b%s\s*\(" % re.escape(function.rpartition("::")[2].encode()))
    places = [
        number
        for number, line in enumerate(lines)
        if head.search(line) and not line.rstrip().endswith(b";")
    ]
    # Heads at the left margin first: a function is defined once and called often.
    for number in sorted(places, key=lambda at: (lines[at][:1].isspace(), at)):
        scope = scope_at(lines, path, number)
        if scope is not None and scope.is_function and same_name(scope.name, function):
            return True
    return False


def relocate(
    merger: Merger,
    path: str,
    base: Slot,
    ours: Slot | None,
    placed: Sequence[Placed],
    tree: Tree,
    find: Finder,
) -> Relocated | None:
    """Carry the hunks whose function left ``path`` to where it is; None if that is not clear.

    ``ours``: upstream's file at ``path``, None if the whole file is gone.
    """
    lines = merger.lines(base.oid)
    here = merger.lines(ours.oid) if ours is not None else []
    upstream = merger.changes(base.oid, ours.oid) if ours is not None else None
    functions: list[str | None] = []
    for item in placed:
        line = item.at + item.hunk.leading
        scope = scope_at(lines, path, line)
        if scope is None or not scope.is_function:
            functions.append(None)
            continue
        # Most often it is still where the lines lead; the whole file is searched only if not.
        near = scope_at(here, path, to_new(upstream, line)) if upstream is not None else None
        stands = near is not None and same_name(near.name, scope.name)
        gone = not stands and not defines(here, path, scope.name)
        functions.append(scope.name if gone else None)
    names = {name for name in functions if name is not None}
    stay = [item for item, name in zip(placed, functions, strict=True) if name is None]
    if not names or (ours is None and stay):
        return None
    changes: dict[str, Slot] = {}
    moved: dict[str, str] = {}
    for name in sorted(names):
        there = [(other, slot) for other, slot in find(name) if other != path]
        if len(there) != 1:
            return None
        other, slot = there[0]
        slot = changes.get(other) or tree.changed.get(other) or slot
        mine = [item for item, went in zip(placed, functions, strict=True) if went == name]
        merged = _merge_function(merger, name, lines, mine, slot)
        if merged is None:
            return None
        changes[other] = Slot(slot.mode, merged)
        moved[name] = other
    if ours is not None:
        theirs = merger.quarantine.write_blob(b"".join(splice(lines, stay)))
        triple = Triple(base.oid, ours.oid, theirs)
        rest = merger.merge([triple])[triple]
        if not rest.clean:
            return None
        changes[path] = Slot(ours.mode, rest.oid)
    return Relocated(changes, moved, tuple(functions))


def _merge_function(
    merger: Merger, name: str, lines: Sequence[bytes], placed: Sequence[Placed], slot: Slot
) -> str | None:
    """The blob of the other file with the function merged into it, None if that conflicts."""
    content = merger.quarantine.read(slot.oid)
    texts = [b"".join(lines), content, b"".join(splice(lines, placed))]
    found = [definition(text, name) for text in texts]
    if any(item is None or not item.reliable or item.others for item in found):
        return None
    spans = [item.span for item in found if item is not None]
    parts = [
        b"".join(split_lines(text)[start - 1 : end])
        for text, (start, end) in zip(texts, spans, strict=True)
    ]
    triple = Triple(*(merger.quarantine.write_blob(part) for part in parts))
    merged = merger.merge([triple])[triple]
    if not merged.clean:
        return None
    start, end = spans[1]
    whole = split_lines(content)
    after = [*whole[: start - 1], merger.quarantine.read(merged.oid), *whole[end:]]
    return merger.quarantine.write_blob(b"".join(after))
