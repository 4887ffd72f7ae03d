"""Which statements of a function can change what it returns.

A condition that only picks a filter must not be asked about, or every answer would drag along
questions that do not matter. What is not understood counts as relevant.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_LEAVES = frozenset({"return_statement", "goto_statement", "throw_statement", "case_statement"})
_LOOPS = frozenset({"for_statement", "for_range_loop", "while_statement", "do_statement"})
_CONDITIONS = frozenset({"if_statement", "switch_statement", "while_statement", "do_statement"})
NO_RETURN = frozenset({"GGML_ABORT", "abort", "exit", "_Exit", "quick_exit", "terminate"})


def within(node: Node) -> Iterator[Node]:
    """``node`` and everything in it, without the bodies of lambdas, in order."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        if current.type != "lambda_expression":
            pending.extend(reversed(current.children))


def text(node: Node | None) -> str:
    """The node's text, "" for None."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def tracked_names(body: Node) -> frozenset[str]:
    """The plain identifiers that conditions and returns of ``body`` use, directly or through the
    initial value of another such local.
    """
    names: set[str] = set()
    for node in within(body):
        asked: Node | None = None
        if node.type in _CONDITIONS or node.type == "conditional_expression":
            asked = node.child_by_field_name("condition")
        elif node.type == "return_statement":
            asked = node
        if asked is not None:
            names.update(_identifiers(asked))
    while True:
        more = set(names)
        for node in within(body):
            if node.type in {"init_declarator", "assignment_expression"}:
                target = node.child_by_field_name("declarator") or node.child_by_field_name("left")
                if target is not None and names & set(_identifiers(target)):
                    source = node.child_by_field_name("value") or node.child_by_field_name("right")
                    if source is not None:
                        more.update(_deciding(source))
        if more == names:
            return frozenset(names)
        names = more


def _deciding(source: Node) -> list[str]:
    """The identifiers that decide which value ``source`` has, not those a new object is given."""
    if source.type == "new_expression":
        return []
    found = [text(source)] if source.type == "identifier" else []
    if source.type == "call_expression" and "make_" in text(source.child_by_field_name("function")):
        return []
    if source.type == "lambda_expression":
        return []
    return found + [name for child in source.children for name in _deciding(child)]


def _identifiers(node: Node) -> list[str]:
    return [text(n) for n in within(node) if n.type == "identifier"]


def matters(node: Node, tracked: frozenset[str]) -> bool:
    """Executing ``node`` or not can change what the function returns."""
    return node.has_error or _matters(node, tracked, breaks=True, continues=True)


def _matters(node: Node, tracked: frozenset[str], *, breaks: bool, continues: bool) -> bool:
    kind = node.type
    if kind == "lambda_expression":
        return False
    if kind in _LEAVES or (kind == "break_statement" and breaks):
        return True
    if kind == "continue_statement" and continues:
        return True
    if kind in _LOOPS:
        breaks = continues = False
    if kind == "switch_statement":
        cases = [n for n in within(node) if n.type == "case_statement"]
        return any(
            _matters(child, tracked, breaks=False, continues=continues)
            for case in cases
            for child in case.children
            if child.type != "case_statement"
        )
    if _writes(node) & tracked or _leaves_for_good(node):
        return True
    return any(
        _matters(child, tracked, breaks=breaks, continues=continues) for child in node.children
    )


def _writes(node: Node) -> frozenset[str]:
    """The plain variables that this very node gives a value."""
    target: Node | None = None
    if node.type == "assignment_expression":
        target = node.child_by_field_name("left")
    elif node.type == "update_expression":
        target = node.child_by_field_name("argument")
    elif node.type == "init_declarator":
        target = node.child_by_field_name("declarator")
    elif node.type == "call_expression":
        function = node.child_by_field_name("function")
        if function is not None and function.type == "field_expression":
            target = function.child_by_field_name("argument")
            if text(function.child_by_field_name("field")) not in {"reset", "emplace", "swap"}:
                target = None
    elif node.type == "pointer_expression" and text(node).startswith("&"):
        target = node.child_by_field_name("argument")  # whoever has the address may write
    return frozenset(_identifiers(target)) if target is not None else frozenset()


def _leaves_for_good(node: Node) -> bool:
    return (
        node.type == "call_expression"
        and text(node.child_by_field_name("function")).rpartition("::")[2] in NO_RETURN
    )
