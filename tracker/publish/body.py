"""Bodies that GitHub takes: cut at a section's end, with a hidden marker that says whose they are.

Pure. A body longer than 65,536 UTF-16 units is refused as a whole, so nothing would be published.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass

MOST_UNITS = 65_536
_MARKER = re.compile(r"^<!-- lloyal-track (\{[^<>]*\}) -->[ \t\r]*$", re.MULTILINE)
_HEADING = re.compile(r"#{1,6} ")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_CUT = (
    "\n\n_Cut here: the rest does not fit. The whole checklist is an artifact of the run{run}._\n"
)


@dataclass(frozen=True, slots=True)
class Marker:
    """What the tool notes for itself at the end of a body.

    ``status`` "superseded": closed by the tool, so it is no person's refusal.
    """

    key: str
    digest: str
    state: str
    standing: str = ""
    status: str = "open"

    def __str__(self) -> str:
        # "--" and ">" would end the comment; json escapes keep it one.
        text = json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)
        for character in "<>-":
            text = text.replace(character, f"\\u{ord(character):04x}")
        return f"<!-- lloyal-track {text} -->"


def marker_of(body: str | None) -> Marker | None:
    """The last marker on a line of its own: ours is written last, whatever is quoted before it.

    What a person added below it is no reason to take the thread for another's.
    """
    found = _MARKER.findall(body or "")
    if not found:
        return None
    try:
        marker = Marker(**json.loads(found[-1]))
    except (ValueError, TypeError, RecursionError):
        return None
    texts = asdict(marker).values()
    return marker if all(isinstance(text, str) for text in texts) else None


def unmarked(body: str | None) -> str:
    """``body`` without markers."""
    return _MARKER.sub("", body or "").rstrip()


def units(text: str) -> int:
    """How GitHub counts: UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def fitted(body: str, marker: Marker, *, most: int = MOST_UNITS, run_url: str = "") -> str:
    """``body`` and the marker within ``most`` units.

    What does not fit is cut at the end of a section. If not even the first section fits, at the end
    of a line, and a code block or a fold that was open there is closed.
    """
    tail = f"\n\n{marker}\n"
    if units(body) + units(tail) <= most:
        return body.rstrip() + tail
    note = _CUT.format(run=f" ({run_url})" if run_url else "")
    room = most - units(tail) - units(note) - _CLOSERS
    return _prefix(body, room) + note + tail.lstrip("\n")


_CLOSERS = 200


def _prefix(body: str, room: int) -> str:
    """The longest part of ``body`` that fits and ends where a reader expects an end."""
    kept = ""
    line_end = ""
    used = 0
    fence = ""
    folds = 0
    text = ""
    for line in body.splitlines(keepends=True):
        if not fence and folds == 0 and _HEADING.match(line):
            kept = text
        used += units(line)
        if used > room:
            break
        text += line
        marks = _FENCE.match(line)
        if marks and not fence:
            fence = marks.group(1)
        elif marks and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        elif not fence:
            folds += line.count("<details") - line.count("</details>")
        line_end = text + (f"{fence}\n" if fence else "") + "\n</details>\n" * max(folds, 0)
    else:
        return text
    return (kept or line_end).rstrip()
