"""A git submodule's gitlink: reading it, and letting the index name another commit.

Only the superproject's index changes, as ``git add`` would change it, and git itself takes the lock
for that; neither the submodule's work tree nor any commit is touched.
"""

from __future__ import annotations

from pathlib import Path

from tracker.errors import ConfigError, EnvironmentFault
from tracker.git.calls import run_git


def gitlink(repository: Path, path: str) -> str:
    """The commit that the index of ``repository`` names for the submodule at ``path``.

    Raises:
        ConfigError: there is no such submodule.
    """
    return _entry(repository, path)[0]


def point(repository: Path, path: str, commit: str) -> None:
    """Let the index name ``commit`` for the submodule at ``path``, durably; the rest of it stays.

    Raises:
        ConfigError: there is no such submodule.
        EnvironmentFault: another git command holds the index, or it cannot be written.
    """
    refuse_locked(repository)
    _, from_top = _entry(repository, path)
    run_git(
        ["-c", "core.fsync=index", "update-index", "--cacheinfo", f"160000,{commit},{from_top}"],
        cwd=repository,
    )


def refuse_locked(repository: Path) -> None:
    """Raises:
    EnvironmentFault: another git command holds the index of ``repository``.
    """
    asked = run_git(["rev-parse", "--git-path", "index.lock"], cwd=repository, check=False)
    if asked.code != 0:
        return  # no repository: nobody can hold its index
    lock = (repository / asked.stdout.decode("utf-8", "surrogateescape").strip()).resolve()
    if lock.exists():
        raise EnvironmentFault(
            "another git command holds the index",
            where=str(lock),
            next_step="wait until it ends; remove the lock only if none is running",
        )


def _entry(repository: Path, path: str) -> tuple[str, str]:
    """The gitlink's commit, and its path from the top of the repository."""
    listed = run_git(["ls-files", "--full-name", "-s", "-z", "--", path], cwd=repository).stdout
    for entry in listed.decode("utf-8", "surrogateescape").split("\0"):
        facts, _, from_top = entry.partition("\t")
        mode, _, rest = facts.partition(" ")
        if mode == "160000":
            return rest.split(" ", 1)[0], from_top
    raise ConfigError("there is no submodule at this path", where=str(repository / path))
