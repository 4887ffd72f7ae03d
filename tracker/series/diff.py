"""The diff part of a patch file: which files it changes, and how.

Reads git's extended headers (renames, modes, empty files, binary data, quoted names) and plain
``---``/``+++`` headers, also several in a row. Whatever cannot be read makes the patch unusable,
with the line; a part is never dropped silently.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracker.series.hunks import HunkFault, read_hunks
from tracker.series.patch import Binary, FilePatch
from tracker.series.paths import unquote
from tracker.series.sections import Section, file_patch

_EXTENDED = (
    b"old mode ",
    b"new mode ",
    b"deleted file mode ",
    b"new file mode ",
    b"copy from ",
    b"copy to ",
    b"rename from ",
    b"rename to ",
    b"rename old ",
    b"rename new ",
    b"similarity index ",
    b"dissimilarity index ",
    b"index ",
)
_INDEX = re.compile(rb"index ([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: (\d{6}))?\s*$")


def read_diff(lines: Sequence[bytes], start: int) -> tuple[FilePatch, ...]:
    """The changed files from index ``start`` on, in file order.

    Raises:
        HunkFault: something there cannot be read, or must not be applied.
    """
    files: list[FilePatch] = []
    position = start
    while position < len(lines):
        line = lines[position]
        if line.startswith(b"diff --git ") or _is_plain_header(lines, position):
            section, position = _read_section(lines, position)
            files.append(file_patch(section, b"".join(lines[section.start : position])))
        elif line.startswith((*_EXTENDED, b"+++ ")) and _looks_like_header(line):
            raise HunkFault("a header line that belongs to no file", position + 1)
        elif line.startswith((b"@@ -", b"GIT binary patch")):
            raise HunkFault("a hunk without a file name before it", position + 1)
        elif line.startswith(b"Binary files ") and line.rstrip().endswith(b" differ"):
            raise HunkFault("binary data missing (the patch only says that files differ)", position)
        else:
            position += 1  # prose between files, `Index:` lines, the mail's signature
    return tuple(files)


def _looks_like_header(line: bytes) -> bool:
    """Not a sentence that begins with the same word."""
    return line.startswith((b"+++ ", b"rename ", b"copy ")) or bool(
        re.match(rb"(index [0-9a-f]+\.\.|(dis)?similarity index \d|[a-z ]*mode \d{6})", line)
    )


def _is_plain_header(lines: Sequence[bytes], position: int) -> bool:
    return (
        position + 1 < len(lines)
        and lines[position].startswith(b"--- ")
        and lines[position + 1].startswith(b"+++ ")
    )


def _read_section(lines: Sequence[bytes], start: int) -> tuple[Section, int]:
    section = Section(start)
    position = start
    if lines[position].startswith(b"diff --git "):
        section.git = True
        section.names = _split_names(_clean(lines[position])[len(b"diff --git ") :])
        position += 1
        while position < len(lines) and lines[position].startswith(_EXTENDED):
            _read_extended(section, _clean(lines[position]))
            position += 1
    if position < len(lines) and lines[position].startswith(b"GIT binary patch"):
        section.binary = Binary.DATA
        return section, _behind_binary(lines, position)
    if position < len(lines) and lines[position].startswith(b"Binary files "):
        section.binary = Binary.MISSING
        return section, position + 1
    if _is_plain_header(lines, position):
        section.old = _header_name(lines[position], position)
        section.new = _header_name(lines[position + 1], position + 1)
        section.hunks, position = read_hunks(lines, position + 2)
        if not section.hunks:
            raise HunkFault("a file header without a hunk", position + 1)
    return section, position


def _behind_binary(lines: Sequence[bytes], position: int) -> int:
    """The index behind the ``literal`` and ``delta`` blocks."""
    position += 1
    blocks = 0
    while position < len(lines) and re.match(rb"(literal|delta) \d+\s*$", lines[position]):
        position += 1
        while position < len(lines) and lines[position].strip():
            position += 1
        if position < len(lines):
            position += 1
        blocks += 1
    if not blocks:
        raise HunkFault("binary data missing", position)
    return position


def _read_extended(section: Section, line: bytes) -> None:
    index = _INDEX.match(line)
    if index:
        section.facts["old blob"], section.facts["new blob"] = index[1], index[2]
        if index[3]:
            section.facts["mode"] = index[3]
        return
    for key in ("old mode", "new mode", "deleted file mode", "new file mode"):
        if line.startswith(key.encode() + b" "):
            section.facts[key] = line[len(key) + 1 :].strip()
            return
    for key, words in {
        "rename from": (b"rename from ", b"rename old "),
        "rename to": (b"rename to ", b"rename new "),
        "copy from": (b"copy from ",),
        "copy to": (b"copy to ",),
    }.items():
        for word in words:
            if line.startswith(word):
                section.facts[key] = _name(line[len(word) :])
                return


def _clean(line: bytes) -> bytes:
    return line.rstrip(b"\r\n")


def _name(text: bytes) -> bytes:
    """A name that fills the rest of a line, perhaps quoted."""
    if text.startswith(b'"'):
        found = unquote(text)
        if found is not None:
            return found[0]
    return text


def _header_name(line: bytes, position: int) -> bytes:
    """The name in a ``---`` or ``+++`` line; a tab or a time stamp may follow."""
    text = _clean(line)[4:]
    if text.startswith(b'"'):
        found = unquote(text)
        if found is None:
            raise HunkFault("the quoted file name is not closed", position + 1)
        return found[0]
    name = text.split(b"\t", 1)[0]
    stamp = re.search(rb"\s+\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?.*$", name)
    return name[: stamp.start()] if stamp else name.rstrip(b" ") or name


def _split_names(text: bytes) -> tuple[bytes, bytes] | None:
    """The two names of a ``diff --git`` line; None where only other headers can tell."""
    if text.startswith(b'"'):
        first = unquote(text)
        if first is None or not first[1].startswith(b" "):
            return None
        return first[0], _name(first[1][1:])
    if text.endswith(b'"') and b' "' in text:
        left, _, right = text.partition(b' "')
        second = unquote(b'"' + right)
        return (left, second[0]) if second is not None else None
    middle, odd = divmod(len(text), 2)
    if odd and text[middle : middle + 1] == b" ":
        left, right = text[:middle], text[middle + 1 :]
        if left == right or left.partition(b"/")[2] == right.partition(b"/")[2]:
            return left, right
    if text.count(b" ") == 1:
        left, _, right = text.partition(b" ")
        return left, right
    return None
