"""Mutated patches: no traceback, and nothing called clean that git itself would not apply."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.patches import diff, numbered
from tests.support.repos import File, build, state
from tracker.evidence.rebase import Flag, Outcome
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.series.engine import Engine, Target
from tracker.series.patch import Kind
from tracker.series.reading import Entry, Member, Series, read_patch
from tracker.series.trees import written

_PIN: dict[str, File] = {
    "src/a.cpp": "int f() {\n" + numbered(1, 14) + "}\n\nint g() {\n" + numbered(1, 14) + "}\n",
    "src/b.h": numbered(1, 12) + "no newline at the end",
    "bin": b"\0\1\2\3" * 40,
}
_MINE: dict[str, File] = {
    "src/a.cpp": str(_PIN["src/a.cpp"]).replace("line 5\n", "mine 5\nand more\n", 1),
    "src/b.h": numbered(1, 12, L6="") + "no newline at the end\n",
    "new/c.cpp": "int h();\n",
    "src/empty": "",
    "bin": b"\0\1\2\4" * 40,
}
_SEEDS = (
    diff(_PIN, _MINE, "--binary"),
    diff(_PIN, {"src/a.cpp": None, "src/moved.cpp": _MINE["src/a.cpp"]}, "-M"),
    diff(_PIN, {"src/b.h": ("100755", str(_PIN["src/b.h"]).encode())}),
    diff(_PIN, {"src/b.h": None}),
    re.sub(rb"(?m)^(diff --git|index|new file mode).*\n", b"", diff(_PIN, {"x/y": "1\n2\n"})),
)
_BITS = st.sampled_from(
    [
        b"@@ -1,3 +1,4 @@\n",
        b"@@ -0,0 +1 @@\n",
        b"--- a/src/a.cpp\n",
        b"+++ b/../../outside\n",
        b"+++ b/.git/config\n",
        b"+++ /dev/null\n",
        b"diff --git a/src/a.cpp b/src/b.h\n",
        b"rename from src/a.cpp\n",
        b"rename to /tmp/outside\n",
        b"new file mode 120000\n",
        b"deleted file mode 100644\n",
        b"\\ No newline at end of file\n",
        b" line 5\n",
        b"-line 9\n",
        b"+\r\n",
        b"\n",
        b"\0\n",
        b"\xff\xfe\n",
        b"GIT binary patch\n",
        b"literal 5\n",
        b"-- \n",
        b'--- "a/src/\\303\\251\n',
        b"@@ -99999999999,1 +1 @@\n",
    ]
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A patch with a few lines dropped, doubled, moved, changed or put in."""
    lines = draw(st.sampled_from(_SEEDS)).split(b"\n")
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(lines) - 1, 0)))
        kind = draw(st.sampled_from(["drop", "double", "swap", "put", "number", "byte", "cut"]))
        if kind == "drop":
            del lines[at]
        elif kind == "double":
            lines.insert(at, lines[at])
        elif kind == "swap" and at + 1 < len(lines):
            lines[at], lines[at + 1] = lines[at + 1], lines[at]
        elif kind == "put":
            lines.insert(at, draw(_BITS).removesuffix(b"\n"))
        elif kind == "number":
            new = str(draw(st.integers(0, 40))).encode()
            lines[at] = re.sub(rb"\d+", new, lines[at], count=1)
        elif kind == "byte" and lines[at]:
            place = draw(st.integers(0, len(lines[at]) - 1))
            lines[at] = lines[at][:place] + draw(st.binary(max_size=2)) + lines[at][place + 1 :]
        elif kind == "cut":
            del lines[at:]
        if not lines:
            lines = [b""]
    return b"\n".join(lines)


class Bench:
    """A repository and a store that all examples share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commit = build(folder / "up", [_PIN])[0]
        self.repository = Repository.open(folder / "up")
        self.store = Quarantine(self.repository, folder / "q")
        self.tree = self.repository.tree(self.commit)

    def git_result(self, raw: bytes) -> str | None:
        """The tree that ``git apply`` makes of the pin, None if it refuses."""
        env = {"GIT_INDEX_FILE": str(self.folder / "index")}
        self.store.git(["read-tree", self.tree], extra_env=env)
        args = ["apply", "--cached", "--whitespace=nowarn", "-"]
        if self.store.git(args, stdin=raw, extra_env=env, check=False).code != 0:
            return None
        made = self.store.git(["write-tree"], extra_env=env, check=False)
        return made.stdout.decode().strip() if made.code == 0 else None


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(tmp_path_factory.mktemp("fuzz"))
    yield made
    made.store.close()
    made.repository.close()


@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(raw=mutated())
def test_no_verdict_is_better_than_what_git_proves(bench: Bench, raw: bytes) -> None:
    """On the pin itself: what we call clean git applies too, with the same tree."""
    patch = read_patch(raw, "fuzz.patch")
    series = Series(
        folder=bench.folder / "p",
        members=(Member(entry=Entry(file="fuzz.patch"), forms=(patch,)),),
        ordered_by="names",
    )
    engine = Engine(bench.store, series, bench.tree)
    ((judged,),) = engine.judge_all([Target(engine.pin)])
    result = judged.in_series
    if patch.fault:
        assert result.outcome is Outcome.UNUSABLE
        return
    assert result.outcome is not Outcome.UPSTREAMED or judged.step.base.value != "none"
    if not result.outcome.clean or patch.remarks:
        return
    expected = bench.git_result(raw)
    ours = written(bench.store, bench.tree, result.after)
    if expected is None:
        # git looks at nothing but the pin; a base that an index line names is proof as well, and
        # a patch without any is flagged.
        assert Flag.NO_BASE in result.flags or judged.step.base.value == "index", result
        return
    assert ours == expected or result.flags == (Flag.AMBIGUOUS,)
    assert all(
        file.kind is not Kind.MODIFY or file.old_path == file.new_path for file in patch.files
    )


def test_nothing_was_written_outside(bench: Bench, tmp_path: Path) -> None:
    """The user's repository is as it was, and no mutated path left our folder."""
    assert sorted(state(bench.folder / "up")) == sorted(state(bench.folder / "up"))
    assert not (bench.folder.parent / "outside").exists()
    assert not Path("/tmp/outside").exists()
    assert list(tmp_path.iterdir()) == []
