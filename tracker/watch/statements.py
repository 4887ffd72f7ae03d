"""Parts of one definition's text: the anchored statement, a type's fields, a function's signature.

Works on the text of a definition whose range is known; ranges are byte offsets into that text,
half-open. Errors of the grammar are judged inside the statement only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tracker.source.brackets import brackets
from tracker.source.lexer import tokens
from tracker.source.tree import error_lines, parse
from tracker.watch.selector import Anchor

if TYPE_CHECKING:
    from tree_sitter import Node

Range = tuple[int, int]
_NODES: dict[Anchor, frozenset[str]] = {
    "if": frozenset({"if_statement"}),
    "for": frozenset({"for_statement", "for_range_loop"}),
    "while": frozenset({"while_statement", "do_statement"}),
    "switch": frozenset({"switch_statement"}),
    "case": frozenset({"case_statement"}),
    "return": frozenset({"return_statement"}),
    "call": frozenset({"call_expression"}),
}
# What decides whether, and how often, the code inside runs; up to its body.
_DECIDING = frozenset(
    {"if_statement", "for_statement", "for_range_loop", "while_statement", "do_statement"}
    | {"switch_statement", "case_statement", "else_clause", "try_statement", "catch_clause"}
    | {"lambda_expression"}
)
_BODIES = ("consequence", "body", "alternative")
_LITERALS = frozenset({"string_literal", "raw_string_literal", "concatenated_string"})


class Anchored(NamedTuple):
    """A statement. ``around``: tokens of the loops and conditions it stands in, innermost first."""

    range: Range
    around: tuple[bytes, ...]


def anchored(text: bytes, anchor: Anchor, literal: str) -> tuple[list[Anchored], str]:
    """The innermost statement of kind ``anchor`` around each string literal with ``literal``.

    For ``case`` the label and for ``call`` the called name may hold it instead. The second value
    says why the answer is in doubt, "" if it is not.
    """
    root = parse(text).root_node
    wanted = literal.encode()
    found: list[Node] = []
    matched = brackets(text)
    for node in _walk(root):
        if node.type in _LITERALS and wanted in (node.text or b""):
            if not matched.live(node.start_byte):
                continue  # the preprocessor drops it
            statement = _around(node, _NODES[anchor])
        elif anchor in {"case", "call"} and node.type in _NODES[anchor]:
            label = node.child_by_field_name("value" if anchor == "case" else "function")
            statement = node if label is not None and label.text == wanted else None
        else:
            continue
        if statement is not None and statement not in found:
            found.append(statement)
    ranges = [Anchored((node.start_byte, node.end_byte), _heads(node, text)) for node in found]
    broken = [n for n in found if error_lines(n) or not matched.sound(n.start_byte, n.end_byte)]
    if broken or (not found and wanted in text and root.has_error):
        return ranges, f'the grammar cannot read the code around "{literal}"'
    return ranges, ""


def _heads(node: Node, text: bytes) -> tuple[bytes, ...]:
    found: list[bytes] = []
    inner, outer = node, node.parent
    while outer is not None:
        if outer.type in _DECIDING:
            found += tokens(text[outer.start_byte : _head_end(outer, inner)])
            condition = outer.child_by_field_name("condition")
            if outer.type == "do_statement" and condition is not None:
                found += tokens(condition.text or b"")
        inner, outer = outer, outer.parent
    return tuple(found)


def _head_end(outer: Node, inner: Node) -> int:
    """Where the head ends: at the body, of a ``case`` behind its label, else at what is inside."""
    label = outer.child_by_field_name("value") if outer.type == "case_statement" else None
    if label is not None:
        return label.end_byte
    bodies = [outer.child_by_field_name(name) for name in _BODIES]
    return min(body.start_byte for body in [*bodies, inner] if body is not None)


def fields(text: bytes) -> list[Range]:
    """What decides a type's layout: its head (what it is, its alignment, its bases), its data
    members and those of types inside it, or the enumerators, in order; of a virtual method the word
    that says so.
    """
    root = parse(text).root_node
    body = next(
        (n for n in _walk(root) if n.type in {"field_declaration_list", "enumerator_list"}), None
    )
    if body is None:
        return []
    head = (0, len(text[: body.start_byte].rstrip()))
    if body.type == "enumerator_list":
        members = [n for n in body.named_children if n.type == "enumerator"]
    else:
        members = _members(body)
    return [head, *((n.start_byte, n.end_byte) for n in members)]


def _members(body: Node) -> list[Node]:
    found: list[Node] = []
    for child in body.named_children:
        found.extend(word for word in child.children if word.type == "virtual")
        if child.type == "field_declaration":
            inner = _named_type(child)
            if inner is not None:
                found.extend(_members(inner))
                continue
            declarator = child.child_by_field_name("declarator")
            if declarator is None or not any(
                n.type == "function_declarator" and n.parent is not None and _is_method(n)
                for n in _walk(declarator)
            ):
                found.append(child)
        elif child.type.startswith("preproc_"):
            found.extend(_members(child))
        elif child.type == "ERROR":
            found.append(child)
    return found


def _named_type(declaration: Node) -> Node | None:
    """The body of ``struct inner { ... };``, whose members count, its methods do not.

    An unnamed struct or union is itself a member.
    """
    specified = declaration.child_by_field_name("type")
    if declaration.child_by_field_name("declarator") is not None or specified is None:
        return None
    if specified.child_by_field_name("name") is None:
        return None
    return specified.child_by_field_name("body")


def _is_method(function: Node) -> bool:
    inner = function.child_by_field_name("declarator")
    return inner is not None and inner.type != "parenthesized_declarator"


def signature(text: bytes, body: int | None) -> list[Range]:
    """Everything before the body (at offset ``body``), or the whole declaration."""
    head = text if body is None else text[:body]
    return [(0, len(head.rstrip()))]


def _walk(node: Node) -> list[Node]:
    found: list[Node] = []
    pending = [node]
    while pending:
        current = pending.pop()
        found.append(current)
        pending.extend(reversed(current.children))
    return found


def _around(node: Node, kinds: frozenset[str]) -> Node | None:
    current = node.parent
    while current is not None and current.type not in kinds:
        current = current.parent
    return current
