"""Paths in patches: unquoting as git quotes them, and refusing those that leave the tree."""

from __future__ import annotations

import re

_ESCAPES = {
    ord("a"): 7,
    ord("b"): 8,
    ord("t"): 9,
    ord("n"): 10,
    ord("v"): 11,
    ord("f"): 12,
    ord("r"): 13,
    ord('"'): 34,
    ord("\\"): 92,
}
# Code points that HFS+ ignores in names: ".g\u200cit" is ".git" there.
_IGNORED = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
_DOT_GIT = re.compile(r"(\.git|git~\d+)[ .]*(:.*)?", re.IGNORECASE)


def unquote(text: bytes) -> tuple[bytes, bytes] | None:
    """A C-quoted name at the start of ``text`` and what follows it; None if it is not closed."""
    out = bytearray()
    position = 1
    while position < len(text):
        byte = text[position]
        if byte == ord('"'):
            return bytes(out), text[position + 1 :]
        if byte != ord("\\"):
            out.append(byte)
            position += 1
            continue
        octal = re.match(rb"[0-3][0-7]{2}", text[position + 1 :])
        if octal:
            out.append(int(octal.group(), 8))
            position += 4
        elif position + 1 < len(text) and text[position + 1] in _ESCAPES:
            out.append(_ESCAPES[text[position + 1]])
            position += 2
        else:
            return None
    return None


def decode(path: bytes) -> str:
    """UTF-8; other bytes as surrogate escapes, so that they go back to git unchanged."""
    return path.decode("utf-8", "surrogateescape")


def refusal(path: str) -> str:
    """Why ``path`` must not be touched, "" if it may."""
    if "\0" in path:
        return "path holds a NUL byte"
    if path.startswith(("/", "\\")) or re.match(r"[A-Za-z]:[\\/]", path):
        return f"path {path!r} is absolute"
    for part in re.split(r"[/\\]", path):
        if part == "..":
            return f"path {path!r} leaves the tree"
        if part in ("", "."):
            return f"path {path!r} is not in its plain form"
        if _DOT_GIT.fullmatch(part.translate(_IGNORED)):
            return f"path {path!r} reaches into .git"
    return ""
