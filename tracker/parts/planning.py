"""Revisions x recipes x n_ubatch, or x patches -> a plan."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracker import __version__, pins, series, upstream
from tracker.config import Config
from tracker.errors import UsageError
from tracker.evidence.base import digest
from tracker.evidence.parts import Part, PlanDocument
from tracker.evidence.revision import Revision
from tracker.evidence.verdict import Verdict
from tracker.git.repository import Repository
from tracker.progress import Progress

# GitHub makes at most so many jobs of one matrix.
MOST_JOBS = 256
_RUNNERS = {"metal": "macos-latest"}


def plan(
    config: Config,
    revs: Sequence[str],
    *,
    every: int = 1,
    recipes: Sequence[str] = ("check",),
    n_ubatch: Sequence[int] = (),
    each_patch: bool = False,
    progress: Progress,
) -> PlanDocument:
    """The parts for ``revs`` (a REV each, or ranges ``A..B``: every ``every``-th commit, and B).

    ``n_ubatch``: each in a part of its own; empty: those of the configuration, together.

    Raises:
        UsageError: an unknown revision or recipe, no parts, or more than a matrix can hold.
    """
    for name in recipes:
        if name not in config.build.recipes and (name != "check" or config.build.recipes):
            known = ", ".join(config.build.recipes) or "none"
            raise UsageError(f"no recipe {name!r}", next_step=f"the configuration has: {known}")
    shares: list[tuple[int, ...]] = [(n,) for n in n_ubatch] or [tuple(config.check.n_ubatch)]
    with upstream.bring(config, progress=progress) as repository:
        found = _revisions(config, repository, revs, every)
        inputs = inputs_of(config, pins.pinned_revision(config, repository))
    queue = series.read_series(config.series_dir)
    choices = [(member.entry.file,) for member in queue.members] if each_patch else [()]
    parts = [
        _part(config, revision, recipe, share, len(shares) > 1, patches)
        for recipe in recipes
        for share in shares
        for patches in choices
        for revision in found
    ]
    if not parts:
        raise UsageError(
            "nothing to plan", next_step="name a revision, or a range that is not empty"
        )
    if len(parts) > MOST_JOBS:
        raise UsageError(
            f"{len(parts)} parts, and one matrix holds {MOST_JOBS} jobs",
            next_step=f"take fewer: --every {every * -(-len(parts) // MOST_JOBS)}",
        )
    return PlanDocument(verdict=Verdict.OK, inputs=inputs, parts=tuple(parts))


def inputs_of(config: Config, start: Revision) -> str:
    """The digest of all that decides what a part answers, but for the part itself."""
    queue = series.read_series(config.series_dir)
    return digest(config.digest_input, series.series_digest(queue), start.commit, __version__)


def _revisions(
    config: Config, repository: Repository, revs: Sequence[str], every: int
) -> list[Revision]:
    """Oldest first within a range, each revision once."""
    names: list[str] = []
    for rev in revs:
        first, dots, last = rev.partition("..")
        if not dots:
            names.append(rev)
            continue
        start = upstream.resolve(repository, first, config).commit
        end = upstream.resolve(repository, last, config).commit
        commits = [c.oid for c in reversed(repository.commits(start, end, first_parent=True))]
        # Counted from the end, so that the newest is always among them.
        names += commits[::-1][:: max(every, 1)][::-1]
    found = [upstream.resolve(repository, name, config) for name in names]
    return list({revision.commit: revision for revision in found}.values())


def _part(
    config: Config,
    revision: Revision,
    recipe: str,
    n_ubatch: tuple[int, ...],
    split: bool,
    patches: tuple[str, ...],
) -> Part:
    words = [revision.name, recipe]
    words += [str(n_ubatch[0])] if split else []
    words += [patches[0].removesuffix(".patch")] if patches else []
    backends = config.build.recipes[recipe].backends if recipe in config.build.recipes else ()
    runners = [_RUNNERS[backend] for backend in backends if backend in _RUNNERS]
    return Part(
        id=re.sub(r"[^A-Za-z0-9.]+", "-", "-".join([*words, revision.commit[:10]])),
        revision=revision.commit,
        name=revision.name,
        recipe=recipe,
        n_ubatch=n_ubatch,
        patches=patches,
        runner=runners[0] if runners else "ubuntu-latest",
    )
