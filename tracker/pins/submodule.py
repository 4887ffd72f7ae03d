"""A git submodule's gitlink: reading it, and letting the index name another commit.

Only the superproject's index changes, as ``git add`` would change it and under git's own lock;
neither the submodule's work tree nor any commit is touched.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath

from tracker.config import PinTable
from tracker.errors import ConfigError, EnvironmentFault, TrackError
from tracker.git.calls import run_git
from tracker.pins import kinds
from tracker.statedir import sweep_leavings, write_whole

GITMODULES = ".gitmodules"


def gitlink(repository: Path, path: str) -> str:
    """The commit that the index of ``repository`` names for the submodule at ``path``.

    Raises:
        ConfigError: there is no such submodule.
    """
    return _entry(repository, path)


def branch(repository: Path, path: str) -> tuple[str, tuple[int, ...]] | None:
    """The branch that .gitmodules names for the submodule at ``path``, and its line.

    None if it names none, or cannot be read as what git reads.
    """
    try:
        content = (repository / GITMODULES).read_bytes()
        known = kinds.git_config(content.decode("utf-8")).get("submodule", {})
        name = next(name for name, facts in known.items() if facts.get("path") == path)
        table = PinTable(name=path, kind="key", path=GITMODULES, key=f'submodule."{name}".branch')
        return kinds.value_of(table, content), kinds.lines_of(table, content)
    except (OSError, UnicodeDecodeError, StopIteration, TrackError):
        return None


def point(repository: Path, path: str, old: str, new: str, scratch: Path) -> None:
    """Let the index name ``new`` for the submodule at ``path``, where it names ``old``; durably.

    git makes the new index from a copy in ``scratch``; this process alone puts it in place. A git
    that outlives this process, should that be killed, can so change nothing any more.

    Raises:
        ConfigError: there is no such submodule.
        EnvironmentFault: another git command holds the index or was quicker, or git fails.
        OSError: the index cannot be written.
    """
    index, prefix = _index(repository)
    from_top = prefix + PurePath(path).as_posix()
    with _held(index, scratch):
        if _entry(repository, path) != old:
            raise EnvironmentFault(
                "somebody else changed a pin at this moment", where=str(repository / path)
            )
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            copy = Path(folder) / "index"
            shutil.copy2(index, copy)  # with its time: git tells by it which files to look at again
            run_git(
                ["update-index", "--cacheinfo", f"160000,{new},{from_top}"],
                cwd=repository,
                extra_env={"GIT_INDEX_FILE": str(copy)},
            )
            write_whole(index, copy.read_bytes())


def clear(repository: Path, scratch: Path) -> None:
    """Remove what a killed :func:`point` with the same ``scratch`` left; nobody else's lock."""
    index, _ = _index(repository)
    lock = _lock(index)
    try:
        ours = lock.read_bytes() == _mark(scratch)
    except FileNotFoundError:
        ours = False
    if ours:
        lock.unlink()
    sweep_leavings(index)


def refuse_locked(repository: Path) -> None:
    """Raises:
    EnvironmentFault: another git command holds the index of ``repository``.
    """
    if run_git(["rev-parse"], cwd=repository, check=False).code != 0:
        return  # no repository: nobody can hold its index
    lock = _lock(_index(repository)[0])
    if lock.exists():
        raise _locked(lock)


@contextmanager
def _held(index: Path, scratch: Path) -> Iterator[None]:
    """Hold the lock that git takes to write ``index``. It appears whole, with our mark in it."""
    lock = _lock(index)
    handle, beside = tempfile.mkstemp(dir=index.parent, prefix=f".{index.name}.", suffix=".new")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(_mark(scratch))
            out.flush()
            os.fsync(out.fileno())
        os.link(beside, lock)
    except FileExistsError:
        raise _locked(lock) from None
    finally:
        Path(beside).unlink()
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _mark(scratch: Path) -> bytes:
    return f"lloyal-track is moving a pin, see {scratch}\n".encode("utf-8", "surrogateescape")


def _index(repository: Path) -> tuple[Path, str]:
    """The index, and the path of ``repository`` from the top of its work tree, "" or ``a/``."""
    asked = run_git(["rev-parse", "--git-path", "index", "--show-prefix"], cwd=repository)
    path, prefix, *_ = (asked.stdout.decode("utf-8", "surrogateescape") + "\n").split("\n")
    return (repository / path).resolve(), prefix


def _lock(index: Path) -> Path:
    return index.with_name(f"{index.name}.lock")


def _locked(lock: Path) -> EnvironmentFault:
    return EnvironmentFault(
        "another git command holds the index",
        where=str(lock),
        next_step="wait until it ends; remove the lock only if none is running",
    )


def _entry(repository: Path, path: str) -> str:
    listed = run_git(
        ["ls-files", "-s", "-z", "--", path],
        cwd=repository,
        extra_env={"GIT_LITERAL_PATHSPECS": "1"},
        check=False,
    )
    if listed.code != 0:
        raise ConfigError(f"no git repository: {listed.complaint}", where=str(repository))
    for entry in listed.stdout.decode("utf-8", "surrogateescape").split("\0"):
        facts, _, name = entry.partition("\t")
        if facts.startswith("160000 ") and PurePath(name) == PurePath(path):
            _, commit, stage = facts.split(" ")
            if stage != "0":
                raise ConfigError(
                    "the submodule is in a merge conflict",
                    where=str(repository / path),
                    next_step="resolve it: git add the submodule, or git merge --abort",
                )
            return commit
    raise ConfigError("there is no submodule at this path", where=str(repository / path))
