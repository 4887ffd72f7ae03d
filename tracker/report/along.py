"""Sweep and watch documents of one range -> the timeline."""

from __future__ import annotations

from collections.abc import Iterable

from tracker.evidence.history import BreakPoint, WatchHistoryDocument
from tracker.evidence.rebase import Outcome
from tracker.evidence.sweep import PatchBreak, SweepDocument
from tracker.evidence.verdict import Status
from tracker.evidence.watch import RegionStatus, RoutingStatus, UpstreamCommit
from tracker.report.stages.watch import STATUS_OF_REGION
from tracker.report.standing import plural
from tracker.report.timeline import Stretch, Timeline, Track, Turn, Visited

_Break = PatchBreak | BreakPoint


def timeline_of(
    sweep: SweepDocument | None, watched: WatchHistoryDocument | None
) -> Timeline | None:
    """The picture of one range; None if there is nothing to draw.

    Two documents of different ranges are not put on one axis: the sweep wins. A document with a
    break point whose place in the range is not known is left out, because a picture that lacks one
    would be read as "nothing happened there"; so is a sweep of merged branches, which are no axis.
    """
    if sweep is not None and not sweep.first_parent:
        sweep = None
    parts = [part for part in (sweep, watched) if part is not None and _placed(part.breaks)]
    if not parts:
        return None
    whole = parts[0]
    same = [part for part in parts if (part.from_, part.to) == (whole.from_, whole.to)]
    count = whole.revisions + 1
    tracks: list[Track] = []
    turns: list[Turn] = []
    for part in same:
        by_item = _by_item(part)
        tracks += _tracks(part, by_item, count)
        turns += [_turn(found) for breaks in by_item.values() for found in breaks]
    dates = sorted(turn.revision.date for turn in turns)
    return Timeline(
        lead=_lead(sweep if sweep in same else None, whole.revisions),
        count=count,
        first=Visited(whole.from_[:9]),
        last=Visited(whole.to[:9], dates[-1] if dates and turns[-1].at == count - 1 else ""),
        tracks=tuple(tracks),
        turns=tuple(sorted(turns, key=lambda turn: turn.at)),
    )


def _placed(breaks: Iterable[_Break]) -> bool:
    return all(found.index >= 0 for found in breaks)


def _lead(sweep: SweepDocument | None, revisions: int) -> str:
    said = plural(revisions, "revision")
    if sweep is None:
        return f"{said}."
    if sweep.furthest is None:
        return f"{said}; not even the start is clean."
    if sweep.furthest.index == revisions:
        return f"{said}; the whole series is clean on all of them."
    again = f", and again on {sweep.clean_again} after it" if sweep.clean_again else ""
    return f"{said}; the whole series is clean up to {sweep.furthest.commit[:9]}{again}."


def _by_item(part: SweepDocument | WatchHistoryDocument) -> dict[str, list[_Break]]:
    found: dict[str, list[_Break]] = {}
    breaks: list[_Break] = [*part.breaks]
    for at in sorted(breaks, key=lambda found: found.index):
        found.setdefault(at.item, []).append(at)
    return found


def _track(item: str, breaks: list[_Break], count: int) -> Track:
    firsts = [0, *(found.index for found in breaks)]
    ends = [*firsts[1:], count]
    states = [_start(breaks[0]), *(_after(found) for found in breaks)]
    return Track(
        item=item,
        stretches=tuple(
            Stretch(first, end - 1, *state)
            for first, end, state in zip(firsts, ends, states, strict=True)
            if end > first
        ),
    )


def _tracks(
    part: SweepDocument | WatchHistoryDocument, by_item: dict[str, list[_Break]], count: int
) -> list[Track]:
    """Patches in series order, those whose answer never changed too; else in order of change."""
    still = (
        {drift.item: drift.now for drift in part.drift} if isinstance(part, SweepDocument) else {}
    )
    return [
        _track(item, by_item[item], count)
        if item in by_item
        else Track(item, (Stretch(0, count - 1, still[item], _patch_status(still[item])),))
        for item in dict.fromkeys([*still, *by_item])
        if item in by_item or still[item]
    ]


def _start(found: _Break) -> tuple[str, Status]:
    if isinstance(found, PatchBreak):
        return found.before, _patch_status(found.before)
    region = found.item.startswith("region:") or not found.before
    return "as before" if region else found.before, Status.PASS


def _after(found: _Break) -> tuple[str, Status]:
    if isinstance(found, PatchBreak):
        return found.after, _patch_status(found.after)
    if found.item.startswith("region:"):
        known = {status.value: STATUS_OF_REGION[status] for status in RegionStatus}
        return found.status, known.get(found.status, Status.UNKNOWN)
    unresolved = found.status == RoutingStatus.UNRESOLVED
    return found.after or found.status, Status.UNKNOWN if unresolved else Status.ATTENTION


def _patch_status(answer: str) -> Status:
    """Of an outcome and its flags; a word that is not known is not called good."""
    word, *flags = answer.split() or [""]
    try:
        outcome = Outcome(word)
    except ValueError:
        return Status.UNKNOWN
    if outcome in (Outcome.CONFLICT, Outcome.UNUSABLE):
        return Status.FAIL
    good = outcome.clean or outcome is Outcome.NOT_APPLICABLE
    return Status.PASS if good and not flags else Status.ATTENTION


def _turn(found: _Break) -> Turn:
    commit = found.commit
    label, subject = "unknown commit", ""
    if isinstance(commit, UpstreamCommit):
        label = f"#{commit.pr}" if commit.pr is not None else commit.commit[:9]
        subject = commit.subject
    before, after = _start(found)[0], _after(found)[0]
    if isinstance(found, BreakPoint) and found.item.startswith("region:"):
        before = found.before or before
        after += f", now {found.after}" if found.after not in ("", found.before) else ""
    return Turn(
        at=found.index,
        revision=Visited(found.to[:9], found.date),
        item=found.item,
        label=label,
        subject=subject,
        before=before,
        after=after,
    )
