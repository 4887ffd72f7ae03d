from __future__ import annotations

from msgspec.structs import replace

from tests.support import documents
from tracker.evidence.sweep import Drift
from tracker.evidence.verdict import Status
from tracker.report.along import timeline_of


def test_a_range_is_one_picture() -> None:
    """Patches and regions of the same range share an axis; what never changed has a track too."""
    made = timeline_of(documents.sweep(), documents.watch_history())
    assert made is not None
    assert made.count == 1161
    assert [track.item for track in made.tracks] == [
        f"patch:{documents.PATCH}",
        "patch:0002-still.patch",
        "region:seq_rm",
    ]
    patch, still, seq_rm = made.tracks
    assert [(s.first, s.last, s.state, s.status) for s in patch.stretches] == [
        (0, 211, "unchanged", Status.PASS),
        (212, 869, "offset", Status.PASS),
        (870, 901, "conflict", Status.FAIL),
        (902, 1160, "offset", Status.PASS),
    ]
    assert [(s.first, s.last, s.state) for s in still.stretches] == [(0, 1160, "unchanged")]
    assert seq_rm.stretches[1].status is Status.ATTENTION
    assert [turn.label for turn in made.turns] == ["#26623", "#27100", "#27501", "d4d4d4d4d"]
    assert "clean up to" in made.lead
    assert "again on 259 after it" in made.lead


def test_two_ranges_do_not_share_an_axis() -> None:
    """A watch of another range is left out rather than drawn at the wrong place."""
    other = replace(documents.watch_history(), from_="f" * 40)
    made = timeline_of(documents.sweep(), other)
    assert made is not None
    assert all(track.item.startswith("patch:") for track in made.tracks)


def test_a_break_point_without_a_place_is_not_hidden_by_a_picture() -> None:
    """No picture is better than one that shows nothing where something happened."""
    sweep = documents.sweep()
    lost = replace(sweep, breaks=(*sweep.breaks[:2], replace(sweep.breaks[2], index=-1)))
    assert timeline_of(lost, None) is None
    assert timeline_of(None, None) is None


def test_an_unknown_word_is_not_called_good() -> None:
    """A sweep by a newer version is drawn as unknown, a flagged answer as attention."""
    sweep = documents.sweep()
    drift = (
        Drift(item="patch:a", touched=0, contents=1, answers=1, now="transmogrified"),
        Drift(item="patch:b", touched=0, contents=1, answers=1, now="merged scope-changed"),
    )
    made = timeline_of(replace(sweep, breaks=(), drift=drift), None)
    assert made is not None
    assert [t.stretches[0].status for t in made.tracks] == [Status.UNKNOWN, Status.ATTENTION]


def test_a_snapshot_history_names_no_commit() -> None:
    """Who changed it is unknown on a mirror made from archives, and is shown as that."""
    sweep = documents.sweep()
    unknown = tuple(replace(found, commit="unknown") for found in sweep.breaks)
    made = timeline_of(replace(sweep, breaks=unknown, furthest=None), None)
    assert made is not None
    assert {turn.label for turn in made.turns} == {"unknown commit"}
    assert "not even the start is clean" in made.lead


def test_a_sweep_of_merged_branches_is_no_axis() -> None:
    """Its revisions stand beside one another, so a line of them would lie."""
    branched = replace(documents.sweep(), first_parent=False)
    assert timeline_of(branched, None) is None
    made = timeline_of(branched, documents.watch_history())
    assert made is not None
    assert [track.item for track in made.tracks] == ["region:seq_rm"]
