"""The routes of the fake API."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.support.github_fake import FakeGitHub, Reply, Repository, Request

_NOT_FOUND = Reply(404, {"message": "Not Found"})


def route(
    _fake: FakeGitHub, repository: Repository, request: Request, path: str, query: dict[str, str]
) -> Reply:
    """The response for ``path`` below ``/repos/OWNER/NAME``; lists are cut into pages later."""
    for method, pattern, handler in _ROUTES:
        found = re.fullmatch(pattern, path)
        if found and method == request.method:
            return handler(repository, found.groups(), query, request.body)
    return Reply(501, {"message": f"the fake does not know {request.method} {path}"})


def _about(repository: Repository, _groups: Any, _query: Any, _body: Any) -> Reply:
    return Reply(
        200,
        {
            "id": repository.number,
            "full_name": repository.name,
            "has_issues": repository.has_issues,
            "default_branch": repository.default_branch,
        },
    )


def _thread(repository: Repository, groups: Any, _query: Any, _body: Any) -> Reply:
    number = int(groups[0])
    if not repository.has_issues:
        return Reply(410, {"message": "Issues are disabled for this repo"})
    thread = repository.threads.get(number)
    if thread is None:
        return _NOT_FOUND
    return Reply(200, {key: value for key, value in thread.items() if key != "comments_list"})


def _timeline(repository: Repository, groups: Any, _query: Any, _body: Any) -> Reply:
    found = repository.timelines.get(int(groups[0]))
    return _NOT_FOUND if found is None else Reply(200, list(found))


def _pull(repository: Repository, groups: Any, _query: Any, _body: Any) -> Reply:
    found = repository.pulls.get(int(groups[0]))
    return _NOT_FOUND if found is None else Reply(200, found)


def _files(repository: Repository, groups: Any, _query: Any, _body: Any) -> Reply:
    found = repository.files.get(int(groups[0]))
    return _NOT_FOUND if found is None else Reply(200, list(found))


_ROUTES: list[tuple[str, str, Callable[[Repository, Any, dict[str, str], Any], Reply]]] = [
    ("GET", "", _about),
    ("GET", r"/issues/(\d+)", _thread),
    ("GET", r"/issues/(\d+)/timeline", _timeline),
    ("GET", r"/pulls/(\d+)", _pull),
    ("GET", r"/pulls/(\d+)/files", _files),
]
