"""What came back, judged: pure, no clock, no network.

GitHub says most things twice, in a status and in words, and proxies in between say neither. This is
the one place that reads them. Sources: the REST documentation's pages on rate limits, conditional
requests and redirects (API version 2022-11-28).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from tracker.evidence.tickets import FaultKind

# Documented: without a Retry-After header, wait at least one minute, then longer each time.
SECONDARY_WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """``body``: parsed JSON, None for 304 and 204. ``etag``: validator to send next time, or None.

    ``following``: query of the next page, None if this is the last one.
    """

    status: int
    body: Any
    etag: str | None = None
    following: dict[str, str] | None = None

    @property
    def not_modified(self) -> bool:
        return self.status == _NOT_MODIFIED


@dataclass(frozen=True, slots=True)
class Fault:
    """``why``: completes "not polled, because ...". ``wait_s``: what the server asks to wait, or
    None. ``status``: None if nothing came back."""

    kind: FaultKind
    why: str
    wait_s: float | None = None
    status: int | None = None

    @property
    def stops_all(self) -> bool:
        """Nothing else on this API will fare better in this run."""
        return self.kind in _STOPS_ALL


_STOPS_ALL = frozenset(
    (
        FaultKind.NO_NETWORK,
        FaultKind.RATE_LIMITED,
        FaultKind.SECONDARY_LIMIT,
        FaultKind.BUDGET,
    )
)
_NEXT = re.compile(r'<([^<>]*)>\s*;[^,<]*\brel="?next"?')
_OK = 200
_MULTIPLE = 300
_NOT_MODIFIED = 304
_UNAUTHORIZED = 401
_FORBIDDEN = 403
_NOT_FOUND = 404
_GONE = 410
_TOO_MANY = 429
_UNUSABLE = 400
_SERVER = 500
_REFUSALS = {
    _UNAUTHORIZED: (FaultKind.TOKEN_REFUSED, "the token is refused: expired or revoked"),
    _FORBIDDEN: (FaultKind.FORBIDDEN, "a permission is missing"),
    _NOT_FOUND: (FaultKind.NOT_FOUND, "not found: deleted, private, or a wrong number"),
    407: (FaultKind.NOT_GITHUB, "a proxy wants credentials"),
    _GONE: (FaultKind.GONE, "deleted upstream"),
    451: (FaultKind.BLOCKED, "blocked for legal reasons"),
}


def judge(status: int, headers: Mapping[str, str], text: str) -> Answer | Fault:
    """One response. ``headers``: names in lower case."""
    if status == _NOT_MODIFIED:
        return Answer(status, None, headers.get("etag"))
    if status >= _SERVER:
        return Fault(
            FaultKind.SERVER_ERROR,
            f"GitHub answered with an error of its own ({status})",
            None,
            status,
        )
    body, is_json = _parsed(text)
    if _OK <= status < _MULTIPLE and is_json:
        return Answer(status, body, headers.get("etag"), _following(headers.get("link", "")))
    if not is_json or (status >= _UNUSABLE and not isinstance(body, dict)):
        # GitHub refuses with an object that has a message; an empty refusal is somebody else's.
        return _no_json(status, headers, text)
    said = body.get("message") if isinstance(body, dict) else None
    return _refused(status, headers, said if isinstance(said, str) else "")


def _parsed(text: str) -> tuple[Any, bool]:
    if not text.strip():
        return None, True
    try:
        # Half of a surrogate pair is in no text that can be written down again, so it is refused.
        return msgspec.json.decode(text), True
    except (ValueError, RecursionError):
        return None, False


def _no_json(status: int, headers: Mapping[str, str], text: str) -> Fault:
    kind = headers.get("content-type", "").partition(";")[0].strip() or "no type"
    if text.strip() and (kind == "application/json" or text.lstrip()[:1] in ("{", "[")):
        return Fault(
            FaultKind.MALFORMED, f"the answer ({status}) is cut off or damaged", None, status
        )
    if status in (_NOT_FOUND, _GONE):
        return Fault(
            FaultKind.NOT_GITHUB, f"no GitHub API answers there ({status}, {kind})", None, status
        )
    return Fault(
        FaultKind.NOT_GITHUB,
        f"something in between answered with {kind} ({status}): a proxy or a sign-in page",
        None,
        status,
    )


def _refused(status: int, headers: Mapping[str, str], said: str) -> Fault:
    lower = said.lower()
    if status in (_FORBIDDEN, _TOO_MANY):
        limited = _limited(status, headers, lower)
        if limited:
            return limited
    if status == _GONE and "disabled" in lower:
        kind, why = FaultKind.ISSUES_DISABLED, "issues are disabled in that repository"
    elif _MULTIPLE <= status < _UNUSABLE:
        kind, why = FaultKind.REDIRECTED_AWAY, "redirected to nowhere"
    else:
        kind, why = _REFUSALS.get(status, (FaultKind.REJECTED, "GitHub rejected the request"))
    reason = f": {said}" if said and kind in (FaultKind.FORBIDDEN, FaultKind.REJECTED) else ""
    return Fault(kind, f"{why} ({status}){reason}", None, status)


def _limited(status: int, headers: Mapping[str, str], lower: str) -> Fault | None:
    """The primary or secondary limit, or None for a refusal that waiting cannot mend."""
    asked = _number(headers.get("retry-after"))
    secondary = "secondary rate limit" in lower or "abuse detection" in lower
    if not secondary and headers.get("x-ratelimit-remaining") == "0":
        wait = _until_reset(headers)
        return Fault(FaultKind.RATE_LIMITED, "the request limit is used up", wait, status)
    if secondary or asked is not None or status == _TOO_MANY:
        return Fault(
            FaultKind.SECONDARY_LIMIT,
            "GitHub's secondary rate limit was met",
            asked if asked is not None else SECONDARY_WAIT_S,
            status,
        )
    if "api rate limit exceeded" in lower:
        return Fault(
            FaultKind.RATE_LIMITED, "the request limit is used up", _until_reset(headers), status
        )
    return None


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Seconds until the limit is renewed, by the server's own clock: ours may be wrong."""
    reset = _number(headers.get("x-ratelimit-reset"))
    try:
        server = parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, TypeError):
        return None
    return max(reset - server, 0.0) + 1.0 if reset is not None else None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _following(link: str) -> dict[str, str] | None:
    """The query of ``rel="next"`` (RFC 8288). Only the query: the host is never taken from it."""
    found = _NEXT.search(link)
    return dict(parse_qsl(urlsplit(found.group(1)).query)) if found else None
