"""Reads a patch file, and a folder of them in the order in which they apply."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tracker.errors import ConfigError, EnvironmentFault
from tracker.evidence.base import digest
from tracker.series.diff import read_diff
from tracker.series.hunks import HunkFault
from tracker.series.mail import read_envelope
from tracker.series.patch import Binary, Patch

SERIES_TOML = "series.toml"
_SUFFIXES = (".patch", ".diff")
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[patch]]`` of series.toml. ``forms``: files with the same change for other shapes of
    upstream; ``requires``: files it stands on; ``needs``: symbols without which it is meaningless.
    """

    file: str
    purpose: str = ""
    upstream: tuple[str, ...] = ()
    drop_when: str = ""
    proof: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    patch: tuple[Entry, ...] = ()


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A patch of the series. ``forms``: the first is the patch itself."""

    entry: Entry
    forms: tuple[Patch, ...]

    @property
    def patch(self) -> Patch:
        return self.forms[0]


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """The patches in order. ``ordered_by``: ``series.toml``, ``series`` or ``names``.

    ``remarks``: what a reader should know about the folder, one sentence each. ``unnamed``: patch
    files in it that are not in the series.
    """

    folder: Path
    members: tuple[Member, ...]
    ordered_by: str
    remarks: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()


def series_digest(series: Series) -> str:
    """Changes when a patch's bytes, the order, the forms or what they need change."""
    return digest(
        [
            [
                [[form.name, form.raw.hex()] for form in member.forms],
                list(member.entry.requires),
                list(member.entry.needs),
            ]
            for member in series.members
        ]
    )


def read_series(folder: Path) -> Series:
    """The series in ``folder``: every patch file in it is in the series, or a remark says why not.

    A patch that cannot be read is a member with its fault; the others are still judged.

    Raises:
        ConfigError: no such folder, series.toml is broken or names files that are not there.
        EnvironmentFault: a file cannot be read.
    """
    if not folder.is_dir():
        raise ConfigError(
            "no such folder of patches",
            where=str(folder),
            next_step="name one with --series, or under [series] in the configuration",
        )
    found = sorted(
        item.relative_to(folder).as_posix()
        for item in folder.rglob("*")
        if item.is_file() and item.suffix in _SUFFIXES and "resolutions" not in item.parts
    )
    entries, ordered_by, remarks = _order(folder, found)
    named: set[str] = set()
    for entry in entries:
        for name in (entry.file, *entry.forms):
            if name in named:
                raise ConfigError(f"{name} is named twice", where=_where(folder, ordered_by))
            named.add(name)
    for entry in entries:
        for name in entry.requires:
            earlier = [other.file for other in entries[: entries.index(entry)]]
            if name not in earlier:
                raise ConfigError(
                    f"{entry.file} requires {name}, which is not an earlier patch",
                    where=_where(folder, ordered_by),
                )
    unnamed = tuple(name for name in found if name not in named)
    remarks += [f"{name} is in the folder but not in the series: not applied" for name in unnamed]
    members = tuple(
        Member(
            entry=entry,
            forms=tuple(
                read_patch(_read(folder, name, ordered_by), name)
                for name in (entry.file, *entry.forms)
            ),
        )
        for entry in entries
    )
    return Series(
        folder=folder,
        members=members,
        ordered_by=ordered_by,
        remarks=tuple(remarks),
        unnamed=unnamed,
    )


def read_patch(raw: bytes, name: str) -> Patch:
    """Read one patch file; what cannot be used is a patch with a ``fault``, never an exception."""
    remarks: list[str] = []
    text = raw
    if not raw.strip():
        return _unusable(raw, name, "the file is empty")
    if raw.startswith(_UTF16) or raw.count(b"\0") > len(raw) // 4:
        return _unusable(raw, name, "the patch file is UTF-16: convert it to UTF-8")
    if text.startswith(_BOM):
        text = text[len(_BOM) :]
        remarks.append("a byte order mark at the start of the patch file was skipped")
    if not text.endswith(b"\n"):
        text += b"\n"
        remarks.append("the patch file has no final newline: one was added")
    lines = text.split(b"\n")[:-1]
    lines = [line + b"\n" for line in lines]
    crlf = _has_crlf_headers(lines)
    if crlf:
        remarks.append("the patch file has CRLF line ends: read as LF")
    envelope = read_envelope(lines)
    try:
        files = read_diff(lines, envelope.body_start)
    except HunkFault as broken:
        hint = "; its line ends are CRLF" if crlf else ""
        return _unusable(raw, name, f"{broken.why} (line {broken.at}{hint})", envelope.subject)
    fault = ""
    if not files:
        fault = "nothing in it: no file is changed"
    for file in files:
        if file.binary is Binary.MISSING:
            fault = f"binary data missing for {file.path}"
    return Patch(
        name=name,
        raw=raw,
        subject=envelope.subject or Path(name).stem,
        description=envelope.description,
        files=files,
        fault=fault,
        crlf=crlf,
        remarks=tuple(remarks),
    )


def _unusable(raw: bytes, name: str, why: str, subject: str = "") -> Patch:
    return Patch(
        name=name,
        raw=raw,
        subject=subject or Path(name).stem,
        description="",
        files=(),
        fault=why,
    )


def _has_crlf_headers(lines: Iterable[bytes]) -> bool:
    """The patch file itself was converted: its own header lines end in CRLF."""
    marks = (b"diff --git ", b"--- ", b"+++ ", b"@@ -")
    headers = [line for line in lines if line.startswith(marks)]
    return bool(headers) and all(line.endswith(b"\r\n") for line in headers)


def _order(folder: Path, found: list[str]) -> tuple[list[Entry], str, list[str]]:
    toml, plain = folder / SERIES_TOML, folder / "series"
    if toml.is_file():
        return _from_toml(toml), SERIES_TOML, []
    if plain.is_file():
        return [Entry(file=name) for name in _quilt_names(plain)], "series", []
    top = [name for name in found if "/" not in name]
    natural = sorted(top, key=natural_key)
    remarks = []
    if natural != sorted(top):
        remarks.append("patches in natural order of their names, which is not their order as text")
    return [Entry(file=name) for name in natural], "names", remarks


def _from_toml(file: Path) -> list[Entry]:
    try:
        return list(msgspec.convert(tomllib.loads(file.read_text("utf-8")), _File).patch)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as fault:
        raise ConfigError(f"not a valid series: {fault}", where=str(file)) from None


def _quilt_names(file: Path) -> list[str]:
    """The names in a quilt ``series`` file; ``-p1`` and comments are dropped."""
    names = []
    for raw in file.read_text("utf-8", "replace").splitlines():
        line = re.sub(r"(^|\s)#.*", "", raw).strip()
        if line:
            name, *options = line.split()
            if any(option not in ("-p1", "-p", "1") for option in options):
                raise ConfigError(f"option {options} is not supported", where=f"{file}: {name}")
            names.append(name)
    return names


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts digits by value: ``fix2`` before ``fix10``."""
    parts = re.findall(r"\d+|\D+", name)
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)


def _read(folder: Path, name: str, ordered_by: str) -> bytes:
    file = folder / name
    if not file.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(f"{name} lies outside the series", where=_where(folder, ordered_by))
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise ConfigError(
            f"{name} is named in the series but not there", where=_where(folder, ordered_by)
        ) from None
    except OSError as fault:
        raise EnvironmentFault(f"cannot read a patch: {fault}", where=str(file)) from None


def _where(folder: Path, ordered_by: str) -> str:
    return str(folder if ordered_by == "names" else folder / ordered_by)
