"""A stateful fake of GitHub's REST API on loopback, for real PyGithub.

It keeps repositories, threads, timelines, pull requests and git objects, answers with ETags, pages
and redirects as GitHub does, and breaks on demand: a ``Trouble`` is a response that takes the place
of the right one for some requests. It knows only what this project asks for; anything else is 501,
so that a test cannot pass on an answer that nobody wrote.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.support.github_git import GitObjects
from tracker.forge.access import Access

TOKEN = "fake-token"  # noqa: S105
NOW = "2026-11-30T06:00:00Z"
BOT = "github-actions[bot]"


@dataclass
class Reply:
    """A response. ``body`` bytes are sent as they are, everything else as JSON."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Trouble:
    """Takes the place of the right response.

    ``path``: a regular expression that must match the path and query. ``times``: how often, None
    for ever. ``reply``: None breaks the connection, a function gets the right reply.
    """

    path: str
    reply: Reply | Callable[[Reply], Reply] | None
    method: str = "GET"
    times: int | None = None
    hang: threading.Event | None = None


@dataclass
class Request:
    """A request that came in."""

    method: str
    path: str
    conditional: bool
    authorization: str | None
    body: Any
    status: int = 0


@dataclass
class Repository:
    """One repository. ``threads``: issues and pull requests by number."""

    name: str
    number: int
    has_issues: bool = True
    default_branch: str = "main"
    threads: dict[int, dict[str, Any]] = field(default_factory=dict)
    timelines: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    pulls: dict[int, dict[str, Any]] = field(default_factory=dict)
    files: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    git: GitObjects = field(default_factory=GitObjects)
    may_write: bool = True
    actions_may_open_pulls: bool = True
    required_checks: list[str] = field(default_factory=list)
    ruleset_checks: list[str] = field(default_factory=list)
    pushed_at: str = NOW
    workflow_state: str = "active"
    successful_runs: list[str] = field(default_factory=list)
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def next_number(self) -> int:
        """Issues and pull requests count together."""
        return max(self.threads, default=0) + 1

    def texts(self, number: int) -> list[str]:
        """The comments of a thread."""
        return [comment["body"] for comment in self.comments.get(number, [])]


class FakeGitHub:
    """The state, and what was asked."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.redirects: dict[str, str] = {}
        self.troubles: list[Trouble] = []
        self.requests: list[Request] = []
        self.tokens = {TOKEN}
        self.read_only: set[str] = set()
        self.me = BOT
        self.needs_token = False
        self.most_per_page = 100
        self.lock = threading.RLock()
        self.url = ""

    # ---- the state, as a test writes it ---------------------------------------------------------

    def repository(self, name: str) -> Repository:
        """The repository ``name``, made if it is new."""
        found = self.repositories.get(name.casefold())
        if found is None:
            found = Repository(name, 1000 + len(self.repositories))
            self.repositories[name.casefold()] = found
        return found

    def issue(self, key: str, title: str = "an issue", **other: Any) -> dict[str, Any]:
        """A new issue; ``other``: fields of the API."""
        repository, number = self._at(key)
        issue: dict[str, Any] = {
            "number": number,
            "title": title,
            "body": "",
            "state": "open",
            "state_reason": None,
            "labels": [],
            "assignees": [],
            "updated_at": NOW,
            "user": {"login": "somebody", "type": "User"},
            "html_url": f"https://github.com/{repository.name}/issues/{number}",
            "repository_url": f"{self.url}/repos/{repository.name}",
            "comments_list": [],
        }
        repository.threads[number] = issue | other
        repository.timelines.setdefault(number, [])
        return repository.threads[number]

    def pull(self, key: str, title: str = "a pull request", **other: Any) -> dict[str, Any]:
        """A new pull request; ``merged_at`` and ``merge_commit_sha`` among ``other`` merge it."""
        repository, number = self._at(key)
        merged_at = other.get("merged_at")
        shared = {k: v for k, v in other.items() if k in ("state", "labels", "body", "user")}
        self.issue(key, title, pull_request={"merged_at": merged_at}, **shared)
        pull: dict[str, Any] = {
            "number": number,
            "url": f"{self.url}/repos/{repository.name}/pulls/{number}",
            "html_url": f"https://github.com/{repository.name}/pull/{number}",
            "node_id": f"PR_{repository.number}_{number}",
            "mergeable": True,
            "head": {"ref": ""},
            "title": title,
            "body": "",
            "state": "open",
            "draft": False,
            "merged_at": None,
            "merge_commit_sha": "f" * 40,
        }
        repository.pulls[number] = pull | other
        repository.files.setdefault(number, [])
        return repository.pulls[number]

    def refers(self, source: str, target: str, *, body: str = "") -> None:
        """The thread ``source`` names ``target``: a cross-reference in the target's timeline."""
        repository, number = self._at(source)
        there, at = self._at(target)
        thread = repository.threads[number]
        thread["body"] = body
        copy = {key: value for key, value in thread.items() if key != "comments_list"}
        there.timelines[at].append(
            {"event": "cross-referenced", "source": {"type": "issue", "issue": copy}}
        )

    def event(self, key: str, event: str, **other: Any) -> None:
        """One event of the timeline."""
        repository, number = self._at(key)
        repository.timelines[number].append({"event": event, **other})

    def close(self, key: str, reason: str | None = "completed", commit: str | None = None) -> None:
        """Close a thread, by hand or by a commit."""
        repository, number = self._at(key)
        repository.threads[number] |= {"state": "closed", "state_reason": reason}
        if number in repository.pulls:
            repository.pulls[number]["state"] = "closed"
        url = f"{self.url}/repos/{repository.name}/commits/{commit}" if commit else None
        self.event(key, "closed", commit_id=commit, commit_url=url)

    def transfer(self, key: str, to: str) -> None:
        """Move a thread to another repository."""
        repository, number = self._at(key)
        there, at = self._at(to)
        thread = repository.threads.pop(number)
        thread |= {"number": at, "repository_url": f"{self.url}/repos/{there.name}"}
        there.threads[at] = thread
        there.timelines[at] = repository.timelines.pop(number)
        self.redirects[f"/repos/{repository.name}/issues/{number}"] = (
            f"/repos/{there.name}/issues/{at}"
        )

    def rename(self, old: str, new: str) -> None:
        """Give a repository a new name; the old one redirects by number, as GitHub's does."""
        repository = self.repositories.pop(old.casefold())
        repository.name = new
        self.repositories[new.casefold()] = repository
        for number, thread in repository.threads.items():
            thread["repository_url"] = f"{self.url}/repos/{new}"
            if number in repository.pulls:
                repository.pulls[number]["url"] = f"{self.url}/repos/{new}/pulls/{number}"
        self.redirects[f"/repos/{old}"] = f"/repositories/{repository.number}"

    def trouble(
        self,
        path: str,
        reply: Reply | Callable[[Reply], Reply] | None,
        *,
        method: str = "GET",
        times: int | None = None,
        hang: threading.Event | None = None,
    ) -> None:
        """Break some requests; see ``Trouble``."""
        self.troubles.append(Trouble(path, reply, method, times, hang))

    def access(self, token: str = TOKEN) -> Access:
        """How a test asks this fake."""
        return Access(self.url, token, "GITHUB_TOKEN" if token else "anonymous")

    def _at(self, key: str) -> tuple[Repository, int]:
        name, _, number = key.partition("#")
        return self.repository(name), int(number)

    def asked(self, method: str | None = None) -> list[Request]:
        """The requests so far, oldest first."""
        return [one for one in self.requests if method in (None, one.method)]

    # ---- the protocol ---------------------------------------------------------------------------

    def answer(self, method: str, target: str, headers: Any, body: Any) -> Reply | None:
        """The response, with troubles, redirects, authorization, pages and validators."""
        request = Request(
            method,
            target,
            "If-None-Match" in headers,
            headers.get("Authorization"),
            body,
        )
        self.requests.append(request)
        trouble = self._trouble(method, target)
        if trouble and trouble.hang:
            self.lock.release()
            try:
                trouble.hang.wait(30)
            finally:
                self.lock.acquire()
        if trouble and trouble.reply is None:
            return None
        if trouble and isinstance(trouble.reply, Reply):
            reply = trouble.reply
        else:
            reply = self._rightly(request, target, headers)
            if trouble and callable(trouble.reply):
                reply = trouble.reply(reply)
        request.status = reply.status
        return reply

    def _trouble(self, method: str, target: str) -> Trouble | None:
        for trouble in self.troubles:
            if trouble.method != method or not re.search(trouble.path, target):
                continue
            if trouble.times is not None:
                if trouble.times == 0:
                    continue
                trouble.times -= 1
            return trouble
        return None

    def _rightly(self, request: Request, target: str, headers: Any) -> Reply:
        refused = self._refused(request)
        if refused:
            return refused
        url = urlsplit(target)
        for old, new in self.redirects.items():
            if url.path.casefold() == old.casefold() or url.path.casefold().startswith(
                f"{old}/".casefold()
            ):
                # As on GitHub, the address to go to has lost the query.
                return Reply(
                    301, {"message": "Moved"}, {"Location": self.url + new + url.path[len(old) :]}
                )
        reply = self._routed(request, url.path, dict(parse_qsl(url.query)))
        if request.method != "GET" or reply.status != 200:
            return reply
        etag = f'W/"{hashlib.sha256(json.dumps(reply.body, sort_keys=True).encode()).hexdigest()}"'
        headers_out = {**reply.headers, "ETag": etag}
        if headers.get("If-None-Match") == etag:
            return Reply(304, b"", headers_out)
        return Reply(200, reply.body, headers_out)

    def _refused(self, request: Request) -> Reply | None:
        token = (request.authorization or "").split()[-1:]
        if token and token[0] not in self.tokens:
            return Reply(401, {"message": "Bad credentials"})
        writes = request.method != "GET" and request.path != "/graphql"
        if writes and token and token[0] in self.read_only:
            return Reply(403, {"message": "Resource not accessible by integration"})
        return Reply(404, {"message": "Not Found"}) if self.needs_token and not token else None

    def _routed(self, request: Request, path: str, query: dict[str, str]) -> Reply:
        from tests.support.github_routes import graphql, route  # they know this class

        by_number = re.match(r"/repositories/(\d+)(.*)", path)
        if by_number:
            for repository in self.repositories.values():
                if repository.number == int(by_number.group(1)):
                    path = f"/repos/{repository.name}{by_number.group(2)}"
        if path == "/graphql":
            return graphql(self, request.body)
        named = re.match(r"/repos/([^/]+/[^/]+)(/.*)?$", path)
        if named is None:
            return Reply(501, {"message": f"the fake does not know {path}"})
        repository_or_none = self.repositories.get(named.group(1).casefold())
        if repository_or_none is None:
            return Reply(404, {"message": "Not Found"})
        reply = route(self, repository_or_none, request, named.group(2) or "", query)
        if isinstance(reply.body, list) and request.method == "GET":
            return self._page(reply, path, query)
        return reply

    def _page(self, reply: Reply, path: str, query: dict[str, str]) -> Reply:
        size = min(int(query.get("per_page", 30)), self.most_per_page)
        page = int(query.get("page", 1))
        items = reply.body[(page - 1) * size : page * size]
        headers = {}
        if page * size < len(reply.body):
            following = urlencode({**query, "page": page + 1})
            headers["Link"] = (
                f'<{self.url}{path}?{urlencode({**query, "page": 1})}>; rel="first", '
                f'<{self.url}{path}?{following}>; rel="next"'
            )
        return Reply(200, items, headers)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One packet a response: else each waits 40 ms for the acknowledgement of its head.
    wbufsize = -1
    disable_nagle_algorithm = True

    def _handle(self) -> None:
        fake: FakeGitHub = self.server.fake  # type: ignore[attr-defined]
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        with fake.lock:
            reply = fake.answer(
                self.command, self.path, self.headers, json.loads(raw) if raw else None
            )
        if reply is None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        is_raw = isinstance(reply.body, bytes)
        body = reply.body if is_raw else json.dumps(reply.body).encode()
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "Content-Length": str(len(body)),
            "X-RateLimit-Remaining": "4800",
            "X-RateLimit-Limit": "5000",
            "X-RateLimit-Reset": "4102444800",
            **reply.headers,
        }
        headers.setdefault("Date", self.date_time_string())
        self.send_response_only(reply.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):  # the client gave up waiting
            self.wfile.write(body)
            self.wfile.flush()

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _handle  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is no fault of ours."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving() -> Iterator[FakeGitHub]:
    """A fake that answers until the block ends."""
    fake = FakeGitHub()
    server = _Server(("127.0.0.1", 0), _Handler)
    server.fake = fake  # type: ignore[attr-defined]
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
