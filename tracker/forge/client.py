"""The one file that talks to GitHub: PyGithub's requester, with bounds that it does not have.

PyGithub signs requests, keeps the connection and follows moved repositories (301). Added here: no
request and no run takes longer than its bound, whatever hangs (name resolution, a server that sends
a byte a minute, redirects in a circle); limits are waited for within a budget; a request that reads
is tried twice, one that writes never; after a failure that will hit all requests, none is sent.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import github
import requests
import urllib3
import urllib3.exceptions
from github import Auth

from tracker import __version__
from tracker.evidence.tickets import FaultKind
from tracker.forge.access import Access
from tracker.forge.answers import Answer, Fault, judge
from tracker.progress import SILENT, Progress

T = TypeVar("T")

# PyGithub writes addresses that a server gave it to stderr, one line for each redirect.
logging.getLogger(github.__name__).setLevel(logging.CRITICAL)

# A page of 100 is the most that the API gives.
PER_PAGE = 100
# Without a pinned version, answers change when GitHub moves on.
_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
_MOST_PAGES = 60
_MOST_HOPS = 3
_MOST_WAITS = 4
_SERVER_ERROR_WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """``request_s``: for one request. ``run_s``: for all, without waits for limits. ``wait_s``: for
    all waits for limits together."""

    request_s: float = 10.0
    run_s: float = 90.0
    wait_s: float = 200.0


STANDARD = Bounds()


@dataclass(slots=True)
class Spent:
    """What was used up so far."""

    sent: int = 0
    conditional: int = 0
    not_modified: int = 0
    run_s: float = 0.0
    wait_s: float = 0.0


class _Hops(threading.local):
    """Permanent redirects that the request of this thread met."""

    met = 0


_hops = _Hops()


class _FewHops(urllib3.Retry):
    """Repeats nothing, and ends a row of permanent redirects: PyGithub follows some thousand."""

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
        """Asked by urllib3 about every response."""
        del method, has_retry_after
        _hops.met += status_code == _MOVED
        if _hops.met > _MOST_HOPS:
            raise RecursionError
        return False


_MOVED = 301


class Forge:
    """One run's conversation with the API; not for several threads."""

    def __init__(
        self,
        access: Access,
        *,
        bounds: Bounds = STANDARD,
        sleep: Callable[[float], None] = time.sleep,
        progress: Progress = SILENT,
    ) -> None:
        self.access = access
        self.spent = Spent()
        self.stopped: Fault | None = None
        self._bounds = bounds
        self._sleep = sleep
        self._progress = progress
        self._waits = 0
        self._reached = False
        self._requester = self._connected()

    def _connected(self) -> Any:
        token = self.access.token
        return github.Github(
            base_url=self.access.api_url,
            auth=Auth.Token(token) if token else None,
            timeout=max(1, round(self._bounds.request_s)),
            user_agent=f"lloyal-track/{__version__}",
            retry=_FewHops(0, read=False),
            per_page=PER_PAGE,
            seconds_between_requests=None,
            seconds_between_writes=None,
        ).requester

    def become_anonymous(self) -> None:
        """Go on without the token, which was refused."""
        self.access = replace(
            self.access, token="", source=f"anonymous: {self.access.source} was refused"
        )
        self._requester.close()
        self._requester = self._connected()

    def get(
        self, path: str, query: Mapping[str, str] | None = None, *, etag: str | None = None
    ) -> Answer | Fault:
        """Read one resource; ``etag``: only if it changed since.

        A 304 to a request that did not ask for it is asked again, past every cache.
        """
        target = f"{path}?{urlencode(query)}" if query else path
        answer = self._bounded("GET", target, {"If-None-Match": etag} if etag else {}, None)
        if isinstance(answer, Answer) and answer.not_modified and not etag:
            answer = self._bounded("GET", target, {"Cache-Control": "no-cache"}, None)
            if isinstance(answer, Answer) and answer.not_modified:
                return Fault(FaultKind.MALFORMED, "not modified, without being asked (304)")
        return answer

    def all_pages(self, path: str, query: Mapping[str, str] | None = None) -> list[Any] | Fault:
        """The items of every page of a list, in order; all of them or a fault, never a part."""
        items: list[Any] = []
        following: dict[str, str] | None = {"per_page": str(PER_PAGE), **(query or {})}
        for _ in range(_MOST_PAGES):
            answer = self.get(path, following)
            if isinstance(answer, Fault):
                return answer
            if not isinstance(answer.body, list):
                return Fault(FaultKind.MALFORMED, "a list was expected, something else came")
            items += answer.body
            if answer.following is None:
                return items
            if answer.following == following:
                return Fault(FaultKind.MALFORMED, "the next page is the same one")
            following = answer.following
        return Fault(FaultKind.MALFORMED, f"more than {_MOST_PAGES} pages")

    def send(self, verb: str, path: str, body: Mapping[str, Any]) -> Answer | Fault:
        """Write. Never repeated: after a fault it may or may not have been done."""
        return self._bounded(verb, path, {}, dict(body))

    def graphql(self, query: str, variables: Mapping[str, Any]) -> Answer | Fault:
        """The few things that REST cannot do; ``body`` is the answer's ``data``."""
        url: str = self._requester.graphql_url
        answer = self._bounded("POST", url, {}, {"query": query, "variables": dict(variables)})
        if isinstance(answer, Fault):
            return answer
        body = answer.body if isinstance(answer.body, dict) else {}
        if body.get("errors") or not isinstance(body.get("data"), dict):
            match body.get("errors"):
                case [{"message": str(said)}, *_]:
                    pass
                case _:
                    said = "no data"
            return Fault(FaultKind.REJECTED, f"GitHub rejected the request: {said}", None, 200)
        return replace(answer, body=body["data"])

    def _bounded(
        self, verb: str, target: str, headers: dict[str, str], body: dict[str, Any] | None
    ) -> Answer | Fault:
        reading = verb == "GET"
        tried_again = False
        while True:
            if self.stopped:
                return self.stopped
            answer = self._once(verb, target, headers, body)
            if isinstance(answer, Answer):
                return answer
            if answer.kind in (FaultKind.RATE_LIMITED, FaultKind.SECONDARY_LIMIT):
                # A refused request was not done, so this is safe for one that writes, too.
                if self._waited(answer):
                    continue
                self.stopped = answer
                return answer
            mendable = answer.kind in (FaultKind.SERVER_ERROR, FaultKind.TIMEOUT)
            if reading and mendable and not tried_again:
                tried_again = True
                self._sleep(_SERVER_ERROR_WAIT_S)
                continue
            if answer.stops_all:
                self.stopped = answer
            return answer

    def _waited(self, fault: Fault) -> bool:
        """Wait as the server asks, or longer each time; False if that is over the budget."""
        wait = fault.wait_s
        if wait is None or self._waits == _MOST_WAITS:
            return False
        if fault.kind is FaultKind.SECONDARY_LIMIT:
            wait *= 2**self._waits
        if self.spent.wait_s + wait > self._bounds.wait_s:
            return False
        self._progress.step(self.spent.sent, None, f"{fault.why}: waiting {wait:.0f} s")
        self._sleep(wait)
        self._waits += 1
        self.spent.wait_s += wait
        return True

    def _once(
        self, verb: str, target: str, headers: dict[str, str], body: dict[str, Any] | None
    ) -> Answer | Fault:
        left = self._bounds.run_s - self.spent.run_s
        if left <= 0:
            return Fault(
                FaultKind.BUDGET, f"the time for GitHub ({self._bounds.run_s:.0f} s) is used up"
            )
        self.spent.sent += 1
        self.spent.conditional += "If-None-Match" in headers
        begun = time.monotonic()
        try:
            came = within(
                min(self._bounds.request_s, left),
                lambda: self._exchanged(verb, target, headers, body),
            )
        except Exception as fault:  # what a client library raises is no contract
            return self._lost(fault)
        finally:
            self.spent.run_s += time.monotonic() - begun
        self._reached = True
        answer = came if isinstance(came, Fault) else judge(*came)
        if isinstance(answer, Answer):
            self.spent.not_modified += answer.not_modified
        return answer

    def _lost(self, fault: Exception) -> Fault:
        """Nothing usable came back."""
        if isinstance(fault, _TookTooLong):
            # Its thread may still use the connection.
            self._requester = self._connected()
        why = _unanswered(fault, urlsplit(self.access.api_url).hostname or self.access.api_url)
        if why.kind is FaultKind.TIMEOUT and not self._reached:
            return replace(why, kind=FaultKind.NO_NETWORK, why=f"no network: {why.why}")
        return why

    def _exchanged(
        self, verb: str, target: str, headers: dict[str, str], body: dict[str, Any] | None
    ) -> tuple[int, dict[str, str], str] | Fault:
        """One request, and temporary redirects (302, 307, 308) on the same host."""
        for _ in range(_MOST_HOPS):
            status, got, text = self._requester.requestJson(
                verb, target, None, {**_HEADERS, **headers}, body
            )
            location = got.get("location", "")
            if status not in _REDIRECTS or verb != "GET":
                return status, got, text
            api, away = urlsplit(self.access.api_url), urlsplit(location)
            same_host = away.netloc in ("", api.netloc)
            if not same_host or not away.path.startswith(f"{api.path}/"):
                return Fault(
                    FaultKind.REDIRECTED_AWAY, "the answer leads to another host", status=status
                )
            target = away.path.removeprefix(api.path) + (f"?{away.query}" if away.query else "")
        return Fault(FaultKind.REDIRECTED_AWAY, "redirects lead in a circle")


_REDIRECTS = (302, 303, 307, 308)


class _TookTooLong(Exception):
    pass


def within(seconds: float, call: Callable[[], T]) -> T:
    """``call()``, or ``_TookTooLong``; what it raises, raised here.

    A socket's time-out bounds neither name resolution nor a server that keeps sending a little, so
    the call runs in a thread that is left alone when its time is over. It ends with the process.
    """
    done: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            done.put((call(), None))
        except BaseException as fault:  # handed over, raised in the caller
            done.put((None, fault))

    threading.Thread(target=run, name="forge-request", daemon=True).start()
    try:
        value, fault = done.get(timeout=seconds)
    except queue.Empty:
        raise _TookTooLong from None
    if fault is not None:
        raise fault
    return value  # type: ignore[return-value]


# What the client libraries raise, the more special classes first.
_RAISED: tuple[tuple[type[Exception], FaultKind, str], ...] = (
    (
        requests.exceptions.ProxyError,
        FaultKind.NO_NETWORK,
        "no network: the proxy does not let us reach {host}",
    ),
    (
        requests.exceptions.SSLError,
        FaultKind.NO_NETWORK,
        "no network: {host} shows a certificate that is not trusted",
    ),
    (
        requests.exceptions.ConnectTimeout,
        FaultKind.NO_NETWORK,
        "no network: {host} does not answer",
    ),
    (_TookTooLong, FaultKind.TIMEOUT, "{host} did not answer in time"),
    (requests.exceptions.Timeout, FaultKind.TIMEOUT, "{host} did not answer in time"),
    (requests.exceptions.ConnectionError, FaultKind.TIMEOUT, "{host} broke the connection"),
    # Of ours, see above; PyGithub refuses a 301 to another scheme or host.
    (RecursionError, FaultKind.REDIRECTED_AWAY, "redirects lead in a circle"),
    (
        RuntimeError,
        FaultKind.REDIRECTED_AWAY,
        "the answer leads to another host: is GITHUB_API_URL right?",
    ),
)


def _unanswered(fault: Exception, host: str) -> Fault:
    """Why nothing usable came back."""
    reason: object = fault.args[0] if fault.args else fault
    reason = getattr(reason, "reason", reason)
    if isinstance(reason, urllib3.exceptions.NameResolutionError):
        return Fault(FaultKind.NO_NETWORK, f"no network: the name {host} does not resolve")
    if isinstance(reason, urllib3.exceptions.NewConnectionError):
        return Fault(FaultKind.NO_NETWORK, f"no network: {host} cannot be reached")
    for raised, kind, why in _RAISED:
        if isinstance(fault, raised):
            return Fault(kind, why.format(host=host))
    return Fault(FaultKind.MALFORMED, f"the answer cannot be read ({type(fault).__name__})")
