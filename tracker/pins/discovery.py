"""Finds the places of a project that name an upstream revision, for ``init``. Reads only.

What is found is a proposal for a human to read: a pattern is proposed only where all its places say
the same, and with the number of places, so that a later miss is an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from tracker.config import PinTable
from tracker.errors import ConfigError
from tracker.pins import kinds
from tracker.pins.forms import Form, form_of
from tracker.pins.upstreams import last_part, submodules

_IDENTIFIES = (Form.FULL_ID, Form.NIGHTLY, Form.RELEASE)
_SKIPPED = {".git", "node_modules", "build", "dist", ".venv", "third_party", "vendor"}
_CMAKE = re.compile(r"(CMakeLists\.txt|.*\.cmake)\Z")
_VERSION_FILE = re.compile(r"\.?[\w.-]*[-_.]version(\.txt)?\Z", re.I)
_NIGHTLY = r"\b(b[0-9]{4,6})\b"
# "b9100+" and "≤b9000" say since when or until when something holds: no pins, and no move may
# rewrite them.
_NO_BOUND = r"(?<![<>≤≥~])\b(b[0-9]{4,6})\b(?!\+|-ish)"
_DEPTH = 3
_MOST_BYTES = 1 << 20
_MOST_OTHERS = 5


def discover(folder: Path, upstream: str) -> tuple[PinTable, ...]:
    """The pins in ``folder``: our own first, then version files, submodules, CMake strings.

    ``upstream``: its address; its last part (``llama.cpp``) names its submodules too.
    """
    return (
        *_own(folder),
        *_version_files(folder),
        *_submodules(folder, upstream),
        *_cmake_strings(folder),
    )


def patch_folder(folder: Path) -> str | None:
    """The folder with the most ``*.patch`` files, relative; None if there are none."""
    counts: dict[str, int] = {}
    for file in _files(folder):
        if file.suffix == ".patch":
            place = file.parent.relative_to(folder).as_posix()
            counts[place] = counts.get(place, 0) + 1
    return max(sorted(counts), key=lambda place: counts[place]) if counts else None


def _own(folder: Path) -> Iterator[PinTable]:
    for path in ("pin.toml", "vendor/pin.toml"):
        if (folder / path).is_file():
            yield PinTable(name="pin.toml", kind="track", path=path)


def _version_files(folder: Path) -> Iterator[PinTable]:
    for file in sorted(folder.iterdir()):
        if file.is_file() and _VERSION_FILE.match(file.name):
            table = PinTable(name=file.name, kind="version-file", path=file.name)
            try:
                said = kinds.value_of(table, file.read_bytes())
            except (ConfigError, OSError):
                continue
            if form_of(said) in _IDENTIFIES:
                yield table


def _submodules(folder: Path, upstream: str) -> Iterator[PinTable]:
    for found in submodules(folder):
        if found.url == upstream or found.is_named(last_part(upstream)):
            yield PinTable(name=f"submodule {found.path}", kind="submodule", path=found.path)


def _cmake_strings(folder: Path) -> Iterator[PinTable]:
    for path, text in _cmake_files(folder):
        values = re.findall(_NO_BOUND, text)
        if len(set(values)) == 1:
            simple = re.findall(_NIGHTLY, text) == values
            yield PinTable(
                name=path,
                kind="pattern",
                path=path,
                pattern=_NIGHTLY if simple else _NO_BOUND,
                matches=len(values),
            )


def passed_over(folder: Path, found: tuple[PinTable, ...]) -> tuple[str, ...]:
    """A note for each CMake file that names versions which were not taken for a pin."""
    patterns = {table.path: table.pattern for table in found if table.pattern}
    notes = []
    for path, text in _cmake_files(folder):
        taken = {match.span(1) for match in re.finditer(patterns.get(path) or r"\Z()", text)}
        others = [
            f"{match.group()} in line {text.count(chr(10), 0, match.start()) + 1}"
            for match in re.finditer(_NIGHTLY, text)
            if match.span(1) not in taken
        ]
        if others:
            notes.append(f"not taken for a pin: {path} names {', '.join(others[:_MOST_OTHERS])}")
    return tuple(notes)


def _cmake_files(folder: Path) -> Iterator[tuple[str, str]]:
    for file in _files(folder):
        if _CMAKE.match(file.name) and file.stat().st_size <= _MOST_BYTES:
            text = file.read_text(encoding="utf-8", errors="replace")
            yield file.relative_to(folder).as_posix(), text


def _files(folder: Path) -> Iterator[Path]:
    """Regular files up to ``_DEPTH`` folders deep, sorted, without what is built or vendored."""
    for place, folders, files in os.walk(folder):
        here = Path(place)
        depth = len(here.relative_to(folder).parts)
        folders[:] = sorted(
            name
            for name in folders
            # A folder with a .git of its own is somebody else's repository.
            if depth < _DEPTH and name not in _SKIPPED and not (here / name / ".git").exists()
        )
        for name in sorted(files):
            if not (here / name).is_symlink():
                yield here / name


def as_toml(table: PinTable) -> str:
    """The pin as a ``[[pins]]`` entry of the configuration."""
    import tomlkit

    entry = tomlkit.table()
    defaults = PinTable(name="", kind="track", path="")
    for key in table.__struct_fields__:
        content = getattr(table, key)
        if key in ("name", "kind", "path") or content != getattr(defaults, key):
            literal = isinstance(content, str) and "\\" in content
            entry[key] = tomlkit.string(content, literal=True) if literal else content
    return "[[pins]]\n" + tomlkit.dumps(entry)
