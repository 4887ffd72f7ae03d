"""A patch file with its diff brought up to date, every other byte as it was.

Only the sections of the changed files are written anew; headers, message, notes below the three
dashes, text between sections and what follows the last one are copied. A patch that stands
unchanged is not written at all, so import and export of an untouched patch is a fixed point. The
form is fixed: three lines of context (more if the patch has more), the id length of the patch, and
the hunk labels of the patch where its hunks can be told apart. A refreshed patch is applied
strictly before anybody sees it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tracker.evidence.rebase import Outcome
from tracker.git.quarantine import Quarantine
from tracker.series.engine import MemberJudged
from tracker.series.patch import Binary, FilePatch, Kind, Patch
from tracker.series.pinned import Base, effect, step_on
from tracker.series.reading import read_patch
from tracker.series.trees import Slot, Tree
from tracker.series.verdicts import FileJudged

_INDEX = re.compile(rb"^index ([0-9a-f]{40})\.\.([0-9a-f]{40})", re.MULTILINE)
_HUNK = re.compile(rb"^(@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)[^\r\n]*", re.MULTILINE)
_ARGS = (
    "diff-tree",
    "-r",
    "-p",
    "-M",
    "-C",
    "--find-copies-harder",
    "--full-index",
    "--binary",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A patch file to write. ``why``: if ``content`` is None, what forbids to refresh it."""

    name: str
    content: bytes | None
    why: str = ""


def refresh(quarantine: Quarantine, judged: MemberJudged) -> Refreshed:
    """The patch as it must be written for the tree that it was judged on.

    ``content`` equals the old bytes where nothing has to change.
    """
    patch = judged.step.patch
    outcome = judged.in_series.outcome
    if not (outcome.clean or outcome is Outcome.PARTLY_UPSTREAMED):
        return Refreshed(patch.name, None, f"it is {outcome}")
    in_place = outcome is Outcome.UNCHANGED and not judged.in_series.stale
    if in_place and judged.step.base is Base.PIN:
        return Refreshed(patch.name, patch.raw)
    content = patch.raw
    for file, result in zip(patch.files, judged.in_series.files, strict=True):
        hunks = result.result.hunks
        kept = hunks and all(hunk.outcome is Outcome.UNCHANGED for hunk in hunks)
        if kept and not result.moved:
            continue
        section = _section(quarantine, patch, file, judged.before, result)
        content = _replaced(content, file, section, crlf=patch.crlf)
    why = _not_strict(quarantine, patch, content, judged)
    return Refreshed(patch.name, None if why else content, why)


def _section(
    quarantine: Quarantine,
    patch: Patch,
    file: FilePatch,
    before: Tree,
    judged: FileJudged,
) -> bytes:
    old: dict[str, tuple[str, str] | None] = {}
    new: dict[str, tuple[str, str] | None] = {}
    source = before.get(judged.source) if judged.source is not None else None
    if file.kind is Kind.COPY and judged.source is not None and source is not None:
        old[judged.source] = new[judged.source] = (source.mode, source.oid)
    for path, slot in judged.changes.items():
        was = before.get(path)
        if was is not None:
            old[path] = (was.mode, was.oid)
        if isinstance(slot, Slot):
            new[path] = (slot.mode, slot.oid)
    sides = [quarantine.write_tree(side) for side in (old, new)]
    context = max([3, *(max(hunk.leading, hunk.trailing) for hunk in file.hunks)])
    section = quarantine.git([*_ARGS, f"-U{context}", *sides]).stdout
    if file.binary is Binary.NO:
        length = len(file.old_blob or file.new_blob or "") or _length_in(patch)
        section = _INDEX.sub(
            lambda found: b"index %s..%s" % (found[1][:length], found[2][:length]), section
        )
    labels = [hunk.label for hunk in file.hunks]
    if len(_HUNK.findall(section)) == len(labels):
        left = iter(labels)

        def labelled(found: re.Match[bytes]) -> bytes:
            label = next(left)
            return found[1] + (b" " + label if label else b"")

        section = _HUNK.sub(labelled, section)
    if not file.section.startswith(b"diff --git "):
        # A plain diff stays one.
        start = section.find(b"--- ")
        section = section[start:] if start >= 0 else section
    return section


def _length_in(patch: Patch) -> int:
    lengths = [len(blob) for f in patch.files for blob in (f.old_blob, f.new_blob) if blob]
    return max(lengths, default=40)


def _replaced(content: bytes, file: FilePatch, section: bytes, *, crlf: bool) -> bytes:
    old = file.section
    if crlf:
        section = section.replace(b"\n", b"\r\n")
    at = content.find(old)
    if at < 0:  # the final newline was added while reading
        old = old.removesuffix(b"\n")
        at = content.rfind(old)
    return content[:at] + section + content[at + len(old) :]


def _not_strict(quarantine: Quarantine, patch: Patch, content: bytes, judged: MemberJudged) -> str:
    """Why ``content`` does not apply strictly to the tree before it, with the same result."""
    again = read_patch(content, patch.name)
    if again.fault:
        return f"the refreshed patch cannot be read: {again.fault}"
    step, after = step_on(quarantine, again, judged.before)
    if step.base is not Base.PIN:
        return f"the refreshed patch does not apply: {step.why_no_base}"
    if any(item.at != item.hunk.first for file in step.files for item in file.placed):
        return "the refreshed patch applies at other lines than it says"
    here = judged.before
    for file in step.files:
        here = here.with_changes(effect(file.file, file.theirs))
    wanted = judged.in_series.after
    paths = {*after.changed, *wanted.changed}
    if any(after.get(path) != wanted.get(path) for path in paths):
        return "the refreshed patch gives another result"
    return ""
