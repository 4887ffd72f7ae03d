"""Values of the routing evaluator: what an expression of upstream's code is known to be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Subject:
    """The thing the question is about, e.g. ``LLM_ARCH_QWEN35``: equal to that constant only."""

    constant: str


@dataclass(frozen=True, slots=True)
class Constant:
    """An enumerator, macro or number, by its spelling."""

    text: str


@dataclass(frozen=True, slots=True)
class Built:
    """A new object of class ``name``, constructed at ``line`` (``path:line``)."""

    name: str
    line: str


@dataclass(frozen=True, slots=True)
class Null:
    """A null pointer."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """An expression that is known by its text only; as a condition it is an open question."""

    text: str


@dataclass(frozen=True, slots=True)
class Unset:
    """A variable that was declared without a value."""

    name: str


Value = bool | Subject | Constant | Built | Null | Opaque | Unset


def spelled(value: Value) -> str:
    """The value as it would stand in an expression."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Subject):
        return value.constant
    if isinstance(value, Constant | Opaque):
        return value.text
    if isinstance(value, Built):
        return f"new {value.name}"
    if isinstance(value, Unset):
        return value.name
    return "nullptr"


class Question(Exception):
    """An open condition, by its normalised text; ``place``: ``path:line`` where it was asked."""

    def __init__(self, condition: str, place: str) -> None:
        super().__init__(condition)
        self.condition = condition
        self.place = place


class Unreadable(Exception):
    """The evaluator cannot follow the code at ``place``."""

    def __init__(self, why: str, place: str) -> None:
        super().__init__(why)
        self.why = why
        self.place = place
