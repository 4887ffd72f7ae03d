"""Runs one upstream function on paper: which object does it return under these assumptions.

Executes the syntax tree with three kinds of knowledge: the subject's value, what the situation
assumes, and what was decided on the way here. An open question is raised as ``Question``; the
caller answers it both ways. What cannot be understood raises ``Unreadable``: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from tracker.source import tokens
from tracker.source.tree import parse
from tracker.watch.conditions import Conditions
from tracker.watch.expressions import Argument, Frame, built_class, value_of
from tracker.watch.library import Known, Library
from tracker.watch.relevance import (
    NO_RETURN,
    Names,
    matters,
    names_of,
    text,
    unknown_macro,
    within,
)
from tracker.watch.values import Null, Opaque, Unreadable, Unset, Value

if TYPE_CHECKING:
    from tree_sitter import Node

_SKIPPED = frozenset(
    {"comment", ";", "{", "}", "type_definition", "using_declaration", "alias_declaration"}
    | {"static_assert_declaration", "preproc_def", "preproc_function_def", "preproc_call"}
    | {"class_specifier", "struct_specifier", "enum_specifier", "namespace_alias_definition"}
)
_LOOPS = frozenset({"for_statement", "for_range_loop", "while_statement", "do_statement"})
_CALL_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Left:
    """A statement that did not simply go on: ``how`` is return, break, continue or end."""

    how: str
    value: Value = field(default_factory=Null)


@dataclass(frozen=True, slots=True)
class Callee:
    """A function that is called. ``parameters``: name, and whether it may change the argument."""

    known: Known
    parameters: tuple[tuple[str, bool], ...]


class Evaluator:
    """One run. ``lines``: the ``path:line`` that decided, in order. ``slice``: their tokens, to
    tell the same answer from new code.
    """

    def __init__(
        self, library: Library, subject: str, constant: str, conditions: Conditions
    ) -> None:
        self.library = library
        self.subject = subject
        self.constant = constant
        self.conditions = conditions
        self.lines: list[str] = []
        self.slice: list[tuple[bytes, ...]] = []
        self._depth = 0

    def run(self, known: Known, arguments: Mapping[str, Argument]) -> Value:
        """What the function returns.

        Raises:
            Question: an open condition decides.
            Unreadable: the code cannot be followed.
        """
        body = _body(known.text)
        if body is None or body.type != "compound_statement":
            raise Unreadable(
                "the function's body cannot be read", f"{known.path}:{known.definition.start}"
            )
        frame = Frame(known, _names(known.text), dict(arguments), self)
        self._depth += 1
        try:
            left = self._block(body.children, frame)
        finally:
            self._depth -= 1
        if left is not None and left.how in {"return", "end"}:
            return left.value
        raise Unreadable(
            "the function ends without a return", f"{known.path}:{known.definition.end}"
        )

    def note(self, node: Node, frame: Frame, *, shown: bool = True) -> None:
        """``node`` decided: remember its line and its tokens."""
        if shown and (not self.lines or self.lines[-1] != frame.place(node)):
            self.lines.append(frame.place(node))
        self.slice.append(tokens(node.text or b""))

    def note_class(self, node: Node, frame: Frame) -> None:
        """An object is built here: its line and class decide, its arguments do not."""
        self.lines.append(frame.place(node))
        built = node.child_by_field_name("type") or node.child_by_field_name("function") or node
        self.slice.append(tokens(built.text or b""))

    def truth(self, value: Value, node: Node, frame: Frame) -> bool:
        """``value`` as a condition.

        Raises:
            Question: it is open.
        """
        return self.conditions.truth(value, frame.place(node))

    def find(self, name: str, count: int, frame: Frame) -> Callee | None:
        """Upstream's own function of that name with ``count`` parameters, None if unknown."""
        scope = frame.known.definition.name.rpartition("::")[0]
        names = [f"{scope}::{name}", name] if scope and "::" not in name else [name]
        for candidate in names:
            found = self.library.functions(candidate)
            if len(found) != 1:
                continue
            parameters = _parameters(found[0])
            if parameters is not None and len(parameters) == count:
                return Callee(found[0], tuple(parameters))
        return None

    def call(self, callee: Callee, arguments: Sequence[Argument]) -> Value | None:
        """What a call returns; None if that cannot be told."""
        if self._depth >= _CALL_DEPTH:
            return None
        before = len(self.lines), len(self.slice)
        names = [name for name, _ in callee.parameters]
        try:
            return self.run(callee.known, dict(zip(names, arguments, strict=True)))
        except Unreadable:
            del self.lines[before[0] :], self.slice[before[1] :]
            return None  # the caller keeps the call itself as an open condition

    # ---- statements -------------------------------------------------------------------------

    def _block(self, nodes: Iterable[Node], frame: Frame) -> Left | None:
        for node in nodes:
            left = self._statement(node, frame)
            if left is not None:
                return left
        return None

    def _scope(self, node: Node, frame: Frame) -> Left | None:
        """A block: what it declares ends with it."""
        declared = [
            text(name)
            for child in node.named_children
            if child.type == "declaration"
            for declarator in child.children_by_field_name("declarator")
            for name in [n for n in within(declarator) if n.type == "identifier"][:1]
        ]
        hidden = {name: frame.variables.get(name) for name in declared}
        left = self._block(node.children, frame)
        for name, value in hidden.items():
            if value is None:
                frame.variables.pop(name, None)
            else:
                frame.variables[name] = value
        return left

    def _statement(self, node: Node, frame: Frame) -> Left | None:  # noqa: PLR0911, PLR0912
        kind = node.type
        if kind in _SKIPPED:
            return None
        if kind == "ERROR" or node.is_missing:
            raise Unreadable("the grammar cannot read this", frame.place(node))
        if kind == "compound_statement":
            return self._scope(node, frame)
        if kind == "declaration":
            self._declare(node, frame)
            return None
        if kind in {"attributed_statement", "labeled_statement"}:
            return self._block(
                [
                    n
                    for n in node.named_children
                    if "attribute" not in n.type and n.type != "statement_identifier"
                ],
                frame,
            )
        if kind == "return_statement":
            values = [n for n in node.named_children if n.type != "comment"]
            decides = bool(values) and values[0].type in {"binary_expression", "unary_expression"}
            self.note(node, frame, shown=decides)
            return Left("return", value_of(values[0], frame) if values else Null())
        if kind == "throw_statement":
            self.note(node, frame)
            return Left("end", Opaque("an exception"))
        if kind in {"break_statement", "continue_statement"}:
            return Left(kind.removesuffix("_statement"))
        if not matters(node, frame.names):
            return None
        if kind == "expression_statement":
            return self._expression(node, frame)
        if kind == "if_statement":
            return self._if(node, frame)
        if kind == "switch_statement":
            return self._switch(node, frame)
        if kind in {"preproc_if", "preproc_ifdef"}:
            return self._preprocessor(node, frame)
        if kind in _LOOPS:
            raise Unreadable("a loop decides", frame.place(node))
        raise Unreadable(f"a {kind.replace('_', ' ')} decides", frame.place(node))

    def _expression(self, node: Node, frame: Frame) -> Left | None:
        macro = unknown_macro(node)
        if macro:
            raise Unreadable(f"the macro {macro} may decide", frame.place(node))
        for child in node.named_children:
            if child.type == "call_expression":
                name = text(child.child_by_field_name("function"))
                if name.rpartition("::")[2] in NO_RETURN:
                    self.note(child, frame)
                    return Left("end", Opaque("abort"))
            if child.type != "comment":
                value_of(child, frame)
        return None

    def _declare(self, node: Node, frame: Frame) -> None:
        for declarator in node.children_by_field_name("declarator"):
            name, value = declarator, None
            if declarator.type == "init_declarator":
                name = declarator.child_by_field_name("declarator") or declarator
                value = declarator.child_by_field_name("value")
            names = [n for n in within(name) if n.type == "identifier"]
            if not names:
                continue
            key = text(names[0])
            if key in frame.names.aliases:
                raise Unreadable(f"{key} is a second name of what decides", frame.place(node))
            if value is None:
                frame.variables[key] = Unset(key)
            elif key in frame.names.deciding:
                frame.define(key, value, node)
            else:
                frame.variables[key] = Opaque(key)

    def _if(self, node: Node, frame: Frame) -> Left | None:
        clause = node.child_by_field_name("condition")
        if clause is None:
            raise Unreadable("an if without a condition", frame.place(node))
        condition = clause
        if clause.type == "condition_clause":
            initial = clause.child_by_field_name("initializer")
            if initial is not None:
                self._block(
                    initial.named_children if initial.type == "init_statement" else [initial], frame
                )
            condition = clause.child_by_field_name("value") or clause
        self.note(condition, frame)
        if condition.type == "declaration":
            raise Unreadable("a condition that declares a variable decides", frame.place(node))
        taken = self.truth(value_of(condition, frame), condition, frame)
        branch = node.child_by_field_name("consequence" if taken else "alternative")
        if branch is None:
            return None
        if branch.type == "else_clause":
            return self._block([n for n in branch.named_children if n.type != "comment"], frame)
        return self._statement(branch, frame)

    def _switch(self, node: Node, frame: Frame) -> Left | None:
        clause = node.child_by_field_name("condition")
        body = node.child_by_field_name("body")
        if clause is None or body is None or body.type != "compound_statement":
            raise Unreadable("a switch without a block decides", frame.place(node))
        subject = clause.child_by_field_name("value") or clause
        value = value_of(subject, frame)
        self.note(subject, frame, shown=False)
        entries = self._cases(body, frame)
        start = self._matching(entries, value, frame)
        if start is None:
            return None
        for case in entries[start:]:
            inside = [n for n in case.named_children if n != case.child_by_field_name("value")]
            left = self._block(inside, frame)
            if left is not None:
                return None if left.how == "break" else left
        return None

    def _cases(self, body: Node, frame: Frame) -> list[Node]:
        entries = [n for n in body.named_children if n.type == "case_statement"]
        loose = [n for n in body.named_children if n.type not in {"case_statement", "comment"}]
        if loose or any(_has_inner_label(case) for case in entries):
            place = frame.place(loose[0] if loose else body)
            raise Unreadable("a label stands where it cannot be followed", place)
        return entries

    def _matching(self, entries: list[Node], value: Value, frame: Frame) -> int | None:
        """The index of the case that is entered; the default's, or None if nothing is."""
        default: int | None = None
        for index, case in enumerate(entries):
            label = case.child_by_field_name("value")
            if label is None:
                default = index
            elif self.conditions.equal(value, value_of(label, frame), frame.place(case)):
                self._note_label(case, frame)
                return index
        if default is not None:
            self._note_label(entries[default], frame)
        return default

    def _note_label(self, case: Node, frame: Frame) -> None:
        label = case.child_by_field_name("value")
        self.lines.append(frame.place(case))
        self.slice.append(tokens(label.text or b"") if label is not None else (b"default",))

    def _preprocessor(self, node: Node, frame: Frame) -> Left | None:
        """A branch of the preprocessor is an open question like any other."""
        header = node.child_by_field_name("name") or node.child_by_field_name("condition")
        words = " ".join(
            piece.decode("utf-8", "replace") for piece in tokens(text(header).encode())
        )
        negated = node.children[0].type == "#ifndef"
        shape = f"defined({words})" if node.type == "preproc_ifdef" else f"#if {words}"
        self.note(header or node, frame)
        taken = self.truth(Opaque(shape), node, frame) is not negated
        alternative = node.child_by_field_name("alternative")
        if taken:
            skip = {header, alternative}
            return self._block([n for n in node.named_children if n not in skip], frame)
        if alternative is None:
            return None
        if alternative.type == "preproc_else":
            return self._block(alternative.named_children, frame)
        return self._preprocessor(alternative, frame)


def built_classes(function: bytes) -> list[tuple[str, int]]:
    """Every class that the function's text constructs, with the 0-based line in the text."""
    body = _body(function)
    found: list[tuple[str, int]] = []
    for node in within(body) if body is not None else ():
        name = built_class(node)
        if name:
            found.append((name, node.start_point.row))
    return found


@lru_cache(maxsize=32)
def _body(function: bytes) -> Node | None:
    """The body of the function whose text this is. Remembered: one text is run many times."""
    root = parse(function).root_node
    definition = next((n for n in within(root) if n.type == "function_definition"), None)
    return definition.child_by_field_name("body") if definition is not None else None


@lru_cache(maxsize=32)
def _names(function: bytes) -> Names:
    body = _body(function)
    return names_of(body) if body is not None else Names.none()


def _has_inner_label(case: Node) -> bool:
    pending = list(case.children)
    while pending:
        node = pending.pop()
        if node.type == "case_statement":
            return True
        if node.type not in {"switch_statement", "lambda_expression"}:
            pending.extend(node.children)
    return False


def _parameters(known: Known) -> list[tuple[str, bool]] | None:
    """The parameters in order: name, and whether the function may change the argument itself.

    None if they cannot be told.
    """
    root = parse(known.text).root_node
    declarator = next((n for n in within(root) if n.type == "function_declarator"), None)
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    if listed is None:
        return None
    found: list[tuple[str, bool]] = []
    for parameter in listed.named_children:
        if parameter.type == "comment":
            continue
        inner = parameter.child_by_field_name("declarator")
        names = [n for n in within(inner) if n.type == "identifier"] if inner is not None else []
        constant = any(text(n) == "const" for n in parameter.named_children)
        indirect = inner is not None and inner.type != "identifier"
        name = text(names[0]) if names else f"unnamed {len(found)}"
        found.append((name, indirect and not constant))
    return found
