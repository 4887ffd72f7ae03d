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
from tracker.series import read_series, rebase

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
