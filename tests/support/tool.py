"""The command as a process, against the fake API."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.github_fake import TOKEN


def run_tool(
    folder: Path, url: str, *arguments: str, token: str = TOKEN
) -> subprocess.CompletedProcess[str]:
    """``lloyal-track ARGUMENTS`` in ``folder``; ``url``: of the API."""
    return subprocess.run(
        [sys.executable, "-m", "tracker", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "GITHUB_API_URL": url,
            "GITHUB_TOKEN": token,
            "NO_PROXY": "127.0.0.1",
        },
    )
