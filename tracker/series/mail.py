"""The envelope of a patch file: its headers and message, read for people, kept byte by byte.

A file may be a mail as ``git format-patch`` writes it, a diff under a few headers as quilt keeps
them, or a bare diff. Nothing here changes a byte; exporting copies the envelope as it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.header import decode_header, make_header

_PREFIX = re.compile(r"^(\[[^\]]*PATCH[^\]]*\]\s*|(re|fwd?):\s*)+", re.IGNORECASE)
_HEADER = re.compile(rb"([A-Za-z][A-Za-z0-9-]*):(?:[ \t](.*))?$", re.DOTALL)
_STAT = re.compile(rb" .+ \|\s+(\d+|Bin)|^ \d+ files? changed|^ (create|delete) mode|^ rename ")


@dataclass(frozen=True, slots=True)
class Envelope:
    """What stands before the diff. ``body_start``: index of the first line of the diff part.

    ``subject``: decoded, without ``[PATCH n/m]``, "" if there is none; other bracketed words stay.
    ``description``: the message, without subject, headers, notes under ``---`` and statistics.
    """

    subject: str
    description: str
    body_start: int


def read_envelope(lines: Sequence[bytes]) -> Envelope:
    """``lines``: of the whole file, LF included."""
    start = _diff_start(lines)
    headers, message_start = _headers(lines, start)
    message = list(lines[message_start:start])
    for index, line in enumerate(message):
        if line.rstrip(b"\r\n") == b"---":
            message = message[:index]
            break
    text = "".join(_plain(line) for line in message if not _STAT.match(line)).strip("\n")
    subject = _subject(headers.get("subject", b""))
    if not subject and not headers:
        # A plain diff under a few words: the first of them is what people know it by.
        first, _, rest = text.partition("\n")
        subject, text = first.strip(), rest
    return Envelope(subject, text.strip(), start)


def _diff_start(lines: Sequence[bytes]) -> int:
    for index, line in enumerate(lines):
        if line.startswith((b"diff --git ", b"@@ -", b"GIT binary patch")):
            return index
        if line.startswith(b"Binary files ") and line.rstrip().endswith(b" differ"):
            return index
        if line.startswith(b"Index: ") or (
            line.startswith(b"--- ")
            and index + 1 < len(lines)
            and lines[index + 1].startswith(b"+++ ")
        ):
            return index
    return len(lines)


def _headers(lines: Sequence[bytes], end: int) -> tuple[dict[str, bytes], int]:
    """Headers by lower-case name, folded lines joined; and the index behind them."""
    headers: dict[str, bytes] = {}
    position = 0
    # The line that begins a mail in a mailbox: of git with an id, of mail readers with an address.
    if end > 1 and lines[0].startswith(b"From ") and _HEADER.match(lines[1].rstrip(b"\r\n")):
        position = 1
    last = ""
    while position < end:
        line = lines[position].rstrip(b"\r\n")
        found = _HEADER.match(line)
        if found:
            last = found[1].decode("ascii").lower()
            headers.setdefault(last, (found[2] or b"").strip())
        elif line[:1] in (b" ", b"\t") and last:
            headers[last] += b" " + line.strip()
        else:
            break
        position += 1
    return headers, position


def _subject(raw: bytes) -> str:
    try:
        text = str(make_header(decode_header(raw.decode("latin-1"))))
    except (HeaderParseError, LookupError, UnicodeError, ValueError):
        text = ""
    if not re.search(rb"=\?[^?]+\?[bBqQ]\?", raw):
        text = _plain(raw)
    return _PREFIX.sub("", " ".join(text.split())).strip()


def _plain(line: bytes) -> str:
    return line.decode("utf-8", "replace").replace("\r\n", "\n")
