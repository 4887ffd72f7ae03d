"""Lists of several pages."""

from __future__ import annotations

import pytest

from tests.support import github_fake
from tests.support.github_fake import Reply
from tracker.evidence.tickets import FaultKind
from tracker.forge.answers import Fault
from tracker.forge.client import Forge


@pytest.mark.parametrize("pages", [1, 2])
def test_pages_in_a_circle_are_no_list(monkeypatch: pytest.MonkeyPatch, pages: int) -> None:
    """The last page names itself, or the first, as the next one: what is missing is not known."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with github_fake.serving() as github:
        for page in range(1, pages + 1):
            following = f'<{github.url}/list?page={page % pages + 1}>; rel="next"'
            path = rf"/list\?page={page}$" if page > 1 else r"/list"
            github.troubles.insert(
                0, github_fake.Trouble(path, Reply(200, [page], {"Link": following}))
            )
        answer = Forge(github.access()).all_pages("/list")
    assert isinstance(answer, Fault)
    assert answer.kind is FaultKind.MALFORMED


def test_a_next_page_on_another_host_is_asked_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The token goes where it went before."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with github_fake.serving() as github, github_fake.serving() as other:
        away = {"Link": f'<{other.url}/list?page=2>; rel="next"'}
        github.trouble("/list", Reply(200, [1], away), times=1)
        github.trouble("/list", Reply(200, [2]))
        assert Forge(github.access()).all_pages("/list") == [1, 2]
        assert other.requests == []
