"""``rebase --write``: refreshes the patch files, or opens an operation at a conflict.

All files or none: while a patch conflicts nothing of the series is written. The open operation is
one file and one folder in the state folder; ``abort`` removes both and nothing else has changed.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tracker.errors import OperationOpen, TrackError, UsageError
from tracker.evidence.base import to_json
from tracker.evidence.operation import OpenFile, RebaseOperation
from tracker.evidence.rebase import Outcome
from tracker.series.engine import MemberJudged
from tracker.series.merging import Merger, Triple
from tracker.series.reading import Series
from tracker.series.rebasing import Rebased
from tracker.series.refreshing import refresh
from tracker.series.resolutions import Resolutions, has_markers, text_to_settle
from tracker.statedir import StateDir, write_whole

FOLDER = "conflict"


@dataclass(frozen=True, slots=True)
class Written:
    """``files``: patch files that changed. ``reduced``: where the rest of a partly upstreamed patch
    lies, for a human to take. ``not_written``: name and reason. ``operation``: what is open now.
    """

    files: tuple[str, ...]
    reduced: tuple[str, ...]
    not_written: tuple[tuple[str, str], ...]
    operation: RebaseOperation | None


def write(rebased: Rebased, series: Series, state: StateDir, upstream: Path) -> Written:
    """Refresh the files of ``series`` for the target; or, at a conflict, open an operation.

    The first conflict that a text can settle is opened.

    Raises:
        OperationOpen: another one is open.
        OSError: as the file system says; a patch file is old or new, never half.
    """
    if state.operation.exists():
        raise _open_already(state)
    stuck = [m for m in rebased.judged if m.in_series.outcome is Outcome.CONFLICT]
    if stuck:
        return _open(rebased, stuck, series, state, upstream)
    quarantine = rebased.engine.quarantine
    found = [(m, refresh(quarantine, m)) for m in rebased.judged]
    files: list[str] = []
    reduced: list[str] = []
    skipped: list[tuple[str, str]] = []
    for member, refreshed in found:
        if refreshed.content is None:
            skipped.append((refreshed.name, refreshed.why))
        elif member.in_series.outcome is Outcome.PARTLY_UPSTREAMED:
            place = state.evidence / "reduced" / refreshed.name
            write_whole(place, refreshed.content)
            reduced.append(str(place))
            skipped.append((refreshed.name, f"it is partly upstreamed: what is left is in {place}"))
        elif refreshed.content != member.step.patch.raw:
            write_whole(series.folder / refreshed.name, refreshed.content)
            files.append(refreshed.name)
    return Written(tuple(files), tuple(reduced), tuple(skipped), None)


def _open(
    rebased: Rebased, stuck: Sequence[MemberJudged], series: Series, state: StateDir, upstream: Path
) -> Written:
    """Open the first conflict that a text can settle; say what is in the way of the others."""
    merger = rebased.engine.judge.merger
    hopeless: list[tuple[str, str]] = []
    for member in stuck:
        name = member.step.patch.name
        in_conflict = [f for f in member.in_series.files if f.outcome is Outcome.CONFLICT]
        texts = text_to_settle(merger, in_conflict)
        if texts is None:
            why = "; ".join(member.in_series.why) or "a file is not a text"
            reason = f"no text can settle it, the patch must be rewritten: {why}"
            hopeless.append((name, reason))
            continue
        files: list[OpenFile] = []
        for file, text in zip(in_conflict, texts, strict=True):
            assert file.triple is not None  # noqa: S101  (there is a text)
            path = file.result.new_path or file.result.path
            place = f"{FOLDER}/{path}"
            sides = file.triple
            files.append(
                OpenFile(
                    path=path, file=place, base=sides.base, ours=sides.ours, theirs=sides.theirs
                )
            )
            write_whole(state.folder / place, text)
        operation = RebaseOperation(
            from_=rebased.document.from_,
            onto=rebased.document.onto,
            series=str(series.folder.resolve()),
            upstream=str(upstream.resolve()),
            patch=name,
            files=tuple(files),
        )
        write_whole(state.operation, to_json(operation))
        return Written((), (), (), operation)
    return Written((), (), tuple(hopeless), None)


def read_operation(state: StateDir) -> RebaseOperation:
    """The open rebase.

    Raises:
        UsageError: none is open, or it is of another kind.
    """
    try:
        raw = state.operation.read_bytes()
    except FileNotFoundError:
        raise UsageError(
            "no operation is open", where=str(state.operation), next_step="nothing to do"
        ) from None
    try:
        return msgspec.json.decode(raw, type=RebaseOperation)
    except msgspec.MsgspecError as fault:
        raise UsageError(
            f"the open operation is no rebase: {fault}", where=str(state.operation)
        ) from None


def keep_resolutions(operation: RebaseOperation, merger: Merger, state: StateDir) -> list[Path]:
    """Store what the human made of the conflict, and close the operation.

    Raises:
        UsageError: a place is still marked, or a file is gone.
    """
    resolved: list[tuple[OpenFile, bytes]] = []
    for file in operation.files:
        place = state.folder / file.file
        try:
            text = place.read_bytes()
        except FileNotFoundError:
            raise UsageError(
                "a file of the conflict is gone",
                where=str(place),
                next_step="`lloyal-track abort`, then start again",
            ) from None
        if has_markers(text):
            raise UsageError(
                "a conflict is not resolved yet",
                where=str(place),
                next_step="edit the file until no marker is left, then `lloyal-track resume`",
            )
        resolved.append((file, text))
    resolutions = Resolutions(Path(operation.series))
    kept: list[Path] = []
    for file, text in resolved:
        triple = Triple(file.base, file.ours, file.theirs)
        kept += resolutions.keep(merger, triple, file.path, text)
    close(state)
    return kept


def close(state: StateDir) -> None:
    """Forget the open operation; nothing else was changed by it."""
    shutil.rmtree(state.folder / FOLDER, ignore_errors=True)
    state.operation.unlink(missing_ok=True)


def _open_already(state: StateDir) -> TrackError:
    return OperationOpen(
        "an operation was not finished",
        where=str(state.operation),
        next_step="`lloyal-track resume` or `lloyal-track abort`",
    )
