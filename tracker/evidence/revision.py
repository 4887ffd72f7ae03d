"""A resolved upstream revision."""

from __future__ import annotations

from enum import StrEnum

from tracker.evidence.base import Value


class Source(StrEnum):
    """Where a history came from: a clone of upstream, or snapshots made from package archives."""

    GIT = "git"
    ARCHIVE = "archive"


class Revision(Value, frozen=True, kw_only=True):
    """An upstream revision, resolved to a full commit id.

    ``commit``: 40 hex digits; for ``source == archive`` the mirror's own id, which must never enter
    a downstream pin. ``upstream_commit``: as published upstream, maybe abbreviated there, None if
    unknown. ``date``: committer date, ISO 8601, UTC. ``nightly``: the newest ``bNNNN`` tag at
    this commit, ``release``: the ``vX.Y.Z`` tag, ``name``: what a reader knows it by (a tag, an
    archive's version, else the short id).
    """

    commit: str
    source: Source
    upstream_commit: str | None
    date: str
    name: str
    nightly: str | None = None
    release: str | None = None
