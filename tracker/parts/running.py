"""Runs one part of a plan on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import tomlkit
from msgspec.structs import replace

from tracker import bump as main_job
from tracker import pins, series, upstream
from tracker.config import Config
from tracker.errors import UsageError
from tracker.evidence.parts import Part, PartDocument, PlanDocument
from tracker.parts.planning import inputs_of
from tracker.progress import Progress

_SERIES_FILE = "series.toml"


def run_part(
    config: Config, plan: PlanDocument, part_id: str, *, command: str, progress: Progress
) -> PartDocument:
    """What a bump to the part's revision would find; no pin moves.

    Raises:
        UsageError: no such part, or configuration, patches, pin or tool differ from the plan's.
    """
    part = next((part for part in plan.parts if part.id == part_id), None)
    if part is None:
        raise UsageError(f"the plan has no part {part_id!r}")
    with upstream.bring(config, progress=progress) as repository:
        inputs = inputs_of(config, pins.pinned_revision(config, repository))
    if inputs != plan.inputs:
        raise UsageError(
            f"this machine has other inputs ({inputs}) than the plan ({plan.inputs})",
            next_step="use the same commit of the project and the same version of the tool",
        )
    with _narrowed(config, part) as narrowed:
        request = main_job.Request(to=part.revision, dry_run=True, command=command)
        document = main_job.bump(narrowed, request, progress=progress)
    return PartDocument(verdict=document.verdict, inputs=inputs, part=part, bump=document)


@contextmanager
def _narrowed(config: Config, part: Part) -> Iterator[Config]:
    """The configuration with the part's recipe, n_ubatch and patches."""
    recipes = dict(config.build.recipes)
    if part.recipe in recipes:
        recipes[main_job.CHECK_RECIPE] = recipes[part.recipe]
    narrowed = replace(
        config,
        build=replace(config.build, recipes=recipes),
        check=replace(config.check, n_ubatch=part.n_ubatch),
    )
    if not part.patches:
        yield narrowed
        return
    with TemporaryDirectory(prefix="lloyal-track-") as folder:
        copy_of_series(config.series_dir, Path(folder), part.patches)
        yield replace(narrowed, series_dir=Path(folder))


def copy_of_series(source: Path, folder: Path, patches: tuple[str, ...]) -> None:
    """The patches, those they require, and their other forms, as a series of their own."""
    entries = {member.entry.file: member.entry for member in series.read_series(source).members}
    wanted: set[str] = set()
    waiting = list(patches)
    while waiting:
        name = waiting.pop()
        if name not in entries:
            raise UsageError(f"the series has no patch {name!r}", where=str(source))
        if name not in wanted:
            wanted.add(name)
            waiting += entries[name].requires
    for name in wanted:
        for file in (name, *entries[name].forms):
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / file, target)
    described = source / _SERIES_FILE
    if described.is_file():
        document = tomlkit.parse(described.read_text(encoding="utf-8"))
        tables = document.get("patch", [])
        kept = tomlkit.aot()
        for table in tables:
            if table.get("file") in wanted:
                kept.append(table)
        document["patch"] = kept
        (folder / _SERIES_FILE).write_text(tomlkit.dumps(document), encoding="utf-8")
