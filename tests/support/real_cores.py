"""The newest archive's core, without and with the patches: built once, then from the cache."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tracker import config, series
from tracker.config import Config
from tracker.evidence.build import Variant
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.native.build import build
from tracker.native.core import BuiltCore
from tracker.native.recipe import recipe_of
from tracker.native.store import Store, default_folder
from tracker.progress import SILENT
from tracker.statedir import StateDir
from tracker.upstream.mirror import fetch_registry

Cores = dict[Variant, BuiltCore]

_ROOT = Path(__file__).parents[2]


def archives_config(folder: Path) -> Config:
    """archives.toml of this repository with all its state in ``folder``."""
    file = folder / "lloyal-track.toml"
    file.write_text(
        f'extends = "{_ROOT / "archives.toml"}"\nstate_dir = "state"\n'
        f'[series]\ndir = "{_ROOT / "patchset"}"\n'
        '[[pins]]\nname = "default"\nkind = "track"\npath = "state/pin.toml"\n'
    )
    return config.load(file)


def real_cores(folder: Path, recipe: str = "check") -> Cores:
    """Both variants of the configured branch's head; what is missing is downloaded and built."""
    found = archives_config(folder)
    fetch_registry(found, progress=SILENT)
    state = StateDir(found.state_dir)
    with (
        Repository.open(state.upstream) as repository,
        Quarantine(repository, state.quarantine) as quarantine,
    ):
        head = repository.resolve(found.upstream.branch)
        rebased = series.rebase(
            repository,
            series.read_series(found.series_dir),
            from_=f"archive-{found.upstream.archives[0].version}",
            onto=head,
            quarantine=quarantine,
            progress=SILENT,
        )
        assert rebased.tree is not None
        document, cores = build(
            quarantine,
            revision=head,
            trees={"baseline": repository.tree(head), "patched": rebased.tree},
            recipe=recipe_of(found.build, recipe),
            work=state.work,
            store=Store(default_folder(), limit_gib=found.build.store_gib),
        )
    assert set(cores) == {"baseline", "patched"}, document
    return cores


def source_texts(folder: Path, cores: Mapping[Variant, BuiltCore], path: str) -> dict[Variant, str]:
    """What ``path`` holds in each core's tree; ``folder`` as it was given to ``real_cores``."""
    state = StateDir(archives_config(folder).state_dir)
    with (
        Repository.open(state.upstream) as repository,
        Quarantine(repository, state.quarantine) as quarantine,
    ):
        found = {}
        for variant, core in cores.items():
            entry = quarantine.entry(core.tree, path)
            assert entry is not None
            found[variant] = quarantine.read(entry[1]).decode()
        return found
