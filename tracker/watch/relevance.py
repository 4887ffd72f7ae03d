"""Which statements of a function can change what it returns.

A condition that only picks a filter must not be asked about, or every answer would drag along
questions that do not matter. What is not understood counts as relevant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_LEAVES = frozenset({"return_statement", "goto_statement", "throw_statement", "case_statement"})
_LOOPS = frozenset({"for_statement", "for_range_loop", "while_statement", "do_statement"})
_CONDITIONS = frozenset({"if_statement", "switch_statement", "while_statement", "do_statement"})
_KNOWN_MACRO = re.compile("LOG|ASSERT|WARN|DEBUG|TRACE|PRINT|INFO|ERROR|UNUSED")
NO_RETURN = frozenset({"GGML_ABORT", "abort", "exit", "_Exit", "quick_exit", "terminate"})


def within(node: Node) -> Iterator[Node]:
    """``node`` and everything in it, without the bodies of lambdas, in order."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        if current.type != "lambda_expression":
            pending.extend(reversed(current.children))


def everything(node: Node) -> Iterator[Node]:
    """``node`` and everything in it, lambdas too."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(current.children))


def text(node: Node | None) -> str:
    """The node's text, "" for None."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one function body that its return value hangs on.

    ``deciding``: what conditions and returns use. ``shared``: those of them that are local, and not
    constant, so whoever gets hold of one may change it. ``acting``: local functions that change
    one. ``aliases``: second names of one.
    """

    deciding: frozenset[str]
    shared: frozenset[str]
    acting: frozenset[str]
    aliases: frozenset[str]
    _matters: dict[tuple[int, int, str], bool] = field(default_factory=dict)

    @classmethod
    def none(cls) -> Names:
        """Where there is no body."""
        return cls(frozenset(), frozenset(), frozenset(), frozenset())


def names_of(body: Node) -> Names:
    """The names that decide in ``body``."""
    deciding = _deciding_names(body)
    shared = deciding & frozenset(_mutable_locals(body))
    acting: set[str] = set()
    aliases: set[str] = set()
    for node in within(body):
        if node.type != "init_declarator":
            continue
        target, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
        names = set(_identifiers(target)) if target is not None else set()
        if value is None or target is None:
            continue
        if value.type == "lambda_expression" and any(
            _writes(inner) & shared for inner in everything(value)
        ):
            acting |= names
        elif (_is_reference(target) and text(value) in shared) or shared & {
            taken_address(inner) for inner in within(value)
        }:
            aliases |= names
    return Names(deciding, shared, frozenset(acting), frozenset(aliases))


def _is_reference(declarator: Node) -> bool:
    """``x &`` and ``x *&`` alike."""
    return any(node.type == "reference_declarator" for node in within(declarator))


def taken_address(node: Node) -> str:
    """``x`` of ``&x``, "" for other nodes."""
    if node.type == "pointer_expression" and text(node).startswith("&"):
        return text(node.child_by_field_name("argument"))
    return ""


def _mutable_locals(body: Node) -> Iterator[str]:
    """Local variables; a pointer to something constant can itself be changed."""
    for node in within(body):
        if node.type != "declaration":
            continue
        constant = any(text(n) in {"const", "constexpr"} for n in node.named_children)
        for declarator in node.children_by_field_name("declarator"):
            inner = declarator
            if declarator.type == "init_declarator":
                inner = declarator.child_by_field_name("declarator") or declarator
            if constant and inner.type != "pointer_declarator":
                continue
            yield from _identifiers(inner)[:1]


def _deciding_names(body: Node) -> frozenset[str]:
    """The plain identifiers that conditions and returns of ``body`` use, directly or through the
    value of another such local.
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


def matters(node: Node, names: Names) -> bool:
    """Executing ``node`` of the body of ``names`` or not can change what the function returns.

    Remembered: one body is run for many questions.
    """
    key = (node.start_byte, node.end_byte, node.type)
    if key not in names._matters:
        names._matters[key] = node.has_error or _matters(node, names, breaks=True, continues=True)
    return names._matters[key]


def _matters(node: Node, names: Names, *, breaks: bool, continues: bool) -> bool:
    kind = node.type
    if kind == "lambda_expression":
        return False
    leaves = kind in _LEAVES or (kind == "break_statement" and breaks)
    if leaves or (kind == "continue_statement" and continues) or _acts(node, names):
        return True
    if unknown_macro(node):
        return True
    if kind in _LOOPS:
        breaks = continues = False
    if kind == "switch_statement":
        cases = [n for n in within(node) if n.type == "case_statement"]
        return any(
            _matters(child, names, breaks=False, continues=continues)
            for case in cases
            for child in case.children
            if child.type != "case_statement"
        )
    return any(
        _matters(child, names, breaks=breaks, continues=continues) for child in node.children
    )


def _acts(node: Node, names: Names) -> bool:
    """This very node changes something that decides, or never comes back."""
    if _writes(node) & (names.deciding | names.aliases) or _leaves_for_good(node):
        return True
    call = node.type == "call_expression"
    return call and bool(handed_out(node, names) or calls_acting(node, names))


def calls_acting(call: Node, names: Names) -> bool:
    """The call is of a local function that changes a deciding variable, or is given one."""
    if text(call.child_by_field_name("function")) in names.acting:
        return True
    return any(
        _writes(inner) & names.shared
        for node in within(call)
        if node.type == "lambda_expression"
        for inner in everything(node)
    )


def unknown_macro(node: Node) -> str:
    """The name of a macro that ``node`` executes and that may do anything, "" if it is none.

    A lone name does nothing in C++, so it is one. Those in capitals that log or assert are known.
    """
    if node.type != "expression_statement":
        return ""
    inner = [child for child in node.named_children if child.type != "comment"]
    if len(inner) != 1:
        return ""
    if inner[0].type == "identifier":
        return text(inner[0])
    name = text(inner[0].child_by_field_name("function"))
    macro = inner[0].type == "call_expression" and name.isidentifier() and name.isupper()
    return name if macro and not _KNOWN_MACRO.search(name) and name not in NO_RETURN else ""


def handed_out(call: Node, names: Names) -> frozenset[str]:
    """The shared variables that a call gets as they are, so that it may change them.

    Logging and assertion macros, by their capital letters, change nothing.
    """
    listed = call.child_by_field_name("arguments")
    function = text(call.child_by_field_name("function"))
    if listed is None or function.isupper():
        return frozenset()
    given = {text(n) or "" for n in listed.named_children if n.type == "identifier"}
    given |= {taken_address(n) for n in listed.named_children}
    return names.shared & given


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
    return frozenset(_identifiers(target)) if target is not None else frozenset()


def _leaves_for_good(node: Node) -> bool:
    return (
        node.type == "call_expression"
        and text(node.child_by_field_name("function")).rpartition("::")[2] in NO_RETURN
    )
