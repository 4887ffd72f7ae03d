"""Every kind of pin file but our own: where the value stands, and the bytes after a move. Pure.

Only the wanted bytes change: no file is written out again from a parsed form. Where a parser tells
which value is meant, each place that spells it is tried, and the one whose parsed result differs in
exactly that key is taken.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Callable
from typing import Any

from tracker.config import PinTable
from tracker.errors import ConfigError

_Parse = Callable[[str], Any]


def value_of(table: PinTable, content: bytes) -> str:
    """What the file says now.

    Raises:
        ConfigError: it says nothing, several different things, or is not what was configured.
    """
    text = _text(table, content)
    if table.kind == "version-file":
        return text[slice(*_version_span(table, text))]
    if table.kind == "pattern":
        values = {text[start:end] for start, end in _pattern_spans(table, text)}
        if len(values) > 1:
            raise ConfigError(
                f"the places of this pin disagree: {', '.join(sorted(values))}", where=table.path
            )
        return values.pop()
    found = _at(_parser(table)(text), _steps(table))
    if not isinstance(found, str):
        raise ConfigError(
            "the key is missing, or its value is no string", where=f"{table.path} {table.key}"
        )
    return found


def rewritten(table: PinTable, content: bytes, value: str) -> bytes:
    """``content`` with ``value`` in place of what it says now; every other byte stays.

    Raises:
        ConfigError: as ``value_of``, or the value's place in the file cannot be told.
    """
    text = _text(table, content)
    if table.kind == "version-file":
        spans = [_version_span(table, text)]
    elif table.kind == "pattern":
        value_of(table, content)
        spans = _pattern_spans(table, text)
    else:
        spans = [_key_span(table, text, value_of(table, content), value)]
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + value + text[end:]
    return text.encode("utf-8")


def _text(table: PinTable, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigError("the pin file is not UTF-8", where=table.path) from None


def _version_span(table: PinTable, text: str) -> tuple[int, int]:
    """The one word of the one line that is neither empty nor a comment."""
    found = [match.span(1) for match in re.finditer(r"^[ \t]*([^#\s]\S*)[ \t]*\r?$", text, re.M)]
    lines = [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
    if len(found) != 1 or len(lines) != 1:
        raise ConfigError(
            f"expected one line with one value beside the comments, found {len(lines)}",
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
    if len(spans) != table.matches:
        raise ConfigError(
            f"`pattern` was found {len(spans)} times, expected {table.matches}",
            where=where,
            next_step="correct `pattern` or `matches`: a missed place would keep the old pin",
        )
    return spans


def _steps(table: PinTable) -> list[str]:
    if not table.key:
        raise ConfigError(
            "a pin of kind `key` needs `key`", where=f"{table.path}, pin {table.name}"
        )
    return table.key.split(".")


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
    }
    parse = known.get(suffix)
    if parse is None:
        raise ConfigError(
            "a pin of kind `key` is a .json, .toml, .yaml or .yml file", where=table.path
        )

    def checked(text: str) -> Any:
        try:
            return parse(text)
        except Exception as fault:
            raise ConfigError(f"cannot be parsed: {fault}", where=table.path) from None

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


def _key_span(table: PinTable, text: str, old: str, new: str) -> tuple[int, int]:
    """The place of ``old`` that stands under the key: replacing it changes that key only."""
    parse, steps = _parser(table), _steps(table)
    wanted = copy.deepcopy(parse(text))
    holder = _at(wanted, steps[:-1])
    holder[int(steps[-1]) if isinstance(holder, list) else steps[-1]] = new
    for match in re.finditer(re.escape(old), text):
        start, end = match.span()
        try:
            result = parse(text[:start] + new + text[end:])
        except ConfigError:
            continue
        if result == wanted:
            return start, end
    raise ConfigError(
        f"the value {old!r} is not spelled out under its key", where=f"{table.path} {table.key}"
    )
