"""What this room reads of GitHub's resources, checked when it arrives.

A field of another type than documented makes the whole answer one that is not GitHub's: guessing
what a null or a number means would be a wrong answer about a ticket. Only the fields that are named
here are looked at. Source: the REST documentation, API version 2022-11-28.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

# GitHub takes 256 characters; a name in git may be longer, and what is kept is kept for ever.
_Title = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]
_Path = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
_Number = Annotated[int, msgspec.Meta(ge=1)]
_Commit = Annotated[str, msgspec.Meta(pattern="^(?:[0-9a-f]{40}|[0-9a-f]{64})$")]
_State = Literal["open", "closed"]


class Resource(msgspec.Struct, frozen=True):
    """A part of an answer; what else it holds is passed over."""


class Account(Resource, frozen=True):
    login: str = ""
    type: str = ""


class Label(Resource, frozen=True):
    name: _Title


class PullSide(Resource, frozen=True):
    merged_at: str | None = None


class Issue(Resource, frozen=True):
    """``pull_request``: None of an issue that is none."""

    repository_url: str
    number: _Number
    title: _Title
    state: _State
    updated_at: _Title
    labels: tuple[Label, ...]
    assignees: tuple[Account, ...] | None
    state_reason: str | None = None
    pull_request: PullSide | None = None


class Referring(Resource, frozen=True):
    """The thread whose text names another one."""

    repository_url: str
    number: _Number
    title: _Title
    body: str | None = None
    pull_request: PullSide | None = None


class Source(Resource, frozen=True):
    issue: Referring | None = None


class Event(Resource, frozen=True):
    """One event of a timeline, of whatever kind."""

    event: str
    commit_id: _Commit | None = None
    commit_url: str | None = None
    user: Account | None = None
    actor: Account | None = None
    author_association: str | None = None
    source: Source | None = None


class Pull(Resource, frozen=True):
    """``merge_commit_sha``: of an open one, a trial merge that is in no branch."""

    url: str
    number: _Number
    title: _Title
    state: _State
    merged_at: str | None
    merge_commit_sha: _Commit | None


class File(Resource, frozen=True):
    """``patch``: not there for a file that is binary or too large."""

    filename: _Path
    patch: str | None = None
