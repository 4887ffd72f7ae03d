"""The rebase document: what happens to each carried patch on a revision."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.verdict import Verdict


class Outcome(StrEnum):
    """What became of a hunk or patch, best to worst."""

    UNCHANGED = "unchanged"
    OFFSET = "offset"
    MERGED = "merged"
    STRUCTURAL = "structural"
    UPSTREAMED = "upstreamed"
    PARTLY_UPSTREAMED = "partly-upstreamed"
    CONFLICT = "conflict"
    UNUSABLE = "unusable"
    NOT_APPLICABLE = "not-applicable"

    @property
    def clean(self) -> bool:
        """The change stands in the result by text alone, without a human."""
        return self in (Outcome.UNCHANGED, Outcome.OFFSET, Outcome.MERGED)


class Flag(StrEnum):
    """A reason why a clean result still needs a human: the patch is ``attention``, never ``ok``."""

    LANDED_ELSEWHERE = "landed-elsewhere"
    AMBIGUOUS = "ambiguous"
    SILENT_REVERT = "silent-revert"
    SCOPE_CHANGED = "scope-changed"
    NO_BASE = "no-base"
    ALREADY_PRESENT = "already-present"


class Note(StrEnum):
    """Worth knowing; does not change a verdict."""

    REFRESH_NEEDED = "refresh-needed"
    RESOLUTION_USED = "resolution-used"
    FORM = "form"


class HunkResult(Value, frozen=True, kw_only=True):
    """One hunk. Line numbers are 1-based, of the patch's old side and of the target's file.

    ``function``: the enclosing function on the pin; ``landed_in``: the one in the result.
    """

    old_start: int
    new_start: int | None
    function: str | None
    landed_in: str | None
    outcome: Outcome


class FileResult(Value, frozen=True, kw_only=True):
    """The hunks of one file, in file order; may be empty (mode change, new empty file)."""

    path: str
    new_path: str | None
    hunks: tuple[HunkResult, ...]


class Culprit(Value, frozen=True, kw_only=True):
    """The upstream commit that changed the lines a patch needs."""

    commit: str
    subject: str
    pr: int | None


class ConflictHunk(Value, frozen=True, kw_only=True):
    """Three texts of one place; ``proposal``: a resolution clean by structure, or None."""

    function: str | None
    ours_start: int
    base: str
    ours: str
    theirs: str
    proposal: str | None


class ConflictFile(Value, frozen=True, kw_only=True):
    """One conflicting file; blob ids of the three sides, None where a side has no such file."""

    path: str
    base: str | None
    ours: str | None
    theirs: str | None
    hunks: tuple[ConflictHunk, ...]


class Conflict(Value, frozen=True, kw_only=True):
    """A conflict as a value; ``commands`` finish it when typed as they are.

    Without ``commands`` no text can settle it (a side is gone, or binary): the patch itself must be
    rewritten, or dropped.
    """

    files: tuple[ConflictFile, ...]
    commands: tuple[str, ...]


class PatchResult(Value, frozen=True, kw_only=True):
    """One patch of the series, judged in series (``outcome``) and by itself (``alone``).

    ``alone`` is None for a patch that requires another. ``form``: the file that was used.
    ``culprit`` is "unknown" on a snapshot history, None where nothing is to blame.
    ``why``: one sentence for a human, "" where the outcome says it all. ``diff``: the patch as it
    stands on the target, "" if it does not.
    """

    name: str
    subject: str
    form: str
    requires: tuple[str, ...]
    outcome: Outcome
    flags: tuple[Flag, ...]
    notes: tuple[Note, ...]
    alone: Outcome | None
    files: tuple[FileResult, ...]
    culprit: Culprit | Literal["unknown"] | None
    conflict: Conflict | None
    why: str = ""
    diff: str = ""

    @property
    def verdict(self) -> Verdict:
        if self.outcome is Outcome.CONFLICT:
            return Verdict.CONFLICT
        if self.outcome is Outcome.UNUSABLE:
            return Verdict.ERROR
        if self.outcome is Outcome.NOT_APPLICABLE:
            return Verdict.OK
        return Verdict.OK if self.outcome.clean and not self.flags else Verdict.ATTENTION


class RebaseDocument(
    Value, frozen=True, kw_only=True, rename={"from_": "from", "schema_": "schema"}
):
    """The series on one revision. ``tree``: the tree id of the result, None if not all applied.

    ``unnamed``: patch files in the series' folder that the series does not name, so not applied.
    """

    schema_: Literal["lloyal-track/rebase/1"] = "lloyal-track/rebase/1"
    verdict: Verdict
    from_: str
    onto: str
    tree: str | None
    patches: tuple[PatchResult, ...]
    unnamed: tuple[str, ...] = ()
