"""What the carried patches lean on: the functions their changed lines call, the types whose fields
they touch.

A patch can apply to the letter and mean something else, because a callee got another signature or a
field another type. These regions are derived from the patches, not configured; they are advisory.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tracker.config import RegionTable
from tracker.source import Kind, is_cpp
from tracker.source.lexer import Token, lex
from tracker.watch.library import Known, Library
from tracker.watch.snapshot import Files

PREFIX = "called:"
_NOT_CALLS = frozenset(
    b"if for while switch return sizeof catch alignof decltype static_cast const_cast "
    b"dynamic_cast reinterpret_cast noexcept throw new delete defined".split()
)
_FUNCTIONS = frozenset({Kind.FUNCTION, Kind.DECLARATION, Kind.MACRO})
_HEADERS = frozenset({".h", ".hpp", ".hh", ".hxx", ".cuh"})
_MOST = 3  # definitions of one name; with more of them the name says too little


_LOOK_BACK = 128  # bytes in front of a variable that hold its type
_DECLARED = re.compile(rb"\b([A-Za-z_][\w:]*)(?:\s+|\s*(?:const\s*)?[&*]{1,2}\s*)(?:const\s+)?\Z")


@dataclass(frozen=True, slots=True)
class Touched:
    """The lines that ``patch`` adds to or removes from ``path`` (of the revision it is for)."""

    patch: str
    path: str
    lines: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class _Use:
    """``owner``: the word before ``.`` or ``->``, None for a plain call."""

    owner: bytes | None
    name: bytes
    called: bool


def dependencies(files: Files, touched: Sequence[Touched]) -> tuple[RegionTable, ...]:
    """The regions that the patches' changed lines lean on, by name; not what they add."""
    found: dict[str, RegionTable] = {}
    for item in touched:
        source = files.read(item.path)
        if source is None or not is_cpp(item.path):
            continue
        library = Library(files, item.path)
        for use in sorted(_uses(item.lines), key=lambda use: (use.name, use.owner or b"")):
            types = _types_of(use.owner, source) if use.owner else frozenset()
            chosen = _functions(use, types, library) if use.called else _type(use, types, library)
            for selector, name in chosen:
                found.setdefault(
                    selector, RegionTable(name=f"{PREFIX}{name}", selector=selector, blocking=False)
                )
    return _unique(sorted(found.values(), key=lambda table: (table.name, table.selector)))


def _unique(tables: list[RegionTable]) -> tuple[RegionTable, ...]:
    """A name that stands in several files is told apart by the file."""
    names = [table.name for table in tables]
    return tuple(
        RegionTable(
            name=f"{table.name}@{table.selector.partition('::')[0]}", selector=table.selector
        )
        if names.count(table.name) > 1
        else table
        for table in tables
    )


def _uses(lines: Iterable[bytes]) -> set[_Use]:
    """Every call and every member access in the lines; each line is read by itself."""
    found: set[_Use] = set()
    for line in lines:
        code = [token for token in lex(line) if token.kind != "directive"]
        for place, token in enumerate(code):
            if token.kind != "word" or token.text in _NOT_CALLS:
                continue
            before = code[place - 1].text if place else b""
            after = code[place + 1].text if place + 1 < len(code) else b""
            owner = _owner(code, place) if before in (b".", b"->") else None
            qualified = before == b"::"
            if after == b"(" and not qualified and not _declares(code, place):
                found.add(_Use(owner, token.text, called=True))
            elif owner is not None:
                found.add(_Use(owner, token.text, called=False))
    return found


def _owner(code: list[Token], place: int) -> bytes | None:
    """The variable whose member stands at ``place``; None where an expression owns it."""
    if place >= 2 and code[place - 2].kind == "word":  # noqa: PLR2004
        return code[place - 2].text
    return b""


def _declares(code: list[Token], place: int) -> bool:
    """``type name(`` is a declaration, not a call."""
    if not place:
        return False
    before = code[place - 1]
    return before.kind == "word" and before.text not in {b"return", b"else", b"case", b"throw"}


def _types_of(owner: bytes | None, source: bytes) -> frozenset[str]:
    """The type names that ``owner`` is declared with in the file; empty for auto or none."""
    if not owner:
        return frozenset()
    words = {
        match[1].decode("ascii", "replace")
        for use in re.finditer(re.escape(owner) + rb"\s*[,)=;{]", source)
        for match in [_DECLARED.search(source, max(0, use.start() - _LOOK_BACK), use.start())]
        if match is not None
    }
    return frozenset(words - {"auto", "const", "return", "else", "case", "new", "delete"})


def _functions(use: _Use, types: frozenset[str], library: Library) -> list[tuple[str, str]]:
    """``(selector, name)`` of what may be called; declarations stand for definitions elsewhere."""
    known = [k for k in library.by_last_name(use.name.decode()) if k.definition.kind in _FUNCTIONS]
    if use.owner is None:
        known = [k for k in known if k.definition.kind is Kind.MACRO or not _is_member(k)]
    elif types:
        known = [k for k in known if _class_of(k) in types]
    declared = [k for k in known if _in_header(k)] or known
    names = {k.definition.name for k in declared}
    if not 0 < len(names) <= _MOST:
        return []
    return [(_call_selector(k), k.definition.name) for k in declared]


def _call_selector(known: Known) -> str:
    """A callee that stands in a header is compiled into the caller: its body counts too."""
    item = known.definition
    whole = item.kind is Kind.MACRO or (item.kind is Kind.FUNCTION and _in_header(known))
    return f"{known.path}::{item.name}" + ("" if whole else " @signature")


def _type(use: _Use, types: frozenset[str], library: Library) -> list[tuple[str, str]]:
    """The type whose field is used: by the owner's declared type, else the own header's one."""
    last = sorted({name.rpartition("::")[2] for name in types})
    known = [k for name in last for k in library.types_named(name)]
    if not known:
        field = re.compile(rb"\b" + re.escape(use.name) + rb"\b")
        known = [
            k for k in library.types_in(_own_header(library.start)) if field.search(_own_fields(k))
        ]
    names = {k.definition.name for k in known}
    if len(names) != 1:
        return []
    return [(f"{k.path}::{k.definition.name} @fields", k.definition.name) for k in known[:1]]


@lru_cache(maxsize=256)
def _own_fields(known: Known) -> bytes:
    """The type's text without functions and nested types: what braces enclose is cut out."""
    body = known.text.partition(b"{")[2].rpartition(b"}")[0]
    flat: list[bytes] = []
    depth = 0
    for token in lex(body):
        depth += {b"{": 1, b"(": 1, b"}": -1, b")": -1}.get(token.text, 0)
        if depth == 0 and token.kind == "word":
            flat.append(token.text)
    return b" ".join(flat)


def _is_member(known: Known) -> bool:
    return known.definition.name.count("::") > known.definition.namespaces


def _class_of(known: Known) -> str:
    return known.definition.name.rpartition("::")[0].rpartition("::")[2]


def _in_header(known: Known) -> bool:
    return posixpath.splitext(known.path)[1] in _HEADERS


def _own_header(path: str) -> Iterator[str]:
    stem, suffix = posixpath.splitext(path)
    yield from [path] if suffix in _HEADERS else (stem + header for header in sorted(_HEADERS))
