"""A real patch queue on its maintainers' own bumps: ``QUEUE=GITDIR`` (ollama/ollama) and
``UPSTREAM=GITDIR`` (llama.cpp). Without them it says so and measures nothing.

For each bump: how many patches are clean, against ``git merge-tree`` patch by patch; whether the
resulting files are git's wherever git is clean; which conflicts have a culprit; and how well flags
tell the patches that the maintainers changed by hand from those that they did not (matched by
subject, compared by their changed lines).
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tracker.evidence.rebase import Outcome, PatchResult
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.series import Series, read_series
from tracker.series.patch import Patch
from tracker.series.pinned import effect
from tracker.series.rebasing import Rebased, rebase_with_engine
from tracker.series.trees import written

# Commits of the queue before and after a bump; the pins that they name; patches clean to
# merge-tree when each is tried on top of those before it that were clean.
_BUMPS = (
    ("943464ccb", "71e90e881", "e9e5f61c4", "2016f07bd", 18),
    ("1a19df1f3", "e54d41bef", "c68f367ef", "364a7a6d4", 17),
    ("b95693056", "17f7f4baa", "49a9c9ba6", "ec98e2002", 28),
)


@dataclass(frozen=True)
class Score:
    """Counts over one bump; ``changed`` and ``same``: clean patches by what the maintainers did."""

    changed_flagged: int
    changed: int
    same_flagged: int
    same: int


def main() -> None:
    queue, upstream = os.environ.get("QUEUE"), os.environ.get("UPSTREAM")
    if not queue or not upstream:
        print("set QUEUE (ollama/ollama) and UPSTREAM (llama.cpp) to measure on a real queue")
        return
    with TemporaryDirectory(prefix="queue-bench-") as folder:
        for old, pin, new, target, goal in _BUMPS:
            place = Path(folder) / old
            series = _patches(Path(queue), old, place / "old")
            after = _patches(Path(queue), new, place / "new")
            _bump(Path(upstream), series, after, pin, target, goal, place)


def _cpu() -> float:
    """Seconds of CPU of this process and the git children that have ended."""
    return sum(os.times()[:4])


def _patches(queue: Path, commit: str, folder: Path) -> Series:
    folder.mkdir(parents=True)
    with Repository.open(queue) as repository:
        for entry in repository.list_tree(f"{commit}:llama/patches"):
            if entry.path.endswith(".patch"):
                (folder / entry.path).write_bytes(repository.read(entry.oid))
    return read_series(folder)


def _bump(
    upstream: Path, series: Series, after: Series, pin: str, target: str, goal: int, place: Path
) -> None:
    with Repository.open(upstream) as repository, Quarantine(repository, place / "q") as store:
        started, used = time.perf_counter(), _cpu()
        rebased = rebase_with_engine(
            repository, series, from_=pin, onto=target, quarantine=store, progress=SILENT
        )
        seconds, used = time.perf_counter() - started, _cpu() - used
        clean_git, differing = _against_git(rebased, store, repository)
    results = rebased.document.patches
    clean = [r for r in results if r.outcome.clean or r.outcome is Outcome.UPSTREAMED]
    conflicts = [r for r in results if r.outcome is Outcome.CONFLICT]
    named = [r for r in conflicts if r.culprit not in (None, "unknown")]
    score = _score(results, series, after)
    print(
        f"{pin} -> {target}: {len(clean)} of {len(results)} clean (merge-tree {clean_git}, "
        f"goal {goal}), {differing} with other contents than git's, "
        f"{len(named)} of {len(conflicts)} conflicts with a culprit, "
        f"{sum(r.outcome is Outcome.STRUCTURAL for r in results)} structural, {seconds:.2f} s "
        f"({used:.2f} s of CPU)"
    )
    print(
        f"    flags: {score.changed_flagged} of {score.changed} patches changed by hand, "
        f"{score.same_flagged} of {score.same} left as they were"
    )
    for result in conflicts:
        culprit = result.culprit
        shown = culprit if culprit is None or isinstance(culprit, str) else culprit.subject
        print(f"    conflict {result.name}: {shown}")


def _against_git(rebased: Rebased, store: Quarantine, repository: Repository) -> tuple[int, int]:
    """How many patches merge-tree finds clean, and how many of those we made other files of."""
    engine, clean, differing = rebased.engine, 0, 0
    pin_tree = repository.tree(rebased.document.from_)
    here = engine.pin
    carried = [pin_tree]
    for steps in engine.steps:
        for step in steps[0].files:
            here = here.with_changes(effect(step.file, step.theirs))
        carried.append(written(store, pin_tree, here))
    ours = rebased.target_tree
    by_structure: set[str] = set()
    for index, member in enumerate(rebased.judged):
        paths = {file.path for file in member.step.patch.files}
        if member.in_series.outcome is Outcome.STRUCTURAL:
            by_structure |= paths  # git goes on without it, so these files differ from here on
        base = store.write_commit(carried[index])
        sides = [store.write_commit(tree, [base]) for tree in (ours, carried[index + 1])]
        done = store.git(["merge-tree", "--write-tree", *sides], check=False)
        if done.code == 0:
            clean += 1
            ours = done.stdout.decode().split("\n", 1)[0]
            after = written(store, rebased.target_tree, member.in_series.after)
            wanted = sorted(paths - by_structure)
            differing += store.entries(after, wanted) != store.entries(ours, wanted)
    return clean, differing


def _score(results: tuple[PatchResult, ...], series: Series, after: Series) -> Score:
    later = {m.patch.subject: m.patch for m in after.members}
    counts = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for member, result in zip(series.members, results, strict=True):
        match = later.get(result.subject)
        if match is None or not result.outcome.clean:
            continue
        counts[_lines(match) != _lines(member.patch), bool(result.flags)] += 1
    return Score(
        counts[True, True],
        counts[True, True] + counts[True, False],
        counts[False, True],
        counts[False, True] + counts[False, False],
    )


def _lines(patch: Patch) -> list[tuple[str, list[tuple[str, bytes]]]]:
    return [
        (f.path, [(line.mark, line.text) for h in f.hunks for line in h.lines if line.mark != " "])
        for f in patch.files
    ]


if __name__ == "__main__":
    main()
