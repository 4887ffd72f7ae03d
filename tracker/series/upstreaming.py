"""Whether upstream holds a hunk's change already, in whatever form: by content, never by failure.

C++ is compared as tokens, so line breaks, indentation and comments do not count, and a local may
have become another one as long as it did so everywhere. Comments alone, and files in any other
language, are compared line by line: there white space, or what follows a ``//``, can be the change.
What is found must not have been there on the pin, and what the hunk removes must be gone: then, and
only then, nothing of the hunk is left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from tracker.series.merging import overlapping, to_new
from tracker.series.patch import Group
from tracker.series.placing import Placed, find_block
from tracker.series.scopes import Scope, scope_at
from tracker.series.texts import Texts, names_in
from tracker.source.lexer import tokens
from tracker.source.outline import is_cpp

_ENOUGH = 8  # tokens, or words and marks, that must be found again; fewer prove nothing
_RENAMES = 2  # names that may differ
_AROUND = 120  # lines on each side, where no function bounds the search
_NAME = re.compile(rb"[A-Za-z_]\w*$")
_PIECE = re.compile(rb"\w+|[^\w\s]")
_AFTER_NAME = frozenset((b"=", b";", b",", b")", b"[", b"{", b":"))

_NO_TYPES = frozenset((b"return", b"case", b"goto", b"throw", b"delete", b"new", b"else"))

Reading = Callable[[bytes], tuple[bytes, ...]]
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
    # Beside code that was found, white space and comments are nothing of meaning left to carry.
    telling = [group for group in groups if _reading(texts, group) is tokens] or groups
    return all(_found(texts, group, groups[0]) for group in telling)


def present(texts: Texts, groups: Sequence[Group]) -> str:
    """One sentence if the lines that a group adds stand in upstream's text already, nearby, and
    did not on the pin; else "".
    """
    for group in groups:
        text = b"".join(group.added)
        names = names_in(text)
        if not texts.upstream or 2 * len(names & texts.upstream_names) < len(names):
            continue  # upstream's own lines do not even have the names
        read = _reading(texts, group)
        added = read(text)
        if not _enough(read, text):
            continue
        before, after = _surroundings(texts, group, read)
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


def _reading(texts: Texts, group: Group) -> Reading:
    """How the change is compared with upstream's text."""
    code = is_cpp(texts.path) and any(tokens(b"".join(t)) for t in (group.added, group.removed))
    return tokens if code else _lines


def _lines(text: bytes) -> tuple[bytes, ...]:
    """The lines that hold anything, without what stands behind their last character."""
    return tuple(line for line in (line.rstrip() for line in text.split(b"\n")) if line)


def _enough(read: Reading, text: bytes) -> bool:
    return len(tokens(text) if read is tokens else _PIECE.findall(text)) >= _ENOUGH


def _surroundings(
    texts: Texts, group: Group, read: Reading
) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """The function around the change, on the pin and upstream; else of a stretch."""
    line = group.start if group.removed else max(group.start - 1, 0)
    old = scope_at(texts.base, texts.path, line)
    place = to_new(texts.upstream, line)
    new = scope_at(texts.ours, texts.path, place)
    if old is None or new is None or old.name != new.name:
        old = Scope("", max(line - _AROUND, 0), line + _AROUND, is_function=False)
        new = Scope("", max(place - _AROUND, 0), place + _AROUND, is_function=False)
    return (
        read(b"".join(texts.base[old.start : old.end])),
        read(b"".join(texts.ours[new.start : new.end])),
    )


def _found(texts: Texts, group: Group, first: Group) -> bool:
    """``first``: the hunk's first group; it is looked for where that one stands."""
    read = _reading(texts, group)
    if not _enough(read, b"".join(group.added)):
        return False  # a mere deletion, or too little to recognise
    before, after = _surroundings(texts, first, read)
    added, removed = read(b"".join(group.added)), read(b"".join(group.removed))
    kept = occurrences(added, removed) > 0  # what is removed comes back inside of what is added
    if removed and not kept and occurrences(after, removed) >= occurrences(before, removed):
        return False
    exact_now, exact_then = occurrences(after, added), occurrences(before, added)
    if exact_now > exact_then:
        return True
    if read is not tokens or exact_now:
        return False
    return any(
        _only_renamed(names, added, before, after) for names in renamings(after, added)
    ) and not any(True for _ in renamings(before, added))


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


def renamings(text: tuple[bytes, ...], part: tuple[bytes, ...]) -> Iterator[Mapping[bytes, bytes]]:
    """Where ``part`` stands in ``text`` in one piece but for a few names, each replaced by the same
    one everywhere: the names that differ.
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
            changed = {old: new for old, new in names.items() if old != new}
            one_to_one = len(set(names.values())) == len(names)
            if len(changed) <= _RENAMES and one_to_one and 2 * len(changed) <= len(names):
                yield changed


def _only_renamed(
    names: Mapping[bytes, bytes],
    added: tuple[bytes, ...],
    before: tuple[bytes, ...],
    after: tuple[bytes, ...],
) -> bool:
    """The other names mean the same: each is of a local that the change itself declares, or
    upstream gave a thing of the pin that name in all of the function. Anything else, such as a call
    of another function, is another change.
    """
    return all(
        new not in before and (old not in after if old in before else _declares(added, old))
        for old, new in names.items()
    )


def _declares(part: tuple[bytes, ...], name: bytes) -> bool:
    """``part`` holds a type, then ``name``, then what can follow a declared name."""
    for ahead, token, behind in zip(part, part[1:], part[2:], strict=False):
        if token != name:
            continue
        if ahead in (b"*", b"&", b">"):  # of a type only where no product or comparison can stand
            if behind in (b"=", b":"):
                return True
        elif behind in _AFTER_NAME and _NAME.match(ahead) and ahead not in _NO_TYPES:
            return True
    return False


def _is_name(token: bytes) -> bool:
    return token not in _WORDS and _NAME.match(token) is not None
