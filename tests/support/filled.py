"""A document with every field filled, so that a test sees every place where a text can come out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

V = TypeVar("V")


def filled(kind: type[V], text: str, *, turn: int = 0, also: Mapping[str, Any] = {}) -> V:
    """A ``kind`` in which nothing is missing: each list and each table has one entry.

    ``text``: stands wherever a text may be anything. ``turn``: which of the values an enumeration
    has, so that another turn shows other branches. ``also``: field name -> its value, everywhere.
    """
    return msgspec.convert(_Filling(text, turn, also).value(inspect.type_info(kind)), kind)


@dataclass(frozen=True)
class _Filling:
    text: str
    turn: int
    also: Mapping[str, Any]

    def value(self, kind: Any) -> Any:
        simple: dict[type, Any] = {
            inspect.StrType: self.text,
            inspect.IntType: 7,
            inspect.FloatType: 1.5,
        }
        if type(kind) in simple:
            return simple[type(kind)]
        match kind:
            case inspect.StructType():
                found: Any = {field.encode_name: self._field(field) for field in kind.fields}
                if kind.tag_field:
                    found[kind.tag_field] = kind.tag
            case inspect.UnionType():
                shapes = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
                found = self.value(self._turned(shapes))
            case inspect.EnumType():
                found = self._turned([one.value for one in kind.cls])
            case inspect.LiteralType():
                found = self._turned(kind.values)
            case inspect.VarTupleType() | inspect.ListType():
                found = [self.value(kind.item_type)]
            case inspect.TupleType():
                found = [self.value(one) for one in kind.item_types]
            case inspect.DictType():
                found = {self.value(kind.key_type): self.value(kind.value_type)}
            case inspect.BoolType():
                found = self._turned([True, False])
            case _:
                raise TypeError(kind)
        return found

    def _field(self, field: inspect.Field) -> Any:
        return self.also[field.name] if field.name in self.also else self.value(field.type)

    def _turned(self, values: Sequence[Any]) -> Any:
        return values[self.turn % len(values)]
