"""What this room reads of GitHub's resources, checked when it arrives.

An answer of another shape (a proxy, an outage) is told as what it is; only the fields that are
named here are looked at. Source: the REST documentation, API version 2022-11-28.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec

R = TypeVar("R")

# What becomes part of an address, or is computed with, is of the documented form or no answer.
_Oid = Annotated[str, msgspec.Meta(pattern="^(?:[0-9a-f]{40}|[0-9a-f]{64})$")]
_Moment = Annotated[str, msgspec.Meta(pattern="^[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-9:]{8}Z$")]


class Resource(msgspec.Struct, frozen=True):
    """A part of an answer; what else it holds is passed over."""


class Account(Resource, frozen=True):
    """``login``: "" where the e-mail of a commit belongs to nobody."""

    login: str = ""


class Viewer(Resource, frozen=True):
    viewer: Account


class About(Resource, frozen=True):
    default_branch: str
    pushed_at: _Moment | None = None


class Object(Resource, frozen=True):
    sha: _Oid


class Checks(Resource, frozen=True):
    contexts: tuple[str, ...] = ()


class Protection(Resource, frozen=True):
    required_status_checks: Checks | None = None


class BranchHead(Resource, frozen=True):
    commit: Object
    protection: Protection | None = None


class RequiredCheck(Resource, frozen=True):
    context: str


class RuleParameters(Resource, frozen=True):
    required_status_checks: tuple[RequiredCheck, ...] = ()


class Rule(Resource, frozen=True):
    """A rule of a ruleset, of whatever type, that holds for a branch."""

    parameters: RuleParameters = RuleParameters()


class Ref(Resource, frozen=True):
    ref: str
    object: Object


class Message(Resource, frozen=True):
    message: str
    tree: Object


class Commit(Resource, frozen=True):
    """``author``, ``committer``: None if no account has the e-mail."""

    sha: _Oid
    commit: Message
    author: Account | None = None
    committer: Account | None = None


class Tree(Resource, frozen=True):
    """A commit of the git database."""

    tree: Object


class Compared(Resource, frozen=True):
    status: str
    commits: tuple[Commit, ...]


class Head(Resource, frozen=True):
    ref: str = ""


class Posted(Resource, frozen=True):
    """An issue or a pull request. ``user``: None for an account that was deleted."""

    number: int
    html_url: str
    title: str
    state: str
    body: str | None = None
    user: Account | None = None
    merged_at: str | None = None
    draft: bool | None = None
    node_id: str = ""
    head: Head = Head()
    pull_request: dict[str, object] | None = None
    mergeable: bool | None = None

    @property
    def login(self) -> str:
        return self.user.login if self.user else ""


class Comment(Resource, frozen=True):
    body: str | None = None
    user: Account | None = None


class Workflow(Resource, frozen=True):
    state: str = ""


class Run(Resource, frozen=True):
    updated_at: _Moment


class Runs(Resource, frozen=True):
    workflow_runs: tuple[Run, ...] = ()


def read(kind: type[R], body: object) -> R:
    """``body`` as ``kind``.

    Raises:
        msgspec.ValidationError: it is not of that shape; the message names the place.
    """
    return msgspec.convert(body, kind)
