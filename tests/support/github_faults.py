"""What comes instead of GitHub's answer: for tests that put each fault at each moment of a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from typing import Any

from tests.support.github_fake import FakeGitHub, Reply

# None breaks the connection; a function is given the right answer.
Instead = Reply | None | Callable[[Reply], Reply]

_HTML = {"Content-Type": "text/html"}
_LIMIT = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "253402300799"}
_ELSEWHERE = "http://127.0.0.1:9/repos/up/core/issues/1"


def _cut(right: Reply) -> Reply:
    raw = json.dumps(right.body).encode()
    return Reply(200, raw[: len(raw) // 2], right.headers)


def _reset(right: Reply) -> Reply:
    """The connection ends in the middle of the body."""
    raw = json.dumps(right.body).encode()
    length = {"Content-Length": str(len(raw) + 1), "Connection": "close"}
    return Reply(200, raw, {**right.headers, **length})


FAULTS: dict[str, Instead] = {
    "connection broken": None,
    "connection broken in the body": _reset,
    "cut off": _cut,
    "an object": Reply(200, {}),
    "a list": Reply(200, []),
    "a list of null": Reply(200, [None]),
    "a list of objects": Reply(200, [{}]),
    "a text": Reply(200, "text"),
    "a number": Reply(200, 7),
    "nothing": Reply(200, b""),
    "one character": Reply(200, b"{"),
    "half a surrogate pair": Reply(200, b'{"title": "\\ud800"}'),
    "deeper than can be read": Reply(200, b"[" * 200_000),
    "no text at all": Reply(200, bytes(range(256))),
    "sign-in page": Reply(200, b"<html>sign in", _HTML),
    "only a message": Reply(200, {"message": "hm"}),
    "fields of other types": Reply(
        200, {"number": "1", "sha": 2, "commits": None, "status": None, "object": []}
    ),
    "204": Reply(204, b""),
    "304": Reply(304, b""),
    "301 to nowhere": Reply(301, {"message": "Moved"}),
    "301 to another host": Reply(301, {}, {"Location": "https://elsewhere.invalid/x"}),
    "302 to another port": Reply(302, {}, {"Location": _ELSEWHERE}),
    "302 to a host without a scheme": Reply(302, {}, {"Location": "//127.0.0.1:9/x"}),
    "302 to a login": Reply(302, {}, {"Location": "@127.0.0.1:9/x"}),
    "307 in a circle": Reply(307, {}, {"Location": "/repos/up/core/issues/1"}),
    "401": Reply(401, {"message": "Bad credentials"}),
    "403 permission": Reply(403, {"message": "Resource not accessible by integration"}),
    "403 page": Reply(403, b"<html>no", _HTML),
    "primary limit": Reply(403, {"message": "API rate limit exceeded"}, _LIMIT),
    "primary limit, no date": Reply(
        403, {"message": "API rate limit exceeded"}, {**_LIMIT, "Date": "yesterday"}
    ),
    "secondary limit": Reply(403, {"message": "You have exceeded a secondary rate limit"}),
    "secondary limit, for years": Reply(
        429, {"message": "secondary rate limit"}, {"Retry-After": "99999999999"}
    ),
    "secondary limit, no number": Reply(
        429, {"message": "secondary rate limit"}, {"Retry-After": "-inf"}
    ),
    "404": Reply(404, {"message": "Not Found"}),
    "404 page": Reply(404, b"<html>", _HTML),
    "409": Reply(409, {"message": "Conflict"}),
    "410": Reply(410, {"message": "Issues are disabled for this repo"}),
    "422": Reply(422, {"message": "Validation Failed"}),
    "451": Reply(451, {"message": "DMCA"}),
    "500": Reply(500, {"message": "x"}),
    "502 page": Reply(502, b"<html>", _HTML),
    "503": Reply(503, b""),
}

# What else can be wrong with an answer of GraphQL.
GRAPHQL_FAULTS: dict[str, Instead] = {
    "no data": Reply(200, {"data": None}),
    "no viewer": Reply(200, {"data": {"viewer": None}}),
    "errors of another shape": Reply(200, {"errors": {"0": 1}}),
    "errors as a text": Reply(200, {"errors": "no"}),
}


class Breaking:
    """While it lasts, the request of number ``moment`` (from 1) gets another answer.

    ``for_good``: those after it, too. ``was_done``: the request is done, and its answer lost.
    """

    def __init__(
        self,
        fake: FakeGitHub,
        moment: int,
        fault: Instead,
        *,
        for_good: bool = False,
        was_done: bool = False,
    ) -> None:
        self._fake = fake
        self._moment = moment
        self._fault = fault
        self._for_good = for_good
        self._was_done = was_done
        self._rightly = fake.answer
        self.seen = 0

    def __enter__(self) -> Breaking:
        self._fake.answer = self._answer  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        self._fake.answer = self._rightly  # type: ignore[method-assign]

    def _answer(self, method: str, target: str, headers: Any, body: Any) -> Reply | None:
        self.seen += 1
        if self.seen < self._moment or (self.seen > self._moment and not self._for_good):
            return self._rightly(method, target, headers, body)
        right = None
        if self._was_done or callable(self._fault):
            right = self._rightly(method, target, headers, body)
        return self._fault(right or Reply()) if callable(self._fault) else self._fault


_OTHERS: list[Any] = [None, [], {}, -1, 10**40, True, "", "x" * 5000]
_MISSING = object()


def other_types(body: Any, *, nullable: Collection[str]) -> Iterator[tuple[str, Any]]:
    """``body`` with one of its fields replaced: each field, by a value of every other type.

    ``nullable``: names of fields that may be null or missing.
    """
    for path, value in list(_fields(body)):
        for other in (*_OTHERS, _MISSING):
            is_null = other is None or other is _MISSING
            if type(other) is type(value) or (is_null and path[-1] in nullable):
                continue
            if other is _MISSING and isinstance(path[-1], int):
                continue
            said = "missing" if other is _MISSING else repr(other)[:12]
            yield f"{'.'.join(map(str, path))}: {said}", _put(body, path, other)


def _fields(body: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if path:
        yield path, body
    if isinstance(body, dict):
        for name, value in body.items():
            yield from _fields(value, (*path, name))
    elif isinstance(body, list):
        for at, value in enumerate(body):
            yield from _fields(value, (*path, at))


def _put(body: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = at = json.loads(json.dumps(body))
    for name in path[:-1]:
        at = at[name]
    if value is _MISSING:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return copy
