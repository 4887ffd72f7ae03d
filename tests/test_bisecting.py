"""bisect --until build|check: on real repositories; the core is one in miniature, or a stand-in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from tests.support import patches, repos
from tests.support.core_tree import core_tree, recurrent
from tracker import bisecting, config
from tracker.bisecting import Answer, Said
from tracker.bundled import bundled
from tracker.errors import UsageError
from tracker.evidence.sweep import BisectDocument
from tracker.evidence.verdict import Verdict
from tracker.progress import SILENT

_CONFIG = """\
state_dir = "state"
[upstream]
url = "{url}"
[series]
dir = "queue"
[[pins]]
name = "default"
kind = "track"
path = "pin.toml"
[check]
models = ["qwen35"]
n_ubatch = [128]
[build.recipes.check]
targets = ["llama", "mtmd"]
c_flags = "-O0"
cxx_flags = "-O0"
timeout_s = 120
"""
_OK: Answer = {"check:image-128/patched": Said(Verdict.OK, "right"), "build:x": Said(Verdict.OK)}


def _project(folder: Path, steps: list[repos.Step]) -> list[str]:
    ids = repos.build(folder / "upstream", steps)
    old = {"src/llama-memory-recurrent.cpp": recurrent(6)}
    new = {"src/llama-memory-recurrent.cpp": recurrent(0)}
    patches.series_of(folder / "queue", patches.diff(old, new))
    url = (folder / "upstream").as_uri()
    (folder / "lloyal-track.toml").write_text(_CONFIG.format(url=url))
    (folder / "pin.toml").write_text(f'commit = "{ids[0]}"\n')
    run(folder, "upstream", "fetch")
    return ids


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tracker", "-q", *arguments],
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[1]),
            "XDG_CACHE_HOME": str(folder / "cache"),
        },
    )


def document(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert done.stdout, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    jsonschema.validate(found, json.loads((bundled("schemas") / "bisect-1.json").read_bytes()))
    return found


Bisect = Callable[[list[Answer]], tuple[list[str], list[str], BisectDocument]]


@pytest.fixture
def bisect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bisect:
    """Bisects a history whose revisions give these answers; the ids, those tried, the document."""

    def found(answers: list[Answer]) -> tuple[list[str], list[str], BisectDocument]:
        steps = [repos.Step({"a": f"{n}\n"}, f"change {n} (#{n})") for n in range(len(answers))]
        ids = _project(tmp_path, steps)
        tried: list[str] = []

        def answer(_config: object, _until: str, commit: str, _progress: object) -> Answer:
            tried.append(commit)
            return answers[ids.index(commit)]

        monkeypatch.setattr(bisecting, "_try", answer)
        loaded = config.load(tmp_path / "lloyal-track.toml")
        return ids, tried, bisecting.bisect(loaded, "check", ids[0], "master", SILENT)

    return found


def test_the_first_other_answer_is_found_in_few_tries(bisect: Bisect) -> None:
    """No revision is built twice, and only what differs is told."""
    other = {**_OK, "check:image-128/patched": Said(Verdict.FAIL, "wrong", "6 warnings")}
    ids, tried, document = bisect([_OK] * 21 + [other] * 12)
    assert (document.first, document.last_before) == (ids[21], ids[20])
    assert document.verdict is Verdict.ATTENTION
    assert (document.tried, document.revisions) == (len(set(tried)), 32)
    assert len(tried) == len(set(tried)) <= 7
    assert document.items == ("check:image-128/patched",)
    assert document.before == "check:image-128/patched ok (right)"
    assert document.after == "check:image-128/patched fail (wrong)"
    assert document.commit is not None
    assert not isinstance(document.commit, str)
    assert document.commit.pr == 21


def test_an_answer_that_upstream_put_right_is_another_answer(bisect: Bisect) -> None:
    """The baseline's verdict stays ok: a patch cured it before, and now nothing is to cure."""
    before: Answer = {"check:rollback/baseline": Said(Verdict.OK, "wrong")}
    after: Answer = {"check:rollback/baseline": Said(Verdict.OK, "right")}
    ids, _tried, document = bisect([before, before, after])
    assert document.first == ids[2]


def test_why_alone_is_no_change(bisect: Bisect) -> None:
    """It names lines and numbers, which differ from one revision to the next."""
    fails: list[Answer] = [{"build:x": Said(Verdict.FAIL, why=f"error {n}")} for n in range(4)]
    _ids, tried, document = bisect(fails)
    assert (document.commit, document.verdict, len(tried)) == (None, Verdict.ATTENTION, 2)
    assert document.before == "build:x fail (error 0)"


def test_a_change_to_unknown_is_unknown(bisect: Bisect) -> None:
    """A check that timed out proves nothing about the commit where it did."""
    slow = {**_OK, "check:image-128/patched": Said(Verdict.UNKNOWN, "not proven")}
    ids, _tried, document = bisect([_OK, _OK, slow])
    assert (document.first, document.verdict) == (ids[2], Verdict.UNKNOWN)
    assert document.verdict.exit_code == 1


def test_both_ends_ok_is_ok(bisect: Bisect) -> None:
    """Two tries, and no commit."""
    _ids, tried, document = bisect([_OK] * 9)
    assert (document.commit, document.verdict, len(tried)) == (None, Verdict.OK, 2)
    assert document.before == document.after == "ok"


def test_swapped_ends_are_refused(tmp_path: Path) -> None:
    """Before anything is built."""
    ids = _project(tmp_path, [repos.Step({"a": "1\n"}), repos.Step({"a": "2\n"})])
    loaded = config.load(tmp_path / "lloyal-track.toml")
    with pytest.raises(UsageError, match="empty"):
        bisecting.bisect(loaded, "build", ids[1], ids[0], SILENT)


@pytest.mark.native
def test_the_commit_that_breaks_the_build_is_named(tmp_path: Path) -> None:
    """With real CMake and compiler; the second bisection finds the cores in the store."""
    context = "src/llama-context.cpp"
    broken = "int llama_context() { return missing; }\n"
    steps = [
        repos.Step(core_tree(), "start (#1)"),
        repos.Step({context: "int llama_context() { return 2; }\n"}, "fine (#2)"),
        repos.Step({context: broken}, "break it (#3)"),
        repos.Step({"README": "x\n"}, "nothing (#4)"),
        repos.Step({"README": "y\n"}, "nothing (#5)"),
    ]
    ids = _project(tmp_path, steps)
    found = document(run(tmp_path, "bisect", f"{ids[0]}..master", "--until", "build", "--json"))
    assert (found["first"], found["last_before"]) == (ids[2], ids[1])
    assert found["items"] == ["build:baseline", "build:patched"]
    assert "missing" in str(found["after"])
    assert found["tried"] == 4
    again = run(tmp_path, "bisect", f"{ids[0]}..{ids[1]}", "--until", "build")
    assert (again.returncode, again.stdout.splitlines()[-1]) == (0, f"at {ids[1][:12]}: ok")
    checked = run(tmp_path, "bisect", f"{ids[0]}..{ids[1]}", "--until", "check", "--json")
    same = document(checked)
    assert (checked.returncode, same["commit"], same["tried"]) == (1, None, 2)
    assert "fail (not proven)" in str(same["before"])  # the check's program needs a real core


def test_other_patches_than_the_configured_are_refused(tmp_path: Path) -> None:
    """A core is built from the configuration; another series would be ignored without a word."""
    _project(tmp_path, [repos.Step({"a": "1\n"}), repos.Step({"a": "2\n"})])
    done = run(tmp_path, "bisect", "master~1..master", "--until", "build", "--series", "queue")
    assert done.returncode == 2
    assert "--series" in done.stderr
