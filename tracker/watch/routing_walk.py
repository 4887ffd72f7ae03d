"""The routing table walked backwards over a range: where an answer changes.

The rows are evaluated again only where something that decided them differs: the routing function, a
function it called, or whether a constant they name exists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tracker.evidence.watch import RoutingStatus
from tracker.git.range_log import Change, Logged
from tracker.source import same_focus
from tracker.watch.library import renamed_words
from tracker.watch.routing import KEYWORDS, Router, Row, compare_rows
from tracker.watch.selector import Selector
from tracker.watch.snapshot import Rewound

_SILENT = frozenset({RoutingStatus.SAME, RoutingStatus.SAME_ANSWER_NEW_CODE})
_WORD = re.compile(rb"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Question:
    """One row: ``key`` as in an item's id, and what it asks."""

    key: str
    arch: str
    assume: dict[str, bool]


@dataclass(frozen=True, slots=True)
class RoutingStep:
    """What one commit did to one row."""

    commit: Logged
    question: Question
    status: RoutingStatus
    why: str
    before: Row
    after: Row


class RoutingWalk:
    """``files``: the revision that the walk stands at; the caller rewinds it before ``back``."""

    def __init__(
        self, function: Selector, subject: str, questions: list[Question], files: Rewound
    ) -> None:
        self._function = function
        self._subject = subject
        self._questions = questions
        self._files = files
        self._archs = frozenset(question.arch.encode() for question in questions)
        self._constants: frozenset[bytes] = frozenset()
        self._words_of: dict[str, frozenset[bytes]] = {}
        self.rows = self._evaluate()

    def back(self, commit: Logged) -> list[RoutingStep]:
        """The steps that ``commit`` made; ``files`` already stand at the state before it."""
        if not any(self._decides(c) for c in commit.changes if c.path in self._visible):
            return []
        after = self.rows
        self.rows = self._evaluate()
        found: list[RoutingStep] = []
        for question in self._questions:
            old, new = self.rows[question.key], after[question.key]
            if not (old.exists or new.exists) or (old.fault and new.fault):
                continue
            status, why = compare_rows(old, new)
            if status not in _SILENT:
                found.append(RoutingStep(commit, question, status, why, old, new))
        return found

    def agrees(self) -> bool:
        """A direct reading of the revision where the walk stands gives the rows it arrived at."""
        arrived = self.rows
        direct = self._evaluate()
        return all(
            arrived[key].classes == row.classes and arrived[key].exists == row.exists
            for key, row in direct.items()
        )

    def _evaluate(self) -> dict[str, Row]:
        router = Router(self._files, self._function, self._subject)
        rows = {q.key: router.row(q.arch, q.assume) for q in self._questions}
        self._visible = frozenset({self._function.path, *router.visible})
        self._functions = router.functions
        self._decisive = KEYWORDS.union(*(_WORD.findall(text) for text in router.texts))
        # Where no enum is known yet it may appear in any file, and only its arrival matters.
        named = router.texts if router.enumerations else ()
        constants = self._archs.union(*(_WORD.findall(text) for text in named))
        if constants != self._constants:
            self._constants = constants
            self._words_of.clear()
        self._enumerations = router.enumerations or self._visible
        return rows

    def _decides(self, change: Change) -> bool:
        """The rows may differ on both sides of ``change``."""
        if change.old is None or change.new is None:
            return True
        names = [name for path, name in self._functions if path == change.path]
        if names:
            old, new = self._files.blob(change.old), self._files.blob(change.new)
            if old is None or new is None or not all(same_focus(new, old, n) for n in names):
                return True
        if change.path in self._enumerations and self._words(change.old) != self._words(change.new):
            return True
        return self._renamed(change.old) != self._renamed(change.new)

    def _renamed(self, oid: str) -> frozenset[bytes]:
        """The words that decide and bear another meaning in a blob."""
        source = self._files.blob(oid)
        return self._decisive & renamed_words(source) if source is not None else frozenset()

    def _words(self, oid: str) -> frozenset[bytes]:
        """The constants that a blob names, of those that decide."""
        if oid not in self._words_of:
            source = self._files.blob(oid) or b""
            if not any(arch in source for arch in self._archs):
                self._words_of[oid] = frozenset()
            else:
                self._words_of[oid] = self._constants.intersection(_WORD.findall(source))
        return self._words_of[oid]
