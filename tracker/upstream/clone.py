"""A blob-filtered clone of the configured repository: ``fetch_git``.

Bare, ours alone, and never reset: what was recorded once (a pin, a moved tag's old commit) stays
readable after upstream rewrote it.
"""

from __future__ import annotations

from pathlib import Path

from tracker.config import Config
from tracker.errors import UsageError
from tracker.evidence.upstream import FetchDocument, RefMove
from tracker.evidence.verdict import Verdict
from tracker.git.calls import run_git
from tracker.git.repository import Repository
from tracker.git.revision import describe
from tracker.git.transfer import fetch, public, refs_of
from tracker.progress import Progress
from tracker.statedir import StateDir

_SHOWN = 8


def fetch_git(config: Config, url: str | None = None, *, progress: Progress) -> FetchDocument:
    """Clone, or bring the clone up to date; tags that moved upstream move here and are reported.

    ``url``: instead of the configured one, for this fetch.

    Raises:
        EnvironmentFault: unreachable, refused, or the disk is full; the clone is as it was.
        UsageError: the state_dir holds a mirror, or the branch does not exist upstream.
    """
    address = url or config.upstream.url
    branch = f"refs/heads/{config.upstream.branch}"
    git_dir = StateDir(config.state_dir).upstream
    _refuse_mirror(git_dir)
    progress.step(0, None, f"asking {public(address)}")
    # The first contact, with its hard limit: an unreachable address leaves not even a folder.
    theirs = refs_of(address, branch, "refs/tags/*")
    if branch not in theirs:
        heads = sorted(
            name.removeprefix("refs/heads/") for name in refs_of(address, "refs/heads/*")
        )
        there = f" It has: {', '.join(heads[:_SHOWN])}" if heads else " It has none yet"
        raise UsageError(
            f"upstream has no branch {config.upstream.branch}.{there}",
            where=public(address),
            next_step=f"set `upstream.branch` in {config.file}",
        )
    _prepare(git_dir, address)
    before = _ours(git_dir)
    fetch(
        git_dir,
        "--filter=blob:none",
        "--force",
        "--prune",
        "--tags",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--no-recurse-submodules",
        "origin",
        "+refs/heads/*:refs/heads/*",
        progress=progress,
    )
    run_git(["symbolic-ref", "HEAD", branch], git_dir=git_dir)
    after = _ours(git_dir)
    tags = {name for name in before if name.startswith("refs/tags/")}
    moved = tuple(
        RefMove(name=name.removeprefix("refs/tags/"), from_=before[name], to=after[name])
        for name in sorted(tags)
        if after.get(name, before[name]) != before[name]
    )
    gone = tuple(name.removeprefix("refs/tags/") for name in sorted(tags) if name not in theirs)
    new = tuple(
        name.removeprefix("refs/tags/")
        for name in after
        if name.startswith("refs/tags/") and name not in before
    )
    with Repository.open(git_dir) as repository:
        head = describe(repository, repository.resolve(branch))
    return FetchDocument(
        verdict=Verdict.ATTENTION if moved else Verdict.OK,
        origin=public(address),
        repository=str(git_dir),
        changed=before != after,
        head=head,
        new_tags=new,
        moved_tags=moved,
        gone_tags=gone,
    )


def _refuse_mirror(git_dir: Path) -> None:
    if not git_dir.exists():
        return
    with Repository.open(git_dir) as repository:
        if repository.is_snapshot:
            raise UsageError(
                "this state_dir holds a mirror made from archives, not a clone",
                where=str(git_dir),
                next_step="use another state_dir, or `upstream fetch --from registry`",
            )


def _prepare(git_dir: Path, url: str) -> None:
    if not git_dir.exists():
        git_dir.parent.mkdir(parents=True, exist_ok=True)
        run_git(["init", "--quiet", "--bare", "--template=", str(git_dir)])
    for key, value in (
        ("gc.auto", "0"),
        ("remote.origin.url", url),
        ("remote.origin.promisor", "true"),
        ("remote.origin.partialclonefilter", "blob:none"),
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        # These hold for blobs that git brings later, when somebody reads them.
        ("http.lowSpeedLimit", "100"),
        ("http.lowSpeedTime", "30"),
    ):
        run_git(["config", key, value], git_dir=git_dir)


def _ours(git_dir: Path) -> dict[str, str]:
    """Our references by full name, peeled."""
    listing = run_git(
        ["for-each-ref", "--format=%(refname)%00%(objectname)%00%(*objectname)"], git_dir=git_dir
    )
    found = {}
    for line in listing.stdout.decode("utf-8", "replace").splitlines():
        name, oid, peeled = line.split("\0")
        found[name] = peeled or oid
    return found
