"""Patches as git writes them, from two versions of a few files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.repos import File, Step, build
from tracker.git.calls import run_git


def diff(
    old: Mapping[str, File], new: Mapping[str, File], *options: str, subject: str = "change it"
) -> bytes:
    """``git format-patch`` of a commit that turns ``old`` into ``old`` with ``new`` over it."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / "r"
        build(place, [old or {"unrelated": ""}, Step(new, subject=subject)])
        args = ["format-patch", "--stdout", "-1", "--no-signature", *options, "master"]
        return run_git(args, cwd=place).stdout


def series_of(folder: Path, *patches: bytes, toml: str | None = None) -> Path:
    """A folder with the patches as ``0001.patch`` and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(patches, start=1):
        (folder / f"{number:04}.patch").write_bytes(content)
    if toml is not None:
        (folder / "series.toml").write_text(toml)
    return folder


def numbered(first: int, last: int, **changed: str) -> str:
    """Lines ``line N``; ``L5="x"`` puts ``x`` (maybe several lines, or nothing) for line 5."""
    out = []
    for number in range(first, last + 1):
        text = changed.get(f"L{number}", f"line {number}")
        out += [text] if text else []
    return "".join(f"{line}\n" for line in out)
