"""The fuzz at length: 5,000 sequences (``SEQUENCES=N``) on the newest archive, both variants.

Goals: none of them fails with the patches; at least 20 sequences in a second of one core, oracle
included; at least 80% of the operations executed. CPU time, because the machine may be shared.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.real_cores import real_cores
from tracker.cli.fuzz_text import text
from tracker.native.fuzz import fuzz
from tracker.native.probe import Limits


def main() -> None:
    with TemporaryDirectory(prefix="fuzz-bench-") as folder:
        document = fuzz(
            real_cores(Path(folder)),
            revision="newest archive",
            seed=int(os.environ.get("SEED", "1")),
            sequences=int(os.environ.get("SEQUENCES", "5000")),
            work=Path(folder) / "check",
            limits=Limits(timeout_s=600.0),
        )
    print(text(document, "newest archive"))


if __name__ == "__main__":
    main()
