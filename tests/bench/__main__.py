"""``make bench``: every benchmark of this folder, one after another; ``python -m tests.bench NAME``
runs those whose name holds NAME.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for file in sorted(Path(__file__).parent.glob("*_bench.py")):
        if wanted in file.stem:
            print(f"\n== {file.stem.removesuffix('_bench')}\n", flush=True)
            import_module(f"tests.bench.{file.stem}").main()


main()
