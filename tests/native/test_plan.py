"""The plan of the check: every scenario of the program, with what is known beforehand."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tracker.bundled import bundled
from tracker.native.models import ARCHITECTURES
from tracker.native.plan import ONE_DIMENSIONAL, Run, chosen, expected_warnings, runs_of
from tracker.series import read_series

SIZES = (128, 512, 1024)


def program_scenarios() -> set[str]:
    """The names under which the check program knows its scenarios."""
    sources = bundled("build/probe").glob("*.cpp")
    return {
        name
        for source in sources
        for name in re.findall(r'all\["([a-z-]+)"\]\s*=', source.read_text())
    }


@pytest.mark.parametrize(
    ("rows", "n_ubatch", "count"),
    [
        (39 * 15, 128, 12),
        (39 * 15, 512, 6),
        (39 * 15, 1024, 4),
        (8 * 8, 128, 4),
        (20 * 15, 128, 8),
        (20 * 15, 512, 4),
        (32 * 32, 128, 18),
        (32 * 32, 512, 6),
        (32 * 32, 1024, 4),
    ],
)
def test_the_storm_is_as_long_as_it_was_measured(rows: int, n_ubatch: int, count: int) -> None:
    """Each ubatch of the image and the text behind it, twice."""
    assert expected_warnings(rows, n_ubatch) == count


def test_the_plan_and_the_program_know_the_same_scenarios() -> None:
    """None is planned that the program lacks, none is there that nobody plans (but the fuzz)."""
    planned = {run.scenario for arch in ARCHITECTURES for run in runs_of(arch, SIZES)}
    assert planned == program_scenarios() - {"fuzz"}


def test_each_run_of_a_model_has_a_name_of_its_own() -> None:
    """Rows are told apart by it, and ``--scenario`` chooses by it."""
    for arch in ARCHITECTURES:
        counts = Counter(run.name for run in runs_of(arch, SIZES))
        assert set(counts.values()) == {1}


def test_a_run_is_one_line_of_settings() -> None:
    """The program's own words, in an order that does not depend on this machine."""
    run = Run("image-64", "image", "rows", 64, (("n_batch", "32"), ("other", "1")))
    assert run.line == "image n_ubatch=64 geometry=rows n_batch=32 other=1"


def test_one_dimensional_models_are_controls() -> None:
    """Nothing there may warn or go wrong without the patches, and every bit must stay."""
    for arch in ONE_DIMENSIONAL:
        runs = runs_of(arch, SIZES)
        assert not any(run.proves or run.geometry != "none" for run in runs)
        assert all(run.comparable for run in runs)


def test_only_a_rollback_may_change_logits() -> None:
    """There the baseline is wrong; everywhere else the patch may not change a bit."""
    free = {run.scenario for run in runs_of("qwen35", SIZES) if not run.comparable}
    assert free
    assert all(scenario.startswith("rollback") for scenario in free)


def test_every_configured_size_has_its_prefill_both_ways() -> None:
    """Also sizes that nobody measured: the count is computed."""
    names = {run.name: run for run in runs_of("qwen35", (64, 2048))}
    assert names["image-64"].warns == 22
    assert names["image-2048-mtmd"].warns == 4
    assert "image-512" not in names


def test_runs_are_chosen_by_their_name_or_the_programs() -> None:
    """A name that nothing has chooses nothing, which the command refuses."""
    runs = runs_of("qwen35", SIZES)
    assert chosen(runs, None) == runs
    assert [run.name for run in chosen(runs, "image-512")] == ["image-512"]
    assert {run.name for run in chosen(runs, "fork")} == {"fork", "fork-mtmd"}
    assert chosen(runs, "image-51") == ()


def test_the_patches_claim_scenarios_that_there_are() -> None:
    """A typing error in a claim would excuse every failure as upstream's own fault."""
    known = {run.name for run in runs_of("qwen35", SIZES)}
    known |= {run.scenario for run in runs_of("qwen35", SIZES)}
    folder: Path = bundled("patchset")
    claimed = {name for member in read_series(folder).members for name in member.entry.proof}
    assert claimed
    assert claimed <= known
