"""``python -m tracker`` and the console script: Ctrl-C is heard while the command is still read."""

import sys
from typing import NoReturn


def run() -> NoReturn:
    try:
        from tracker.cli.main import run as run_command
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted, before anything began\n")
        sys.exit(130)
    run_command()


if __name__ == "__main__":
    run()
