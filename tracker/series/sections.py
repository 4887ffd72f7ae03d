"""One file's part of a patch: from its headers and hunks to a value, or to the reason why not.

git's rules hold: where headers contradict one another the part is refused, never guessed at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tracker.series.hunks import HunkFault
from tracker.series.patch import Binary, FilePatch, Hunk, Kind
from tracker.series.paths import decode, refusal

_NULL = b"/dev/null"
_MODE = re.compile(rb"(10|12|16)\d{4}")
_PREFIXES = frozenset([b"a", b"b", b"c", b"i", b"o", b"w", b"1", b"2"])


@dataclass(slots=True)
class Section:
    """One file's part while it is read.

    ``start``: index of its first line. ``git``: it begins with a ``diff --git`` line, whose two
    names are ``names`` if they can be told apart. ``facts``: the extended headers. ``old`` and
    ``new``: the names in the ``---`` and ``+++`` lines.
    """

    start: int
    git: bool = False
    names: tuple[bytes, bytes] | None = None
    facts: dict[str, bytes] = field(default_factory=dict)
    old: bytes | None = None
    new: bytes | None = None
    hunks: tuple[Hunk, ...] = ()
    binary: Binary = Binary.NO


def file_patch(section: Section, raw: bytes) -> FilePatch:
    """The value of one file's part; ``raw``: its bytes.

    Raises:
        HunkFault: it is incomplete, contradicts itself, or must not be applied.
    """
    at = section.start + 1
    kind, old, new = _named(section)
    paths = [decode(name) if name else None for name in (old, new)]
    if paths == [None, None]:
        raise HunkFault("cannot tell which file is meant", at)
    for path in paths:
        why = refusal(path) if path is not None else ""
        if why:
            raise HunkFault(f"refused: {why}", at)
    old_mode, new_mode = _modes(section.facts, kind, at)
    if old_mode is not None and new_mode is not None and old_mode[:2] != new_mode[:2]:
        raise HunkFault("a file becomes another kind in one step", at)
    if section.git:
        why = _contradiction(section, kind, old, new)
        if why:
            raise HunkFault(why, at)
    elif kind is Kind.MODIFY:
        paths = [paths[1], paths[1]]  # plain diffs name a copy such as `x.orig` on the old side
    return FilePatch(
        kind=kind,
        old_path=paths[0] if kind is not Kind.ADD else None,
        new_path=paths[1] if kind is not Kind.DELETE else None,
        old_mode=old_mode,
        new_mode=new_mode,
        old_blob=_known(section.facts.get("old blob")),
        new_blob=_known(section.facts.get("new blob")),
        binary=section.binary,
        hunks=section.hunks,
        section=raw,
    )


def _named(section: Section) -> tuple[Kind, bytes, bytes]:
    """What is done to which file: old and new name, b"" on the side that has none."""
    facts = section.facts
    for kind, word in ((Kind.RENAME, "rename"), (Kind.COPY, "copy")):
        if f"{word} from" in facts and f"{word} to" in facts:
            return kind, facts[f"{word} from"], facts[f"{word} to"]
    names = (section.old, section.new) if section.old is not None else section.names
    if names is None:
        raise HunkFault("cannot tell which file is meant", section.start + 1)
    old, new = _strip(*names)
    if section.names is not None and _NULL in names:
        # One name alone cannot tell a prefix; the git header has both.
        both = _strip(*section.names)
        old, new = (None if old is None else both[0]), (None if new is None else both[1])
    if names[0] == _NULL or "new file mode" in facts or _starts_at_nothing(section):
        return Kind.ADD, b"", new or b""
    if names[1] == _NULL or "deleted file mode" in facts:
        return Kind.DELETE, old or b"", b""
    return Kind.MODIFY, old or b"", new or b""


def _contradiction(  # noqa: PLR0911  (one per rule)
    section: Section, kind: Kind, old: bytes, new: bytes
) -> str:
    """How the parts of a git header contradict one another, "" if they do not."""
    facts = section.facts
    for word in ("rename", "copy"):
        if (f"{word} from" in facts) != (f"{word} to" in facts):
            return f"the header has one end of a {word} only"
    if len({"rename to", "copy to"} & facts.keys()) > 1:
        return "the header is a rename and a copy"
    one_sided = {"new file mode", "deleted file mode"} & facts.keys()
    wanted = {Kind.ADD: {"new file mode"}, Kind.DELETE: {"deleted file mode"}}.get(kind, set())
    if one_sided != wanted:
        return "the header's modes do not fit what it does to the file"
    if kind is Kind.MODIFY and old != new:
        return "two different files are named, and no rename"
    gone = {Kind.ADD: section.old, Kind.DELETE: section.new}.get(kind)
    if gone not in (None, _NULL):
        return "an added or deleted file is named on both sides"
    if not _changes_something(section, kind):
        return "a file header without a change"
    for name, header in ((old, section.old), (new, section.new)):
        if name and header is not None and name not in (header, header.partition(b"/")[2]):
            return "the header names one file and the hunks another"
    listed = _strip(*section.names)[0] if section.names is not None else None
    if kind is Kind.MODIFY and listed not in (None, old):
        return "the header names one file and the hunks another"
    return ""


def _strip(old: bytes | None, new: bytes | None) -> tuple[bytes | None, bytes | None]:
    """Take the prefixes ``a/`` and ``b/`` (or their kin) off, as ``git apply -p1`` does.

    Two equal names without a known prefix have none (``diff.noprefix``) and stay as they are.
    """
    names = [name for name in (old, new) if name not in (None, _NULL)]
    first = names[0].partition(b"/")[0] if names and names[0] is not None else b""
    bare = len(names) == 2 and names[0] == names[1] and first not in _PREFIXES  # noqa: PLR2004
    prefixed = not bare and all(name is not None and b"/" in name for name in names)

    def stripped(name: bytes | None) -> bytes | None:
        if name is None or name == _NULL:
            return None
        return name.partition(b"/")[2] if prefixed else name

    return stripped(old), stripped(new)


def _changes_something(section: Section, kind: Kind) -> bool:
    return (
        bool(section.hunks)
        or section.binary is not Binary.NO
        or kind is not Kind.MODIFY
        or ("old mode" in section.facts and "new mode" in section.facts)
    )


def _starts_at_nothing(section: Section) -> bool:
    """A plain diff of a new file may name it on both sides; its one hunk then starts at 0,0."""
    return (
        section.names is None
        and len(section.hunks) == 1
        and section.hunks[0].old_start == 0
        and not section.hunks[0].old
    )


def _modes(facts: dict[str, bytes], kind: Kind, at: int) -> tuple[str | None, str | None]:
    old = facts.get("old mode") or facts.get("deleted file mode") or facts.get("mode")
    new = facts.get("new mode") or facts.get("new file mode") or facts.get("mode")
    for mode in (old, new):
        if mode is not None and not _MODE.fullmatch(mode):
            raise HunkFault(f"unknown file mode {mode.decode('ascii', 'replace')}", at)
    return (
        old.decode("ascii") if old is not None and kind is not Kind.ADD else None,
        new.decode("ascii") if new is not None and kind is not Kind.DELETE else None,
    )


def _known(blob: bytes | None) -> str | None:
    if blob is None or set(blob) == {ord("0")}:
        return None
    return blob.decode("ascii")
