"""Cost of a verdict for every revision of a range, against what scripts do with git.

``UPSTREAM=GITDIR`` measures on a real history (``RANGE=A..B``, default the last 1,160 first-parent
revisions of HEAD; ``SERIES=DIR``, default the carried patch set); without it a history is
generated. All methods run from empty state in one run; (d) is judged against (b) revision by
revision: it may refuse or flag what git accepts, but never call clean what git apply refuses unless
a three-way merge of git's own is clean.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from traceback import print_exc
from typing import TypeVar

from msgspec.structs import replace

from tests.support.patches import diff
from tests.support.repos import File, Step, build
from tracker.bundled import bundled
from tracker.evidence.rebase import Outcome
from tracker.git.calls import run_git
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.series import Series, read_series
from tracker.series.sweeping import Swept, sweep_range

REVISIONS = 1160
_FILES = 2800
_FILES_A_COMMIT = 4  # as in llama.cpp: 4.2 over 1,160 first-parent commits until 2026-03
Result = TypeVar("Result")


@dataclass(frozen=True)
class History:
    """A range of a repository with a series written for its start; ``longer``: 8 times as long."""

    git_dir: Path
    start: str
    end: str
    series: Path
    longer: str | None


def main() -> None:
    # Imports belong to the interpreter's start, which is not counted.
    for heavy in ("git.cmd", "tree_sitter", "tree_sitter_cpp", "unidiff.patch"):
        import_module(heavy)
    with TemporaryDirectory(prefix="rebase-bench-") as folder:
        place = Path(folder)
        history = _given() or _generated(place)
        _measure(history, place)


def _given() -> History | None:
    upstream = os.environ.get("UPSTREAM")
    if not upstream:
        return None
    git_dir = Path(upstream)
    with Repository.open(git_dir) as repository:
        chosen = os.environ.get("RANGE", f"HEAD~{REVISIONS}..HEAD")
        start, _, end = chosen.partition("..")
        start, end = repository.resolve(start), repository.resolve(end)
        far = run_git(
            ["rev-parse", "--verify", "-q", f"{end}~{8 * REVISIONS}"], git_dir=git_dir, check=False
        )
        longer = far.stdout.decode().strip() or None
    series = Path(os.environ.get("SERIES", str(bundled("patchset"))))
    return History(git_dir, start, end, series, longer)


def _generated(place: Path) -> History:
    """2,800 files; the patched ones change a few times, one of those changes is a conflict."""
    random.seed(1)
    print(f"generating a history of {8 * REVISIONS + 1} revisions of {_FILES} files")
    pin: dict[str, File] = {
        f"src/part{n % 40:02}/file{n:04}.cpp": _source(n) for n in range(_FILES)
    }
    paths = list(pin)
    patched = paths[100:103]
    steps = [Step(pin)]
    events: dict[int, tuple[str, Callable[[bytes], bytes]]] = {
        # within the last 1,160 revisions: moved lines, a changed context, a conflict, its end
        7 * REVISIONS + 200: (patched[0], lambda text: b"// added above\n" * 3 + text),
        7 * REVISIONS + 400: (patched[1], lambda text: text.replace(b"step(3);", b"step(33);")),
        7 * REVISIONS + 700: (patched[2], lambda text: text.replace(b"step(5);", b"other(5);")),
        7 * REVISIONS + 900: (patched[2], lambda text: text.replace(b"other(5);", b"step(5);")),
    }
    now = dict(pin)
    for number in range(1, 8 * REVISIONS + 1):
        changed: dict[str, File] = {
            paths[random.randrange(200, _FILES)]: _source(random.randrange(10**6))
            for _ in range(_FILES_A_COMMIT)
        }
        if number in events:
            path, change = events[number]
            content = now[path]
            assert isinstance(content, bytes)
            changed[path] = change(content)
        now.update(changed)
        steps.append(Step(changed, subject=f"change {number} (#{number})"))
    ids = build(place / "upstream.git", steps)
    series = place / "series"
    series.mkdir()
    for number, path in enumerate(patched):
        content = pin[path]
        assert isinstance(content, bytes)
        new = content.replace(b"    step(5);\n", b"    step(5);\n    carried(5);\n")
        patch = diff({path: content}, {path: new}, subject=f"carry {number}")
        (series / f"{number:04}.patch").write_bytes(patch)
    return History(place / "upstream.git", ids[-1 - REVISIONS], ids[-1], series, ids[0])


def _source(seed: int) -> bytes:
    body = "".join(f"    step({n});\n" for n in range(12))
    return f"// {seed}\n\nint function_{seed}() {{\n{body}    return {seed};\n}}\n".encode()


def _measure(history: History, place: Path) -> None:
    series = _fitting(history, read_series(history.series), place)
    listed = run_git(
        ["rev-list", "--first-parent", "--reverse", f"{history.start}..{history.end}"],
        git_dir=history.git_dir,
    )
    commits = listed.stdout.decode().split()
    print(f"{len(commits)} revisions x {len(series.members)} patches\n")
    short = _Short(history, series, place)
    short.measure()
    cached, with_index = _time(lambda: _with_index(history, series, commits, place))
    short.measure()
    merged, merge_tree = _time(lambda: _merge_tree(history, series, commits, place))
    short.measure()
    _checked, worktree = _time(lambda: _in_worktree(history, series, commits, place))
    short.measure()
    ours, floor = median(short.ours), median(short.floor)
    swept = _ours(history, series, history.start, place / "q1")
    count = len(commits)
    print("method                                        total      per revision")
    for name, seconds in (
        ("(a) reused worktree + git apply --check", worktree),
        ("(b) alternate index + git apply --cached", with_index),
        ("(c) git merge-tree, one process a patch", merge_tree),
        ("(d) lloyal-track sweep", ours),
        ("(e) git rev-list + one cat-file --batch-check", floor),
    ):
        print(f"{name:46} {seconds:8.3f} s {1000 * seconds / count:9.3f} ms")
    print(f"\nours: {worktree / ours:.0f}x faster than (a), goal 300")
    print(f"      {with_index / ours:.0f}x faster than (b), goal 100")
    print(f"      {ours / floor:.1f}x the time of (e), goal at most 3")
    _compare(swept, cached, merged)
    if history.longer is not None:
        start = history.longer
        longer = _time_apart(lambda: _ours(history, series, start, place / "q2"))
        far = _ours(history, series, start, place / "q3")
        print(
            f"8x the range ({len(far.places) - 1} revisions, {far.contents} contents, "
            f"was {swept.contents}): {longer / ours:.1f}x the time, goal at most 4"
        )


def _fitting(history: History, series: Series, place: Path) -> Series:
    """The patches for code that the first revision has: the peers cannot tell of the others."""
    fitting = []
    with Repository.open(history.git_dir) as repository:
        with Quarantine(repository, place / "fitting") as store:
            env = {"GIT_INDEX_FILE": str(place / "fitting.index")}
            store.git(["read-tree", store.tree(history.start)], extra_env=env)
            for member in series.members:
                raw = member.patch.raw
                done = store.git(["apply", "--cached", "-"], stdin=raw, extra_env=env, check=False)
                if done.code == 0:
                    fitting.append(member)
                else:
                    print(f"left out, not for the first revision: {member.patch.name}")
    return replace(series, members=tuple(fitting))


def _time(work: Callable[[], Result]) -> tuple[Result, float]:
    started = time.perf_counter()
    result = work()
    return result, time.perf_counter() - started


def _time_apart(work: Callable[[], object]) -> float:
    """In a child of its own, so that nothing is remembered from one run to the next."""
    seconds, result = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(result, repr(_time(work)[1]).encode())
        except BaseException:
            print_exc()
        finally:
            os._exit(0)
    os.close(result)
    os.waitpid(child, 0)
    with os.fdopen(seconds) as told:
        return float(told.read())


class _Short:
    """(d) and (e): over in less than a second, so they are measured again between the long ones,
    which take their share of whatever else the machine does. Each from an empty state.
    """

    def __init__(self, history: History, series: Series, place: Path) -> None:
        self._history, self._series, self._place = history, series, place
        self.ours: list[float] = []
        self.floor: list[float] = []

    def measure(self) -> None:
        history, start = self._history, self._history.start
        for _ in range(3):
            state = self._place / f"short{len(self.ours)}"
            self.floor.append(_time_apart(lambda: _floor(history, self._series, start)))
            self.ours.append(_time_apart(partial(_ours, history, self._series, start, state)))


def _ours(history: History, series: Series, start: str, state: Path) -> Swept:
    with Repository.open(history.git_dir) as repository, Quarantine(repository, state) as store:
        return sweep_range(repository, series, start, history.end, store, SILENT)


def _floor(history: History, series: Series, start: str) -> None:
    listed = run_git(
        ["rev-list", "--first-parent", f"{start}..{history.end}"], git_dir=history.git_dir
    )
    paths = sorted({f.path for m in series.members for f in m.patch.files})
    asked = "".join(f"{c}:{p}\n" for c in listed.stdout.decode().split() for p in paths)
    run_git(["cat-file", "--batch-check"], git_dir=history.git_dir, stdin=asked.encode())


def _whole(series: Series) -> bytes:
    return b"".join(section for m in series.members for section in [m.patch.raw])


def _with_index(history: History, series: Series, commits: list[str], place: Path) -> list[bool]:
    env = {"GIT_INDEX_FILE": str(place / "index"), **_own_objects(history, place / "b")}
    patch = _whole(series)
    answers = []
    for commit in commits:
        run_git(["read-tree", commit], git_dir=history.git_dir, extra_env=env)
        args = ["apply", "--cached", "-"]
        done = run_git(args, git_dir=history.git_dir, stdin=patch, extra_env=env, check=False)
        answers.append(done.code == 0)
    return answers


def _merge_tree(history: History, series: Series, commits: list[str], place: Path) -> list[bool]:
    """Each patch a commit on the pin, merged on top of the result of the one before it."""
    with Repository.open(history.git_dir) as repository:
        with Quarantine(repository, place / "c") as store:
            env = {"GIT_INDEX_FILE": str(place / "c.index")}
            carried = [store.tree(history.start)]
            for member in series.members:
                store.git(["read-tree", carried[-1]], extra_env=env)
                store.git(["apply", "--cached", "-"], stdin=member.patch.raw, extra_env=env)
                carried.append(store.git(["write-tree"], extra_env=env).stdout.decode().strip())
            answers = []
            for commit in commits:
                here, clean = store.tree(commit), True
                for old, new in pairwise(carried):
                    base = store.write_commit(old)
                    ours, theirs = store.write_commit(here, [base]), store.write_commit(new, [base])
                    args = ["merge-tree", "--write-tree", ours, theirs]
                    done = store.git(args, check=False)
                    clean = clean and done.code == 0
                    if done.code == 0:
                        here = done.stdout.decode().split("\n", 1)[0]
                answers.append(clean)
            return answers


def _in_worktree(history: History, series: Series, commits: list[str], place: Path) -> list[bool]:
    work = place / "a"
    run_git(["clone", "-q", "--shared", "--no-checkout", str(history.git_dir), str(work)])
    patch = _whole(series)
    answers = []
    for commit in commits:
        run_git(["checkout", "-q", "--detach", commit], cwd=work)
        done = run_git(["apply", "--check", "-"], cwd=work, stdin=patch, check=False)
        answers.append(done.code == 0)
    return answers


def _own_objects(history: History, place: Path) -> dict[str, str]:
    place.mkdir()
    return {
        "GIT_OBJECT_DIRECTORY": str(place),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(history.git_dir / "objects"),
    }


def _compare(swept: Swept, cached: list[bool], merged: list[bool]) -> None:
    same = three_way = wrong = stricter = 0
    exact = {Outcome.UNCHANGED, Outcome.OFFSET}
    clean = {*exact, Outcome.MERGED, Outcome.UPSTREAMED, Outcome.PARTLY_UPSTREAMED}
    for index, (applies, merges) in enumerate(zip(cached, merged, strict=True), start=1):
        outcomes = {answer.outcome for answer in swept.answers_at(index)}
        if (outcomes <= exact) == applies:
            same += 1
        elif outcomes <= clean and merges:
            three_way += 1
        elif outcomes <= clean:
            wrong += 1
        else:
            stricter += 1
    print(
        f"\nverdicts against (b): {same} the same, {three_way} clean only to the three-way merge",
        end="",
    )
    print(f" of (c) too, {stricter} refused by ours only, {wrong} clean in ours only")


if __name__ == "__main__":
    main()
