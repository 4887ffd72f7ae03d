"""Pictures of the report for the docs, from the evidence of a real run.

    make bump && python -m tests.screenshots [BUMP_JSON]

Writes what README.md and docs/reading-the-report.md show: the first screen, light and dark, short
and long, and on a phone.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import msgspec

from tests.support import chromium
from tracker import report
from tracker.evidence.bump import BumpDocument

_ROOT = Path(__file__).resolve().parents[1]
_EVIDENCE = _ROOT / "vendor" / "archives" / "evidence" / "bump.json"
_SHOTS = (
    ("report-top.png", 1200, 640, False),
    ("report-top-dark.png", 1200, 640, True),
    ("report-1440.png", 1440, 1120, False),
    ("report-1440-dark.png", 1440, 1120, True),
    ("report-360.png", 360, 1120, False),
)


def main(evidence: Path) -> None:
    """Read the document, draw it, and keep the first screens."""
    document = msgspec.json.decode(evidence.read_bytes(), type=BumpDocument)
    folder = _ROOT / "docs" / "img"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, chromium.page() as page:
        file = Path(scratch) / "report.html"
        file.write_text(report.html(document), encoding="utf-8")
        for name, width, height, dark in _SHOTS:
            page.view(width, height, dark=dark)
            page.open(file)
            (folder / name).write_bytes(page.screen())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else _EVIDENCE)
