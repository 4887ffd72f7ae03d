"""What a commit is known by: date, nightly and release tag, or the archive it was made from.

Upstream tags in two schemes at once: nightly ``bNNNN`` and release ``vX.Y.Z``. Both are ordered by
number, never as text (b9999 is older than b10000). A mirror made from package archives carries its
facts in the commit message, so that it explains itself on any machine.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from tracker.errors import UsageError
from tracker.evidence.revision import Revision, Source
from tracker.git.repository import Repository

ARCHIVE_TAG = "archive-"
_NIGHTLY = re.compile(r"b(\d+)")
_RELEASE = re.compile(r"v(\d+)\.(\d+)\.(\d+)")
_VERSION = re.compile(r"\d+(\.\d+)+\S*")
_SHORTEST_ID = 7
_SHORT = 12


def describe(repository: Repository, commit: str) -> Revision:
    """The revision of ``commit``, a full id that the repository has."""
    asked = repository.git(["show", "--no-patch", "--encoding=UTF-8", "--format=%ct%x00%B", commit])
    stamp, _, message = asked.stdout.decode("utf-8", "replace").partition("\0")
    date = datetime.fromtimestamp(int(stamp), UTC).isoformat().replace("+00:00", "Z")
    tags = repository.tags_at(commit)
    if repository.is_snapshot:
        return Revision(
            commit=commit,
            source=Source.ARCHIVE,
            upstream_commit=_trailer(message, "Upstream-Commit"),
            date=date,
            name=_trailer(message, "Archive-Version") or commit[:_SHORT],
        )
    nightly, release = newest_nightly(tags), newest_release(tags)
    return Revision(
        commit=commit,
        source=Source.GIT,
        upstream_commit=commit,
        date=date,
        name=nightly or release or commit[:_SHORT],
        nightly=nightly,
        release=release,
    )


def commit_of(repository: Repository, rev: str) -> str:
    """The full id of ``rev``: a branch, tag, full or short id, or, on a mirror, a version.

    Raises:
        UsageError: there is none. A nightly tag that is missing is never read as a short id.
    """
    if repository.is_snapshot and _VERSION.fullmatch(rev):
        rev = f"{ARCHIVE_TAG}{rev}"
    for folder in ("refs/tags/", "refs/heads/"):
        if _has_ref(repository, folder + rev):
            return repository.resolve(folder + rev)
    if _NIGHTLY.fullmatch(rev) and len(rev) < _SHORTEST_ID:
        raise UsageError(
            f"no tag {rev} in this repository",
            where=str(repository.git_dir),
            next_step="`lloyal-track upstream fetch` brings new tags",
        )
    return repository.resolve(rev)


def newest_nightly(tags: list[str]) -> str | None:
    """The ``bNNNN`` tag with the highest number; other tags don't count."""
    found = [tag for tag in tags if _NIGHTLY.fullmatch(tag)]
    return max(found, key=lambda tag: int(tag[1:]), default=None)


def newest_release(tags: list[str]) -> str | None:
    """The highest ``vX.Y.Z`` tag; candidates (``v1.0.0-rc1``) and other tags don't count."""
    found = [(match, tag) for tag in tags if (match := _RELEASE.fullmatch(tag))]
    return (
        max(found, key=lambda pair: [int(part) for part in pair[0].groups()])[1] if found else None
    )


def _has_ref(repository: Repository, ref: str) -> bool:
    return repository.git(["show-ref", "--verify", "--quiet", ref], check=False).code == 0


def _trailer(message: str, key: str) -> str | None:
    found = re.search(rf"^{key}: (\S+)$", message, re.MULTILINE)
    return found.group(1) if found else None
