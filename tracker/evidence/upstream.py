"""The document of ``upstream fetch``: what a fetch brought."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value
from tracker.evidence.revision import Revision
from tracker.evidence.verdict import Verdict


class RefMove(Value, frozen=True, kw_only=True, rename={"from_": "from"}):
    """A tag that names another commit than before; ids are peeled."""

    name: str
    from_: str
    to: str


class FetchDocument(Value, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """One fetch. ``origin``: URL or package name. ``head``: tip of the configured branch.

    ``commits``: the revisions of a mirror, oldest first; empty for a clone. ``moved_tags``: tags
    that upstream moved, which is a reason to look (``attention``); ids recorded before stay valid.
    ``gone_tags``: tags that upstream no longer has; they are kept here.
    """

    schema_: Literal["lloyal-track/upstream-fetch/1"] = "lloyal-track/upstream-fetch/1"
    verdict: Verdict
    origin: str
    repository: str
    changed: bool
    head: Revision
    commits: tuple[Revision, ...] = ()
    new_tags: tuple[str, ...] = ()
    moved_tags: tuple[RefMove, ...] = ()
    gone_tags: tuple[str, ...] = ()
