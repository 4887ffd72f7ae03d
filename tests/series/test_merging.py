"""Merges without a process are git's merges."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.repos import build
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.series.merging import Change, Merged, Merger, Triple, to_new, touching


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quarantine]:
    folder = tmp_path_factory.mktemp("merging")
    build(folder / "up", [{"a": ""}])
    with Repository.open(folder / "up") as repository:
        with Quarantine(repository, folder / "q") as made:
            yield made


_LINES = st.lists(st.sampled_from(["a", "b", "{", "}", "", "c", "d"]), max_size=14)


@st.composite
def triples(draw: st.DrawFn) -> list[tuple[str, str, str]]:
    """Base, ours and theirs: a few edits each, lines often alike."""
    found = []
    for _ in range(draw(st.integers(1, 8))):
        base = draw(_LINES)
        sides = []
        for _ in range(2):
            side = list(base)
            for _ in range(draw(st.integers(0, 3))):
                at = draw(st.integers(0, len(side)))
                side[at : at + draw(st.integers(0, 2))] = draw(_LINES)[:2]
            sides.append(side)
        end = draw(st.sampled_from(["\n", ""]))
        texts = ["\n".join(lines) + (end if lines else "") for lines in (base, *sides)]
        found.append((texts[0], texts[1], texts[2]))
    return found


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(texts=triples())
def test_the_short_cut_gives_what_git_gives(
    store: Quarantine, texts: list[tuple[str, str, str]]
) -> None:
    """Where it answers at all: the same bytes, and clean only if git says so."""
    asked = [Triple(*(store.write_blob(text.encode()) for text in three)) for three in texts]
    ours = Merger(store)
    found = {triple: ours.merge([triple])[triple] for triple in asked}
    git = Merger(store)
    git._merge_with_git(asked)
    for triple in asked:
        assert found[triple].clean == git._merged[triple].clean
        if found[triple].clean:
            assert found[triple] == git._merged[triple]


def test_many_merges_in_one_process_do_not_mix(store: Quarantine) -> None:
    """Each keeps its own answer, conflicts beside clean ones."""
    made = []
    for number in range(40):
        base = f"{number}\n1\n2\n3\n"
        ours, theirs = base.replace("2", "x"), base.replace("2", "y" if number % 2 else "x")
        made.append(Triple(*(store.write_blob(t.encode()) for t in (base, ours, theirs))))
    merged = Merger(store).merge(made)
    for number, triple in enumerate(made):
        assert merged[triple].clean == (number % 2 == 0)
        if number % 2 == 0:
            assert merged[triple] == Merged(triple.ours, clean=True)


def test_a_binary_file_never_merges(store: Quarantine) -> None:
    """Not even where the bytes would."""
    sides = [b"\0a\n1\n2\n3\n4\n5\n", b"\0a\nx\n2\n3\n4\n5\n", b"\0a\n1\n2\n3\n4\ny\n"]
    triple = Triple(*(store.write_blob(side) for side in sides))
    merger = Merger(store)
    assert merger.changes(triple.base, triple.ours) is None
    assert not merger.merge([triple])[triple].clean


def test_lines_are_followed_through_changes() -> None:
    """Behind an insertion they moved; inside of a change they are where it starts."""
    changes = (Change(2, 2, 2, 5), Change(6, 8, 9, 9))
    assert [to_new(changes, line) for line in (0, 1, 2, 5, 6, 7, 8, 9)] == [0, 1, 5, 8, 9, 9, 9, 10]
    assert touching(changes, Change(5, 6, 0, 0))
    assert touching(changes, Change(2, 2, 0, 0))
    assert not touching(changes, Change(3, 5, 0, 0))
