"""What ``rebase``, ``sweep`` and ``bisect`` share: the repository, the series, the object store.

All three also work without a configuration, given ``--upstream``, ``--series`` and the revisions.
What ``rebase --write`` then has to keep lies in a folder in the working directory, for as long as a
conflict is open; ``resume`` and ``abort`` find it there.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.session import Session
from tracker.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from tracker.config import Config
    from tracker.git.quarantine import Quarantine
    from tracker.git.repository import Repository
    from tracker.series import Series
    from tracker.statedir import StateDir

UNCONFIGURED = ".lloyal-track"

SeriesFolder = Annotated[
    Path | None,
    typer.Option("--series", metavar="DIR", help="The patches; default: the configured ones."),
]
Upstream = Annotated[
    Path | None,
    typer.Option(
        "--upstream", metavar="GITDIR", help="Read this repository (never written) instead."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything opened. ``config`` None: there is none, all was named on the command line.

    ``state`` None: nothing is to be kept.
    """

    config: Config | None
    repository: Repository
    series: Series
    quarantine: Quarantine
    state: StateDir | None

    def commit(self, rev: str) -> str:
        """The full id of ``rev``; ``stable`` and ``nightly`` where a configuration is used."""
        if self.config is None:
            return self.repository.resolve(rev)
        from tracker import upstream

        return upstream.resolve(self.repository, rev, self.config).commit

    def pin(self) -> str:
        """The commit that the pin names.

        Raises:
            UsageError: there is no configuration that could name one.
        """
        if self.config is None:
            raise UsageError(
                "without a configuration nothing names the pin", next_step="give --from REV"
            )
        from tracker import pins

        return pins.pinned_revision(self.config, self.repository).commit


def _is_configured(this: Session) -> bool:
    """A configuration is named or found; one that is broken is not the same as none."""
    from tracker import config

    if this.config_file is not None:
        return True
    try:
        config.find(Path.cwd())
    except ConfigError:
        return False
    return True


def state_of(this: Session) -> StateDir:
    """The folder in which an operation may be open."""
    from tracker.statedir import StateDir

    here = StateDir(Path.cwd() / UNCONFIGURED)
    if not _is_configured(this) and here.operation.exists():
        return here
    return StateDir(this.config().state_dir)


def tidy(this: Session) -> None:
    """Without a configuration: leave no folder behind in which nothing is kept any more.

    A configuration that lies elsewhere may have its state in a folder of that name; it has more in
    it than we make, and stays.
    """
    from tracker.statedir import StateDir

    here = StateDir(Path.cwd() / UNCONFIGURED)
    if _is_configured(this) or not here.folder.is_dir():
        return
    ours = {here.folder / "lock", here.work, *here.work.glob("objects-*")}
    if ours.issuperset([*here.folder.iterdir(), *here.work.glob("*")]):
        shutil.rmtree(here.folder, ignore_errors=True)


@contextmanager
def opened(
    this: Session,
    series_folder: Path | None,
    upstream_dir: Path | None,
    *,
    writing: bool = False,
) -> Iterator[Bench]:
    """Open what the options name, and what the configuration names for the rest.

    ``writing``: the bench has a state folder, with or without a configuration.
    """
    from tracker import series as room
    from tracker import upstream
    from tracker.git.quarantine import Quarantine
    from tracker.git.repository import Repository
    from tracker.statedir import StateDir

    config = None
    if _is_configured(this) or series_folder is None or upstream_dir is None:
        config = this.config()
    with ExitStack() as stack:
        if upstream_dir is not None:
            repository = Repository.open(upstream_dir)
        else:
            assert config is not None  # noqa: S101  (raised above)
            repository = upstream.open_repository(config)
        stack.callback(repository.close)
        state = None
        if config is not None:
            state = StateDir(config.state_dir)
        elif writing:
            state = StateDir(Path.cwd() / UNCONFIGURED)
        if state is None:
            objects = Path(stack.enter_context(TemporaryDirectory(prefix="lloyal-track-")))
        elif upstream_dir is None:
            objects = state.quarantine
        else:
            objects = state.objects_over(repository.git_dir)
        quarantine = stack.enter_context(Quarantine(repository, objects))
        if upstream_dir is not None and repository.is_partial:
            repository.fetch_into(quarantine.objects)
        folder = series_folder
        if folder is None:
            assert config is not None  # noqa: S101  (raised above)
            folder = config.series_dir
        yield Bench(config, repository, room.read_series(folder), quarantine, state)
