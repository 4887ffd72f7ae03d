"""What is known to be true or false while a function is evaluated, by the text of the condition."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tracker.source import tokens
from tracker.watch.values import (
    Built,
    Constant,
    Null,
    Opaque,
    Question,
    Subject,
    Unreadable,
    Unset,
    Value,
    spelled,
)

_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_EQUALITY = re.compile(r"(?P<left>.+) == (?P<right>[A-Z_][A-Za-z0-9_:]*|\d+)")


def normalised(text: str) -> str:
    """One spelling of an expression: one space between its tokens, none around member access."""
    spaced = " ".join(piece.decode("utf-8", "replace") for piece in tokens(text.encode()))
    return re.sub(r" ?(\.|->|::|\(|\)|\[|\]) ?", r"\1", spaced)


@dataclass(slots=True)
class Conditions:
    """``assumed``: from the situation. ``decided``: answers to open questions on this path.

    ``enumerators``: all constants of the subject's enum. ``used``: assumptions that were asked for.
    """

    assumed: Mapping[str, bool]
    enumerators: frozenset[str]
    decided: Mapping[str, bool] = field(default_factory=dict)
    used: dict[str, bool] = field(default_factory=dict)

    def truth(self, value: Value, place: str) -> bool:
        """``value`` as a condition.

        Raises:
            Question: it is open.
            Unreadable: it is a variable without a value.
        """
        if isinstance(value, bool):
            return value
        if isinstance(value, Null):
            return False
        if isinstance(value, Built):
            return True
        if isinstance(value, Constant) and value.text.isdigit():
            return int(value.text) != 0
        if isinstance(value, Unset):
            raise Unreadable(f"{value.name} is used before it has a value", place)
        return self._decide(normalised(spelled(value)), place)

    def equal(self, one: Value, other: Value, place: str) -> bool:
        """``one == other``.

        Raises:
            Question: it is open.
        """
        if isinstance(one, Opaque | Subject) or not isinstance(other, Opaque | Subject):
            left, right = one, other
        else:
            left, right = other, one
        certain = self._certainly_equal(left, right)
        if certain is not None:
            return certain
        return self._decide(normalised(f"{spelled(left)} == {spelled(right)}"), place)

    def compared(self, one: Value, operator: str, other: Value, place: str) -> bool:
        """``one < other`` and its kin; the constant ends up on the right.

        Raises:
            Question: it is open.
        """
        left, right = spelled(one), spelled(other)
        if left.isdigit() and right.isdigit():
            a, b = int(left), int(right)
            return {"<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b}[operator]
        if isinstance(one, Constant) and not isinstance(other, Constant):
            left, right, operator = right, left, _MIRRORED[operator]
        return self._decide(normalised(f"{left} {operator} {right}"), place)

    def _certainly_equal(self, left: Value, right: Value) -> bool | None:
        if isinstance(left, Subject) and isinstance(right, Constant):
            name = right.text.rpartition("::")[2]
            return name == left.constant if name in self.enumerators else None
        if isinstance(left, Null | Built) and isinstance(right, Null | Built):
            return isinstance(left, Null) and isinstance(right, Null)
        if isinstance(left, bool) and isinstance(right, bool):
            return left == right
        if spelled(left) == spelled(right) and isinstance(left, Constant | Opaque):
            return True
        digits = spelled(left).isdigit() and spelled(right).isdigit()
        return False if digits else None

    def _decide(self, condition: str, place: str) -> bool:
        for known in (self.assumed, self.decided):
            answer = _answer(condition, known)
            if answer is not None:
                if known is self.assumed:
                    self.used[condition] = answer
                return answer
        raise Question(condition, place)


def _answer(condition: str, known: Mapping[str, bool]) -> bool | None:
    """What ``known`` says of ``condition``, directly or because a value is one constant only."""
    if condition in known:
        return known[condition]
    asked = _EQUALITY.fullmatch(condition)
    if asked is None:
        return None
    for other, true in known.items():
        held = _EQUALITY.fullmatch(other)
        if true and held and held["left"] == asked["left"] and held["right"] != asked["right"]:
            return False
    return None
