"""Which upstream commits changed a region, as a reader knows them: id, subject, pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from tracker.evidence.watch import RegionResult, RegionStatus, UpstreamCommit
from tracker.git.range_log import range_log
from tracker.git.repository import Repository
from tracker.watch import selector
from tracker.watch.snapshot import Contents
from tracker.watch.walk import RegionWalk

# A squash merge ends its subject with the number of the pull request.
_PULL_REQUEST = re.compile(r"\(#(\d+)\)\s*$|^Merge pull request #(\d+) ")
_NOBODY = frozenset({RegionStatus.UNCHANGED, RegionStatus.COSMETIC})


def upstream_commit(oid: str, subject: str) -> UpstreamCommit:
    """The commit with the pull request that its subject names, if it does."""
    found = _PULL_REQUEST.search(subject)
    return UpstreamCommit(
        commit=oid, subject=subject, pr=int(found[1] or found[2]) if found else None
    )


def with_commits(
    repository: Repository, regions: Sequence[RegionResult], *, from_: str, to: str
) -> list[RegionResult]:
    """The results with the commits of ``from_..to`` that changed or moved them, newest first."""
    if not any(region.status not in _NOBODY for region in regions):
        return list(regions)
    if repository.is_snapshot:
        return [
            region
            if region.status in _NOBODY
            else msgspec.structs.replace(region, commits="unknown")
            for region in regions
        ]
    log = range_log(repository, from_, to)
    read = Contents(repository)
    found: list[RegionResult] = []
    for region in regions:
        if region.status in _NOBODY:
            found.append(region)
            continue
        wanted = selector.parse(region.selector, region.name)
        walk = RegionWalk(wanted, repository.blob_id(to, wanted.path), read)
        steps = [step for commit in log if (step := walk.back(commit)) is not None]
        commits = tuple(upstream_commit(step.commit.oid, step.commit.subject) for step in steps)
        found.append(msgspec.structs.replace(region, commits=commits))
    return found
