"""What the local repository adds to a ticket."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support import repos
from tests.support.github_fake import FakeGitHub, Reply
from tracker import tickets
from tracker.config import TicketTable
from tracker.evidence.tickets import Resolution, TicketResult
from tracker.evidence.watch import Span
from tracker.git.repository import Repository
from tracker.tickets.history import LocalHistory, mention_pattern
from tracker.tickets.keys import parse
from tracker.tickets.reading import MOST_LINKED

_SLOT = "int find_slot(int n) {\n    return n;\n}\n"
_RANKED = "int find_slot(int n) {\n    int rank = rank_of(n);\n    return rank;\n}\n"
_OTHER = "void pooling() {\n    rank_cells_of_the_indexer();\n}\n"
_OURS = (Span(path="src/memory.cpp", start=1, end=4),)
_PATCH = """@@ -1,3 +1,4 @@
 int find_slot(int n) {
-    return n;
+    int rank = rank_of(n);
+    return rank;
 }"""
_PATCH_OTHER = "@@ -0,0 +1,3 @@\n+void pooling() {\n+    rank_cells_of_the_indexer();\n+}"


class _Upstream:
    """A history of four commits; the third is the fix."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pin, self.before, self.fix, self.target, _ = repos.build(
            folder,
            [
                repos.Step({"src/memory.cpp": _SLOT}, "base", ("b9998",)),
                repos.Step({"a": "1"}, "other work (#27)", ("b9999",)),
                repos.Step({"src/memory.cpp": _RANKED}, "rank cells (#26)\n\nFixes #1"),
                repos.Step({"src/indexer.cpp": _OTHER}, "more", ("b10000", "v1.0.0")),
                repos.Step({"b": "2"}, "later", ("b10001",)),
            ],
        )


@pytest.fixture
def upstream(tmp_path: Path) -> _Upstream:
    return _Upstream(tmp_path / "upstream")


@pytest.fixture
def repository(upstream: _Upstream) -> Iterator[Repository]:
    with Repository.open(upstream.folder) as found:
        yield found


def _judged(
    github: FakeGitHub,
    repository: Repository,
    upstream: _Upstream,
    key: str,
    *,
    target: str = "",
    ours: tuple[Span, ...] = _OURS,
) -> TicketResult:
    history = LocalHistory(repository, "up/core", upstream.pin, target or upstream.target, ours)
    document = tickets.poll(
        [TicketTable(key=key, why="watched")],
        Path("/nonexistent/tickets.json"),
        write=False,
        access=github.access(),
        history=history,
        now=lambda: datetime(2026, 12, 1, tzinfo=UTC),
    )
    return document.tickets[0]


def _merged_pull(github: FakeGitHub, upstream: _Upstream, path: str, patch: str) -> None:
    github.pull("up/core#26", state="closed", merged_at="x", merge_commit_sha=upstream.fix)
    github.repository("up/core").files[26] = [{"filename": path, "patch": patch}]


def test_a_fix_in_the_target_is_told_with_its_first_nightly(
    github: FakeGitHub, repository: Repository, upstream: _Upstream
) -> None:
    """The merge commit is in the target since b10000, which comes after b9999."""
    github.issue("up/core#1")
    _merged_pull(github, upstream, "src/memory.cpp", _PATCH)
    github.refers("up/core#26", "up/core#1", body="Fixes #1")
    github.close("up/core#1")
    result = _judged(github, repository, upstream, "up/core#1")
    assert result.resolution is Resolution.FIXED_IN_TARGET
    assert (result.in_target, result.first_tag) == ("yes", "b10000")
    assert result.resolution_why == "merged, in the target from b10000 on"
    assert result.pulls[0].touches_ours == "yes"


def test_a_fix_that_came_later_is_not_in_the_target(
    github: FakeGitHub, repository: Repository, upstream: _Upstream
) -> None:
    """The same fix, judged for the revision before it."""
    _merged_pull(github, upstream, "src/memory.cpp", _PATCH)
    result = _judged(github, repository, upstream, "up/core#26", target=upstream.before)
    assert (result.resolution, result.in_target) == (Resolution.FIXED_NOT_IN_TARGET, "no")


def test_a_fix_for_somebody_else_is_named_so(
    github: FakeGitHub, repository: Repository, upstream: _Upstream
) -> None:
    """Merged and in the target, but in no region of ours: merged, not fixed for us."""
    github.issue("up/core#1")
    _merged_pull(github, upstream, "src/indexer.cpp", _PATCH_OTHER)
    github.refers("up/core#26", "up/core#1", body="Fixes #1")
    github.close("up/core#1")
    result = _judged(github, repository, upstream, "up/core#1")
    assert result.resolution is Resolution.MERGED_NOT_OURS
    assert "not fixed for us" in result.resolution_why


def test_a_change_elsewhere_in_our_file_is_not_ours(
    github: FakeGitHub, repository: Repository, upstream: _Upstream
) -> None:
    """A change is ours by its lines, not by its file."""
    _merged_pull(github, upstream, "src/memory.cpp", _PATCH)
    far = (Span(path="src/memory.cpp", start=40, end=50),)
    result = _judged(github, repository, upstream, "up/core#26", ours=far)
    assert result.resolution is Resolution.MERGED_NOT_OURS


@pytest.mark.parametrize("patch", [None, "@@ -2 +1,0 @@\n-    return n;"])
def test_a_change_that_cannot_be_located_is_unknown_not_foreign(
    github: FakeGitHub, repository: Repository, upstream: _Upstream, patch: str | None
) -> None:
    """No diff, or only removed lines, in a file of ours: it is not called somebody else's."""
    _merged_pull(github, upstream, "src/memory.cpp", _PATCH)
    github.repository("up/core").files[26] = [{"filename": "src/memory.cpp", "patch": patch}]
    result = _judged(github, repository, upstream, "up/core#26")
    assert result.resolution is Resolution.UNKNOWN
    assert "whether it touches what we watch is unknown" in result.resolution_why


def test_a_removal_beside_a_change_elsewhere_is_unknown(
    github: FakeGitHub, repository: Repository, upstream: _Upstream
) -> None:
    """One hunk lies elsewhere, the other only removes: it may have been in our region."""
    _merged_pull(github, upstream, "src/memory.cpp", _PATCH + "\n@@ -45 +46,0 @@\n-    gone();")
    far = (Span(path="src/memory.cpp", start=40, end=50),)
    result = _judged(github, repository, upstream, "up/core#26", ours=far)
    assert result.pulls == ()
    assert result.resolution is Resolution.UNKNOWN


def test_a_commit_that_closed_it_is_read_locally(
    github: FakeGitHub, repository: Repository, upstream: _Upstream
) -> None:
    """Without a pull request, the closing commit's own diff tells whether it is ours."""
    github.issue("up/core#1")
    github.close("up/core#1", commit=upstream.fix)
    ours = _judged(github, repository, upstream, "up/core#1")
    assert ours.resolution is Resolution.FIXED_IN_TARGET
    far = (Span(path="src/memory.cpp", start=40, end=50),)
    elsewhere = _judged(github, repository, upstream, "up/core#1", ours=far)
    assert elsewhere.resolution is Resolution.MERGED_NOT_OURS
    github.event("up/core#1", "reopened")
    github.close("up/core#1", commit=upstream.target)
    theirs = _judged(github, repository, upstream, "up/core#1")
    assert theirs.resolution is Resolution.MERGED_NOT_OURS


def test_a_bot_that_closes_as_completed_fixed_nothing(
    github: FakeGitHub, repository: Repository, upstream: _Upstream
) -> None:
    """Closed as completed, stale, no fix: the patch is still needed (H06)."""
    github.issue("up/core#1", labels=[{"name": "stale"}])
    github.close("up/core#1", "completed")
    result = _judged(github, repository, upstream, "up/core#1")
    assert result.resolution is Resolution.NO_FIX
    assert result.resolution_why == (
        "closed without a fix commit (labelled stale); the patch is still needed"
    )


def test_a_pull_request_that_only_names_it_is_no_fix(
    github: FakeGitHub, repository: Repository, upstream: _Upstream
) -> None:
    """A merged pull request without a closing word does not resolve a closed issue."""
    github.issue("up/core#1")
    _merged_pull(github, upstream, "src/memory.cpp", _PATCH)
    github.refers("up/core#26", "up/core#1", body="related to #1")
    github.close("up/core#1")
    result = _judged(github, repository, upstream, "up/core#1")
    assert result.resolution is Resolution.NO_FIX
    assert [(pull.key, pull.closing) for pull in result.pulls] == [("up/core#26", False)]


@pytest.mark.parametrize(
    ("reason", "why"), [("not_planned", "not planned"), ("duplicate", "duplicate")]
)
def test_not_planned_is_not_resolved(
    github: FakeGitHub, repository: Repository, upstream: _Upstream, reason: str, why: str
) -> None:
    """Who closes as not planned or as a duplicate fixed nothing."""
    github.issue("up/core#1")
    github.close("up/core#1", reason)
    result = _judged(github, repository, upstream, "up/core#1")
    assert (result.resolution, result.resolution_why) == (
        Resolution.NOT_PLANNED,
        f"closed as {why}",
    )


@pytest.mark.parametrize(
    ("patch", "resolution", "why"),
    [
        (_PATCH, Resolution.CONTENT_PRESENT, "closed, content present upstream"),
        (
            "@@ -1 +1,2 @@\n+    int something_else = never_landed();\n x",
            Resolution.CONTENT_ABSENT,
            "closed, not present",
        ),
        (_PATCH + "\n@@ -9 +9 @@\n+    never_landed_this_line();", Resolution.UNKNOWN, "unknown"),
        (None, Resolution.UNKNOWN, "unknown"),
        ("@@ -1 +1 @@\n+}", Resolution.UNKNOWN, "unknown"),
    ],
)
def test_a_pull_request_that_landed_by_hand_is_found_by_content(
    github: FakeGitHub,
    repository: Repository,
    upstream: _Upstream,
    patch: str | None,
    resolution: Resolution,
    why: str,
) -> None:
    """Closed unmerged: its added lines stand in the target, or don't, or nobody can tell (H07)."""
    github.pull("up/core#26", state="closed")
    github.repository("up/core").files[26] = [{"filename": "src/memory.cpp", "patch": patch}]
    result = _judged(github, repository, upstream, "up/core#26")
    assert result.resolution is resolution
    assert why in result.resolution_why


def test_mentions_are_found_locally(
    github: FakeGitHub, repository: Repository, upstream: _Upstream
) -> None:
    """A commit that names the ticket is found without network; #1 is not #12."""
    github.issue("up/core#1")
    github.issue("up/core#2")
    one = _judged(github, repository, upstream, "up/core#1")
    assert one.mentions == (f"{upstream.fix[:12]} rank cells (#26)",)
    assert _judged(github, repository, upstream, "up/core#2").mentions == ()


def test_a_snapshot_knows_no_commits_but_content(github: FakeGitHub, upstream: _Upstream) -> None:
    """On a mirror made from archives mentions are unknown; content still proves the fix."""
    repos.git(upstream.folder, "config", "lloyal-track.source", "archive")
    _merged_pull(github, upstream, "src/memory.cpp", _PATCH)
    with Repository.open(upstream.folder) as mirror:
        result = _judged(github, mirror, upstream, "up/core#26")
        assert (result.mentions, result.in_target, result.first_tag) == ("unknown", "yes", None)
        github.repository("up/core").files[26][0]["patch"] = None
        blind = _judged(github, mirror, upstream, "up/core#26")
        assert (blind.in_target, blind.resolution) == ("unknown", Resolution.UNKNOWN)


@pytest.mark.parametrize(
    ("message", "names_it"),
    [
        ("fix (#12)", True),
        ("fix #123", False),
        ("see up/core#12", True),
        ("see other/core#12", False),
        ("https://github.com/up/core/issues/12", True),
        ("https://github.com/up/core/pull/123", False),
        ("GH-12", True),
        ("UP/Core#12.", True),
        ("12", False),
    ],
)
def test_what_counts_as_a_mention(message: str, names_it: bool) -> None:
    """A bare number is a thread of the history's own repository."""
    pattern = mention_pattern([parse("up/core#12")], "up/core")
    assert bool(pattern.search(message)) is names_it


def test_a_bare_number_means_no_thread_of_another_repository() -> None:
    """In up/core's history, #12 is not down/core#12."""
    pattern = mention_pattern([parse("down/core#12")], "up/core")
    assert pattern.search("fix (#12)") is None
    assert pattern.search("fix down/core#12") is not None


@pytest.mark.parametrize("status", [403, 404, 410, 451])
def test_a_fix_that_cannot_be_seen_is_not_missing(
    github: FakeGitHub, repository: Repository, upstream: _Upstream, status: int
) -> None:
    """A pull request says that it closes the issue and is not shown to us: unknown, not "none"."""
    github.issue("up/core#1")
    github.pull("up/core#26", state="closed", merged_at="2026-11-01")
    github.refers("up/core#26", "up/core#1", body="Fixes #1")
    github.close("up/core#1", "completed")
    github.trouble(r"/pulls/26", Reply(status, {"message": "not for you"}))
    result = _judged(github, repository, upstream, "up/core#1")
    assert result.resolution is Resolution.UNKNOWN
    assert result.resolution_why == "closed; not to be seen: up/core#26, which closes it"


def test_the_fix_that_is_one_too_many_is_not_missing(
    github: FakeGitHub, repository: Repository, upstream: _Upstream
) -> None:
    """Only so many pull requests are read; whether a further one fixed it is unknown."""
    github.issue("up/core#1")
    for number in range(100, 101 + MOST_LINKED):
        github.pull(f"up/core#{number}", state="closed")
        github.refers(f"up/core#{number}", "up/core#1", body="Fixes #1")
    github.close("up/core#1", "completed")
    assert _judged(github, repository, upstream, "up/core#1").resolution is Resolution.UNKNOWN
