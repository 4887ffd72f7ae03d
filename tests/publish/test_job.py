"""What a workflow job says: outputs, annotations, summary."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.support import documents
from tracker.evidence.publish import Done, PublishDocument, PublishStep
from tracker.evidence.verdict import Status, Verdict
from tracker.publish import job


def test_outputs_are_single_lines_of_harmless_characters() -> None:
    """A revision's name or an item's id cannot set another output."""
    document = documents.bump()
    hostile = replace(document.to, name="x\nverdict=ok", upstream_commit=None)
    move = replace(document.pin, forbidden_by=("patch:a\nb=c $(id)",))
    values = job.outputs(replace(document, to=hostile, pin=move))
    lines = job.output_lines(values).splitlines()
    assert [line.partition("=")[0] for line in lines] == [
        "verdict",
        "outcome",
        "from",
        "to",
        "target",
        "forbidden-by",
    ]
    assert "forbidden-by=patch:a-b-c---id-" in lines


def test_a_value_of_two_lines_is_refused() -> None:
    """It would be read as two outputs."""
    with pytest.raises(ValueError, match="name"):
        job.output_lines({"name": "a\u2028b"})


def test_what_forbids_is_annotated() -> None:
    """Ten at most; the last says how many more."""
    document = documents.bump()
    item = replace(
        document.items[0], status=Status.FAIL, blocking=True, summary="bad\n::error::x", title="t"
    )
    many = tuple(replace(item, id=f"patch:{number}") for number in range(14))
    forbidden = replace(
        document.pin, outcome="forbidden", forbidden_by=tuple(each.id for each in many)
    )
    said = job.remarks(replace(document, items=many, pin=forbidden))
    assert len(said) == 10
    assert said[0] == "::error title=patch%3A0::bad ::error::x"
    assert said[-1] == "::warning title=pin bump::5 more items forbid the move"
    assert all("\n" not in line for line in said)


def test_a_bump_that_goes_is_a_notice() -> None:
    """One line with the conclusion."""
    (line,) = job.remarks(documents.bump())
    assert line.startswith("::notice title=pin bump::")


def test_the_summary_names_the_last_success() -> None:
    """Whoever looks sees since when the schedule has been silent (A01)."""
    document = PublishDocument(
        verdict=Verdict.OK,
        repository="o/r",
        dry_run=False,
        steps=(PublishStep(done=Done.UNCHANGED, number=7, url="https://x.invalid/7"),),
        notes=("@everyone look",),
        last_success="2026-11-23T06:20:00Z",
    )
    said = job.said(document)
    assert "- unchanged [`#7`](https://x.invalid/7)" in said
    assert "`@everyone look`" in said
    assert "last successful run before this one: `2026-11-23T06:20:00Z`" in said


def test_a_summary_over_the_limit_is_cut() -> None:
    """GitHub drops a summary of more than 1 MiB as a whole."""
    cut = job.cut("a line\n" * 200_000)
    assert len(cut.encode()) <= 1 << 20
    assert cut.endswith("in the artifact._\n")
