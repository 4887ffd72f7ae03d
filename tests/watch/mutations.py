"""Edits of real source made from a seed: such that change the code, and such that do not.

Written apart from the tool: its own small tokenizer, so a fault of the tool's lexer shows.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

_PIECE = re.compile(
    r"(?P<blank>\s+)|(?P<remark>//[^\n]*|/\*.*?\*/)|(?P<string>\"(?:\\.|[^\"\\\n])*\")"
    r"|(?P<char>'(?:\\.|[^'\\\n])')|(?P<word>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)"
    r"|(?P<mark><<=|>>=|->|::|\+\+|--|&&|\|\||[-+*/%&|^=!<>]=|<<|>>|.)",
    re.DOTALL,
)
_OTHER = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "+=": "-=", "-=": "+=", "++": "--", "--": "++", "true": "false",
    "false": "true", "break": "continue", "continue": "break", "int32_t": "int64_t",
    "uint32_t": "int32_t", "const": "volatile", "bool": "int",
}  # fmt: skip
_CALLS = re.compile(r"\b(if|while) \(")


@dataclass(frozen=True)
class Edit:
    """``what``: for the test's message. ``start``..``end``: bytes of the old text it touched."""

    what: str
    text: bytes
    start: int
    end: int


def _pieces(text: str) -> list[tuple[str, str, int]]:
    return [(m.lastgroup or "", m.group(), m.start()) for m in _PIECE.finditer(text)]


def change(random_: random.Random, source: bytes, first: int, last: int) -> Edit:
    """One edit that changes the code between the byte offsets."""
    text = source[first:last].decode()
    pieces = _pieces(text)
    kinds = ["operator", "number", "string", "word", "drop", "twice", "swap", "negate", "insert"]
    while True:
        kind = random_.choice(kinds)
        made = _change(kind, random_, text, pieces)
        if made is None:
            continue
        at, size, new = made
        if text[at : at + size] == new:
            continue
        edited = text[:at] + new + text[at + size :]
        what = f"{kind}: {text[at : at + size]!r} -> {new!r}"
        return Edit(
            what, source[:first] + edited.encode() + source[last:], first + at, first + at + size
        )


def _change(
    kind: str, random_: random.Random, text: str, pieces: list[tuple[str, str, int]]
) -> tuple[int, int, str] | None:
    """``(offset, length, replacement)``, None if the text has nothing of that kind."""
    code = [p for p in pieces if p[0] not in ("blank", "remark")]
    pick = {
        "operator": [p for p in code if p[1] in _OTHER],
        "number": [p for p in code if p[0] == "number" and p[1].isdigit()],
        "string": [p for p in code if p[0] == "string" and len(p[1]) > 2],
        "word": [p for p in code if p[0] == "word" and p[1] not in _OTHER],
        "insert": [p for p in code if p[1] == ";"],
        "negate": [("", m.group(), m.start()) for m in _CALLS.finditer(text)],
    }
    if kind in pick:
        if not pick[kind]:
            return None
        _, old, at = random_.choice(pick[kind])
        new = {
            "operator": lambda: _OTHER[old],
            "number": lambda: str(int(old) + random_.randint(1, 9)),
            "string": lambda: f'{old[:-1]}{random_.choice("xyz")}"',
            "word": lambda: f"{old}_{random_.choice('abc')}",
            "insert": lambda: f"; side_effect({random_.randint(0, 99)});",
            "negate": lambda: f"{old}!",
        }[kind]()
        return at, len(old), new
    inner = [i for i, p in enumerate(code) if p[1] == ";"]
    if kind in ("drop", "twice"):
        starts = [
            (code[a][2] + 1, code[b][2] + 1)
            for a, b in pairwise(inner)
            if _balanced(p[1] for p in code[a + 1 : b])
        ]
        if not starts:
            return None
        begin, stop = random_.choice(starts)
        statement = text[begin:stop]
        return begin, stop - begin, "" if kind == "drop" else statement + statement
    words = [
        i for i in range(len(code) - 2)
        if code[i][0] == code[i + 2][0] == "word" and code[i + 1][1] in (",", "+", "<", ".", "->")
    ]  # fmt: skip
    if not words:
        return None
    i = random_.choice(words)
    begin, stop = code[i][2], code[i + 2][2] + len(code[i + 2][1])
    middle = text[begin + len(code[i][1]) : code[i + 2][2]]
    return begin, stop - begin, code[i + 2][1] + middle + code[i][1]


def _balanced(words: Iterable[str]) -> bool:
    """A statement by itself: no brace, no half of a loop's head."""
    depth = 0
    for word in words:
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word in "{}" or depth < 0:
            return False
    return depth == 0


def restyle(random_: random.Random, source: bytes, first: int, last: int) -> Edit:
    """One edit of comments, white space or line breaks only."""
    text = source[first:last].decode()
    pieces = _pieces(text)
    blanks = [p for p in pieces if p[0] == "blank" and not _near_directive(text, p[2])]
    blanks = [p for p in blanks if text[: p[2]].strip()]  # in front of all is outside
    remarks = [p for p in pieces if p[0] == "remark"]
    kinds = ["comment", "block", "break", "indent", "trailing", "blank-line", "crlf"]
    kinds += ["reword", "uncomment"] if remarks else []
    kind = random_.choice(kinds)
    if kind in ("reword", "uncomment"):
        _, old, at = random_.choice(remarks)
        inside = f" reworded {random_.randint(0, 99)}: if (x) {{ \" ' return; "
        new = f"//{inside}" if old.startswith("//") else f"/*{inside}*/"
        new = new if kind == "reword" else ""
    elif kind == "crlf":
        at, old, new = 0, text, text.replace("\n", "\r\n")
    else:
        _, old, at = random_.choice(blanks)
        new = {
            "comment": f' // note {random_.randint(0, 99)} "{{(\n{old}',
            "block": f"{old}/* note {random_.randint(0, 99)} */ ",
            "break": f"\n{old}\n\t",
            "indent": old.replace("\n", "\n  ") if "\n" in old else old + "   ",
            "trailing": " \t" + old,
            "blank-line": old + "\n\n" + " " * random_.randint(1, 9),
        }[kind]
    edited = text[:at] + new + text[at + len(old) :]
    return Edit(
        f"{kind} at {at}",
        source[:first] + edited.encode() + source[last:],
        first + at,
        first + at + len(old),
    )


def _near_directive(text: str, at: int) -> bool:
    """White space means something on a preprocessor line."""
    start = text.rfind("\n", 0, at) + 1
    stop = text.find("\n", at)
    return text[start : stop if stop >= 0 else len(text)].lstrip().startswith("#")
