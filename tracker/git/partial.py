"""Objects that a filtered clone left at its remote: found without asking, fetched in one call.

git would fetch them one at a time, whenever a single one is read. Where they are stored is the
caller's choice: reading a user's clone must not write into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tracker.errors import EnvironmentFault
from tracker.git.calls import run_git

_TIMEOUT_S = 600.0


def promisor_of(git_dir: Path) -> str | None:
    """The remote that promised the missing objects, None if the clone is whole."""
    asked = run_git(["config", "--get", "extensions.partialClone"], git_dir=git_dir, check=False)
    named = asked.stdout.decode("utf-8", "replace").strip()
    if named:
        return named
    pattern = r"^remote\..*\.promisor$"
    listed = run_git(["config", "--get-regexp", pattern], git_dir=git_dir, check=False)
    first = listed.stdout.decode("utf-8", "replace").split("\n")[0]
    return first.split(" ")[0].removeprefix("remote.").removesuffix(".promisor") or None


def filter_of(git_dir: Path, remote: str) -> str:
    """The clone's filter, e.g. ``blob:none``; "" if it has none."""
    key = f"remote.{remote}.partialCloneFilter"
    asked = run_git(["config", "--get", key], git_dir=git_dir, check=False)
    return asked.stdout.decode("utf-8", "replace").strip()


def missing(environment: Mapping[str, str], oids: Iterable[str]) -> list[str]:
    """Which of ``oids`` a store lacks; its git directory must name no promisor, or git asks it."""
    wanted = sorted(set(oids))
    if not wanted:
        return []
    asked = run_git(
        ["cat-file", "--batch-check=%(objectname)"],
        stdin="".join(f"{oid}\n" for oid in wanted).encode("ascii"),
        extra_env=environment,
    )
    lines = asked.stdout.decode("ascii").splitlines()
    return [line.split(" ")[0] for line in lines if line.endswith(" missing")]


def fetch_objects(git_dir: Path, remote: str, oids: Iterable[str], objects: Path) -> None:
    """Fetch exactly ``oids`` from ``remote`` of ``git_dir`` into the store ``objects``.

    No ref, no FETCH_HEAD and no configuration is written.

    Raises:
        EnvironmentFault: the remote cannot be reached or does not have them.
    """
    wanted = sorted(set(oids))
    if not wanted:
        return
    own = run_git(["rev-parse", "--path-format=absolute", "--git-path", "objects"], git_dir=git_dir)
    theirs = own.stdout.decode("utf-8", "surrogateescape").rstrip("\n")
    args = [
        "-c",
        "fetch.negotiationAlgorithm=noop",
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--recurse-submodules=no",
        "--filter=blob:none",
        "--stdin",
        remote,
    ]
    done = run_git(
        args,
        git_dir=git_dir,
        stdin="".join(f"{oid}\n" for oid in wanted).encode("ascii"),
        extra_env={
            "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": theirs,
        },
        timeout_s=_TIMEOUT_S,
        check=False,
    )
    if done.code != 0:
        raise EnvironmentFault(
            f"the clone is filtered, and {len(wanted)} objects that it lacks cannot be fetched: "
            f"{done.complaint or 'no reason given'}",
            where=f"{git_dir}: remote {remote}",
            next_step="check the network, or use a clone without a filter",
        )
