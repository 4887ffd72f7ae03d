"""Memory of a sweep: 36 patches on 500 revisions that keep changing the files of the series."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.patches import diff
from tests.support.repos import File, Step, build
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.series import read_series
from tracker.series.sweeping import sweep_range

_PATCHES = 36
_REVISIONS = 500
_FUNCTIONS = 120  # a file of some 2,600 lines, as the patched ones of llama.cpp


def main() -> None:
    """Measured in a process of its own: the peak of this one would count too."""
    code = "from tests.bench.memory_bench import measure; measure()"
    subprocess.run([sys.executable, "-c", code], check=True)


def measure() -> None:
    with TemporaryDirectory(prefix="memory-bench-") as folder:
        place = Path(folder)
        pin: dict[str, File] = {f"src/file{n:02}.cpp": _source(n, 0) for n in range(_PATCHES)}
        steps = [Step(pin)]
        for number in range(1, _REVISIONS + 1):
            at = number % _PATCHES
            steps.append(Step({f"src/file{at:02}.cpp": _source(at, number)}))
        ids = build(place / "up", steps)
        (place / "p").mkdir()
        for n in range(_PATCHES):
            path = f"src/file{n:02}.cpp"
            old = str(pin[path])
            new = old.replace(f"step({n}, 60);", f"step({n}, 60);\n    mine({n});")
            (place / f"p/{n:04}.patch").write_bytes(diff({path: old}, {path: new}))
        series = read_series(place / "p")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        started = time.perf_counter()
        with Repository.open(place / "up") as repository, Quarantine(repository, place / "q") as q:
            swept = sweep_range(repository, series, ids[0], ids[-1], q, SILENT)
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            f"{_PATCHES} patches x {_REVISIONS} revisions, {swept.contents} contents, "
            f"{swept.merges} merges: {peak} MiB at most ({before} before), {seconds:.1f} s, "
            "goal at most 300 MiB"
        )


def _source(n: int, version: int) -> str:
    """Functions of 20 lines; each version changes one of them, away from the patched one."""
    parts = []
    for f in range(_FUNCTIONS):
        extra = f"    version({version});\n" if f == version % 50 else ""
        body = "".join(f"    work({f}, {line});\n" for line in range(18))
        parts.append(
            f"int function_{f}() {{\n{extra}    step({n}, {f});\n{body}    return {f};\n}}\n"
        )
    return "\n".join(parts)


if __name__ == "__main__":
    main()
