"""The series on the pin: what each patch makes of each file there, as blobs.

This gives every later three-way merge its base and its "theirs". The blobs come from applying the
hunks exactly; nothing here is fuzzy. A patch that does not fit the pin falls back to the blobs that
its ``index`` lines name; where these are missing too it has no base.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tracker.git.quarantine import Quarantine
from tracker.series.patch import Binary, FilePatch, Hunk, Kind, Line, Patch
from tracker.series.placing import Misfit, Placed, place, splice, split_lines
from tracker.series.trees import Slot, Tree

_PLAIN = "100644"


class Base(StrEnum):
    """Where the base of a patch came from."""

    PIN = "pin"
    INDEX = "index"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class FileStep:
    """One file's change as blobs. ``base`` and ``theirs``: None where that side has no file.

    ``placed``: the hunks with their places in ``base``, in order; empty without hunks or base.
    """

    file: FilePatch
    base: Slot | None
    theirs: Slot | None
    placed: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One patch (one form of it). ``why_no_base``: the first misfit if ``base`` is not the pin.

    ``is_form``: it was declared for another shape of the code.
    """

    patch: Patch
    base: Base
    files: tuple[FileStep, ...]
    why_no_base: str = ""
    is_form: bool = False


def touched_paths(patches: Iterable[Patch]) -> set[str]:
    """Every path that any of the patches names."""
    return {
        path
        for patch in patches
        for file in patch.files
        for path in (file.old_path, file.new_path)
        if path is not None
    }


def new_paths(patches: Iterable[Patch]) -> set[str]:
    """Every path at which one of the patches puts a file that was not there."""
    files = (file for patch in patches for file in patch.files)
    return {
        file.new_path
        for file in files
        if file.new_path is not None and file.kind not in (Kind.MODIFY, Kind.DELETE)
    }


def leaving(patch: Patch) -> set[str]:
    """The paths that ``patch`` takes away."""
    gone = (file for file in patch.files if file.kind in (Kind.RENAME, Kind.DELETE))
    return {file.old_path for file in gone if file.old_path is not None}


def step_on(quarantine: Quarantine, patch: Patch, tree: Tree) -> tuple[Step, Tree]:
    """Apply ``patch`` exactly to ``tree``; the step, and the tree afterwards.

    If it does not fit, the step falls back and the tree is returned as it was.
    """
    files: list[FileStep] = []
    here = tree
    why = ""
    for file in patch.files:
        found = _apply(quarantine, patch, file, here)
        if isinstance(found, str):
            why = f"{file.path}: {found}"
            break
        files.append(found)
        here = here.with_changes(effect(file, found.theirs))
    else:
        return Step(patch, Base.PIN, tuple(files)), here
    fallback = _from_index(quarantine, patch)
    if fallback is not None:
        return Step(patch, Base.INDEX, fallback, why), tree
    return Step(
        patch, Base.NONE, tuple(FileStep(f, None, None, ()) for f in patch.files), why
    ), tree


def effect(file: FilePatch, theirs: Slot | None) -> Mapping[str, Slot | None]:
    """What a file's change does to a tree's paths."""
    changes: dict[str, Slot | None] = {}
    if file.old_path is not None and file.kind in (Kind.RENAME, Kind.DELETE):
        changes[file.old_path] = None
    if file.new_path is not None:
        changes[file.new_path] = theirs
    return changes


def _apply(quarantine: Quarantine, patch: Patch, file: FilePatch, tree: Tree) -> FileStep | str:
    """The step of one file, or why it does not fit."""
    base = tree.get(file.old_path) if file.old_path is not None else None
    if file.old_path is not None and base is None:
        return "no such file"
    if file.new_path is not None and file.new_path != file.old_path:
        occupied = tree.occupied(file.new_path, leaving(patch))
        if occupied:
            return occupied
    return apply_to(quarantine, patch, file, base)


def apply_to(  # noqa: PLR0911  (one per reason)
    quarantine: Quarantine, patch: Patch, file: FilePatch, base: Slot | None
) -> FileStep | str:
    """``file``'s change made to one blob, or why it does not fit."""
    if base is not None and file.old_mode is not None and base.mode[:2] != file.old_mode[:2]:
        return f"it is of another kind ({base.mode}, the patch says {file.old_mode})"
    if file.binary is not Binary.NO:
        return _apply_binary(quarantine, file, base)
    content = quarantine.read(base.oid) if base is not None else b""
    lines = split_lines(content)
    hunks = without_cr(file.hunks) if patch.crlf and b"\r\n" not in content else file.hunks
    placed = place(hunks, lines)
    if isinstance(placed, Misfit):
        mark = " (the file starts with a byte order mark)" if content[:3] == b"\xef\xbb\xbf" else ""
        return f"hunk at line {placed.hunk.old_start}: {placed.why}{mark}"
    if file.new_path is None:
        left = splice(lines, placed)
        if left:
            return "the patch deletes the file but not all of its lines"
        return FileStep(file, base, None, placed)
    mode = file.new_mode or (base.mode if base is not None else _PLAIN)
    if not placed and base is not None:
        return FileStep(file, base, Slot(mode, base.oid), placed)
    oid = quarantine.write_blob(b"".join(splice(lines, placed)))
    return FileStep(file, base, Slot(mode, oid), placed)


def without_cr(hunks: tuple[Hunk, ...]) -> tuple[Hunk, ...]:
    """The same hunks with one CR less at each line's end."""

    def bare(text: bytes) -> bytes:
        return text[:-2] + b"\n" if text.endswith(b"\r\n") else text

    return tuple(
        Hunk(
            hunk.old_start,
            hunk.new_start,
            hunk.label,
            tuple(Line(line.mark, bare(line.text)) for line in hunk.lines),
            hunk.at,
        )
        for hunk in hunks
    )


def _apply_binary(quarantine: Quarantine, file: FilePatch, base: Slot | None) -> FileStep | str:
    """git alone can read binary data: it applies the section to an index of its own."""
    index = quarantine.git_dir / "binary.index"
    index.unlink(missing_ok=True)
    env = {"GIT_INDEX_FILE": str(index)}
    try:
        if base is not None and file.old_path is not None:
            tree = quarantine.write_tree({file.old_path: (base.mode, base.oid)})
            quarantine.git(["read-tree", tree], extra_env=env)
        else:
            quarantine.git(["read-tree", "--empty"], extra_env=env)
        args = ["apply", "--cached", "--whitespace=nowarn", "-"]
        applied = quarantine.git(args, stdin=file.section, extra_env=env, check=False)
        if applied.code != 0:
            return "the binary change does not fit"
        tree = quarantine.git(["write-tree"], extra_env=env).stdout.decode("ascii").strip()
    finally:
        index.unlink(missing_ok=True)
    found = quarantine.entry(tree, file.new_path) if file.new_path is not None else None
    return FileStep(file, base, Slot(*found) if found is not None else None, ())


def _from_index(quarantine: Quarantine, patch: Patch) -> tuple[FileStep, ...] | None:
    """The steps on the blobs that the ``index`` lines name, if all are there and all fit."""
    steps: list[FileStep] = []
    for file in patch.files:
        base = None
        if file.old_path is not None:
            known = file.old_blob
            found = quarantine.find_blob(known, file.old_path) if known is not None else None
            if found is None:
                return None
            base = Slot(file.old_mode or _PLAIN, found[0])
        step = apply_to(quarantine, patch, file, base)
        if isinstance(step, str):
            return None
        steps.append(step)
    return tuple(steps)
