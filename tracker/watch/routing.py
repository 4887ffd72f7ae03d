"""Which class the routing function constructs for one architecture, from the source.

The answer is evaluated, not searched for: a class name in the text proves nothing. What stays open
is kept as a condition; what cannot be read is unresolved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tracker.config import RoutingTable
from tracker.evidence.watch import RoutingAnswer, RoutingResult, RoutingStatus
from tracker.source import focused, outline
from tracker.watch.conditions import Conditions, normalised
from tracker.watch.evaluate import Evaluator, built_classes
from tracker.watch.library import Known, Library
from tracker.watch.locate import Absent, anywhere, locate
from tracker.watch.selector import Selector
from tracker.watch.snapshot import Files
from tracker.watch.values import Built, Null, Opaque, Question, Unreadable, Unset, Value, spelled

_MAX_QUESTIONS = 12
KEYWORDS = frozenset(b"if else switch case default break return new const bool".split())
NO_MEMORY = "nullptr"


@dataclass(frozen=True, slots=True)
class Row:
    """One cell of the truth table at one revision.

    ``answers``: one without open conditions, or several that exclude one another. ``code``: the
    tokens that decided. ``fault``: why there is no answer, "" otherwise. ``exists``: False if the
    architecture itself is not in this revision.
    """

    answers: tuple[RoutingAnswer, ...]
    code: tuple[tuple[bytes, ...], ...]
    fault: str = ""
    exists: bool = True

    @property
    def classes(self) -> frozenset[str]:
        return frozenset(answer.class_ for answer in self.answers)


@dataclass(frozen=True, slots=True)
class _Path:
    """What is returned on one path, and the open conditions that lead there."""

    outcome: str
    conditions: tuple[tuple[str, bool], ...]
    used: tuple[tuple[str, bool], ...]
    lines: tuple[str, ...]
    code: tuple[tuple[bytes, ...], ...]


class Router:
    """The routing function of one revision, found once and asked many times."""

    def __init__(self, snapshot: Files, function: Selector, subject: str) -> None:
        self.subject = subject
        region = locate(function, snapshot)
        if isinstance(region, Absent):
            paths = snapshot.files_with((function.last_name or "",))
            region = anywhere(function, snapshot, region, paths)
        self.fault = ""
        self.known: Known | None = None
        if isinstance(region, Absent):
            self.fault = (
                f"the routing function {function.name} does not exist there ({region.why}); "
                "what was constructed elsewhere before it existed is not evaluated"
            )
            return
        if region.doubt or len(region.pieces) != 1:
            self.fault = region.doubt or "the routing function is defined more than once"
            return
        part = focused(region.blob, function.last_name or "")
        named = [d for d in outline(part).named(region.name or "") if d.body is not None]
        self.known = Known(region.path, part, named[0])
        self.library = Library(snapshot, region.path)

    @property
    def visible(self) -> tuple[str, ...]:
        """The files that were looked at."""
        return self.library.visible if self.known else ()

    @property
    def functions(self) -> frozenset[tuple[str, str]]:
        """File and last name of every function that took part."""
        known = (self.known, *self.library.used) if self.known else ()
        return frozenset((k.path, k.definition.name.rpartition("::")[2]) for k in known)

    @property
    def texts(self) -> tuple[bytes, ...]:
        """The text of every function that took part."""
        known = (self.known, *self.library.used) if self.known else ()
        return tuple(k.text for k in known)

    @property
    def enumerations(self) -> frozenset[str]:
        """The files whose enums hold the architectures that were asked for."""
        return frozenset(self.library.enumerations.values()) if self.known else frozenset()

    def constructed(self) -> dict[str, tuple[str, ...]]:
        """Every class that the routing function constructs somewhere -> ``path:line`` of each."""
        found: dict[str, tuple[str, ...]] = {}
        if self.known is not None:
            first, path = self.known.definition.start, self.known.path
            for name, row in built_classes(self.known.text):
                found[name] = (*found.get(name, ()), f"{path}:{first + row}")
        return found

    def row(self, arch: str, assume: Mapping[str, bool]) -> Row:
        """The answer for ``arch`` where ``assume`` holds."""
        if self.known is None:
            return Row((), (), self.fault)
        enumerators = self.library.enumeration_of(arch)
        if not enumerators:
            return Row((), (), f"no enum that can be seen from there has {arch}", exists=False)
        try:
            paths = self._paths(arch, _canonical(assume), enumerators, {})
        except Unreadable as fault:
            return Row((), (), f"{fault.why} ({fault.place})")
        named = {word for path in paths for piece in path.code for word in piece}
        other = self.library.other_meaning(named | KEYWORDS)
        if other:
            return Row((), (), other)
        answers = tuple(
            RoutingAnswer(
                class_=path.outcome,
                conditions=(
                    *(_sentence(text, true, "assumed") for text, true in path.used),
                    *(_sentence(text, true, "open") for text, true in path.conditions),
                ),
                evidence=path.lines,
            )
            for path in paths
        )
        return Row(answers, tuple(piece for path in paths for piece in path.code))

    def _paths(
        self,
        arch: str,
        assume: Mapping[str, bool],
        enumerators: frozenset[str],
        decided: dict[str, bool],
    ) -> list[_Path]:
        """Every path from here; a question whose both answers lead to the same is dropped."""
        assert self.known is not None  # noqa: S101
        conditions = Conditions(assume, enumerators, decided)
        evaluator = Evaluator(self.library, self.subject, arch, conditions)
        try:
            value = evaluator.run(self.known, {})
        except Question as question:
            if len(decided) >= _MAX_QUESTIONS:
                raise Unreadable("too many open conditions", question.place) from None
            yes, no = (
                self._paths(arch, assume, enumerators, {**decided, question.condition: answer})
                for answer in (True, False)
            )
            if {(p.outcome, p.conditions) for p in yes} == {(p.outcome, p.conditions) for p in no}:
                return yes
            return [
                _Path(
                    path.outcome,
                    ((question.condition, answer), *path.conditions),
                    path.used,
                    path.lines,
                    path.code,
                )
                for answer, side in ((True, yes), (False, no))
                for path in side
            ]
        return [
            _Path(
                _outcome(value, self.known),
                (),
                tuple(sorted(conditions.used.items())),
                tuple(evaluator.lines),
                tuple(evaluator.slice),
            )
        ]


def _outcome(value: Value, known: Known) -> str:
    if isinstance(value, Built):
        return value.name
    if isinstance(value, Null):
        return NO_MEMORY
    if isinstance(value, Opaque) and value.text in {"abort", "an exception"}:
        return value.text
    where = f"{known.path}:{known.definition.start}"
    if isinstance(value, Unset):
        raise Unreadable(f"{value.name} is returned without a value", where)
    raise Unreadable(f"it returns {spelled(value)}, which no class can be read from", where)


def _canonical(assume: Mapping[str, bool]) -> dict[str, bool]:
    """``a != b`` is asked as ``a == b``, so an assumption is turned the same way."""
    found: dict[str, bool] = {}
    for text, true in assume.items():
        left, differs, right = text.partition("!=")
        if differs:
            found[normalised(f"{left} == {right}")] = not true
        else:
            found[normalised(text)] = true
    return found


def _sentence(text: str, true: bool, how: str) -> str:
    left, same, right = text.partition(" == ")
    if same and not true:
        return f"{left} != {right} ({how})"
    return f"{text} ({how})" if true else f"not {text} ({how})"


def compare_rows(before: Row, after: Row) -> tuple[RoutingStatus, str]:
    """The status of one cell and one sentence for it."""
    if not after.exists:
        return _gone(before, after)
    if after.fault:
        return RoutingStatus.UNRESOLVED, f"at the target: {after.fault}"
    if not before.exists:
        return RoutingStatus.CHANGED, f"new architecture; it gets {_names(after)}"
    if before.fault:
        why = f"at the pin: {before.fault}; at the target it gets {_names(after)}"
        return RoutingStatus.UNRESOLVED, why
    return _compare_answers(before, after)


def _gone(before: Row, after: Row) -> tuple[RoutingStatus, str]:
    if not before.exists:
        return RoutingStatus.UNRESOLVED, f"at neither revision: {after.fault}"
    if before.fault:
        why = f"at the pin: {before.fault}; at the target: {after.fault}"
        return RoutingStatus.UNRESOLVED, why
    return RoutingStatus.CHANGED, f"the architecture is gone; it got {_names(before)}"


def _compare_answers(before: Row, after: Row) -> tuple[RoutingStatus, str]:
    old, new = _names(before), _names(after)
    if _meaning(before) == _meaning(after):
        if before.code == after.code:
            return RoutingStatus.SAME, f"{new}, decided by the same code"
        return RoutingStatus.SAME_ANSWER_NEW_CODE, f"still {new}, decided by other code"
    if len(before.classes) == 1 and before.classes < after.classes:
        why = f"{old} became {new}: it depends on what the situation leaves open"
        return RoutingStatus.UNRESOLVED, why
    if before.classes == after.classes:
        return RoutingStatus.CHANGED, f"still {new}, under other conditions"
    return RoutingStatus.CHANGED, f"{old} became {new}"


def _meaning(row: Row) -> frozenset[tuple[str, tuple[str, ...]]]:
    """Class and open conditions; which assumptions were asked for is no difference."""
    return frozenset(
        (answer.class_, tuple(text for text in answer.conditions if text.endswith("(open)")))
        for answer in row.answers
    )


def _names(row: Row) -> str:
    return " or ".join(dict.fromkeys(answer.class_ for answer in row.answers)) or "no answer"


def result(question: RoutingTable, before: Row, after: Row) -> RoutingResult:
    """The cell at both revisions."""
    if question.may_be_absent and not before.exists and not after.exists:
        status, why = RoutingStatus.SAME, "the architecture exists at neither revision"
    else:
        status, why = compare_rows(before, after)
    return RoutingResult(
        name=question.name,
        arch=question.arch,
        when=question.when,
        from_=before.answers,
        to=after.answers,
        status=status,
        why=why,
        blocking=question.blocking,
    )
