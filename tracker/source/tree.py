"""The tree-sitter grammar: parse, and walk to what is defined outside of function bodies.

The only file that knows tree-sitter's node names for definitions. What it says is a proposal;
``outline`` checks it against the brackets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from tracker.source.lexer import tokens

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

_TYPES = {
    "class_specifier": "type",
    "struct_specifier": "type",
    "union_specifier": "type",
    "enum_specifier": "enum",
}
_DESCEND = frozenset(
    {
        "translation_unit",
        "declaration_list",
        "linkage_specification",
        "template_declaration",
        "field_declaration_list",
        "preproc_if",
        "preproc_ifdef",
        "preproc_else",
        "preproc_elif",
        "preproc_elifdef",
        "ERROR",
        "export_declaration",
    }
)
_WRAPPERS = frozenset(
    {"pointer_declarator", "reference_declarator", "parenthesized_declarator", "init_declarator"}
    | {"attributed_declarator", "array_declarator", "function_declarator"}
)
TreeKind = Literal["function", "declaration", "type", "enum", "macro", "variable", "alias"]


@dataclass(frozen=True, slots=True)
class Proposed:
    """What the grammar says is defined at [start, end) (bytes); ``body``: offset of its ``{``."""

    kind: TreeKind
    name: tuple[bytes, ...]
    scopes: tuple[tuple[bytes, bool], ...]
    start: int
    body: int | None
    end: int


@cache
def _parser() -> Parser:
    import tree_sitter_cpp  # heavy: only when C++ is really read
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cpp.language()))


def parse(source: bytes) -> Tree:
    """The concrete syntax tree; never fails, errors are nodes in it."""
    return _parser().parse(source)


def error_lines(node: Node) -> list[int]:
    """1-based lines where the grammar gave up inside ``node``, in order; empty if it did not."""
    found: list[int] = []
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type == "ERROR" or current.is_missing:
            found.append(current.start_point.row + 1)
        elif current.has_error:
            pending.extend(reversed(current.children))
    return sorted(set(found))


def proposals(tree: Tree) -> list[Proposed]:
    """Definitions and declarations outside of function bodies, in file order."""
    return list(_walk(tree.root_node, ()))


def _walk(node: Node, scopes: tuple[tuple[bytes, bool], ...]) -> Iterator[Proposed]:
    for child in node.children:
        kind = child.type
        if kind == "function_definition":
            yield from _function(child, scopes)
        elif kind in _TYPES:
            yield from _type(child, child, scopes)
        elif kind in {"declaration", "field_declaration", "type_definition", "alias_declaration"}:
            yield from _declaration(child, scopes)
        elif kind == "namespace_definition":
            name = child.child_by_field_name("name")
            body = child.child_by_field_name("body")
            names = [part for part in tokens(name.text or b"") if part != b"::"] if name else []
            if body is not None:
                yield from _walk(body, (*scopes, *((part, True) for part in names)))
        elif kind in {"preproc_def", "preproc_function_def"}:
            name = child.child_by_field_name("name")
            if name is not None and name.text:
                yield Proposed("macro", (name.text,), (), child.start_byte, None, child.end_byte)
        elif kind in _DESCEND:
            yield from _walk(child, scopes)


def _whole(node: Node) -> Node:
    """The node with its ``template <...>`` in front."""
    parent = node.parent
    while parent is not None and parent.type == "template_declaration":
        node, parent = parent, parent.parent
    return node


def _function(node: Node, scopes: tuple[tuple[bytes, bool], ...]) -> Iterator[Proposed]:
    declarator = _declared(node)
    body = node.child_by_field_name("body")
    if declarator is None:
        return
    whole = _whole(node)
    if body is None or body.type not in {"compound_statement", "try_statement"}:
        yield Proposed(
            "declaration", name_of(declarator), scopes, whole.start_byte, None, whole.end_byte
        )
        return
    start = body.start_byte
    if body.type == "try_statement":
        block = body.child_by_field_name("body")
        start = block.start_byte if block is not None else start
    yield Proposed("function", name_of(declarator), scopes, whole.start_byte, start, whole.end_byte)


def _type(node: Node, outer: Node, scopes: tuple[tuple[bytes, bool], ...]) -> Iterator[Proposed]:
    name = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    if body is None:
        return
    names = _plain(name.text or b"") if name is not None else ()
    if names:
        whole = _whole(outer)
        yield Proposed(
            "enum" if node.type == "enum_specifier" else "type",
            names,
            scopes,
            whole.start_byte,
            body.start_byte,
            whole.end_byte,
        )
    if node.type != "enum_specifier":
        yield from _walk(body, (*scopes, *((part, False) for part in names)))


def _declaration(node: Node, scopes: tuple[tuple[bytes, bool], ...]) -> Iterator[Proposed]:
    specified = node.child_by_field_name("type")
    body = None
    if specified is not None and specified.type in _TYPES:
        body = specified.child_by_field_name("body")
        if specified.child_by_field_name("name") is not None or body is None:
            yield from _type(specified, node, scopes)
    whole = _whole(node)
    if node.type == "alias_declaration":
        name = node.child_by_field_name("name")
        if name is not None and name.text:
            yield Proposed("alias", (name.text,), scopes, whole.start_byte, None, whole.end_byte)
        return
    for declarator in node.children_by_field_name("declarator"):
        names = name_of(declarator)
        if not names:
            continue
        kind: TreeKind = "variable"
        if node.type == "type_definition":
            kind = "type" if body is not None else "alias"
        elif _is_function(declarator):
            kind = "declaration"
        yield Proposed(kind, names, scopes, whole.start_byte, None, whole.end_byte)


def _is_function(declarator: Node | None) -> bool:
    while declarator is not None and declarator.type in _WRAPPERS:
        if declarator.type == "init_declarator":
            return False
        inner = _inner(declarator)
        if declarator.type == "function_declarator":
            return inner is None or inner.type != "parenthesized_declarator"
        declarator = inner
    return False


def _inner(node: Node) -> Node | None:
    found = node.child_by_field_name("declarator")
    if found is None and node.type in {"reference_declarator", "parenthesized_declarator"}:
        named = [child for child in node.named_children if child.type != "comment"]
        found = named[-1] if named else None
    return found


def _declared(node: Node) -> Node | None:
    declarator = node.child_by_field_name("declarator")
    if declarator is None:  # a conversion operator has none
        for child in node.named_children:
            if child.type in {"operator_cast", "qualified_identifier"}:
                return child
    return declarator


def name_of(declarator: Node) -> tuple[bytes, ...]:
    """The qualified name that a declarator declares, template arguments dropped."""
    node: Node | None = declarator
    while node is not None and node.type in _WRAPPERS:
        node = _inner(node)
    if node is None:
        return ()
    if node.type == "qualified_identifier":
        inner = node
        while inner.type == "qualified_identifier":
            last = inner.child_by_field_name("name")
            if last is None:
                break
            inner = last
        if inner.type in _WRAPPERS:  # `int * A::f()` parses the star inside the name
            scope = (node.text or b"")[: inner.start_byte - node.start_byte]
            return (*_plain(scope), *name_of(inner))
    text = node.text or b""
    if node.type == "operator_cast":
        text = text[: text.find(b"(")] if b"(" in text else text
    return _plain(text)


def _plain(text: bytes) -> tuple[bytes, ...]:
    """``A<T>::B::~f`` -> (A, B, ~f); an operator's marks stay one part."""
    parts: list[bytes] = []
    stream = list(tokens(text))
    depth = 0
    for place, piece in enumerate(stream):
        if piece == b"operator" and depth == 0:
            rest = stream[place:]
            words = all(part[:1].isalnum() or part[:1] == b"_" for part in rest)
            parts.append((b" " if words else b"").join(rest))
            break
        if piece == b"<":
            depth += 1
        elif piece in (b">", b">>"):
            depth -= len(piece)
        elif depth <= 0 and piece == b"~":
            parts.append(b"~")
        elif depth <= 0 and piece != b"::" and (piece[:1].isalpha() or piece[:1] in b"_$"):
            if parts and parts[-1] == b"~":
                parts[-1] += piece
            else:
                parts.append(piece)
    return tuple(parts)
