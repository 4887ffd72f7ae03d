"""C++ as a tree and as tokens: which function holds this line, where is it defined, is it equal.

Serves ``series`` and ``watch``. Reads bytes, never files; runs nothing. The grammar is known to
lose functions to macros, ``#if`` branches and format macros, so no answer rests on the tree alone:
every range is checked against brackets counted by a lexer of our own, and what could not be checked
is marked ``reliable=False``.
"""

from tracker.source.focus import focused, kept, same_focus
from tracker.source.lexer import tokens
from tracker.source.naming import may_define, may_define_type
from tracker.source.outline import (
    Definition,
    Found,
    Kind,
    Outline,
    definition,
    enclosing_function,
    enclosing_scope,
    is_cpp,
    outline,
)

__all__ = [
    "Definition",
    "Found",
    "Kind",
    "Outline",
    "definition",
    "enclosing_function",
    "enclosing_scope",
    "focused",
    "is_cpp",
    "kept",
    "may_define",
    "may_define_type",
    "outline",
    "same_focus",
    "tokens",
]
