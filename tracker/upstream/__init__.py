"""Where upstream's revisions come from: a clone, or a mirror made from package archives.

The only room that downloads upstream's history. It judges nothing.
"""

from __future__ import annotations

from pathlib import Path

from tracker.config import Config
from tracker.errors import EnvironmentFault, UsageError
from tracker.evidence.revision import Revision
from tracker.git.calls import run_git
from tracker.git.repository import Repository
from tracker.git.revision import commit_of, describe, newest_nightly, newest_release
from tracker.progress import Progress
from tracker.statedir import StateDir
from tracker.upstream.clone import fetch_git
from tracker.upstream.mirror import fetch_registry

__all__ = ["bring", "fetch_git", "fetch_registry", "open_repository", "resolve"]


def bring(config: Config, *, progress: Progress) -> Repository:
    """Fetch from the configured source, then open the repository; the caller closes it.

    Raises:
        EnvironmentFault: upstream cannot be reached: a stale copy never stands for the present.
    """
    _refuse_damaged(StateDir(config.state_dir).upstream)
    if config.upstream.source == "registry":
        fetch_registry(config, progress=progress)
    else:
        fetch_git(config, progress=progress)
    return open_repository(config)


def open_repository(config: Config) -> Repository:
    """The repository as it was fetched last; contacts nobody.

    Raises:
        UsageError: nothing was fetched yet.
    """
    git_dir = StateDir(config.state_dir).upstream
    if not git_dir.exists():
        raise UsageError(
            "upstream was not fetched yet",
            where=str(git_dir),
            next_step="run `lloyal-track upstream fetch`",
        )
    _refuse_damaged(git_dir)
    return Repository.open(git_dir)


def _refuse_damaged(git_dir: Path) -> None:
    """Our own copy is made again by removing it: a repair would keep what broke it.

    Raises:
        EnvironmentFault: the folder is there, and git does not take it for a repository.
    """
    if not git_dir.is_dir() or not any(git_dir.iterdir()):
        return
    if run_git(["rev-parse", "--git-dir"], git_dir=git_dir, check=False).code != 0:
        raise EnvironmentFault(
            "our copy of upstream is damaged",
            where=str(git_dir),
            next_step="remove that folder and run the same command again: it is made anew",
        )


def resolve(repository: Repository, rev: str, config: Config) -> Revision:
    """The revision that ``rev`` names: a branch, tag, full or short id, ``stable`` or ``nightly``.

    Raises:
        UsageError: unknown, ambiguous, or a channel that this history does not have.
    """
    if rev not in ("stable", "nightly"):
        return describe(repository, commit_of(repository, rev))
    if repository.is_snapshot:
        raise UsageError(
            f"a mirror made from package archives has no channel {rev!r}",
            where=str(repository.git_dir),
            next_step=f"name a version, such as {_versions(config)}",
        )
    listing = repository.git(["for-each-ref", "--format=%(refname:strip=2)", "refs/tags"])
    tags = listing.stdout.decode("utf-8", "replace").splitlines()
    tag = newest_release(tags) if rev == "stable" else newest_nightly(tags)
    if tag is None:
        form = "vX.Y.Z" if rev == "stable" else "bNNNN"
        raise UsageError(
            f"this repository has no {form} tag, so no channel {rev!r}",
            where=str(repository.git_dir),
            next_step="name a branch, a tag or a commit",
        )
    return describe(repository, repository.resolve(f"refs/tags/{tag}"))


def _versions(config: Config) -> str:
    return " or ".join(archive.version for archive in config.upstream.archives[-2:])
