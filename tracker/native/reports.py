"""What AddressSanitizer and UBSan say on a child's stderr, as values. Pure."""

from __future__ import annotations

import re

# UBSan goes on after a report and says each place once a process; AddressSanitizer ends the child,
# and its summary is the one line that names the fault and the place.
_REPORT = re.compile(
    r"^(?P<undefined>\S+:\d+(?::\d+)?: runtime error: .+)$"
    r"|^SUMMARY: (?P<address>AddressSanitizer: .+)$",
    re.MULTILINE,
)
# The check program says on stderr too which run begins.
_BEGINS = re.compile(r"^probe: run (\d+)$", re.MULTILINE)
_LAST_LINES = 3
_CHANGING = re.compile(r":\d+(?::\d+)?\b|0x[0-9a-f]+")


def reports_in(text: str) -> tuple[str, ...]:
    """Each report once, in the order in which they came."""
    found = (match["undefined"] or match["address"] for match in _REPORT.finditer(text))
    return tuple(dict.fromkeys(report.strip() for report in found))


def reports_by_run(text: str) -> dict[int, tuple[str, ...]]:
    """The reports of each run that has some, by its number."""
    _, *parts = _BEGINS.split(text)
    told = zip(parts[::2], map(reports_in, parts[1::2]), strict=True)
    return {int(number): reports for number, reports in told if reports}


def words_of(text: str) -> list[str]:
    """The last lines of a child that died: a sanitizer's report, else what it said at the end."""
    lines = [line for line in text.splitlines() if line.strip() and not _BEGINS.match(line)]
    return [*reports_in(text)] or lines[-_LAST_LINES:]


def place_of(report: str) -> str:
    """A report without line numbers and addresses, which a patch moves without being the cause."""
    return _CHANGING.sub("", report)
