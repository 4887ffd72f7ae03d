"""The living branch: its name, and what is noted in the commits that we put on it. Pure.

A commit is known as ours by what it says and by who made it, so that a commit of a person, or one
of ours that a person amended, is never taken for it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence

from tracker.evidence.base import digest
from tracker.publish.proposal import FileChange, Proposal
from tracker.publish.resources import Commit

_BRANCH = "lloyal-track/bump"
_WEB = "web-flow"  # GitHub itself, as the committer of a commit made through the API
_TRAILER = re.compile(r"^Lloyal-Track-(Key|Base|Files|Tree): (\S+)$", re.MULTILINE)


def branch_name(key: str) -> str:
    """The living branch of a key; keys of other configurations get a suffix."""
    suffix = re.sub(r"[^A-Za-z0-9]+", "-", key).strip("-").lower()
    return _BRANCH if suffix in ("", "default") else f"{_BRANCH}-{suffix}"


def commit_message(proposal: Proposal, files: Sequence[FileChange], *, base: str, tree: str) -> str:
    """``base``: the newest commit of the base branch. ``tree``: of this commit."""
    return (
        f"{proposal.title}\n\n"
        f"Lloyal-Track-Key: {_word(proposal.key)}\n"
        f"Lloyal-Track-Base: {base}\n"
        f"Lloyal-Track-Files: {files_digest(files)}\n"
        f"Lloyal-Track-Tree: {tree}\n"
    )


def trailers_of(commit: Commit, ours: Collection[str], key: str) -> dict[str, str] | None:
    """What we noted in a commit of ours; None if it is a person's, or was amended by one.

    ``ours``: the logins that the tool writes as. The tree tells an amended commit even where that
    is the login of the person who amended it.
    """
    author, committer = (who.login if who else "" for who in (commit.author, commit.committer))
    found = dict(_TRAILER.findall(commit.commit.message))
    by_us = (
        author in ours
        and committer in (*ours, _WEB)
        and found.get("Key") == _word(key)
        and found.get("Tree") == commit.commit.tree.sha
    )
    return found if by_us else None


def _word(key: str) -> str:
    """A key as one word of a commit's trailer."""
    return re.sub(r"\s+", "-", key)


def files_digest(files: Sequence[FileChange]) -> str:
    """Of what a branch shall change."""
    return digest([change.meaning for change in files])


def blob_id(content: bytes) -> str:
    """The id that git gives a file with that content."""
    head = b"blob %d\0" % len(content)
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()
