"""Every kind of pin file but our own: where the value stands, and the bytes after a move.

Touches no file; only ``.gitmodules`` is handed to git, to be parsed.

Only the wanted bytes change: no file is written out again from a parsed form. Where a parser tells
which value is meant, each place that spells it is tried, and the one whose parsed result differs in
exactly that key is taken.
"""

from __future__ import annotations

import codecs
import copy
import json
import re
import tomllib
from collections.abc import Callable
from typing import Any

from tracker.config import PinTable
from tracker.errors import ConfigError, TrackError
from tracker.git.calls import run_git

_Parse = Callable[[str], Any]
_VERSION_LINE = re.compile(r"^[ \t]*([^#\s]\S*)[ \t]*(?:[ \t]#[^\n]*)?\r?$", re.M)
_KEY_PART = re.compile(r'"([^"]+)"|([^".]+)')
_KEY = re.compile(rf"(?:{_KEY_PART.pattern})(?:\.(?:{_KEY_PART.pattern}))*")


def value_of(table: PinTable, content: bytes) -> str:
    """What the file says now.

    Raises:
        ConfigError: it says nothing, several different things, or is not what was configured.
    """
    text = _text(table, content)
    if table.kind == "key":
        return _key_value(table, text)
    spans = _spans(table, text)
    values = {text[start:end]: _line(text, start) for start, end in reversed(spans)}
    if len(values) > 1:
        said = (f"line {line} says {value}" for value, line in reversed(values.items()))
        raise ConfigError(f"the places of this pin disagree: {', '.join(said)}", where=table.path)
    return values.popitem()[0]


def lines_of(table: PinTable, content: bytes) -> tuple[int, ...]:
    """The 1-based lines where the value stands; raises as ``value_of``."""
    text = _text(table, content)
    return tuple(sorted({_line(text, start) for start, _ in _spans(table, text)}))


def rewritten(table: PinTable, content: bytes, value: str) -> bytes:
    """``content`` with ``value`` in place of what it says now; every other byte stays.

    Raises:
        ConfigError: as ``value_of``, or the value's place in the file cannot be told.
    """
    value_of(table, content)
    text = _text(table, content)
    for start, end in sorted(_spans(table, text), reverse=True):
        text = text[:start] + value + text[end:]
    after = (codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b"") + text.encode("utf-8")
    try:
        read_back = value_of(table, after)
    except ConfigError as fault:
        read_back = fault.what
    if read_back != value:
        raise ConfigError(
            f"with {value} in it this pin could not be found again: {read_back}",
            where=f"{table.path}, pin {table.name}",
            next_step="widen `pattern`, or quote the value in the file",
        )
    return after


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _spans(table: PinTable, text: str) -> list[tuple[int, int]]:
    match table.kind:
        case "version-file":
            return [_version_span(table, text)]
        case "pattern":
            return _pattern_spans(table, text)
        case _:
            return [_key_span(table, text)]


def _text(table: PinTable, content: bytes) -> str:
    try:
        return content.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigError("the pin file is not UTF-8", where=table.path) from None


def _version_span(table: PinTable, text: str) -> tuple[int, int]:
    """The one word of the one line that is neither empty nor a comment."""
    found = [match.span(1) for match in _VERSION_LINE.finditer(text)]
    lines = [
        line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")
    ]
    if len(found) != 1 or len(lines) != 1:
        raise ConfigError(
            f"expected one line with one value beside the comments, found {len(lines)}"
            + (f": {lines[0][:40]!r}" if len(lines) == 1 else ""),
            where=table.path,
        )
    return found[0]


def _pattern_spans(table: PinTable, text: str) -> list[tuple[int, int]]:
    where = f"{table.path}, pin {table.name}"
    try:
        shape = re.compile(table.pattern or "", re.M)
    except re.error as fault:
        raise ConfigError(f"`pattern` is no regular expression: {fault}", where=where) from None
    if not table.pattern or shape.groups != 1:
        raise ConfigError("`pattern` needs exactly one group: the value", where=where)
    spans = [match.span(1) for match in shape.finditer(text)]
    if any(start == end for start, end in spans):
        raise ConfigError("`pattern` matches without a value in its group", where=where)
    if len(spans) != table.matches:
        raise ConfigError(
            f"`pattern` was found {len(spans)} times, expected {table.matches}",
            where=where,
            next_step="correct `pattern` or `matches`: a missed place would keep the old pin",
        )
    return spans


def _steps(table: PinTable) -> list[str]:
    """The parts of the dotted key; ``"a.b".c`` has two."""
    key = table.key or ""
    where = f"{table.path}, pin {table.name}"
    if not key:
        raise ConfigError("a pin of kind `key` needs `key`", where=where)
    if not _KEY.fullmatch(key):
        raise ConfigError(
            f"`key` is no dotted key: {key}",
            where=where,
            next_step='quote a part that holds a dot: dependencies."llama.cpp"',
        )
    return [quoted or bare for quoted, bare in _KEY_PART.findall(key)]


def _parser(table: PinTable) -> _Parse:
    def yaml(text: str) -> Any:
        from ruamel.yaml import YAML

        return YAML(typ="safe", pure=True).load(text)

    suffix = table.path.rpartition(".")[2].lower()
    known: dict[str, _Parse] = {
        "json": json.loads,
        "toml": tomllib.loads,
        "yaml": yaml,
        "yml": yaml,
        "gitmodules": git_config,
    }
    parse = known.get(suffix)
    if parse is None:
        raise ConfigError(
            "a pin of kind `key` is a .json, .toml, .yaml or .yml file, or .gitmodules",
            where=table.path,
        )

    def checked(text: str) -> Any:
        try:
            return parse(text)
        except Exception as fault:
            why = " ".join(str(fault).split())
            raise ConfigError(f"cannot be parsed: {why}", where=table.path) from None

    return checked


def _at(tree: Any, steps: list[str]) -> Any:
    for step in steps:
        if isinstance(tree, list) and step.isdigit() and int(step) < len(tree):
            tree = tree[int(step)]
        elif isinstance(tree, dict) and step in tree:
            tree = tree[step]
        else:
            return None
    return tree


def git_config(text: str) -> dict[str, Any]:
    """section -> name -> key -> value; of a key that stands there several times, the last value."""
    said = run_git(["config", "-z", "--list", "-f", "-"], stdin=text.encode()).stdout
    tree: dict[str, Any] = {}
    for entry in said.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        key, _, value = entry.partition("\n")
        section, _, rest = key.partition(".")
        name, _, last = rest.rpartition(".")
        tree.setdefault(section, {}).setdefault(name, {})[last] = value
    return tree


def _key_value(table: PinTable, text: str) -> str:
    found = _at(_parser(table)(text), _steps(table))
    if not isinstance(found, str):
        raise ConfigError(
            "the key is missing, or its value is no string", where=f"{table.path} {table.key}"
        )
    return found


def _key_span(table: PinTable, text: str) -> tuple[int, int]:
    """The place of the value under the key: another value there changes that key only."""
    parse, steps = _parser(table), _steps(table)
    old = _key_value(table, text)
    other = f"{old}0"
    wanted = copy.deepcopy(parse(text))
    holder = _at(wanted, steps[:-1])
    holder[int(steps[-1]) if isinstance(holder, list) else steps[-1]] = other
    for match in re.finditer(re.escape(old), text):
        start, end = match.span()
        try:
            result = parse(text[:start] + other + text[end:])
        except TrackError:
            continue
        if result == wanted:
            return start, end
    raise ConfigError(
        f"the value {old!r} is not spelled out under its key", where=f"{table.path} {table.key}"
    )
