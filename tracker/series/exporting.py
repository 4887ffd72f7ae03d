"""Patches as text, always in one form: no signature, full ids, fixed prefixes, no diffstat."""

from __future__ import annotations

from tracker.git.quarantine import Quarantine
from tracker.series.trees import Tree, written

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


def diff_bytes(quarantine: Quarantine, target_tree: str, before: Tree, after: Tree) -> bytes:
    """What turns ``before`` into ``after``, both over ``target_tree``; b"" if nothing does."""
    if before.changed == after.changed:
        return b""
    old = written(quarantine, target_tree, before)
    new = written(quarantine, target_tree, after)
    return quarantine.git([*_ARGS, old, new]).stdout


def diff_between(quarantine: Quarantine, target_tree: str, before: Tree, after: Tree) -> str:
    """The same for people; bytes that are not UTF-8 are replaced."""
    return diff_bytes(quarantine, target_tree, before, after).decode("utf-8", "replace")
