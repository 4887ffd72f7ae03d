"""Conflict cards: for each place where both sides changed the same lines, the three texts.

The places come from the line changes of both sides, not from conflict markers in a file, so no
line of content can be taken for a marker.
"""

from __future__ import annotations

import re

from tracker.evidence.rebase import ConflictFile, ConflictHunk
from tracker.series.merging import Merger, Triple
from tracker.series.regions import regions
from tracker.series.scopes import scope_at

_TOKEN = re.compile(rb"\w+|[^\S\n]+|\n|.", re.DOTALL)


def conflict_file(merger: Merger, path: str, triple: Triple) -> ConflictFile:
    """The card of one file; without hunks where a side is binary."""
    upstream = merger.changes(triple.base, triple.ours)
    carried = merger.changes(triple.base, triple.theirs)
    hunks: list[ConflictHunk] = []
    if upstream is not None and carried is not None:
        base, ours, theirs = (merger.lines(o) for o in (triple.base, triple.ours, triple.theirs))
        for region in regions(upstream, carried):
            texts = [
                b"".join(side[slice(*part)])
                for side, part in (
                    (base, region.base),
                    (ours, region.ours),
                    (theirs, region.theirs),
                )
            ]
            if texts[1] == texts[2]:
                continue
            scope = scope_at(ours, path, region.ours[0])
            proposal = propose(merger, *texts)
            hunks.append(
                ConflictHunk(
                    function=scope.name if scope is not None else None,
                    ours_start=region.ours[0] + 1,
                    base=_shown(texts[0]),
                    ours=_shown(texts[1]),
                    theirs=_shown(texts[2]),
                    proposal=_shown(proposal) if proposal is not None else None,
                )
            )
    return ConflictFile(
        path=path, base=triple.base, ours=triple.ours, theirs=triple.theirs, hunks=tuple(hunks)
    )


def propose(merger: Merger, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """The two changes merged word by word, None where even words stand against one another.

    For a human to read: two changes that share no word can still contradict one another.
    """
    if not base.strip() or base in (ours, theirs):
        return None
    blobs = [merger.quarantine.write_blob(_one_token_a_line(t)) for t in (base, ours, theirs)]
    triple = Triple(*blobs)
    merged = merger.merge([triple])[triple]
    if not merged.clean:
        return None
    lines = merger.quarantine.read(merged.oid).split(b"\n")[:-1]
    return b"".join(bytes.fromhex(line.decode("ascii")) for line in lines)


def _one_token_a_line(text: bytes) -> bytes:
    return b"".join(token.hex().encode() + b"\n" for token in _TOKEN.findall(text))


def _shown(text: bytes) -> str:
    return text.decode("utf-8", "replace")
