"""One patch on one tree: what becomes of each file, each hunk, and the tree afterwards.

Works in two strokes so that the merges of many patches and many trees share one git process:
``plan`` says which merges are needed, ``judge`` reads their results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as replace_fields

from tracker.evidence.rebase import FileResult, Flag, HunkResult, Outcome
from tracker.series import structural
from tracker.series.landing import Landed, absolute, land
from tracker.series.merging import Merged, Merger, Triple
from tracker.series.patch import Binary, Kind
from tracker.series.pinned import Base, FileStep, apply_to
from tracker.series.placing import Placed, splice
from tracker.series.relocating import Finder, relocate
from tracker.series.resolutions import Resolutions, dropped_hunks
from tracker.series.reverts import Reverts
from tracker.series.texts import Texts
from tracker.series.trees import Slot, Tree
from tracker.series.upstreaming import made_upstream
from tracker.series.verdicts import FileJudged, Job, Judged, combined

_TELLING = 7  # digits of an abbreviated blob id, as git abbreviates at least
_DROPPED = "a resolution keeps upstream's own lines: nothing of the change is left there"


def triple_of(job: Job, step: FileStep, empty: str) -> Triple | None:
    """The merge that a file needs, None if its answer follows without one."""
    file = step.file
    if job.step.base is Base.NONE or step.theirs is None:
        return None
    source = file.old_path if file.old_path is not None else file.new_path
    ours = job.tree.get(job.place(source)) if source is not None else None
    base = step.base.oid if step.base is not None else empty
    return Triple(base, ours.oid, step.theirs.oid) if ours is not None else None


@dataclass(frozen=True, slots=True)
class _Content:
    """One file's merged content and what was found of its hunks."""

    merged: Merged
    hunks: tuple[HunkResult, ...]
    flags: tuple[Flag, ...]
    why: tuple[str, ...]
    resolved: bool = False


def _content(merged: Merged, landed: Sequence[Landed]) -> _Content:
    return _Content(
        merged,
        tuple(item.result for item in landed),
        tuple(flag for item in landed for flag in item.flags),
        tuple(reason for item in landed for reason in item.why),
    )


def _made_for(job: Job, step: FileStep) -> bool:
    """Whether the change was written for the very file that stands in the job's tree."""
    path = step.file.old_path or step.file.new_path
    ours = job.tree.get(job.place(path)) if path is not None else None
    base = step.base
    return ours == base if ours is None or base is None else ours.oid == base.oid


class Judge:
    """Judges steps on trees with one merger."""

    def __init__(
        self,
        merger: Merger,
        resolutions: Resolutions | None,
        pin: Tree,
        pin_tree: str,
    ) -> None:
        """``pin``: upstream's own files on the pin, to tell what upstream added since;
        ``pin_tree``: the id of the tree that holds them.
        """
        self.merger = merger
        self._reverts = Reverts(merger, pin, pin_tree)
        self._resolutions = resolutions
        self._known: dict[tuple[Triple, str, tuple[Placed, ...]], _Content] = {}
        self._empty = merger.quarantine.write_blob(b"")

    def prepare(self, jobs: list[Job]) -> None:
        """Do the merges of all jobs at once; ``judge`` would do them one by one.

        Forgets what was found of earlier jobs, so memory does not grow with the series.
        """
        self._known.clear()
        found = (triple_of(job, step, self._empty) for job in jobs for step in job.step.files)
        self.merger.merge([triple for triple in found if triple is not None])

    def judge(self, job: Job) -> Judged:
        """The patch of ``job`` on its tree."""
        step = job.step
        if step.patch.fault:
            return Judged(Outcome.UNUSABLE, (), (step.patch.fault,), (), job.tree)
        files: list[FileJudged] = []
        here = job.tree
        for file_step in step.files:
            at = replace(job, tree=here)
            judged = self._file(at, file_step)
            if judged.outcome is Outcome.CONFLICT and job.find is not None:
                judged = self._in_other_file(at, file_step, job.find) or judged
            if file_step.file.old_path is not None:
                judged = replace(judged, source=at.place(file_step.file.old_path))
            if step.base is Base.INDEX:
                judged = replace(judged, based=_made_for(at, file_step))
            # A form exists because upstream changed these very lines; who wrote it has seen them.
            if step.base is not Base.PIN and not (step.is_form and judged.based):
                judged = self._reverts.flagged(judged, here, file_step)
            files.append(judged)
            here = here.with_changes(judged.changes)
        outcome = combined([file.outcome for file in files])
        flags = {flag for file in files for flag in file.flags}
        # Whether the blobs that the index lines name are at hand must not change the verdict.
        foreign = step.base is not Base.PIN and not all(file.based for file in files)
        if foreign and step.base is Base.NONE:
            flags.add(Flag.NO_BASE)
        why = tuple(dict.fromkeys(reason for file in files for reason in file.why))
        if foreign:
            why = (*why, f"does not fit the pin: {step.why_no_base}")
        applied = outcome is not Outcome.CONFLICT
        ordered = tuple(flag for flag in Flag if flag in flags)
        return Judged(outcome, ordered, why, tuple(files), here if applied else job.tree)

    def _file(self, job: Job, step: FileStep) -> FileJudged:  # noqa: PLR0911  (one per case)
        if job.step.base is Base.NONE:
            return self._without_base(job, step)
        file = step.file
        if file.kind is Kind.ADD:
            return self._added(job, step)
        assert file.old_path is not None  # noqa: S101  (only added files have none)
        path = job.place(file.old_path)
        ours = job.tree.get(path)
        if ours is None:
            gone = file.new_path is None
            why = "" if gone else f"{file.old_path} is not there any more"
            return self._whole(
                step, None, Outcome.UPSTREAMED if gone else Outcome.CONFLICT, {}, why
            )
        if file.new_path is None:
            return self._deleted(step, path, ours)
        if step.base is not None and ours.mode[:2] != step.base.mode[:2]:
            return self._whole(step, path, Outcome.CONFLICT, {}, f"{path} became another kind")
        if file.new_path not in (file.old_path, path):
            occupied = job.occupied(file.new_path)
            if occupied:
                return self._whole(step, path, Outcome.CONFLICT, {}, occupied)
            target = file.new_path
        else:
            target = path
        changes = dict.fromkeys([path], None) if file.kind is Kind.RENAME else {}
        return self._content(job, step, ours, path, target, changes)

    def _content(
        self,
        job: Job,
        step: FileStep,
        ours: Slot,
        path: str,
        target: str,
        changes: Mapping[str, Slot | None],
    ) -> FileJudged:
        """Merge one file's content, and prove what came of it."""
        triple = triple_of(job, step, self._empty)
        assert triple is not None and step.theirs is not None  # noqa: S101
        merged = self.merger.merge([triple])[triple]
        why: list[str] = []
        mode = ours.mode
        mode_outcome: Outcome | None = None
        if step.base is not None and step.base.mode != step.theirs.mode:
            mode = step.theirs.mode
            mode_outcome = Outcome.UPSTREAMED if ours.mode == mode else Outcome.UNCHANGED
            if ours.mode == mode:
                why.append(f"{path}: the mode change is already present")
        if path != step.file.old_path:
            why.append(f"{step.file.old_path} moved to {path}{job.likeness(step.file.path)}")
        resolved = False
        hunks: tuple[HunkResult, ...] = ()
        flags: tuple[Flag, ...] = ()
        if step.placed:
            known = (triple, path, step.placed)
            if known not in self._known:
                self._known[known] = self._hunks(triple, merged, path, step.placed)
            content = self._known[known]
            merged, hunks, flags = content.merged, content.hunks, content.flags
            why += [f"{path}: {reason}" for reason in content.why]
            resolved = content.resolved
        outcomes = [hunk.outcome for hunk in hunks]
        if step.file.binary is not Binary.NO or not outcomes:
            if triple.base != triple.theirs:
                same = triple.ours == triple.theirs
                clean = Outcome.UPSTREAMED if same else Outcome.UNCHANGED
                outcomes.append(clean if merged.clean else Outcome.CONFLICT)
            elif mode_outcome is not None:
                outcomes.append(mode_outcome)
            elif step.file.kind in (Kind.RENAME, Kind.COPY):
                outcomes.append(Outcome.UPSTREAMED if path == target else Outcome.UNCHANGED)
        if not merged.clean:
            outcomes.append(Outcome.CONFLICT)
        outcome = combined(outcomes)
        slot = Slot(mode, merged.oid)
        after = {**changes, target: slot} if outcome is not Outcome.CONFLICT else {}
        result = FileResult(path=step.file.path, new_path=target, hunks=hunks)
        return FileJudged(result, outcome, after, flags, tuple(why), triple, resolved)

    def _hunks(
        self, triple: Triple, merged: Merged, path: str, placed: tuple[Placed, ...]
    ) -> _Content:
        """Judge the hunks; where upstream holds some of them already, carry only the rest."""
        landed = land(self._texts(triple, path, merged.oid if merged.clean else None), placed)
        if merged.clean:
            return _content(merged, landed)
        resolved = self._resolutions.resolve(self.merger, triple) if self._resolutions else None
        if resolved is not None:
            return self._settled(triple, path, placed, resolved, Outcome.MERGED)
        texts = self._texts(triple, path, None)
        there = [
            item.result.outcome is Outcome.UPSTREAMED
            or (
                item.result.outcome is Outcome.CONFLICT
                and made_upstream(texts, place, absolute(place))
            )
            for item, place in zip(landed, placed, strict=True)
        ]
        rest = tuple(place for place, known in zip(placed, there, strict=True) if not known)
        if len(rest) == len(placed):
            by_structure = structural.merge(self.merger, triple, path)
            if by_structure is not None:
                return self._settled(triple, path, placed, by_structure, Outcome.STRUCTURAL)
            return _content(merged, landed)
        reduced = b"".join(splice(self.merger.lines(triple.base), rest))
        theirs = self.merger.quarantine.write_blob(reduced)
        smaller = Triple(triple.base, triple.ours, theirs)
        left = self.merger.merge([smaller])[smaller]
        clean = left.oid if left.clean else None
        remaining = iter(land(self._texts(smaller, path, clean), rest))
        mixed = [
            replace(item, result=replace_fields(item.result, outcome=Outcome.UPSTREAMED))
            if known
            else next(remaining)
            for item, known in zip(landed, there, strict=True)
        ]
        return _content(left, mixed)

    def _settled(
        self,
        triple: Triple,
        path: str,
        placed: tuple[Placed, ...],
        content: bytes,
        outcome: Outcome,
    ) -> _Content:
        """The conflict was settled, by a human's stored text or by structure: that is the result.

        ``outcome``: of the hunks that were in conflict.
        """
        oid = self.merger.quarantine.write_blob(content)
        landed = land(self._texts(triple, path, None), placed)
        by_human = outcome is Outcome.MERGED
        dropped = dropped_hunks(self.merger, triple, oid, placed) if by_human else frozenset()
        hunks = tuple(
            item.result
            if item.result.outcome is not Outcome.CONFLICT
            else replace_fields(
                item.result, outcome=Outcome.UPSTREAMED if place in dropped else outcome
            )
            for item, place in zip(landed, placed, strict=True)
        )
        why = () if by_human else ("clean only to a merge that knows the language: read it",)
        if any(hunk.outcome is Outcome.UPSTREAMED for hunk in hunks) and dropped:
            why = (_DROPPED,)
        return _Content(Merged(oid, clean=True), hunks, (), why, resolved=by_human)

    def _in_other_file(self, job: Job, step: FileStep, find: Finder) -> FileJudged | None:
        """The conflict ends where upstream only moved the function to another file."""
        file = step.file
        if file.kind is not Kind.MODIFY or step.base is None or not step.placed:
            return None
        path = job.place(file.path)
        ours = job.tree.get(path)
        found = relocate(self.merger, path, step.base, ours, step.placed, job.tree, find)
        if found is None:
            return None
        hunks = tuple(
            HunkResult(
                old_start=item.hunk.old_start,
                new_start=None,
                function=name,
                landed_in=name,
                outcome=Outcome.STRUCTURAL if name is not None else Outcome.MERGED,
            )
            for item, name in zip(step.placed, found.functions, strict=True)
        )
        why = tuple(f"{name} moved to {place}: read it" for name, place in found.moved.items())
        target = next(iter(found.moved.values()))
        result = FileResult(path=file.path, new_path=target, hunks=hunks)
        return FileJudged(result, Outcome.STRUCTURAL, found.changes, (), why)

    def _texts(self, triple: Triple, path: str, result: str | None) -> Texts:
        lines = self.merger.lines
        upstream = self.merger.changes(triple.base, triple.ours)
        carried = self.merger.changes(triple.base, triple.theirs)
        return Texts(
            path=path,
            base=lines(triple.base),
            theirs=lines(triple.theirs),
            ours=lines(triple.ours),
            result=lines(result) if result is not None else None,
            upstream=upstream or (),
            carried=carried or (),
        )

    def _added(self, job: Job, step: FileStep) -> FileJudged:
        path = step.file.new_path
        assert path is not None and step.theirs is not None  # noqa: S101
        ours = job.tree.get(path)
        if ours is None:
            occupied = job.occupied(path)
            if occupied:
                return self._whole(step, path, Outcome.CONFLICT, {}, occupied)
            return self._whole(step, path, Outcome.UNCHANGED, {path: step.theirs})
        if ours.oid == step.theirs.oid:
            return self._whole(step, path, Outcome.UPSTREAMED, {})
        why = f"{path} was added upstream too, with other content"
        triple = triple_of(job, step, self._empty)
        assert triple is not None  # noqa: S101  (both sides are there)
        settled = self._resolutions.resolve(self.merger, triple) if self._resolutions else None
        if settled is None:
            return self._whole(step, path, Outcome.CONFLICT, {}, why, triple)
        oid = self.merger.quarantine.write_blob(settled)
        dropped = oid == ours.oid
        outcome = Outcome.UPSTREAMED if dropped else Outcome.MERGED
        changes = {path: Slot(ours.mode, oid)}
        judged = self._whole(step, path, outcome, changes, _DROPPED if dropped else "", triple)
        return replace(judged, resolved=True)

    def _deleted(self, step: FileStep, path: str, ours: Slot) -> FileJudged:
        assert step.base is not None  # noqa: S101  (a deleted file was there)
        if ours.oid == step.base.oid:
            return self._whole(step, None, Outcome.UNCHANGED, {path: None})
        why = f"{path} changed upstream and the patch deletes it"
        return self._whole(step, None, Outcome.CONFLICT, {}, why)

    def _without_base(self, job: Job, step: FileStep) -> FileJudged:
        """No base: exact context in upstream's own text or nothing."""
        file = step.file
        path = job.place(file.old_path) if file.old_path is not None else None
        ours = job.tree.get(path) if path is not None else None
        if path is not None and ours is None:
            why = f"{file.old_path} is not there"
            return self._whole(step, None, Outcome.CONFLICT, {}, why)
        if file.kind is not Kind.MODIFY and file.new_path is not None:
            occupied = job.occupied(file.new_path)
            if occupied:
                return self._whole(step, file.new_path, Outcome.CONFLICT, {}, occupied)
        found = apply_to(self.merger.quarantine, job.step.patch, file, ours)
        if isinstance(found, str):
            return self._whole(step, path, Outcome.CONFLICT, {}, f"{file.path}: {found}")
        target = path if file.kind is Kind.MODIFY else file.new_path
        changes: dict[str, Slot | None] = {}
        if file.kind in (Kind.RENAME, Kind.DELETE) and path is not None:
            changes[path] = None
        if target is not None:
            changes[target] = found.theirs
        based = ours is None or (
            file.old_blob is not None
            and len(file.old_blob) >= _TELLING
            and ours.oid.startswith(file.old_blob)
            and all(item.at == item.hunk.first for item in found.placed)
        )
        if ours is None or found.theirs is None:
            whole = Outcome.UNCHANGED if based else Outcome.OFFSET
            return replace(self._whole(step, target, whole, changes), based=based)
        lines = self.merger.lines
        texts = Texts(
            path=target or file.path,
            base=lines(ours.oid),
            theirs=lines(found.theirs.oid),
            ours=lines(ours.oid),
            result=lines(found.theirs.oid),
            upstream=(),
        )
        landed = land(texts, found.placed)
        flags = [flag for item in landed for flag in item.flags]
        reasons = tuple(reason for item in landed for reason in item.why)
        if not based and any(len(item.copies) > 1 for item in found.placed):
            flags.append(Flag.AMBIGUOUS)
        result = FileResult(
            path=file.path, new_path=target, hunks=tuple(item.result for item in landed)
        )
        outcome = combined([item.result.outcome for item in landed])
        return FileJudged(result, outcome, changes, tuple(flags), reasons, based=based)

    def _whole(
        self,
        step: FileStep,
        path: str | None,
        outcome: Outcome,
        changes: Mapping[str, Slot | None],
        why: str = "",
        triple: Triple | None = None,
    ) -> FileJudged:
        """A file that is judged as a whole: added, deleted, gone."""
        hunks = tuple(
            HunkResult(
                old_start=hunk.old_start,
                new_start=hunk.new_start if outcome.clean else None,
                function=None,
                landed_in=None,
                outcome=outcome,
            )
            for hunk in step.file.hunks
        )
        result = FileResult(path=step.file.path, new_path=path, hunks=hunks)
        sides = (
            step.base.oid if step.base is not None else None,
            triple.ours if triple is not None else None,
            step.theirs.oid if step.theirs is not None else None,
        )
        reasons = (why,) if why else ()
        return FileJudged(result, outcome, changes, (), reasons, triple, sides=sides)
