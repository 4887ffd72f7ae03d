"""The last thing done to a text before it is printed."""

from __future__ import annotations

import os

from tracker.markup import steady, unobeyed


def printed(text: str, *, styled: bool = False) -> str:
    """``text`` without what a terminal would obey, and in a workflow what its runner would.

    ``styled``: it has colours of ours, and what it quotes was made harmless before they came.
    """
    kept = text if styled else steady(text)
    return unobeyed(kept) if os.environ.get("GITHUB_ACTIONS") == "true" else kept
