"""A git submodule's gitlink: reading it, and the index that names another commit.

Only the superproject's index changes, as ``git add`` would change it; neither the submodule's work
tree nor any commit is touched.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tracker.errors import ConfigError, EnvironmentFault
from tracker.git.calls import run_git


def gitlink(repository: Path, path: str) -> str:
    """The commit that the index of ``repository`` names for the submodule at ``path``.

    Raises:
        ConfigError: there is no such submodule.
    """
    listed = run_git(["ls-files", "-s", "-z", "--", path], cwd=repository).stdout
    for entry in listed.decode("utf-8", "replace").split("\0"):
        mode, _, rest = entry.partition(" ")
        if mode == "160000":
            return rest.split(" ", 1)[0]
    raise ConfigError("there is no submodule at this path", where=str(repository / path))


def index_file(repository: Path) -> Path:
    """The index of the work tree ``repository``."""
    said = run_git(["rev-parse", "--git-path", "index"], cwd=repository).stdout.decode().strip()
    return (repository / said).resolve()


def index_after(repository: Path, index: bytes, path: str, commit: str) -> bytes:
    """The bytes of ``index`` once the gitlink at ``path`` names ``commit``.

    Raises:
        EnvironmentFault: another git command holds the index.
    """
    lock = index_file(repository).with_name("index.lock")
    if lock.exists():
        raise EnvironmentFault(
            "another git command holds the index",
            where=str(lock),
            next_step="wait until it ends; remove the lock only if none is running",
        )
    with tempfile.TemporaryDirectory(prefix="lloyal-track-") as folder:
        copy = Path(folder) / "index"
        copy.write_bytes(index)
        run_git(
            ["update-index", "--cacheinfo", f"160000,{commit},{path}"],
            cwd=repository,
            extra_env={"GIT_INDEX_FILE": str(copy)},
        )
        return copy.read_bytes()
