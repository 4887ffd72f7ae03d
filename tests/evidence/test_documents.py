"""The documents are the contract: written schemas match the types, and nothing is lost in JSON."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tracker.bundled import bundled
from tracker.cli import schemas
from tracker.evidence.base import Value, to_json
from tracker.evidence.item import Item
from tracker.evidence.rebase import Flag, Outcome, PatchResult, RebaseDocument
from tracker.evidence.verdict import Status, Verdict, worst


@pytest.mark.parametrize("document", schemas.DOCUMENTS, ids=lambda kind: kind.__name__)
def test_the_written_schema_is_the_types_own(document: type[Value]) -> None:
    """docs/schemas is regenerated whenever a type changes."""
    file = bundled("schemas") / schemas.file_name(document)
    assert file.read_bytes() == schemas.schema(document), "run: python -m tracker.cli.schemas"


def test_no_schema_is_left_over(tmp_path: Path) -> None:
    """A schema without a type is removed."""
    schemas.write(tmp_path)
    made = {file.name for file in tmp_path.iterdir()}
    assert {file.name for file in bundled("schemas").iterdir()} == made


def test_json_and_back_is_the_same_document() -> None:
    """Reading what was written gives an equal value."""
    document = RebaseDocument(verdict=Verdict.OK, from_="a", onto="b", tree=None, patches=())
    assert msgspec.json.decode(to_json(document), type=RebaseDocument) == document


def patch(outcome: Outcome, *flags: Flag) -> PatchResult:
    return PatchResult(
        name="0001-x.patch",
        subject="x",
        form="0001-x.patch",
        requires=(),
        outcome=outcome,
        flags=flags,
        notes=(),
        alone=outcome,
        files=(),
        culprit=None,
        conflict=None,
    )


@pytest.mark.parametrize(
    ("outcome", "flags", "verdict"),
    [
        (Outcome.UNCHANGED, (), Verdict.OK),
        (Outcome.OFFSET, (), Verdict.OK),
        (Outcome.MERGED, (), Verdict.OK),
        (Outcome.MERGED, (Flag.AMBIGUOUS,), Verdict.ATTENTION),
        (Outcome.STRUCTURAL, (), Verdict.ATTENTION),
        (Outcome.UPSTREAMED, (), Verdict.ATTENTION),
        (Outcome.CONFLICT, (), Verdict.CONFLICT),
        (Outcome.UNUSABLE, (), Verdict.ERROR),
        (Outcome.NOT_APPLICABLE, (), Verdict.OK),
    ],
)
def test_a_flag_or_a_doubtful_outcome_is_never_ok(
    outcome: Outcome, flags: tuple[Flag, ...], verdict: Verdict
) -> None:
    """Only a clean, unflagged patch is ok."""
    assert patch(outcome, *flags).verdict is verdict


def test_the_worst_of_nothing_is_unknown() -> None:
    """No evidence proves nothing."""
    assert worst([]) is Verdict.UNKNOWN
    assert worst([Verdict.OK, Verdict.CONFLICT, Verdict.ATTENTION]) is Verdict.CONFLICT


def item(**changed: object) -> Item:
    return msgspec.structs.replace(
        Item(id="region:x", title="x", status=Status.FAIL, blocking=True, summary="s"), **changed
    )


def test_only_a_blocking_item_that_is_not_accepted_forbids() -> None:
    """Advisory items and accepted ones let the pin move."""
    assert item().forbids
    assert not item(blocking=False).forbids
    assert not item(status=Status.PASS).forbids
    assert not item(accepted="known").forbids
    assert item(status=Status.UNKNOWN).forbids


def test_an_acceptance_is_bound_to_what_was_seen() -> None:
    """The digest changes with status, summary or evidence, and with nothing else."""
    assert item().digest != item(summary="t").digest
    assert item().digest != item(evidence=("l",)).digest
    assert item().digest == item(accepted="known").digest
