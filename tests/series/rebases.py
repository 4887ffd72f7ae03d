"""Runs a rebase on a small repository; shared by the tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.patches import series_of
from tests.support.repos import File, Step, build
from tracker.evidence.rebase import PatchResult, RebaseDocument
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.git.worktree import sync
from tracker.progress import SILENT
from tracker.series import Series, read_series, rebase
from tracker.series.sweeping import Swept, sweep_range

Files = Mapping[str, File]


def judge(
    tmp_path: Path, pin: Files, target: Files | Sequence[Step], *patches: bytes, toml: str = ""
) -> RebaseDocument:
    """Rebase ``patches`` from ``pin`` onto ``pin`` with ``target`` over it.

    ``target``: files of one commit, or several commits. The result lies in ``tmp_path/out``.
    """
    later = [Step(target)] if isinstance(target, Mapping) else list(target)
    ids = build(tmp_path / "up", [Step(pin), *later])
    series = read_series(series_of(tmp_path / "p", *patches, toml=toml or None))
    with Repository.open(tmp_path / "up") as repository:
        with Quarantine(repository, tmp_path / "q") as quarantine:
            document = rebase(
                repository,
                series,
                from_=ids[0],
                onto=ids[-1],
                quarantine=quarantine,
                progress=SILENT,
            )
            if document.tree is not None:
                sync(quarantine, document.tree, tmp_path / "out")
    return document


def judge_one(
    tmp_path: Path, pin: Files, target: Files | Sequence[Step], patch: bytes, toml: str = ""
) -> PatchResult:
    """The result of the only patch."""
    return judge(tmp_path, pin, target, patch, toml=toml).patches[0]


def agree(
    tmp_path: Path, commits: Sequence[str], series: Series, *, merges: bool = False
) -> list[str]:
    """The sweep's answers, one a revision, after comparing each with a rebase onto it.

    ``commits``: of the range, its ends first and last.
    """
    with Repository.open(tmp_path / "up") as repository:
        with Quarantine(repository, tmp_path / "q") as store:
            ends = (commits[0], commits[-1])
            swept = sweep_range(repository, series, *ends, store, SILENT, merges=merges)
            assert {place.commit for place in swept.places} == set(commits)
            return compared(repository, store, series, swept)


def compared(repository: Repository, store: Quarantine, series: Series, swept: Swept) -> list[str]:
    """The answers of a sweep, one a revision, each the one of a rebase onto it."""
    found = []
    for index, place in enumerate(swept.places):
        here = swept.answers_at(index)
        document = rebase(
            repository,
            series,
            from_=swept.places[0].commit,
            onto=place.commit,
            quarantine=store,
            progress=SILENT,
        )
        expected = [(p.outcome, p.flags, p.verdict) for p in document.patches]
        assert [(a.outcome, a.flags, a.verdict) for a in here] == expected, index
        for answer, patch in zip(here, document.patches, strict=True):
            assert patch.alone in (None, answer.alone), index
        found.append(" ".join(answer.text for answer in here))
    return found
