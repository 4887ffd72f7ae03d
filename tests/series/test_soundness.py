"""What a verdict says of the result holds for the bytes of the result."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.repos import build
from tracker.evidence.rebase import Outcome
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.series.engine import Engine, Target
from tracker.series.reading import Entry, Member, Series, read_patch
from tracker.series.trees import read_tree, written

_ONE = ["a = 1;", "b = 2;", "{", "}", "", "if (a) {", "step(a, b, c, d);", "return;"]
_TEXT = st.lists(st.sampled_from(_ONE), min_size=4, max_size=24)


@st.composite
def edited(draw: st.DrawFn, lines: list[str]) -> list[str]:
    """``lines`` with up to three stretches replaced."""
    out = list(lines)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(out)))
        new = draw(st.lists(st.sampled_from([*_ONE, "mine();", "theirs();"]), max_size=3))
        out[at : at + draw(st.integers(0, 2))] = new
    return out


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[str], list[str], list[str], bool]:
    """Pin, patched, upstream; and whether upstream took the patch in as well."""
    pin = draw(_TEXT)
    mine, upstream = draw(edited(pin)), draw(edited(pin))
    return pin, mine, upstream, draw(st.booleans())


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quarantine]:
    folder = tmp_path_factory.mktemp("soundness")
    build(folder / "up", [{"a": ""}])
    with Repository.open(folder / "up") as repository:
        with Quarantine(repository, folder / "q") as made:
            yield made


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(story=stories())
def test_the_outcome_fits_the_bytes(
    store: Quarantine, story: tuple[list[str], list[str], list[str], bool]
) -> None:
    """Upstreamed: the result is upstream's text. Clean: it is not, and it holds what git merges."""
    pin, mine, upstream, taken = story
    if taken:
        upstream = mine if upstream == pin else upstream
    if mine == pin:
        return
    made = unified_diff(_text(pin).splitlines(True), _text(mine).splitlines(True), "a/x.c", "b/x.c")
    patch = read_patch("".join(made).encode(), "p.patch")
    assert not patch.fault
    series = Series(
        folder=Path("nowhere"),
        members=(Member(entry=Entry(file="p.patch"), forms=(patch,)),),
        ordered_by="names",
    )
    trees = [
        store.write_tree({"x.c": ("100644", store.write_blob(_text(lines).encode()))})
        for lines in (pin, upstream, mine)
    ]
    engine = Engine(store, series, trees[0])
    target = Target(read_tree(store, trees[1], engine.paths))
    ((judged,),) = engine.judge_all([target])
    result = judged.in_series
    after = written(store, trees[1], result.after)
    commits = [store.write_commit(trees[0])]
    commits += [store.write_commit(tree, commits[:1]) for tree in trees[1:]]
    git = store.git(["merge-tree", "--write-tree", *commits[1:]], check=False)
    merged = git.stdout.decode().split("\n", 1)[0] if git.code == 0 else None
    hunks = [hunk.outcome for file in result.files for hunk in file.result.hunks]
    if result.outcome is Outcome.UPSTREAMED:
        assert after == trees[1]
        assert set(hunks) == {Outcome.UPSTREAMED}
    elif result.outcome.clean:
        assert merged is not None
        assert after == merged
        assert after != trees[1]
        assert not {Outcome.UPSTREAMED, Outcome.CONFLICT} & set(hunks)
    elif result.outcome is Outcome.CONFLICT:
        assert merged is None
        assert after == trees[1]
    elif result.outcome is Outcome.PARTLY_UPSTREAMED:
        assert Outcome.UPSTREAMED in hunks
        assert merged is None or after == merged
    else:
        assert result.outcome is Outcome.STRUCTURAL
        assert merged is None
    if merged is not None:
        assert after == merged
