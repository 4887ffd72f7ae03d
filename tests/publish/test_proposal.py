"""A bump's evidence as a proposal."""

from __future__ import annotations

from msgspec.structs import replace

from tests.support import documents
from tracker.evidence.bump import BumpDocument
from tracker.evidence.verdict import Status
from tracker.publish.proposal import FileChange, Proposal, propose, safe_name

_FILES = (FileChange("vendor/pin.toml", b"new\n"),)


def _proposed(document: BumpDocument, files: tuple[FileChange, ...] = _FILES) -> Proposal:
    return propose(document, key="default", body="# body\n", files=files)


def test_a_bump_that_may_go_is_a_pull_request() -> None:
    """Tickets that could not be asked don't make it a draft; a red advisory item does."""
    document = documents.bump()
    proposal = _proposed(document)
    assert (proposal.kind, proposal.draft) == ("pull", False)
    assert proposal.title == "Move the upstream pin from 0.3.29 to 0.3.36"
    (region, *_) = [item for item in document.items if item.id == "region:seq_rm"]
    red = tuple(
        replace(item, status=Status.FAIL) if item is region else item for item in document.items
    )
    assert _proposed(replace(document, items=red)).draft


def test_a_forbidden_bump_is_an_issue() -> None:
    """It carries no files."""
    document = documents.bump()
    move = replace(document.pin, outcome="forbidden", forbidden_by=("patch:x",))
    proposal = _proposed(replace(document, pin=move))
    assert (proposal.kind, proposal.files) == ("issue", ())


def test_a_pin_that_is_there_is_nothing() -> None:
    """Already there: no thread is needed."""
    document = documents.bump()
    move = replace(document.pin, outcome="already-there")
    assert _proposed(replace(document, pin=move)).kind == "none"


def test_a_bump_without_files_is_an_issue() -> None:
    """A pull request needs a change: pins of other repositories can't be moved by this one."""
    assert _proposed(documents.bump(), files=()).kind == "issue"


def test_time_is_no_news() -> None:
    """The same findings a week later have the same digest; another finding has not."""
    document = documents.bump()
    later = replace(document, started_at="2027-01-01T00:00:00+00:00", seconds=1.0)
    assert _proposed(later).digest == _proposed(document).digest
    first, *rest = document.items
    changed = replace(document, items=(replace(first, summary="something else"), *rest))
    assert _proposed(changed).digest != _proposed(document).digest
    other = (FileChange("vendor/pin.toml", b"newer\n"),)
    assert _proposed(document, other).digest != _proposed(document).digest


def test_a_title_holds_no_foreign_text() -> None:
    """A title becomes a commit's subject, where keywords and mentions act."""
    assert safe_name("b10525") == "b10525"
    assert safe_name("Fixes #12 @all") == "Fixes-12-all"
    assert safe_name("x\n::error::") == "x-error"
    assert safe_name("") == "revision"
