"""Writes docs/configuration.md from the types: ``python -m tracker.cli.reference``."""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from tracker import config

_HEAD = """\
# Configuration reference

Generated from the code (`python -m tracker.cli.reference`); a test keeps it fresh.

The file is `lloyal-track.toml`, in the working directory or a folder above it, or what `--config`
names. Relative paths are relative to its folder. Every error names file, line and key, and the
command ends with exit status 2.
"""


def reference() -> str:
    """The whole page, Markdown."""
    sections = [_HEAD]
    for header, table in _tables("", config.Document, many=False):
        title = f"## `{header}`" if header else "## Top level"
        about = re.sub(r"``([^`]+)``", r"`\1`", inspect.cleandoc(table.__doc__ or ""))
        rows = "\n".join(_rows(table))
        head = "| key | type | default |\n|---|---|---|\n"
        sections.append(
            f"{title}\n\n{about}\n\n{head}{rows}\n" if rows else f"{title}\n\n{about}\n"
        )
    return "\n".join(sections)


def _tables(
    path: str, table: type[msgspec.Struct], *, many: bool
) -> Iterator[tuple[str, type[msgspec.Struct]]]:
    """Each table with its header as it stands in the file, outermost first."""
    yield (f"[[{path}]]" if many else f"[{path}]") if path else "", table
    hints = get_type_hints(table, include_extras=True)
    for field in msgspec.structs.fields(table):
        below = f"{path}.{field.encode_name}" if path else field.encode_name
        inner, kind = _inner(hints[field.name])
        if inner is not None:
            yield from _tables(
                f"{below}.NAME" if kind == "named" else below, inner, many=kind == "many"
            )


def _inner(hint: Any) -> tuple[type[msgspec.Struct] | None, str]:
    """The table inside ``hint`` and how it stands there: one, many, named; or None."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint, "one"
    for part in get_args(hint):
        if isinstance(part, type) and issubclass(part, msgspec.Struct):
            kinds = {tuple: "many", dict: "named"}
            return part, kinds.get(get_origin(hint), "one")
    return None, ""


def _rows(table: type[msgspec.Struct]) -> Iterator[str]:
    hints = get_type_hints(table, include_extras=True)
    for field in msgspec.structs.fields(table):
        if _inner(hints[field.name])[0] is None:
            yield f"| `{field.encode_name}` | {_type(hints[field.name])} | {_default(field)} |"


def _type(hint: Any) -> str:
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _type(inside[0])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inside)
    if origin in (Union, types.UnionType):
        return _type(next(part for part in inside if part is not type(None)))
    if origin is tuple:
        return f"array of: {_type(inside[0])}"
    if origin is dict:
        return f"table of: {_type(inside[1])}"
    names = {str: "string", int: "integer", float: "number", bool: "boolean"}
    return names.get(hint, str(hint))


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "**required**"
    value = field.default
    if value is msgspec.NODEFAULT:
        factory = field.default_factory
        value = factory() if callable(factory) else None
    if value is None:
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple | dict | list):
        return f"`{list(value)}`".replace("'", '"') if value else "empty"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else "docs/configuration.md").write_text(
        reference(), encoding="utf-8"
    )
