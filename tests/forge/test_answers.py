"""One response, read."""

from __future__ import annotations

import pytest

from tracker.evidence.tickets import FaultKind
from tracker.forge.answers import Answer, Fault, judge

_JSON = {"content-type": "application/json; charset=utf-8"}


def _fault(status: int, headers: dict[str, str], text: str) -> Fault:
    judged = judge(status, {**_JSON, **headers}, text)
    assert isinstance(judged, Fault)
    return judged


@pytest.mark.parametrize(
    ("link", "following"),
    [
        ('<https://x/repos/o/r/issues?page=2&per_page=100>; rel="next"', {"page": "2"}),
        ('<https://x/a?page=1>; rel="prev", <https://x/a?page=3>; rel="next"', {"page": "3"}),
        ('<https://x/a?after=Y3Vy%3D%2C1&page=2>; rel="next"', {"after": "Y3Vy=,1", "page": "2"}),
        ("<https://x/a?page=3>;rel=next", {"page": "3"}),
        ('<https://x/a?page=9>; rel="last"', None),
        ('<https://x/next?page=9>; rel="last"; title="next"', None),
        ("", None),
        ("garbage", None),
    ],
)
def test_the_next_page(link: str, following: dict[str, str] | None) -> None:
    """Its query is taken from the header, whatever stands beside it; its host never is."""
    judged = judge(200, {**_JSON, "link": link}, "[]")
    assert isinstance(judged, Answer)
    found = judged.following
    assert (found is None) == (following is None)
    assert all((found or {})[key] == value for key, value in (following or {}).items())


def test_a_limit_is_counted_by_the_servers_clock() -> None:
    """Our clock may be hours off; the server's own date and reset are not."""
    headers = {
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": "1000000090",
        "date": "Sun, 09 Sep 2001 01:46:40 GMT",
    }
    fault = _fault(403, headers, '{"message": "API rate limit exceeded for user ID 1."}')
    assert (fault.kind, fault.wait_s) == (FaultKind.RATE_LIMITED, 91.0)


@pytest.mark.parametrize("retry_after", ["-1", "nan", "inf", "soon", ""])
def test_a_wait_that_makes_no_sense_is_the_documented_minute(retry_after: str) -> None:
    """Retry-After may also be a date, or rubbish."""
    text = '{"message": "You have exceeded a secondary rate limit."}'
    fault = _fault(403, {"retry-after": retry_after}, text)
    assert (fault.kind, fault.wait_s) == (FaultKind.SECONDARY_LIMIT, 60.0)


def test_a_missing_permission_is_not_a_limit() -> None:
    """A 403 with requests left cannot be mended by waiting (H13)."""
    fault = _fault(
        403,
        {"x-ratelimit-remaining": "4800"},
        '{"message": "Resource not accessible by integration"}',
    )
    assert (fault.kind, fault.wait_s) == (FaultKind.FORBIDDEN, None)
    assert "Resource not accessible by integration" in fault.why


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (200, '{"a": 1', FaultKind.MALFORMED),
        (404, "[]", FaultKind.MALFORMED),
        (403, "", FaultKind.NOT_GITHUB),
        (418, '{"message": "no"}', FaultKind.REJECTED),
        (301, '{"message": "Moved"}', FaultKind.REDIRECTED_AWAY),
        (599, "", FaultKind.SERVER_ERROR),
    ],
)
def test_what_is_no_answer(status: int, text: str, kind: FaultKind) -> None:
    """Each is told apart from a refusal of GitHub's own."""
    assert _fault(status, {}, text).kind is kind


def test_deep_json_is_no_crash() -> None:
    """A document nested deeper than the parser goes is damaged, not an exception."""
    assert _fault(200, {}, "[" * 200_000).kind is FaultKind.MALFORMED
