"""What the fuzz concludes from what the check program counts; the program is a stand-in."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import check_program
from tracker.evidence.build import Variant
from tracker.evidence.fuzz import FuzzDocument
from tracker.evidence.verdict import Verdict
from tracker.native import fuzz as room
from tracker.native.probe import Limits, Program

# Says for every run the same counts, or ends as `changes` wants it.
_SCRIPT = """\
#!{python}
import json, sys
changes = json.loads({changes!r})
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
jobs = [dict(word.split("=", 1) for word in line.split()[1:]) for line in open(given["--jobs"])]
for number in range(int(given["--skip"]), len(jobs)):
    print("\\nprobe: run", number, file=sys.stderr, flush=True)
    print(json.dumps(dict(begin=number)), flush=True)
    if "status" in changes:
        sys.exit(changes["status"])
    first = int(jobs[number]["first"])
    fuzz = dict(sequences=int(jobs[number]["count"]), cpu_seconds=0.5, failures=[],
        tried=dict(text=8, rm=2), done=dict(text=8, rm=1), compared=9, open=0, lucky=0,
        rounding=0.001, tolerance=0.01)
    fuzz.update(changes.get("fuzz", dict()))
    fuzz["failures"] = [dict(one, index=first, shortest=one) for one in fuzz["failures"]]
    said = dict(job=number, scenario="fuzz", error="", codes=[], warnings=[], others=[],
        facts=[dict(name="f", holds=True)], with_image=True, image_rows=1, memory_class="m",
        snapshots=4, logits=dict(digest="d", count=0, file=""), library={library!r},
        vision_library="", seconds=0.1, fuzz=fuzz)
    said.update(changes.get("said", dict()))
    print(json.dumps(said), flush=True)
"""

WRONG = {"kind": "wrong", "text": "the logits", "diff": 2.5, "moves": "text(0,1);rm(0,1)"}


def played(
    folder: Path, monkeypatch: pytest.MonkeyPatch, **changes: dict[str, Any]
) -> FuzzDocument:
    """40 sequences; ``changes``: by variant, what the stand-in says otherwise."""
    cores, programs = {}, {}
    variants: tuple[Variant, ...] = ("baseline", "patched")
    for variant in variants:
        place = folder / variant
        place.mkdir()
        cores[variant] = check_program.core(place, variant=variant)
        program = place / "probe"
        library = str(cores[variant].libraries[0].path)
        program.write_text(
            _SCRIPT.format(
                python=sys.executable, changes=json.dumps(changes.get(variant, {})), library=library
            )
        )
        program.chmod(0o755)
        programs[variant] = Program(program, cores[variant], has_mtmd=False)

    @contextmanager
    def stand_ins(*_: object) -> Iterator[tuple[dict[Variant, Program], Path]]:
        yield programs, folder / "runs"

    monkeypatch.setattr(room, "programs_in", stand_ins)
    return room.fuzz(cores, revision="r", seed=1, sequences=40, work=folder, limits=Limits(20.0))


def test_failures_are_what_the_patches_are_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrong without them and right with them is the pass."""
    document = played(tmp_path, monkeypatch, baseline={"fuzz": {"failures": [WRONG]}})
    baseline, patched = document.rows
    assert document.verdict is Verdict.OK
    assert (baseline.verdict, baseline.count("wrong"), baseline.narrowest) == (Verdict.OK, 16, 2.5)
    assert baseline.why.startswith("16 of 40 sequences give wrong results in silence")
    assert (patched.verdict, patched.why) == (Verdict.OK, "0 of 40 sequences fail")
    assert patched.sequences == 40
    assert patched.per_second == 5.0
    assert patched.executed == 0.9


def test_right_without_the_patches_needs_attention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may be unneeded."""
    document = played(tmp_path, monkeypatch)
    assert [row.verdict for row in document.rows] == [Verdict.ATTENTION, Verdict.OK]


@pytest.mark.parametrize(
    ("changes", "verdict", "word"),
    [
        ({"fuzz": {"done": {"text": 7, "rm": 0}}}, Verdict.UNKNOWN, "operations were executed"),
        ({"fuzz": {"sequences": 1}}, Verdict.UNKNOWN, "only 16 of 40 sequences"),
        ({"fuzz": {"failures": [WRONG]}}, Verdict.FAIL, "16 of 40 sequences fail: wrong 16"),
        ({"status": 3}, Verdict.FAIL, "ended with status 3"),
        ({"said": {"library": sys.executable}}, Verdict.FAIL, "another core was loaded"),
        ({"said": {"error": "out of memory"}}, Verdict.UNKNOWN, "out of memory"),
        ({"said": {"fuzz": None}}, Verdict.UNKNOWN, "only 0 of 40 sequences"),
    ],
)
def test_no_pass_without_proof(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    verdict: Verdict,
    word: str,
) -> None:
    """Too few operations or sequences, a run that ended early, another core: never a pass."""
    patched = played(tmp_path, monkeypatch, patched=changes).rows[1]
    assert patched.verdict is verdict
    assert word in patched.why
