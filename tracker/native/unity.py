"""Which sources are compiled by themselves, and which together with others (a unity build).

``build/glue/unity.cmake`` makes the groups; this module decides what stays out of them. Two sources
that define the same static name cannot share a group, and which do changes with every revision: so
the compiler is asked, and whoever it complains about stands alone from then on. A source that fails
alone fails for real; a group's failure says nothing about the revision.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tracker.bundled import bundled

_FAILED_GROUP = re.compile(r"^FAILED: (?:\[code=\d+\] )?(\S+/Unity/unity_\w+\.cxx)\.o\b", re.M)
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
_AT_ERROR = re.compile(r"^(.+?):\d+:\d+: (?:fatal )?error:|^(.+?):\d+:\d+: error", re.M)
_SOURCES = (".cpp",)
_HEADERS = (".h", ".hpp")
_SEARCHED = ("src", "tools/mtmd")
# Known to clash with others in the revisions of 2026; any other is found by itself.
_CLASHING = (
    "ggml/src/ggml-cpu/arch/x86/repack.cpp",
    "src/llama-kv-cache-dsv4.cpp",
    "src/models/glm5-next.cpp",
    "tools/mtmd/mtmd-helper-gen.cpp",
    "tools/mtmd/mtmd-helper.cpp",
)


@dataclass(frozen=True, slots=True)
class Grouping:
    """``alone``: sources compiled by themselves. ``near``: sources that see a patched header.

    Paths relative to the source tree, sorted.
    """

    alone: tuple[str, ...] = _CLASHING
    near: tuple[str, ...] = ()

    def definitions(self) -> dict[str, str]:
        """The cache entries that make the groups."""
        return {
            "CMAKE_PROJECT_INCLUDE": str(bundled("build/glue") / "unity.cmake"),
            "LLOYAL_TRACK_ALONE": ";".join(self.alone),
            "LLOYAL_TRACK_NEAR": ";".join(self.near),
        }

    def without(self, sources: Iterable[str]) -> Grouping:
        """The same with ``sources`` standing alone too."""
        return Grouping(tuple(sorted({*self.alone, *sources})), self.near)


def grouping(source: Path, touched: Iterable[str], clashing: Iterable[str]) -> Grouping:
    """The grouping for a tree in ``source`` whose variants differ in the paths ``touched``.

    ``clashing``: sources that an earlier build found to stand alone.
    """
    paths = set(touched)
    alone = {path for path in paths if path.endswith(_SOURCES)}
    headers = {path for path in paths if path.endswith(_HEADERS)}
    near = _that_include(source, headers) - alone if headers else set()
    return Grouping(tuple(sorted({*_CLASHING, *clashing, *alone})), tuple(sorted(near)))


def clashes(folder: Path, source: Path, output: str) -> frozenset[str]:
    """The sources that must stand alone for the groups that failed to compile; empty if none did.

    ``output``: what ninja printed. If the compiler names no member of a failed group, all its
    members are returned: it is given up.
    """
    found: set[str] = set()
    at_error = {Path(first or second).resolve() for first, second in _AT_ERROR.findall(output)}
    for name in _FAILED_GROUP.findall(output):
        text = (folder / name).read_text(encoding="utf-8", errors="replace")
        members = {Path(path).resolve() for path in _INCLUDE.findall(text)}
        named = members & at_error or members
        found |= {path.relative_to(source.resolve()).as_posix() for path in named}
    return frozenset(found)


def _that_include(source: Path, headers: set[str]) -> set[str]:
    """The sources that include one of ``headers``, also through others; told by file name."""
    includes: dict[str, set[str]] = {}
    for folder in _SEARCHED:
        for path in (source / folder).rglob("*"):
            if path.suffix in (*_SOURCES, *_HEADERS) and path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                name = path.relative_to(source).as_posix()
                includes[name] = {Path(target).name for target in _INCLUDE.findall(text)}
    reached = {Path(header).name for header in headers}
    while True:
        more = {
            Path(name).name
            for name, targets in includes.items()
            if name.endswith(_HEADERS) and targets & reached
        }
        if more <= reached:
            break
        reached |= more
    return {
        name for name, targets in includes.items() if name.endswith(_SOURCES) and targets & reached
    }
