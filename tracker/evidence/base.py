"""The base of every value in this room, and reading and writing documents."""

from __future__ import annotations

import hashlib

import msgspec


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A frozen value that compares by content; children must repeat ``frozen`` and ``kw_only``."""


def to_json(value: Value, *, indent: int = 1) -> bytes:
    """The document as JSON, fields in declaration order; same value, same bytes."""
    return msgspec.json.format(msgspec.json.encode(value), indent=indent) + b"\n"


def digest(*parts: object) -> str:
    """A stable digest (16 hex digits) of JSON-serialisable ``parts``; dictionaries are sorted."""
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:16]
