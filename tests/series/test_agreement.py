"""A sweep, a bisection and a rebase give the same answer at every revision.

Each example is a small awkward history with a random series: functions move between files, files
are renamed, removed, become links or folders, patches go upstream, branches are merged.
``SWEEP_EXAMPLES=N`` tries that many, from ``SWEEP_SEED`` on.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.series.rebases import compared
from tests.support.histories import story, write
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.series import bisect, read_series
from tracker.series.reading import Series
from tracker.series.rebasing import rebase_with_engine
from tracker.series.resolutions import Resolutions
from tracker.series.sweeping import sweep_range

_EXAMPLES = int(os.environ.get("SWEEP_EXAMPLES", "24"))
_FIRST = int(os.environ.get("SWEEP_SEED", "0"))


def _resolve_some(
    repository: Repository, store: Quarantine, series: Series, pin: str, onto: str
) -> None:
    """Somebody has settled the conflicts of one revision before."""
    rebased = rebase_with_engine(
        repository, series, from_=pin, onto=onto, quarantine=store, progress=SILENT
    )
    kept = Resolutions(series.folder)
    for member in rebased.judged:
        for file in member.in_series.files:
            if file.outcome == "conflict" and file.triple is not None and file.result.hunks:
                text = store.read(file.triple.ours) + b"// settled\n"
                merger = rebased.engine.judge.merger
                kept.keep(merger, file.triple, file.result.path, text)


@pytest.mark.parametrize("seed", range(_FIRST, _FIRST + _EXAMPLES))
def test_a_sweep_a_rebase_and_a_bisection_agree(tmp_path: Path, seed: int) -> None:
    """Whatever answer a sweep shares between revisions is the one that a rebase gives there."""
    told = story(seed, tmp_path / "p")
    ids = write(tmp_path / "up", told.commits)
    pin, end = ids[told.pin], ids[-1]
    merges = seed % 3 == 0
    with Repository.open(tmp_path / "up") as repository:
        with Quarantine(repository, tmp_path / "q") as store:
            series = read_series(tmp_path / "p")
            if seed % 4 == 0:
                onto = random.Random(seed).choice(ids)  # noqa: S311  (a test, not a secret)
                _resolve_some(repository, store, series, pin, onto)
            swept = sweep_range(repository, series, pin, end, store, SILENT, merges=merges)
            compared(repository, store, series, swept)
            if not merges:
                broken = bisect(
                    repository, series, from_=pin, to=end, quarantine=store, progress=SILENT
                )
                line = [swept.clean(index) for index in range(len(swept.places))]
                if not line[0] or line[-1]:
                    assert broken.first is None
                else:
                    at = [place.commit for place in swept.places].index(broken.first or "")
                    assert (line[at - 1], line[at]) == (True, False)
