"""Patches as text, always in one form: no signature, full ids, fixed prefixes, no diffstat."""

from __future__ import annotations

from tracker.git.quarantine import Quarantine
from tracker.series.trees import Tree

_ARGS = (
    "diff-tree",
    "-r",
    "-p",
    "-M",
    "--full-index",
    "--binary",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--unified=3",
    "--diff-algorithm=myers",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)


def diff_between(quarantine: Quarantine, before: Tree, after: Tree) -> str:
    """What turns ``before`` into ``after``, for people; "" if nothing does.

    Bytes that are not UTF-8 are replaced.
    """
    paths = [p for p in {**before.changed, **after.changed} if before.get(p) != after.get(p)]
    if not paths:
        return ""
    sides = [
        quarantine.write_tree({p: (s.mode, s.oid) for p in paths for s in [tree.get(p)] if s})
        for tree in (before, after)
    ]
    return quarantine.git([*_ARGS, *sides]).stdout.decode("utf-8", "replace")
