"""CPU time of builds of the newest archive, all in one run, each from an empty folder.

``FULL=1`` also builds everything that upstream's default ``cmake --build`` does (tens of minutes on
two cores). CPU time, not wall time: the machine may be shared.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.real_cores import archives_config
from tracker import series
from tracker.evidence.build import Variant
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.git.worktree import sync
from tracker.native.build import build
from tracker.native.children import clean_environment
from tracker.native.cmake import tools
from tracker.native.recipe import Recipe, recipe_of
from tracker.native.store import Store
from tracker.progress import SILENT
from tracker.statedir import StateDir
from tracker.upstream.mirror import fetch_registry


class _Bench:
    def __init__(self, folder: Path, repository: Repository, quarantine: Quarantine) -> None:
        self.folder = folder
        self.repository = repository
        self.quarantine = quarantine

    def cpu(self, name: str, trees: dict[Variant, str], recipe: Recipe) -> float:
        """Build ``trees`` in the folder called ``name``, with the store of that name."""
        place = self.folder / name
        before = _children_cpu()
        document, cores = build(
            self.quarantine,
            revision="bench",
            trees=trees,
            recipe=recipe,
            work=place / "work",
            store=Store(place / "store", limit_gib=5),
        )
        assert set(cores) == set(trees), document
        return _children_cpu() - before


def main() -> None:
    with TemporaryDirectory(prefix="build-bench-") as folder:
        place = Path(folder)
        found = archives_config(place)
        fetch_registry(found, progress=SILENT)
        state = StateDir(found.state_dir)
        with (
            Repository.open(state.upstream) as repository,
            Quarantine(repository, state.quarantine) as quarantine,
        ):
            oldest = found.upstream.archives[0].version
            rebased = series.rebase(
                repository,
                series.read_series(found.series_dir),
                from_=f"archive-{oldest}",
                onto=found.upstream.branch,
                quarantine=quarantine,
                progress=SILENT,
            )
            assert rebased.tree is not None
            baseline = repository.tree(repository.resolve(found.upstream.branch))
            bench = _Bench(place, repository, quarantine)
            check = recipe_of(found.build, "check")
            plain = replace(
                check, name="plain", c_flags=(), cxx_flags=(), target_flags=(), unity=False
            )
            _measure(bench, baseline, rebased.tree, check, plain)


def _measure(bench: _Bench, baseline: str, patched: str, check: Recipe, plain: Recipe) -> None:
    release = bench.cpu("plain", {"baseline": baseline}, plain)
    _row("same targets, plainly in Release", release)
    cold = bench.cpu("check", {"baseline": baseline}, check)
    _row("check recipe, cold", cold, f"{cold / release:.2f} of Release, goal 0.5, aim 0.35")
    both = bench.cpu("both", {"baseline": baseline, "patched": patched}, check)
    _row("check recipe, both variants, cold", both)
    more = max(0.0, both - cold)
    _row("  of it the patched variant", more, f"{more / cold:.2f} of cold: a header is touched")
    again = bench.cpu("both", {"baseline": baseline, "patched": patched}, check)
    _row("nothing to do", again, "goal 1 s")
    if os.environ.get("FULL"):
        default = _default_build(bench, baseline)
        _row("upstream's default build", default, f"check is {cold / default:.2f} of it, goal 0.2")


def _default_build(bench: _Bench, tree: str) -> float:
    """``cmake -B build && cmake --build build``, as upstream says, without git or network."""
    place = bench.folder / "default"
    sync(bench.repository, tree, place / "source")
    environment = clean_environment(place)
    found = tools()
    before = _children_cpu()
    options = ["-DLLAMA_USE_PREBUILT_UI=OFF", f"-DCMAKE_MAKE_PROGRAM={found.ninja}"]
    commands: list[list[str]] = [
        [str(found.cmake), "-G", "Ninja", "-S", "source", "-B", "build", *options],
        [str(found.cmake), "--build", "build"],
    ]
    for command in commands:
        subprocess.run(command, cwd=place, env=environment, check=True, capture_output=True)
    shutil.rmtree(place)
    return _children_cpu() - before


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _row(name: str, seconds: float, note: str = "") -> None:
    print(f"{name:<36} {seconds:7.1f} s of CPU   {note}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
