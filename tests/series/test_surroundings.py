"""Nothing around a run changes its answer, and a run changes nothing around it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.series.rebases import judge
from tests.support.documents import REPOSITORY
from tests.support.patches import diff, numbered, series_of
from tests.support.repos import File, build, git, state
from tracker.evidence.base import to_json
from tracker.evidence.rebase import Outcome, RebaseDocument
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.series import read_series, rebase

_PIN: dict[str, File] = {"a": numbered(1, 20), "b": numbered(1, 20)}
_PATCH = diff(_PIN, {"a": numbered(1, 20, L10="mine")})


def _rebase(upstream: Path, patches: Path, store: Path, onto: str, from_: str) -> RebaseDocument:
    with Repository.open(upstream) as repository, Quarantine(repository, store) as quarantine:
        return rebase(
            repository,
            read_series(patches),
            from_=from_,
            onto=onto,
            quarantine=quarantine,
            progress=SILENT,
        )


def test_uncommitted_work_and_locks_are_left_alone(tmp_path: Path) -> None:
    """An edited file that a patch touches, an index.lock, a half-done am: nothing of it is read,
    moved or deleted (G15, G26).
    """
    ids = build(tmp_path / "up", [_PIN, {"b": numbered(1, 20, L3="x")}], bare=False)
    up = tmp_path / "up"
    (up / "a").write_text("mine, not committed\n")
    (up / ".git/index.lock").write_text("")
    (up / ".git/rebase-apply").mkdir()
    (up / ".git/rebase-apply/next").write_text("1\n")
    series_of(tmp_path / "p", _PATCH)
    before = state(up)
    document = _rebase(up, tmp_path / "p", tmp_path / "q", ids[1], ids[0])
    assert document.patches[0].outcome is Outcome.UNCHANGED
    assert state(up) == before


def test_a_run_that_was_killed_leaves_the_next_one_its_verdict(tmp_path: Path) -> None:
    """Half-written objects of our store do no harm (G15)."""
    ids = build(tmp_path / "up", [_PIN, {"a": numbered(1, 20, L8="x")}])
    series_of(tmp_path / "p", _PATCH)
    code = (
        "from pathlib import Path\n"
        "from tests.series.test_surroundings import _rebase\n"
        f"place = Path({str(tmp_path)!r})\n"
        "while True:\n"
        f"    _rebase(place / 'up', place / 'p', place / 'q', {ids[1]!r}, {ids[0]!r})\n"
        "    print('once', flush=True)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert child.stdout is not None
    child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    document = _rebase(tmp_path / "up", tmp_path / "p", tmp_path / "q", ids[1], ids[0])
    fresh = _rebase(tmp_path / "up", tmp_path / "p", tmp_path / "q2", ids[1], ids[0])
    assert document == fresh


def test_a_linked_worktree_and_its_repository_answer_alike(tmp_path: Path) -> None:
    """Also with sparse checkout and another branch checked out."""
    ids = build(tmp_path / "up", [_PIN, {"a": numbered(1, 20, L8="x")}], bare=False)
    git(tmp_path / "up", "worktree", "add", "-q", "--detach", str(tmp_path / "w"), ids[0])
    git(tmp_path / "w", "sparse-checkout", "set", "nothing")
    series_of(tmp_path / "p", _PATCH)
    documents = [
        to_json(_rebase(tmp_path / name, tmp_path / "p", tmp_path / f"q-{name}", ids[1], ids[0]))
        for name in ("up", "w")
    ]
    assert documents[0] == documents[1]


def test_attributes_in_upstreams_tree_do_not_merge_for_us(tmp_path: Path) -> None:
    """merge=union would take both sides and call it clean."""
    pin: dict[str, File] = {**_PIN, ".gitattributes": "* merge=union -diff\n"}
    patch = diff(_PIN, {"a": numbered(1, 20, L10="mine")})
    document = judge(tmp_path, pin, {"a": numbered(1, 20, L10="theirs")}, patch)
    assert document.patches[0].outcome is Outcome.CONFLICT


def test_a_rewritten_history_is_judged_on_the_new_tip(tmp_path: Path) -> None:
    """The pin is no ancestor any more: verdicts stand, culprits are unknown (G22)."""
    ids = build(tmp_path / "up", [_PIN, {"a": numbered(1, 20, L10="theirs")}])
    up = tmp_path / "up"
    tree = git(up, "rev-parse", f"{ids[1]}^{{tree}}")
    identity = ["-c", "user.name=x", "-c", "user.email=x"]
    other = git(up, *identity, "commit-tree", tree, "-m", "rewritten")
    git(up, "update-ref", "refs/heads/master", other)
    series_of(tmp_path / "p", _PATCH)
    document = _rebase(up, tmp_path / "p", tmp_path / "q", "master", ids[0])
    assert document.patches[0].outcome is Outcome.CONFLICT
    assert document.patches[0].culprit == "unknown"


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    """Also into a store that holds the objects already; and every patch has a row (P51)."""
    pin: dict[str, File] = {f"f{n}": numbered(1, 20) for n in range(12)}
    patches = [diff(pin, {f"f{n}": numbered(1, 20, L10="mine")}) for n in range(12)]
    target: dict[str, File] = {
        **{f"f{n}": numbered(1, 20, L10="theirs") for n in range(0, 4)},
        **{f"f{n}": None for n in range(4, 6)},
        **{f"f{n}": numbered(1, 20, L2="x") for n in range(6, 9)},
    }
    ids = build(tmp_path / "up", [pin, target])
    series_of(tmp_path / "p", *patches)
    runs = [
        to_json(_rebase(tmp_path / "up", tmp_path / "p", tmp_path / store, ids[1], ids[0]))
        for store in ("q1", "q1", "q2")
    ]
    assert runs[0] == runs[1] == runs[2]
    document = _rebase(tmp_path / "up", tmp_path / "p", tmp_path / "q1", ids[1], ids[0])
    outcomes = [p.outcome for p in document.patches]
    assert outcomes == [Outcome.CONFLICT] * 6 + [Outcome.UNCHANGED] * 6
