"""The unfinished operation of a state folder, as ``operation.json`` keeps it."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value


class OpenFile(Value, frozen=True, kw_only=True):
    """A file that a human has to finish. ``file``: where it lies, relative to the state folder.

    ``base``, ``ours``, ``theirs``: blob ids in our object store.
    """

    path: str
    file: str
    base: str
    ours: str
    theirs: str


class RebaseOperation(Value, frozen=True, kw_only=True, rename={"from_": "from"}):
    """A rebase that stopped at a conflict. Nothing of the series was written yet.

    ``series`` and ``upstream``: absolute paths. ``patch``: the patch in conflict.
    """

    kind: Literal["rebase"] = "rebase"
    from_: str
    onto: str
    series: str
    upstream: str
    patch: str
    files: tuple[OpenFile, ...]
