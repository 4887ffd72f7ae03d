"""What a run must show to pass, on either variant; everything less is unknown or a failure."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.support import check_program
from tracker.evidence.build import Variant
from tracker.evidence.check import CheckRow
from tracker.evidence.verdict import Verdict
from tracker.native.judge import Digests, pairs, row_of
from tracker.native.plan import Run
from tracker.native.probe import Counted, Dumped, Ran, Said

IMAGE = Run("image-512", "image", "rows", proves=True, warns=6)
ROLLBACK = Run("rollback", "rollback", "rows", comparable=False, proves=True)
TEXT = Run("text", "text", "none")
BREAKS = Run("breaks-direct", "breaks-direct", "rows", proves=True, break_lines=True)
WARNED = ((41, 9, 0, 512),) * 6
RIGHT = Counted("rollback of 3", holds=True, diff=0.001, limit=0.05)
WRONG = Counted("rollback of 3", holds=False, diff=8.3, limit=0.05)


class Bench:
    """A folder with a core, and runs that loaded it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.core = check_program.core(folder)

    def logits(self, *values: float) -> Dumped:
        """Values in a file of their own; the digest is of their bytes, as the program's is."""
        content = np.array(values, dtype=np.float32).tobytes()
        digest = hashlib.sha256(content).hexdigest()[:16]
        file = self.folder / f"{digest}.{len([*self.folder.iterdir()])}.f32"
        file.write_bytes(content)
        return Dumped(digest=digest, count=len(values), file=str(file))

    def said(self, **changes: Any) -> Said:
        """A run that proves everything: an image, equal logits, no warning."""
        fields: dict[str, Any] = {
            "job": 0,
            "scenario": "image",
            "error": "",
            "codes": (0, 0),
            "warnings": (),
            "others": (),
            "facts": (),
            "with_image": True,
            "image_rows": 585,
            "memory_class": "llama_memory_hybrid",
            "snapshots": 4,
            "logits": self.logits(1.0, -2.5),
            "library": str(self.core.libraries[0].path),
            "vision_library": "",
            "seconds": 0.5,
        }
        return Said(**(fields | changes))

    def row(
        self,
        variant: Variant,
        ran: Ran | Said,
        baseline: Ran | Said | None = None,
        run: Run = IMAGE,
        **more: Any,
    ) -> CheckRow:
        """The row of ``ran``; the patched one is compared with a good baseline by default."""
        without = self.said(warnings=WARNED) if baseline is None else baseline
        return row_of(
            run,
            _ended(ran),
            _ended(without) if variant == "patched" else None,
            arch="qwen35",
            variant=variant,
            revision="r",
            core=self.core,
            digests=Digests({}),
            **more,
        )


def _ended(ran: Ran | Said) -> Ran:
    return Ran(ran, 0) if isinstance(ran, Said) else ran


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_good_run_passes_on_both_variants(bench: Bench) -> None:
    """Six warnings without the patch, none with it, the same bits: right only with it."""
    without = bench.row("baseline", bench.said(warnings=WARNED))
    with_ = bench.row("patched", bench.said())
    assert (without.verdict, without.right, without.why) == (Verdict.OK, False, "")
    assert (with_.verdict, with_.right, with_.why) == (Verdict.OK, True, "")
    assert (with_.max_abs_diff, with_.compared_with) == (0.0, "baseline")
    path = bench.core.libraries[0]
    assert with_.library == (str(path.path), path.sha256)


VARIANTS: tuple[Variant, ...] = ("baseline", "patched")


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("ran", "why"),
    [
        (Ran(None, -11, "GGML_ASSERT"), "ended by SIGSEGV: GGML_ASSERT"),
        (Ran(None, -6), "ended by SIGABRT"),
        (Ran(None, -99), "ended by signal 99"),
        (Ran(None, 9, "out of memory"), "ended with status 9 and no result: out of memory"),
        (Ran(None, 0, "its result cannot be read"), "no result: its result cannot be read"),
        (Ran(None, None, "ended by us after 120 s"), "did not end in time"),
    ],
)
def test_a_run_without_a_result_fails_and_says_how_it_ended(
    bench: Bench, variant: Variant, ran: Ran, why: str
) -> None:
    """A crash, a limit and a time-out are values; nothing of them counts as right or wrong."""
    row = bench.row(variant, ran)
    assert (row.verdict, row.right, row.rc) == (Verdict.FAIL, None, ran.code)
    assert why in row.why


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("changes", "verdict", "why"),
    [
        ({"error": "no scenario of that name"}, Verdict.UNKNOWN, "no scenario of that name"),
        ({"error": "std::bad_alloc"}, Verdict.UNKNOWN, "std::bad_alloc"),
        ({"library": ""}, Verdict.UNKNOWN, "which core was loaded"),
        ({"library": "/nowhere/libllama.so"}, Verdict.UNKNOWN, "which core was loaded"),
        ({"codes": (0, -3)}, Verdict.FAIL, "llama_decode returned -3"),
        ({"codes": (1,)}, Verdict.FAIL, "llama_decode returned 1"),
        (
            {"others": ("prepare: wrong tail for seq_id 1, (2 instead of 3)\n",)},
            Verdict.FAIL,
            "the core says: prepare: wrong tail for seq_id 1",
        ),
        (
            {"others": ("find_slot: duplicate tail for seq_id 0 in cell 1 and 2",)},
            Verdict.FAIL,
            "duplicate tail",
        ),
        ({"image_rows": 0}, Verdict.UNKNOWN, "no image row was decoded"),
        ({"memory_class": ""}, Verdict.UNKNOWN, "the memory object was not told"),
        ({"logits": Dumped("d", 0, "")}, Verdict.UNKNOWN, "neither logits nor facts"),
        ({"logits": Dumped("d", 2, "/nowhere.f32")}, Verdict.UNKNOWN, "logits cannot be read"),
    ],
)
def test_what_proves_nothing_is_no_pass(
    bench: Bench, variant: Variant, changes: dict[str, Any], verdict: Verdict, why: str
) -> None:
    """The same on both variants: a doubt about the run comes before what it says."""
    row = bench.row(
        variant, bench.said(warnings=WARNED if variant == "baseline" else (), **changes)
    )
    assert (row.verdict, row.right) == (verdict, None)
    assert why in row.why


def test_another_line_of_the_log_is_no_inconsistency(bench: Bench) -> None:
    """Cores warn about much: only what the verification of the cells says is a fault."""
    said = bench.said(others=("n_ctx_seq (4096) < n_ctx_train (8192)", "tail of the log"))
    assert bench.row("patched", said).verdict is Verdict.OK


def test_a_core_that_was_not_built_here_fails(bench: Bench) -> None:
    """Another content, or the same content from another place."""
    foreign = bench.folder / "system" / "libllama.so"
    foreign.parent.mkdir()
    for content in (b"of the system", b"the core"):
        foreign.write_bytes(content)
        row = bench.row("patched", bench.said(library=str(foreign)))
        assert (row.verdict, row.right) == (Verdict.FAIL, None)
        assert row.why == f"another core was loaded: {foreign}"
    bench.core.libraries[0].path.write_bytes(b"exchanged after the build")
    assert bench.row("patched", bench.said()).verdict is Verdict.FAIL


def test_a_library_found_through_a_link_is_the_same(bench: Bench) -> None:
    """The loader names the link, the build the file."""
    link = bench.folder / "libllama.so.0"
    link.symlink_to(bench.core.libraries[0].path)
    assert bench.row("patched", bench.said(library=str(link))).verdict is Verdict.OK


def test_one_bit_of_difference_fails(bench: Bench) -> None:
    """There is no tolerance where the arithmetic is the same."""
    near = float(np.nextafter(np.float32(1.0), np.float32(2.0)))
    row = bench.row("patched", bench.said(logits=bench.logits(near, -2.5)))
    assert row.verdict is Verdict.FAIL
    assert row.max_abs_diff == pytest.approx(1.19e-7, rel=0.01)
    assert "differ from the baseline's by up to 1.19e-07" in row.why


def test_the_largest_difference_is_told_whatever_its_sign(bench: Bench) -> None:
    """0.5 up and 8.5 down: 8.5."""
    row = bench.row("patched", bench.said(logits=bench.logits(1.5, -11.0)))
    assert row.max_abs_diff == 8.5


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("both", [True, False])
def test_logits_that_are_no_numbers_fail(bench: Bench, bad: float, both: bool) -> None:
    """Also where the baseline has the very same bits."""
    broken = bench.said(logits=bench.logits(1.0, bad))
    row = bench.row("patched", broken, broken if both else None)
    assert (row.verdict, row.right) == (Verdict.FAIL, None)
    assert row.why == "some logits are no finite numbers"
    assert row.max_abs_diff == (0.0 if both else float(np.finfo(np.float32).max))
    assert bench.row("baseline", broken).verdict is Verdict.FAIL


def test_logits_of_another_number_fail(bench: Bench) -> None:
    """One value more is as different as can be, not a common prefix."""
    row = bench.row("patched", bench.said(logits=bench.logits(1.0, -2.5, 0.0)))
    assert row.verdict is Verdict.FAIL
    assert row.max_abs_diff is not None
    assert row.max_abs_diff > 1e38


def test_a_file_of_another_length_is_no_evidence(bench: Bench) -> None:
    """The program said two values, the disk holds one."""
    logits = bench.logits(1.0)
    row = bench.row("patched", bench.said(logits=Dumped(logits.digest, 2, logits.file)))
    assert (row.verdict, row.why) == (Verdict.UNKNOWN, "the logits cannot be read")


def test_a_patched_run_needs_a_baseline(bench: Bench) -> None:
    """One that crashed, or that was never asked for, leaves nothing to compare with."""
    for baseline in (Ran(None, -11), Ran(None, None)):
        row = bench.row("patched", bench.said(), baseline)
        assert (row.verdict, row.why) == (
            Verdict.UNKNOWN,
            "no baseline to compare the logits with",
        )
    mine = (Ran(bench.said(), 0),)
    assert pairs({"patched": mine}, "patched") == [(mine[0], None)]
    assert pairs({"patched": mine, "baseline": mine}, "patched") == [(mine[0], mine[0])]
    assert pairs({"baseline": mine}, "baseline") == [(mine[0], None)]


def test_a_warning_with_the_patch_fails(bench: Bench) -> None:
    """Unless the run breaks positions on purpose: its facts count them."""
    said = bench.said(warnings=WARNED, facts=(RIGHT,))
    row = bench.row("patched", said, said)
    assert (row.verdict, row.right) == (Verdict.FAIL, False)
    assert row.why == "warns 6 times with the patches"
    broken = bench.row("patched", said, said, BREAKS)
    assert (broken.verdict, broken.right) == (Verdict.OK, True)


def test_a_wrong_fact_with_the_patch_fails_and_the_worst_is_told(bench: Bench) -> None:
    """Infinity is worse than any number; a false answer alone is enough."""
    worse = Counted("after a copy", holds=False, diff="inf", limit=0.05)
    answer = Counted("inside the image", holds=False, returned=True, expected=False)
    said = bench.said(facts=(RIGHT, WRONG, worse, answer))
    row = bench.row("patched", said, said, ROLLBACK)
    assert (row.verdict, row.right, row.facts) == (Verdict.FAIL, False, 4)
    assert row.why == "after a copy: logits off by inf (and 2 more)"
    assert row.broken[2] == "inside the image: answered true, right is false"
    assert row.max_abs_diff == 8.3
    assert bench.row("patched", said, said, TEXT).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("measured", "holds"),
    [
        ({"diff": 0.05, "limit": 0.05}, True),
        ({"diff": 0.0500001, "limit": 0.05}, False),
        ({"diff": 0.0, "limit": 0.0}, True),
        ({"diff": 1e-9, "limit": 0.0}, False),
        ({"diff": "nan", "limit": 0.05}, False),
        ({"diff": "inf", "limit": 0.05}, False),
        ({"limit": 0.05}, False),
        ({"diff": 9.0}, True),
        ({"returned": True, "expected": True}, True),
        ({"returned": True, "expected": False}, False),
        ({"expected": False}, False),
        ({"returned": True}, True),
        ({"count": 0, "expected_count": 0}, True),
        ({"count": 1, "expected_count": 0}, False),
        ({"expected_count": 0}, False),
        ({"returned": True, "expected": True, "diff": 7.0, "limit": 0.05}, False),
    ],
)
def test_a_fact_holds_up_to_its_limit_and_no_further(
    bench: Bench, measured: dict[str, Any], holds: bool
) -> None:
    """Its own numbers decide, whatever the program says of them; what was not measured fails."""
    said = bench.said(facts=(Counted("a fact", holds=True, **measured),))
    assert (bench.row("patched", said, said).verdict is Verdict.OK) is holds
    said = bench.said(facts=(Counted("a fact", holds=False, **measured),))
    assert bench.row("patched", said, said).verdict is Verdict.FAIL


def test_facts_that_the_baseline_states_cannot_be_left_out(bench: Bench) -> None:
    """Silence about what was wrong is no repair; more facts than the baseline are fine."""
    both = (RIGHT, Counted("after a copy", holds=True, count=0, expected_count=0))
    row = bench.row("patched", bench.said(facts=both[:1]), bench.said(facts=both), ROLLBACK)
    assert row.verdict is Verdict.UNKNOWN
    assert row.why == "states 1 facts less than without the patches"
    row = bench.row("patched", bench.said(facts=both), bench.said(facts=both[:1]), ROLLBACK)
    assert row.verdict is Verdict.OK


def test_a_rollback_may_compute_other_logits_than_the_baseline(bench: Bench) -> None:
    """There the baseline is wrong; its own reference is what it is measured against."""
    said = bench.said(facts=(RIGHT,), logits=bench.logits(7.0, 7.0))
    row = bench.row("patched", said, bench.said(facts=(WRONG,)), ROLLBACK)
    assert (row.verdict, row.max_abs_diff) == (Verdict.OK, 0.001)
    assert row.compared_with == "a replay of the rows that are left"


def test_a_baseline_that_is_right_may_need_no_patch(bench: Bench) -> None:
    """Attention, never a silent pass: nothing shows any more what the patch is for."""
    row = bench.row("baseline", bench.said())
    assert (row.verdict, row.right) == (Verdict.ATTENTION, True)
    assert "may be unneeded" in row.why
    row = bench.row("baseline", bench.said(facts=(RIGHT,)), run=ROLLBACK)
    assert row.verdict is Verdict.ATTENTION


def test_a_revision_without_snapshots_has_nothing_to_roll_back(bench: Bench) -> None:
    """Being right there says nothing against the patch."""
    row = bench.row("baseline", bench.said(facts=(RIGHT,), snapshots=0), run=ROLLBACK)
    assert (row.verdict, row.right) == (Verdict.OK, True)
    assert "no snapshots" in row.why


def test_wrong_facts_without_the_patch_are_what_it_is_for(bench: Bench) -> None:
    """Told with their number, and no failure."""
    row = bench.row("baseline", bench.said(facts=(RIGHT, WRONG)), run=ROLLBACK)
    assert (row.verdict, row.right) == (Verdict.OK, False)
    assert "1 of 2 facts wrong without the patches" in row.why


def test_another_number_of_warnings_than_measured_is_told(bench: Bench) -> None:
    """The storm changed: somebody should look, before the count is believed."""
    row = bench.row("baseline", bench.said(warnings=WARNED[:4]))
    assert row.verdict is Verdict.ATTENTION
    assert row.why == "warns 4 times without the patch, 6 were known"


def test_a_control_has_no_excuse_on_either_variant(bench: Bench) -> None:
    """No image: a warning or a wrong fact is a failure without the patches too."""
    said = bench.said(with_image=False, image_rows=0)
    assert bench.row("baseline", said, run=TEXT).verdict is Verdict.OK
    warned = msgspec.structs.replace(said, warnings=WARNED)
    row = bench.row("baseline", warned, run=TEXT)
    assert (row.verdict, row.why) == (Verdict.FAIL, "warns 6 times without any image")
    wrong = msgspec.structs.replace(said, facts=(WRONG,))
    assert bench.row("baseline", wrong, run=TEXT).verdict is Verdict.FAIL
    assert bench.row("baseline", warned, run=replace(TEXT, break_lines=True)).verdict is Verdict.OK


REPORT = "src/a.cpp:41:17: runtime error: signed integer overflow"


def test_a_report_that_only_the_patch_causes_fails(bench: Bench) -> None:
    """One that upstream gives too is attention on both; its line may have moved."""
    ran = Ran(bench.said(), 0, reports=(REPORT,))
    row = bench.row("patched", ran)
    assert (row.verdict, row.reports) == (Verdict.FAIL, (REPORT,))
    assert row.why == f"only with the patches, a sanitizer reports: {REPORT}"
    row = bench.row("patched", ran, known={"src/a.cpp: runtime error: signed integer overflow"})
    assert row.verdict is Verdict.ATTENTION
    upstream = Ran(bench.said(warnings=WARNED), 0, reports=(REPORT, "b"))
    row = bench.row("baseline", upstream)
    assert row.verdict is Verdict.ATTENTION
    assert row.why == f"a sanitizer reports of upstream's own: {REPORT} (and 1 more)"
