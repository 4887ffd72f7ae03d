"""The series on every revision of a range."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.series.rebases import agree
from tests.support.patches import diff, numbered, series_of
from tests.support.repos import File, Step, add, build, git, state
from tracker.errors import UsageError
from tracker.evidence.sweep import SweepDocument
from tracker.evidence.verdict import Verdict
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.series import bisect, read_series, rebase, sweep

_PIN: dict[str, File] = {"a": numbered(1, 30), "b": numbered(1, 30), "c": "0\n"}
_FIRST = diff(_PIN, {"a": numbered(1, 30, L15="mine")})
_SECOND = diff(_PIN, {"b": numbered(1, 30, L15="mine")})


def _twenty() -> list[Step]:
    """Commit 14 breaks the first patch, commit 17 the second; the others do no harm."""
    changes: dict[int, dict[str, File]] = {
        5: {"a": "top\n" + numbered(1, 30)},
        14: {"a": "top\n" + numbered(1, 30, L15="theirs")},
        17: {"b": numbered(1, 30, L15="theirs")},
    }
    return [
        Step(changes.get(n, {"c": f"{n}\n"}), subject=f"change {n} (#{100 + n})")
        for n in range(1, 21)
    ]


def _sweep(tmp_path: Path, steps: list[Step]) -> tuple[list[str], SweepDocument]:
    ids = build(tmp_path / "up", [Step(_PIN), *steps])
    series = read_series(series_of(tmp_path / "p", _FIRST, _SECOND))
    with Repository.open(tmp_path / "up") as repository:
        with Quarantine(repository, tmp_path / "q") as store:
            document = sweep(
                repository, series, from_=ids[0], to=ids[-1], quarantine=store, progress=SILENT
            )
    return ids, document


def test_the_furthest_clean_pin_and_who_broke_what(tmp_path: Path) -> None:
    """Not the head, and not the first revision that looks different (P46)."""
    ids, document = _sweep(tmp_path, _twenty())
    assert document.furthest is not None
    assert (document.furthest.commit, document.furthest.index) == (ids[13], 13)
    assert document.verdict is Verdict.CONFLICT
    assert document.revisions == 20
    assert document.contents == 4
    found = [(b.item, b.before, b.after, b.from_, b.to, b.worse) for b in document.breaks]
    assert found == [
        ("patch:0001.patch", "unchanged", "offset", ids[4], ids[5], None),
        ("patch:0001.patch", "offset", "conflict", ids[13], ids[14], True),
        ("patch:0002.patch", "unchanged", "conflict", ids[16], ids[17], True),
    ]
    commit = document.breaks[1].commit
    assert commit != "unknown"
    assert (commit.subject, commit.pr) == ("change 14 (#114)", 114)
    assert [(d.touched, d.contents, d.answers) for d in document.drift] == [(2, 3, 3), (1, 2, 2)]


def test_a_series_that_is_clean_again_says_so(tmp_path: Path) -> None:
    """The furthest pin stays before the break: what lies behind is only counted."""
    steps = _twenty()
    steps += [Step({"a": _PIN["a"], "b": _PIN["b"]}, subject="revert"), Step({"c": "x\n"})]
    ids, document = _sweep(tmp_path, steps)
    assert document.furthest is not None
    assert document.furthest.commit == ids[13]
    assert document.clean_again == 2
    assert document.verdict is Verdict.OK


def test_every_revision_has_the_verdict_of_a_rebase_onto_it(tmp_path: Path) -> None:
    """Sharing answers between revisions changes none of them; renames and deletions included."""
    chance = random.Random(7)  # noqa: S311  (a test, not a secret)
    lines = numbered(1, 30).splitlines(keepends=True)
    files: dict[str, list[str] | None] = {"a": list(lines), "b": list(lines)}
    steps: list[Step] = []
    for number in range(60):
        path = chance.choice(sorted(files))
        content = files[path]
        kind = chance.random()
        if content is None:
            files[path] = list(lines)
        elif kind < 0.08:
            files[path] = None
        elif kind < 0.16:
            files["moved-" + path], files[path] = content, None
        else:
            place = chance.randrange(len(content))
            content[place] = f"changed {number}\n" if kind < 0.6 else content[place] + "more\n"
        written: dict[str, File] = {
            p: "".join(c) if c is not None else None for p, c in files.items()
        }
        known = set().union(*(s.files for s in steps)) | set(_PIN)
        steps.append(
            Step(
                {p: c for p, c in written.items() if c is not None or p in known}
                | {"c": f"{number}"}
            )
        )
    ids = build(tmp_path / "up", [Step(_PIN), *steps])
    series = read_series(series_of(tmp_path / "p", _FIRST, _SECOND))
    assert len(set(agree(tmp_path, ids, series))) > 1


def _function(name: str, line: str = "step(4);") -> str:
    body = "".join(f"    {line if n == 4 else f'step({n});'}\n" for n in range(9))
    return f"void {name}() {{\n{body}}}\n\n"


_SPLIT: dict[str, File] = {
    "a.cpp": _function("stay") + _function("move"),
    "b.cpp": _function("other"),
}
_MOVE = diff(_SPLIT, {"a.cpp": _function("stay") + _function("move", "mine(4);")})
_MOVED = _function("other") + _function("move")


def test_a_function_is_followed_into_another_file_as_a_rebase_does(tmp_path: Path) -> None:
    """Also where none of the series' files changed: only the file that it went to did."""
    steps: list[dict[str, File]] = [
        {"a.cpp": _function("stay"), "b.cpp": _MOVED},
        {"c": "no code\n"},
        {"c.cpp": _function("move")},  # now two files define it
        {"c.cpp": None},
        {"b.cpp": _function("other") + _function("move", "theirs(4);")},
        {"b.cpp": _function("other"), "d.cpp": _function("move")},
        {"d.cpp": None},
        {"a.cpp": _SPLIT["a.cpp"]},
    ]
    ids = build(tmp_path / "up", [_SPLIT, *steps])
    answers = agree(tmp_path, ids, read_series(series_of(tmp_path / "p", _MOVE)))
    assert answers == [
        "unchanged",
        *["structural", "structural", "conflict", "structural", "conflict", "structural"],
        *["conflict", "unchanged"],
    ]


def test_the_commit_that_moves_the_definition_is_the_break(tmp_path: Path) -> None:
    """It touches no file of the series, and is named all the same."""
    steps = [
        Step({"a.cpp": _function("stay")}, subject="drop it (#1)"),
        Step({"b.cpp": _MOVED}, subject="it is here now (#2)"),
    ]
    ids = build(tmp_path / "up", [_SPLIT, *steps])
    series = read_series(series_of(tmp_path / "p", _MOVE))
    with Repository.open(tmp_path / "up") as repository:
        with Quarantine(repository, tmp_path / "q") as store:
            found = sweep(
                repository, series, from_=ids[0], to=ids[-1], quarantine=store, progress=SILENT
            )
            first = bisect(
                repository, series, from_=ids[0], to=ids[-1], quarantine=store, progress=SILENT
            )
    assert [(b.before, b.after, b.to) for b in found.breaks] == [
        ("unchanged", "conflict", ids[1]),
        ("conflict", "structural", ids[2]),
    ]
    commit = found.breaks[1].commit
    assert not isinstance(commit, str)
    assert (commit.subject, commit.pr) == ("it is here now (#2)", 2)
    assert found.drift[0].touched == 1
    assert first.first == ids[1]


def _merge(up: Path, branch: str, subject: str) -> str:
    """Merge into master by hand, a conflict in favour of the branch; returns the new commit."""
    git(up, "checkout", "-q", "master")
    identity = ["-c", "user.name=x", "-c", "user.email=x"]
    git(up, *identity, "merge", "-q", "--no-ff", "-X", "theirs", "-m", subject, branch)
    return git(up, "rev-parse", "HEAD")


def _branch(up: Path, name: str, at: str, *steps: Step) -> list[str]:
    git(up, "checkout", "-q", "-b", name, at)
    return add(up, steps)


def _branched(up: Path) -> dict[str, str]:
    """Two merged branches: one left the line before the pin, the other after it."""
    early, pin = build(up, [{"a": numbered(1, 30), "c": "0\n"}, _PIN], bare=False)
    (later,) = add(up, [Step({"c": "1\n"}, "main one")])
    old = _branch(
        up,
        "old",
        early,
        Step({"a": numbered(1, 30, L15="theirs")}, "break the first (#7)"),
        Step({}, "and move it", renames={"a": "moved"}),
    )
    merged_old = _merge(up, "old", "merge old")
    new = _branch(
        up,
        "new",
        later,
        Step({"c": "2\n"}, "harmless"),
        Step({"b": numbered(1, 30, L15="theirs")}, "break the second (#8)"),
        Step({"c": "3\n"}, "harmless too"),
    )
    merged_new = _merge(up, "new", "merge new")
    names = ["early", "pin", "later", "old 1", "old 2", "merge old"]
    ids = [early, pin, later, *old, merged_old, *new, merged_new]
    return dict(zip([*names, "new 1", "new 2", "new 3", "merge new"], ids, strict=True))


def test_with_merges_the_commit_of_a_branch_is_named_not_its_merge(tmp_path: Path) -> None:
    """Without, the merge is all that is known of it. The furthest pin is on the line either way."""
    ids = _branched(tmp_path / "up")
    series = read_series(series_of(tmp_path / "p", _FIRST, _SECOND))
    found = {}
    with Repository.open(tmp_path / "up") as repository:
        with Quarantine(repository, tmp_path / "q") as store:
            for merges in (False, True):
                found[merges] = sweep(
                    repository,
                    series,
                    from_=ids["pin"],
                    to=ids["merge new"],
                    quarantine=store,
                    progress=SILENT,
                    merges=merges,
                )
    names = {oid: name for name, oid in ids.items()}
    line, every = (
        [(names[b.from_], names[b.to], b.item[-10:], b.after) for b in document.breaks]
        for document in found.values()
    )
    assert line == [
        ("later", "merge old", "0001.patch", "conflict"),
        ("merge old", "merge new", "0002.patch", "conflict"),
    ]
    assert sorted(every) == [
        ("early", "old 1", "0001.patch", "conflict"),
        ("new 1", "new 2", "0002.patch", "conflict"),
    ]
    assert (found[False].revisions, found[True].revisions) == (3, 8)
    for document in found.values():
        assert document.furthest is not None
        assert names[document.furthest.commit] == "later"
        assert document.clean_again == 0


def test_with_merges_too_each_revision_has_the_verdict_of_a_rebase_onto_it(tmp_path: Path) -> None:
    """Also on a branch that the pin did not lead to, where a file moved."""
    ids = _branched(tmp_path / "up")
    series = read_series(series_of(tmp_path / "p", _FIRST, _SECOND))
    inside = [oid for name, oid in ids.items() if name != "early"]
    answers = agree(tmp_path, inside, series, merges=True)
    assert len(set(answers)) > 2


def test_a_symbol_that_vanishes_elsewhere_ends_the_answer(tmp_path: Path) -> None:
    """`needs` asks for a word in any file, so a commit to a file beside the series can change it;
    a sweep, a bisection and a rebase say so at the same revision."""
    pin = {**_PIN, "h": "the_symbol\n"}
    steps: list[dict[str, File]] = [
        {"c": "1\n"},
        {"h": "the_symbols\n"},  # another word
        {"a": numbered(1, 30, L15="theirs")},
        {"h2": "see the_symbol;\n"},
    ]
    ids = build(tmp_path / "up", [pin, *steps])
    toml = '[[patch]]\nfile = "0001.patch"\npurpose = "x"\nneeds = ["the_symbol"]\n'
    series = read_series(series_of(tmp_path / "p", _FIRST, toml=toml))
    answers = agree(tmp_path, ids, series)
    assert answers == ["unchanged", "unchanged", "not-applicable", "not-applicable", "conflict"]
    with Repository.open(tmp_path / "up") as repository:
        with Quarantine(repository, tmp_path / "q") as store:
            ends = {"from_": ids[0], "to": ids[-1]}
            first = bisect(repository, series, **ends, quarantine=store, progress=SILENT)
    assert first.first == ids[4]


def test_a_bisection_finds_what_the_sweep_finds(tmp_path: Path) -> None:
    """With a logarithmic number of verdicts."""
    ids = build(tmp_path / "up", [Step(_PIN), *_twenty()])
    series = read_series(series_of(tmp_path / "p", _FIRST, _SECOND))
    with Repository.open(tmp_path / "up") as repository:
        with Quarantine(repository, tmp_path / "q") as store:
            found = bisect(
                repository, series, from_=ids[0], to=ids[-1], quarantine=store, progress=SILENT
            )
            before = bisect(
                repository, series, from_=ids[0], to=ids[13], quarantine=store, progress=SILENT
            )
    assert (found.first, found.last_before) == (ids[14], ids[13])
    assert found.commit not in (None, "unknown")
    assert found.items == ("patch:0001.patch",)
    assert found.tried <= 4
    assert (before.commit, before.verdict) == (None, Verdict.OK)


def test_a_snapshot_history_blames_nobody(tmp_path: Path) -> None:
    """Its commits are archives: who changed something is unknown, never none."""
    ids = build(tmp_path / "up", [Step(_PIN), *_twenty()])
    git(tmp_path / "up", "config", "lloyal-track.source", "archive")
    series = read_series(series_of(tmp_path / "p", _FIRST, _SECOND))
    with Repository.open(tmp_path / "up") as repository:
        with Quarantine(repository, tmp_path / "q") as store:
            document = sweep(
                repository, series, from_=ids[0], to=ids[-1], quarantine=store, progress=SILENT
            )
            one = rebase(
                repository, series, from_=ids[0], onto=ids[-1], quarantine=store, progress=SILENT
            )
    assert document.snapshot
    assert {b.commit for b in document.breaks if isinstance(b.commit, str)} == {"unknown"}
    assert all(isinstance(b.commit, str) for b in document.breaks)
    assert [p.culprit for p in one.patches] == ["unknown", "unknown"]


def test_an_empty_range_is_a_usage_error(tmp_path: Path) -> None:
    """Most often the ends were swapped."""
    ids = build(tmp_path / "up", [Step(_PIN), *_twenty()])
    series = read_series(series_of(tmp_path / "p", _FIRST))
    before = state(tmp_path / "up")
    with Repository.open(tmp_path / "up") as repository:
        with Quarantine(repository, tmp_path / "q") as store:
            with pytest.raises(UsageError, match="empty"):
                sweep(
                    repository, series, from_=ids[-1], to=ids[0], quarantine=store, progress=SILENT
                )
    assert state(tmp_path / "up") == before


def test_a_start_beside_the_line_is_refused(tmp_path: Path) -> None:
    """Counting changes from there would mix two histories without a word."""
    ids = build(tmp_path / "up", [Step(_PIN), *_twenty()])
    up = tmp_path / "up"
    identity = ["-c", "user.name=x", "-c", "user.email=x"]
    tree = git(up, "rev-parse", f"{ids[14]}^{{tree}}")
    beside = git(up, *identity, "commit-tree", tree, "-p", ids[3], "-m", "beside")
    series = read_series(series_of(tmp_path / "p", _FIRST))
    with Repository.open(up) as repository:
        with Quarantine(repository, tmp_path / "q") as store:
            for run in (sweep, bisect):
                with pytest.raises(UsageError, match="first-parent line") as caught:
                    run(
                        repository,
                        series,
                        from_=beside,
                        to=ids[-1],
                        quarantine=store,
                        progress=SILENT,
                    )
                assert ids[3] in caught.value.next_step


def test_a_shallow_clone_is_swept_as_far_as_it_goes(tmp_path: Path) -> None:
    """Its history ends where it was cut; inside of it nothing is missing."""
    ids = build(tmp_path / "up", [Step(_PIN), *_twenty()])
    url = f"file://{tmp_path / 'up'}"
    git(tmp_path, "clone", "-q", "--bare", "--depth", "12", url, str(tmp_path / "shallow"))
    series = read_series(series_of(tmp_path / "p", _FIRST, _SECOND))
    with Repository.open(tmp_path / "shallow") as repository:
        assert repository.is_shallow
        with Quarantine(repository, tmp_path / "q") as store:
            document = sweep(
                repository, series, from_=ids[10], to=ids[-1], quarantine=store, progress=SILENT
            )
    assert document.revisions == 10
    assert document.furthest is not None
    assert document.furthest.commit == ids[13]


def test_a_filtered_clone_has_the_verdicts_of_a_whole_one(tmp_path: Path) -> None:
    """It fetches the contents that it needs, and the user's clone stays as it was (P44)."""
    steps = [*_twenty(), Step({}, renames={"a": "moved"})]
    ids, whole = _sweep(tmp_path, steps)
    git(tmp_path / "up", "config", "uploadpack.allowFilter", "true")
    git(tmp_path / "up", "config", "uploadpack.allowAnySHA1InWant", "true")
    clone = tmp_path / "clone"
    url = f"file://{tmp_path / 'up'}"
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", url, str(clone))
    before = state(clone)
    series = read_series(tmp_path / "p")
    with Repository.open(clone) as repository:
        with Quarantine(repository, tmp_path / "q2") as store:
            document = sweep(
                repository, series, from_=ids[0], to=ids[-1], quarantine=store, progress=SILENT
            )
            rebased = rebase(
                repository, series, from_=ids[0], onto=ids[-1], quarantine=store, progress=SILENT
            )
    assert document == whole
    assert rebased.patches[0].culprit is not None
    assert state(clone) == before
