"""Parts put together: believed, refused, missing."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from tests.support import documents
from tracker.evidence.base import to_json
from tracker.evidence.parts import Part, PartDocument, PlanDocument
from tracker.evidence.verdict import Status, Verdict
from tracker.parts.merging import merge, read_parts

_NAMES = ("b100", "b101", "b102")


def _part(name: str, recipe: str = "check") -> Part:
    return Part(
        id=f"{name}-{recipe}",
        revision=name.removeprefix("b") * 13 + "0",
        name=name,
        recipe=recipe,
        n_ubatch=(512,),
        patches=(),
        runner="ubuntu-latest",
    )


_PLAN = PlanDocument(verdict=Verdict.OK, inputs="abc", parts=tuple(_part(name) for name in _NAMES))


def _answer(name: str, *, red: bool = False, inputs: str = "abc") -> tuple[str, PartDocument]:
    part = _part(name)
    document = documents.bump()
    first, *rest = document.items
    if red:
        first = replace(first, status=Status.FAIL)
    bump = replace(
        document,
        verdict=Verdict.FAIL if red else Verdict.OK,
        to=replace(document.to, commit=part.revision, name=name),
        items=(first, *rest),
    )
    made = PartDocument(verdict=bump.verdict, inputs=inputs, part=part, bump=bump)
    return f"{name}.json", made


def test_all_parts_make_one_answer() -> None:
    """Every part is there and good: the whole is ok, in the plan's order."""
    merged = merge(_PLAN, [_answer(name) for name in reversed(_NAMES)])
    assert merged.verdict is Verdict.OK
    assert [answer.part.name for answer in merged.answers] == list(_NAMES)
    assert (merged.missing, merged.refused, merged.changes) == ((), (), ())


def test_a_missing_part_is_named_and_makes_the_whole_unknown() -> None:
    """A gap never reads as an answer."""
    merged = merge(_PLAN, [_answer("b100"), _answer("b102")])
    assert merged.verdict is Verdict.UNKNOWN
    assert merged.missing == ("b101-check",)


def test_no_parts_at_all_is_unknown() -> None:
    """Nothing was proven."""
    assert merge(_PLAN, []).verdict is Verdict.UNKNOWN


def test_a_part_of_other_inputs_is_refused() -> None:
    """Another patch set, pin, configuration or tool: its answer is to another question."""
    merged = merge(_PLAN, [*map(_answer, _NAMES[:2]), _answer("b102", inputs="other")])
    assert merged.missing == ("b102-check",)
    (refused,) = merged.refused
    assert refused.file == "b102.json"
    assert "other inputs (other)" in refused.why


def test_evidence_about_another_revision_is_refused() -> None:
    """The label of a part is not believed over its evidence."""
    name, document = _answer("b101")
    _, other = _answer("b102")
    merged = merge(_PLAN, [(name, replace(document, bump=other.bump))])
    assert "not its own revision" in merged.refused[0].why


def test_a_better_verdict_than_the_evidence_is_refused() -> None:
    """A part cannot call its red evidence ok."""
    name, document = _answer("b101", red=True)
    merged = merge(_PLAN, [(name, replace(document, verdict=Verdict.OK))])
    assert "not that of its evidence" in merged.refused[0].why


def test_the_same_answer_twice_is_one() -> None:
    """A job that was run again changes nothing; of one that contradicts itself none is believed."""
    good = [_answer(name) for name in _NAMES]
    assert merge(_PLAN, [*good, _answer("b100")]).verdict is Verdict.OK
    twice = merge(_PLAN, [*good, _answer("b100", red=True)])
    assert twice.verdict is Verdict.UNKNOWN
    assert twice.missing == ("b100-check",)
    assert ["differently" in refused.why for refused in twice.refused] == [True, True]


def test_a_change_is_found_between_neighbours() -> None:
    """The item and the two revisions are named; a gap between them is counted."""
    red = [_answer("b100"), _answer("b101", red=True), _answer("b102", red=True)]
    (change,) = merge(_PLAN, red).changes
    assert (change.from_, change.to, change.after, change.between) == ("b100", "b101", "fail", 0)
    (wide,) = merge(_PLAN, [red[0], red[2]]).changes
    assert (wide.from_, wide.to, wide.between) == ("b100", "b102", 1)


def test_what_is_no_part_is_refused(tmp_path: Path) -> None:
    """Damaged, another document, a link: named with its file, and the others are read."""
    name, good = _answer("b100")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / name).write_bytes(to_json(good))
    (tmp_path / "cut.json").write_bytes(to_json(good)[:100])
    (tmp_path / "other.json").write_bytes(to_json(good.bump))
    (tmp_path / "link.json").symlink_to(tmp_path / "a" / name)
    parts, refused = read_parts(tmp_path)
    assert [file for file, _ in parts] == ["a/b100.json"]
    assert [each.file for each in refused] == ["cut.json", "link.json", "other.json"]
