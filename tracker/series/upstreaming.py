"""Whether upstream holds a hunk's change already, in whatever form: by content, never by failure.

Code is compared as tokens, so line breaks, indentation and comments do not count, and a name may
have become another one as long as it did so everywhere. What is found must not have been there on
the pin, and what the hunk removes must be gone: then, and only then, nothing of the hunk is left.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracker.series.merging import overlapping, to_new
from tracker.series.patch import Group
from tracker.series.placing import Placed, find_block
from tracker.series.scopes import Scope, scope_at
from tracker.series.texts import Texts, names_in
from tracker.source.lexer import tokens

_ENOUGH = 8  # tokens that must be found again; fewer prove nothing
_RENAMES = 2  # names that may differ
_AROUND = 120  # lines on each side, where no function bounds the search
_NAME = re.compile(rb"[A-Za-z_]\w*$")
_WORDS = frozenset(
    b"auto bool break case catch char class const continue default delete do double else enum false"
    b" float for goto if int long namespace new nullptr operator private protected public return"
    b" short signed sizeof static struct switch template this throw true try typedef typename union"
    b" unsigned using virtual void volatile while".split()
)


def made_upstream(texts: Texts, item: Placed, groups: Sequence[Group]) -> bool:
    """Every change of the hunk is in upstream's text, and was not on the pin."""
    start, end = item.at, item.end
    if not overlapping(texts.upstream, start, end) and not any(
        change.start in (start, end) for change in texts.upstream
    ):
        return False
    before, after = _surroundings(texts, groups[0])
    return all(_found(group, before, after) for group in groups)


def present(texts: Texts, groups: Sequence[Group]) -> str:
    """One sentence if the lines that a group adds stand in upstream's text already, nearby, and
    did not on the pin; else "".
    """
    for group in groups:
        text = b"".join(group.added)
        names = names_in(text)
        if not texts.upstream or 2 * len(names & texts.upstream_names) < len(names):
            continue  # upstream's own lines do not even have the names
        added = tokens(text)
        if len(added) < _ENOUGH:
            continue
        before, after = _surroundings(texts, group)
        if occurrences(after, added) > occurrences(before, added):
            return "probably upstream: its added lines stand there already" + _distance(
                texts, group
            )
    return ""


def _distance(texts: Texts, group: Group) -> str:
    copies = find_block(texts.ours, group.added)
    if not copies:
        return ", in another shape"
    start = to_new(texts.upstream, group.start)
    far = start - min(copies, key=lambda at: abs(at - start))
    return f", {abs(far)} lines {'above' if far > 0 else 'below'}"


def _surroundings(texts: Texts, group: Group) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Tokens of the function around the change, on the pin and upstream; else of a stretch."""
    line = group.start if group.removed else max(group.start - 1, 0)
    old = scope_at(texts.base, texts.path, line)
    place = to_new(texts.upstream, line)
    new = scope_at(texts.ours, texts.path, place)
    if old is None or new is None or old.name != new.name:
        old = Scope("", max(line - _AROUND, 0), line + _AROUND, is_function=False)
        new = Scope("", max(place - _AROUND, 0), place + _AROUND, is_function=False)
    return (
        tokens(b"".join(texts.base[old.start : old.end])),
        tokens(b"".join(texts.ours[new.start : new.end])),
    )


def _found(group: Group, before: tuple[bytes, ...], after: tuple[bytes, ...]) -> bool:
    added, removed = tokens(b"".join(group.added)), tokens(b"".join(group.removed))
    if not added and not removed:
        return True  # white space or comments: nothing of meaning is left to carry
    if len(added) < _ENOUGH:
        return False  # a mere deletion, or too little to recognise
    kept = occurrences(added, removed) > 0  # what is removed comes back inside of what is added
    if removed and not kept and occurrences(after, removed) >= occurrences(before, removed):
        return False
    exact_now, exact_then = occurrences(after, added), occurrences(before, added)
    if exact_now > exact_then:
        return True
    return exact_now == 0 and renamed(after, added) and not renamed(before, added)


def occurrences(text: tuple[bytes, ...], part: tuple[bytes, ...]) -> int:
    """How often ``part`` stands in ``text`` in one piece."""
    if not part:
        return 0
    first, count, found = part[0], len(part), 0
    place = -1
    while True:
        try:
            place = text.index(first, place + 1)
        except ValueError:
            return found
        if text[place : place + count] == part:
            found += 1


def renamed(text: tuple[bytes, ...], part: tuple[bytes, ...]) -> bool:
    """``part`` stands in ``text`` in one piece but for a few names, each replaced by the same one
    everywhere.
    """
    shape = [token if not _is_name(token) else None for token in part]
    for place in range(len(text) - len(part) + 1):
        names: dict[bytes, bytes] = {}
        for offset, fixed in enumerate(shape):
            here = text[place + offset]
            if fixed is not None:
                if here != fixed:
                    break
            elif not _is_name(here) or names.setdefault(part[offset], here) != here:
                break
        else:
            changed = [old for old, new in names.items() if old != new]
            one_to_one = len(set(names.values())) == len(names)
            if len(changed) <= _RENAMES and one_to_one and 2 * len(changed) <= len(names):
                return True
    return False


def _is_name(token: bytes) -> bool:
    return token not in _WORDS and _NAME.match(token) is not None
