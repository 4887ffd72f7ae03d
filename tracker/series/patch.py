"""A carried patch as a value: its mail, its files, its hunks, byte by byte.

Content stays bytes, split at LF only: a lone CR or a form feed is part of a line. Only names and
texts for people are decoded, bytes that are not UTF-8 as surrogate escapes or replacements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


class Kind(StrEnum):
    """What a patch does to one file."""

    MODIFY = "modify"
    ADD = "add"
    DELETE = "delete"
    RENAME = "rename"
    COPY = "copy"


class Binary(StrEnum):
    """Whether a file's change is binary, and whether the patch carries the bytes."""

    NO = "no"
    DATA = "data"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a hunk. ``mark``: ``" "``, ``"-"`` or ``"+"``. ``text`` ends in LF, or has none
    where the patch says that the file has none.
    """

    mark: str
    text: bytes


@dataclass(frozen=True, slots=True)
class Group:
    """A run of changed lines without context inside.

    ``start``: index (0-based) into the old file, as the patch counts it. ``removed`` and ``added``:
    lines with their LF. ``new_start``: the same for the new file.
    """

    start: int
    new_start: int
    removed: tuple[bytes, ...]
    added: tuple[bytes, ...]


@dataclass(frozen=True)
class Hunk:
    """A hunk. ``old_start`` and ``new_start``: 1-based; 0 where that side is empty.

    ``label``: what stands behind the second ``@@``. ``at``: 1-based line of its header in the patch
    file.
    """

    old_start: int
    new_start: int
    label: bytes
    lines: tuple[Line, ...]
    at: int

    @cached_property
    def old(self) -> tuple[bytes, ...]:
        """Context and removed lines."""
        return tuple(line.text for line in self.lines if line.mark != "+")

    @cached_property
    def new(self) -> tuple[bytes, ...]:
        """Context and added lines."""
        return tuple(line.text for line in self.lines if line.mark != "-")

    @cached_property
    def added(self) -> tuple[bytes, ...]:
        return tuple(line.text for line in self.lines if line.mark == "+")

    @cached_property
    def removed(self) -> tuple[bytes, ...]:
        return tuple(line.text for line in self.lines if line.mark == "-")

    @property
    def first(self) -> int:
        """0-based index of the first old line; without old lines, of where it inserts."""
        return self.old_start - 1 if self.old else self.old_start

    @cached_property
    def leading(self) -> int:
        """How many lines of context stand before the first change."""
        for count, line in enumerate(self.lines):
            if line.mark != " ":
                return count
        return len(self.lines)

    @cached_property
    def trailing(self) -> int:
        """How many lines of context stand behind the last change."""
        for count, line in enumerate(reversed(self.lines)):
            if line.mark != " ":
                return count
        return len(self.lines)

    def groups(self) -> Iterator[Group]:
        """The runs of changed lines, positions relative to the hunk's own first line."""
        old = new = 0
        removed: list[bytes] = []
        added: list[bytes] = []
        for line in (*self.lines, Line(" ", b"")):
            if line.mark == "-":
                removed.append(line.text)
            elif line.mark == "+":
                added.append(line.text)
            else:
                if removed or added:
                    yield Group(old, new, tuple(removed), tuple(added))
                    old, new = old + len(removed), new + len(added)
                    removed, added = [], []
                old, new = old + 1, new + 1


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The change of one file; paths from the tree's top, None on the side that has no such file.

    ``old_mode``, ``new_mode``: six octal digits where the patch tells them. ``old_blob``,
    ``new_blob``: ids of the ``index`` line, maybe abbreviated. ``section``: the bytes of this
    file's part of the patch.
    """

    kind: Kind
    old_path: str | None
    new_path: str | None
    old_mode: str | None
    new_mode: str | None
    old_blob: str | None
    new_blob: str | None
    binary: Binary
    hunks: tuple[Hunk, ...]
    section: bytes

    @property
    def path(self) -> str:
        """The path by which a reader knows it: the old one, the new one for an added file."""
        found = self.old_path if self.old_path is not None else self.new_path
        return found if found is not None else ""

    @property
    def result_path(self) -> str | None:
        """Where the file stands afterwards, None if it is deleted."""
        return self.new_path


@dataclass(frozen=True, slots=True)
class Patch:
    """One patch file. ``name``: its file name. ``subject``: for people, without ``[PATCH n/m]``.

    ``description``: the message under the subject. ``fault``: why it cannot be used, "" if it can.
    ``crlf``: the file's own line ends are CRLF, so content may have to lose a CR.
    ``remarks``: what was mended while reading, one sentence each.
    """

    name: str
    raw: bytes
    subject: str
    description: str
    files: tuple[FilePatch, ...]
    fault: str = ""
    crlf: bool = False
    remarks: tuple[str, ...] = ()

    @property
    def hunk_count(self) -> int:
        return sum(len(file.hunks) for file in self.files)
