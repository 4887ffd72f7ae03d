"""Expressions of upstream's code -> values; the half of the evaluator that takes no path."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tracker.watch.conditions import normalised
from tracker.watch.library import Known
from tracker.watch.relevance import Names, calls_acting, handed_out, taken_address, text
from tracker.watch.values import (
    Built,
    Constant,
    Null,
    Opaque,
    Subject,
    Unreadable,
    Unset,
    Value,
    spelled,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from tracker.watch.evaluate import Evaluator

Argument = Value | Callable[[], Value]
_CONSTANT = re.compile(r"(?:\w+::)*[A-Z][A-Z0-9_]*")
_MAKERS = frozenset({"make_unique", "make_shared"})
_CASTS = frozenset({"static_cast", "const_cast", "dynamic_cast", "reinterpret_cast", "move"})
_OWNERS = re.compile(r"(?:std::)?(?:unique|shared)_ptr\s*<")
_ASSIGNING_METHODS = frozenset({"reset"})


@dataclass(slots=True)
class Frame:
    """One call: its variables (a thunk is evaluated at first need) and where its text stands."""

    known: Known
    names: Names
    variables: dict[str, Argument]
    evaluator: Evaluator

    def place(self, node: Node) -> str:
        """``path:line`` of ``node``."""
        return f"{self.known.path}:{self.known.definition.start + node.start_point.row}"

    def define(self, name: str, node: Node, statement: Node) -> None:
        """``name`` gets the value of ``node``, evaluated when a decision first needs it."""
        seen = Frame(self.known, self.names, dict(self.variables), self.evaluator)

        def later() -> Value:
            self.evaluator.note(statement, seen)
            return value_of(node, seen)

        self.variables[name] = later

    def get(self, name: str) -> Value | None:
        """The variable's value, None if it is no local variable or parameter."""
        held = self.variables.get(name)
        if callable(held):
            held = held()
            self.variables[name] = held
        return held


def value_of(node: Node, frame: Frame) -> Value:
    """The value of an expression.

    Raises:
        Question: an open condition decides it.
        Unreadable: it cannot be read.
    """
    if node.type == "ERROR" or node.is_missing:
        raise Unreadable("the grammar cannot read this", frame.place(node))
    reader = _READERS.get(node.type)
    if reader is not None:
        return reader(node, frame)
    return _opaque(node, frame)


def _opaque(node: Node, frame: Frame) -> Value:
    """The expression by its text, local names replaced by what they stand for."""
    return Opaque(normalised(_spelling(node, frame)))


def _spelling(node: Node, frame: Frame) -> str:
    if node.type == "lambda_expression":
        return "lambda"
    if node.type == "identifier":
        held = frame.get(text(node)) if text(node) in frame.names.deciding else None
        return spelled(held) if held is not None and not isinstance(held, Unset) else text(node)
    if not node.children:
        return text(node)
    return " ".join(_spelling(n, frame) for n in node.children if n.type != "comment")


def _inner(node: Node, frame: Frame) -> Value:
    named = [n for n in node.named_children if n.type != "comment"]
    return value_of(named[-1], frame) if named else _opaque(node, frame)


def _identifier(node: Node, frame: Frame) -> Value:
    name = text(node)
    held = frame.get(name)
    if held is not None:
        return held
    if name == frame.evaluator.subject:
        return Subject(frame.evaluator.constant)
    if name in {"NULL", "nullptr"}:
        return Null()
    return Constant(name) if _CONSTANT.fullmatch(name) else Opaque(name)


def _member(node: Node, frame: Frame) -> Value:
    whole = normalised(_spelling(node, frame))
    owner, _, last = re.sub(r"->", ".", whole).rpartition(".")
    own = owner in {"this", "(*this)"} or owner.endswith("model")
    if last == frame.evaluator.subject and own:
        return Subject(frame.evaluator.constant)
    return Opaque(whole)


def _unary(node: Node, frame: Frame) -> Value:
    operand = node.child_by_field_name("argument")
    sign = text(node.child_by_field_name("operator"))
    if operand is None or sign not in {"!", "not"}:
        return _opaque(node, frame)
    return not frame.evaluator.truth(value_of(operand, frame), operand, frame)


def _binary(node: Node, frame: Frame) -> Value:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    sign = text(node.child_by_field_name("operator"))
    if left is None or right is None:
        return _opaque(node, frame)
    evaluator, place = frame.evaluator, frame.place(node)
    if sign in {"&&", "and"}:
        return evaluator.truth(value_of(left, frame), left, frame) and evaluator.truth(
            value_of(right, frame), right, frame
        )
    if sign in {"||", "or"}:
        return evaluator.truth(value_of(left, frame), left, frame) or evaluator.truth(
            value_of(right, frame), right, frame
        )
    if sign in {"==", "!="}:
        same = evaluator.conditions.equal(value_of(left, frame), value_of(right, frame), place)
        return same if sign == "==" else not same
    if sign in {"<", ">", "<=", ">="}:
        one, other = value_of(left, frame), value_of(right, frame)
        return evaluator.conditions.compared(one, sign, other, place)
    return _opaque(node, frame)


def _conditional(node: Node, frame: Frame) -> Value:
    condition = node.child_by_field_name("condition")
    if condition is None:
        return _opaque(node, frame)
    frame.evaluator.note(condition, frame)
    taken = frame.evaluator.truth(value_of(condition, frame), condition, frame)
    chosen = node.child_by_field_name("consequence" if taken else "alternative")
    if chosen is None:
        raise Unreadable("a conditional expression without its branches", frame.place(node))
    return value_of(chosen, frame)


def built_class(node: Node) -> str:
    """The class that ``new X(...)`` or ``make_unique<X>(...)`` constructs, "" for other nodes."""
    if node.type == "new_expression":
        return normalised(text(node.child_by_field_name("type")))
    if node.type == "call_expression":
        name = text(node.child_by_field_name("function"))
        if "<" in name and name.partition("<")[0].rpartition("::")[2] in _MAKERS:
            return normalised(name.partition("<")[2].rpartition(">")[0])
    return ""


def _new(node: Node, frame: Frame) -> Value:
    frame.evaluator.note_class(node, frame)
    return Built(built_class(node), frame.place(node))


def _call(node: Node, frame: Frame) -> Value:
    function = node.child_by_field_name("function")
    listed = node.child_by_field_name("arguments")
    if function is None or listed is None:
        return _opaque(node, frame)
    arguments = [n for n in listed.named_children if n.type != "comment"]
    name = text(function)
    bare = name.partition("<")[0].rpartition("::")[2]
    if built_class(node):
        return _new(node, frame)
    if (bare in _CASTS or _OWNERS.match(name)) and len(arguments) == 1:
        return value_of(arguments[0], frame)
    if calls_acting(node, frame.names):
        raise Unreadable("a local function decides", frame.place(node))
    handed = handed_out(node, frame.names)
    if function.type == "field_expression":
        _method(function, arguments, frame)
    elif function.type in {"identifier", "qualified_identifier"}:
        callee = frame.evaluator.find(name, len(arguments), frame)
        if callee is not None:
            handed &= {
                shared
                for argument, (_, changes) in zip(arguments, callee.parameters, strict=True)
                for shared in (text(argument), taken_address(argument))
                if changes
            }
            later = [_later(argument, frame) for argument in arguments]
            returned = frame.evaluator.call(callee, later) if not handed else None
            if returned is not None:
                return returned
    for shared in handed:  # whoever gets it may change it
        frame.variables[shared] = Opaque(f"{shared} after {frame.place(node)}")
    return _opaque(node, frame)


def _later(node: Node, frame: Frame) -> Callable[[], Value]:
    """An argument is evaluated only when the called function decides by it."""
    return lambda: value_of(node, frame)


def _method(function: Node, arguments: list[Node], frame: Frame) -> None:
    """``pointer.reset(new X)`` is an assignment."""
    owner = text(function.child_by_field_name("argument"))
    if text(function.child_by_field_name("field")) in _ASSIGNING_METHODS and (
        owner in frame.variables
    ):
        frame.variables[owner] = value_of(arguments[0], frame) if arguments else Null()


def _assignment(node: Node, frame: Frame) -> Value:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return _opaque(node, frame)
    name = text(left)
    if left.type != "identifier" or (
        name not in frame.names.deciding and name not in frame.variables
    ):
        return _opaque(left, frame)
    if name not in frame.names.deciding:
        frame.variables[name] = Opaque(name)
        return Opaque(name)
    if text(node.child_by_field_name("operator")) != "=":
        frame.variables[name] = Opaque(f"{name} after {frame.place(node)}")
        return frame.variables[name]  # type: ignore[return-value]
    value = value_of(right, frame)
    frame.variables[name] = value
    return value


def _update(node: Node, frame: Frame) -> Value:
    operand = node.child_by_field_name("argument")
    name = text(operand)
    if name in frame.variables:
        frame.variables[name] = Opaque(f"{name} after {frame.place(node)}")
    return Opaque(name)


def _number(node: Node, frame: Frame) -> Value:
    del frame
    return Constant(text(node))


_READERS: dict[str, Callable[[Node, Frame], Value]] = {
    "parenthesized_expression": _inner,
    "condition_clause": _inner,
    "argument_list": _inner,
    "initializer_list": _inner,
    "cast_expression": _inner,
    "comma_expression": _inner,
    "identifier": _identifier,
    "this": lambda _node, _frame: Opaque("this"),
    "true": lambda _node, _frame: True,
    "false": lambda _node, _frame: False,
    "null": lambda _node, _frame: Null(),
    "nullptr": lambda _node, _frame: Null(),
    "number_literal": _number,
    "qualified_identifier": lambda node, _frame: (
        Constant(text(node)) if _CONSTANT.fullmatch(text(node)) else Opaque(text(node))
    ),
    "field_expression": _member,
    "unary_expression": _unary,
    "binary_expression": _binary,
    "conditional_expression": _conditional,
    "new_expression": _new,
    "call_expression": _call,
    "assignment_expression": _assignment,
    "update_expression": _update,
}
