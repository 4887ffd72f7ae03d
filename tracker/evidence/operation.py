"""The unfinished operation of a state folder, as ``operation.json`` keeps it, and how it ended."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.verdict import Verdict


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


class ResumeDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """An interrupted move of pins that is finished now; a resumed rebase has its own document.

    ``to``: the revision that every pin names. ``places``: the files and submodules, absolute.
    """

    schema_: Literal["lloyal-track/resume/1"] = "lloyal-track/resume/1"
    verdict: Verdict = Verdict.OK
    kind: Literal["pin"] = "pin"
    to: str
    places: tuple[str, ...]


class AbortDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """An operation that was given up; everything is as before it.

    ``to``: the revision that it led to. ``places``: what is as before, absolute.
    """

    schema_: Literal["lloyal-track/abort/1"] = "lloyal-track/abort/1"
    verdict: Verdict = Verdict.OK
    kind: Literal["pin", "rebase"]
    to: str
    places: tuple[str, ...]
