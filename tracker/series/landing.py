"""Proof after a clean merge: each hunk's change stands in the result, and where.

Never trusts a merge's exit status: a hunk counts as landed only if its lines are found in the
result at the place that the line mapping gives, in the function that it was written for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tracker.evidence.rebase import Flag, HunkResult, Outcome
from tracker.series.merging import Change, overlapping, to_new, touching
from tracker.series.patch import Group
from tracker.series.placing import Placed, find_block
from tracker.series.relevance import scope_change
from tracker.series.scopes import Scope, same_name, scope_at
from tracker.series.texts import Texts
from tracker.series.upstreaming import present as already_there


@dataclass(frozen=True, slots=True)
class Landed:
    """What was found of one hunk; ``why``: a sentence for each flag that was raised."""

    result: HunkResult
    flags: tuple[Flag, ...]
    why: tuple[str, ...]


def land(texts: Texts, placed: Sequence[Placed]) -> list[Landed]:
    """Judge the hunks of one file, in order."""
    nothing_left = texts.result == texts.ours and texts.theirs != texts.base
    found, grown = _land_all(texts, placed, trust_repeats=True)
    if texts.result is None:
        return found
    if nothing_left:
        return [_upstreamed(item) for item in found]
    if grown != len(texts.result) - len(texts.ours):
        # What was said to be upstream already does not add up with the length of the result.
        found, grown = _land_all(texts, placed, trust_repeats=False)
    if grown != len(texts.result) - len(texts.ours):
        return [_doubted(item) for item in found]
    return found


def _upstreamed(landed: Landed) -> Landed:
    result = replace(landed.result, outcome=Outcome.UPSTREAMED, landed_in=landed.result.function)
    return Landed(result, (), ())


def _doubted(landed: Landed) -> Landed:
    why = "the merge is clean, but which of the hunks made it cannot be told"
    flags = tuple(dict.fromkeys((*landed.flags, Flag.AMBIGUOUS)))
    return Landed(landed.result, flags, (*landed.why, why))


def _land_all(
    texts: Texts, placed: Sequence[Placed], *, trust_repeats: bool
) -> tuple[list[Landed], int]:
    """The hunks, and by how many lines those that were applied make the text longer."""
    found: list[Landed] = []
    carried = applied = 0
    for item, cut in zip(placed, _as_git_cuts(texts, placed), strict=True):
        groups = absolute(item)
        landed = _land_one(texts, item, groups, cut, carried, applied, trust_repeats=trust_repeats)
        found.append(landed)
        delta = sum(len(group.added) - len(group.removed) for group in groups)
        carried += delta
        if landed.result.outcome.clean:
            applied += delta
    return found, applied


def _as_git_cuts(texts: Texts, placed: Sequence[Placed]) -> list[list[Group]]:
    """Each hunk's changes as git's own difference of the two texts has them.

    Among equal lines the patch may have cut them elsewhere; upstream's changes are cut by git too.
    """
    cuts: list[list[Group]] = [[] for _ in placed]
    for change in texts.carried:
        far = [max(item.at - change.start, change.end - item.end, 0) for item in placed]
        cuts[far.index(min(far))].append(
            Group(
                change.start,
                change.new_start,
                tuple(texts.base[change.start : change.end]),
                tuple(texts.theirs[change.new_start : change.new_end]),
            )
        )
    return [cut or absolute(item) for cut, item in zip(cuts, placed, strict=True)]


def absolute(item: Placed) -> list[Group]:
    """The hunk's groups with their place in the whole base text."""
    return [
        Group(item.at + g.start, item.at + g.new_start, g.removed, g.added)
        for g in item.hunk.groups()
    ]


def _land_one(
    texts: Texts,
    item: Placed,
    groups: list[Group],
    cut: list[Group],
    carried: int,
    applied: int,
    *,
    trust_repeats: bool,
) -> Landed:
    upstream = texts.upstream
    function = around(texts, groups[0])
    home = _home(texts, groups[0], function, carried)
    outcome = _outcome(texts, item, cut, applied if trust_repeats else None)
    at = to_new(upstream, item.at)
    landed_in: str | None = None
    flags: list[Flag] = []
    why: list[str] = []
    if outcome.clean and texts.result is not None:
        scope = _landing_scope(texts, groups[0], home, function, applied)
        landed_in = scope.name if scope is not None else None
        if not _stands(texts, groups, applied):
            outcome = Outcome.CONFLICT
            why.append("the merge is clean but the change is not in the result")
        elif home is not None and not same_name(landed_in or "", home.name):
            flags.append(Flag.LANDED_ELSEWHERE)
            why.append(f"written for {home.name}, landed in {landed_in or 'no function'}")
        if outcome is not Outcome.UNCHANGED:
            doubt = _ambiguity(texts, item)
            if doubt:
                flags.append(Flag.AMBIGUOUS)
                why.append(doubt)
        changed = scope_change(texts, item, groups, function)
        if changed:
            flags.append(Flag.SCOPE_CHANGED)
            why.append(changed)
        present = already_there(texts, groups)
        if present:
            flags.append(Flag.ALREADY_PRESENT)
            why.append(present)
    if outcome is Outcome.UPSTREAMED:
        landed_in = home.name if home is not None else None
    result = HunkResult(
        old_start=item.hunk.old_start,
        new_start=at + 1 if outcome is not Outcome.CONFLICT else None,
        function=home.name if home is not None else None,
        landed_in=landed_in,
        outcome=outcome,
    )
    return Landed(result, tuple(flags), tuple(why))


def around(texts: Texts, group: Group) -> Scope | None:
    """The function on the pin that holds the whole change; None if it is in none."""
    first = group.start if group.removed else group.start - 1
    if first < 0:
        return None
    scope = scope_at(texts.base, texts.path, first)
    inside = scope is not None and scope.is_function and group.start < scope.end
    return scope if inside else None


def _home(texts: Texts, group: Group, function: Scope | None, carried: int) -> Scope | None:
    """The scope of the hunk's first change on the pin: the function around it, else that of its
    first added line with code on it (the patch may add the function), else of its first removed.
    """
    if function is not None:
        return function
    if group.added:
        return scope_at(texts.theirs, texts.path, group.start + carried + _first_code(group))
    return scope_at(texts.base, texts.path, group.start)


def _landing_scope(
    texts: Texts, group: Group, home: Scope | None, function: Scope | None, applied: int
) -> Scope | None:
    if home is not None and not texts.upstream:
        return home
    if function is not None and not overlapping(texts.upstream, function.start, function.end):
        return function  # upstream only moved it as a whole
    start = to_new(texts.upstream, group.start)
    if group.added and texts.result is not None:
        return scope_at(texts.result, texts.path, start + applied + _first_code(group))
    return scope_at(texts.ours, texts.path, start)


def _first_code(group: Group) -> int:
    return next((i for i, line in enumerate(group.added) if line.strip()), 0)


def _outcome(texts: Texts, item: Placed, groups: list[Group], applied: int | None) -> Outcome:
    upstream = texts.upstream
    if upstream and all(_made_upstream(texts, group) for group in groups):
        return Outcome.UPSTREAMED
    if not overlapping(upstream, item.at, item.end):
        exact = to_new(upstream, item.at) == item.hunk.first
        return Outcome.UNCHANGED if exact else Outcome.OFFSET
    if applied is not None and _left_alone(texts, item, applied):
        return Outcome.UPSTREAMED
    if texts.result is None and any(
        touching(upstream, Change(g.start, g.start + len(g.removed), 0, 0)) for g in groups
    ):
        return Outcome.CONFLICT
    return Outcome.MERGED


def _left_alone(texts: Texts, item: Placed, applied: int) -> bool:
    """The merge holds the change and did nothing here: upstream's lines have it already.

    Where lines repeat, a change can be cut in two ways, and ``_made_upstream`` sees only one.
    """
    if texts.result is None:
        return False
    start, end = to_new(texts.upstream, item.at), to_new(texts.upstream, item.end)
    for change in texts.upstream:
        if change.start < item.end <= change.end:
            end = change.new_end
    # One line more on both sides, the file's ends included: an insertion can stand on the edge.
    first, last = max(start - 1, 0), end + 1
    if (start == 0) != (start + applied == 0) or first + applied < 0:
        return False
    return texts.ours[first:last] == texts.result[first + applied : last + applied]


def _made_upstream(texts: Texts, group: Group) -> bool:
    """Upstream made this very change to these very lines."""
    end = group.start + len(group.removed)
    return any(
        change.start == group.start
        and change.end == end
        and tuple(texts.ours[change.new_start : change.new_end]) == group.added
        for change in texts.upstream
    )


def _stands(texts: Texts, groups: list[Group], applied: int) -> bool:
    """Each group's added lines stand in the result where the mapping puts them."""
    assert texts.result is not None  # noqa: S101  (the caller looked)
    for group in groups:
        start = to_new(texts.upstream, group.start) + applied
        applied += len(group.added) - len(group.removed)
        if tuple(texts.result[start : start + len(group.added)]) == group.added:
            continue
        if _made_upstream(texts, group):
            applied -= len(group.added) - len(group.removed)
            continue
        if group.added and find_block(texts.result, group.added):
            continue  # beside an upstream change: git may order the two either way
        if not group.added:
            continue
        return False
    return True


def _ambiguity(texts: Texts, item: Placed) -> str:
    """The hunk's old lines stand more than once in upstream's text."""
    if not item.hunk.old:
        return ""
    copies = find_block(texts.ours, item.hunk.old)
    if len(copies) < 2:  # noqa: PLR2004
        return ""
    places = []
    for copy in copies:
        scope = scope_at(texts.ours, texts.path, copy + item.hunk.leading)
        lines = f"{copy + 1}-{copy + len(item.hunk.old)}"
        places.append(f"{lines} ({scope.name})" if scope is not None else lines)
    return f"its context stands {len(copies)} times: lines " + ", ".join(places)
