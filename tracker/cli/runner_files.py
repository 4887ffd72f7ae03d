"""The files through which a workflow's step tells its runner something."""

from __future__ import annotations

import os
from pathlib import Path


def append(variable: str, text: str) -> None:
    """Add ``text`` to the file that ``variable`` names (``GITHUB_OUTPUT``, ...), if it is set."""
    name = os.environ.get(variable)
    if name:
        with Path(name).open("a", encoding="utf-8") as out:
            out.write(text)
