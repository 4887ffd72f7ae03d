"""Reading a production log: 178 MB with 1.16 million warnings, as in the thread of #28007."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tracker.native.logs import read_log

_WARNINGS = 1_161_372  # six for each image
_SIZE = 178_000_000


def main() -> None:
    """Measured in a process of its own: the peak of this one would count too."""
    with TemporaryDirectory(prefix="log-bench-") as folder:
        log = Path(folder) / "server.log"
        _write(log)
        code = f"from tests.bench.log_bench import measure; measure({str(log)!r})"
        subprocess.run([sys.executable, "-c", code], check=True)


def measure(log: str) -> None:
    started, busy = time.perf_counter(), time.process_time()
    with Path(log).open("rb") as stream:
        found = read_log(stream, log)
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    exact = found.warnings == _WARNINGS and found.sequences[0].images[0].count == _WARNINGS // 6
    assert exact, (found.warnings, found.sequences)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{found.size / 1e6:.0f} MB, {found.warnings} warnings, counts exact: {seconds:.1f} s, "
        f"{found.size / 1e6 / seconds:.0f} MB/s ({found.size / 1e6 / busy:.0f} per second of CPU; "
        f"goal at least 20), {peak} MiB (goal at most 150)"
    )


def _write(log: Path) -> None:
    images = _WARNINGS // 6
    filler = _SIZE // images
    with log.open("w") as out:
        for image in range(images):
            clock = f"[59197] {image // 60000}.{image // 1000 % 60:02}.{image % 1000:03}.000"
            base = 5 + image % 3000
            block = ""
            for position, after, n in (
                (base, base - 1, 512),
                (base, base, 512),
                (base + 39, base, 8),
            ):
                line = (
                    f"{clock} W find_slot: non-consecutive token position {position} after {after} "
                    f"for sequence 0 with {n} new tokens\n"
                )
                block += line * 2
            rest = f"{clock} I slot print_timing: id  0 | task {image} | "
            out.write(block + rest + "x" * max(1, filler - len(block) - len(rest) - 1) + "\n")


if __name__ == "__main__":
    main()
