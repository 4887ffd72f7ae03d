"""The check as a whole: what the parts say becomes rows, and real cores say it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import check_program
from tests.support.real_cores import Cores
from tracker.config import CheckTable
from tracker.errors import ConfigError
from tracker.evidence.check import CheckRow
from tracker.evidence.verdict import Verdict
from tracker.native.check import check, real_subject, tiny_subjects
from tracker.native.core import Compiler
from tracker.native.models import tiny_model
from tracker.native.plan import Run, Subject
from tracker.native.probe import Limits
from tracker.native.serving import picture

TABLE = CheckTable()


def test_a_core_that_the_program_does_not_fit_gives_rows_that_say_so(tmp_path: Path) -> None:
    """Each planned run fails with the compiler's own words; none is left out."""
    cxx = tmp_path / "c++"
    cxx.write_text("#!/bin/sh\necho 'probe.cpp:1: error: no member named cells'; exit 1\n")
    cxx.chmod(0o755)
    core = check_program.core(tmp_path, compiler=Compiler(cxx, cxx, "none", "none"))
    subject = check_program.subject(tmp_path, "image", "text")
    cores: Cores = {"baseline": core, "patched": replace(core, variant="patched")}
    document = check(cores, revision="r", subjects=(subject,), work=tmp_path, limits=Limits())
    assert document.verdict is Verdict.FAIL
    assert [(row.variant, row.scenario, row.right) for row in document.rows] == [
        (variant, scenario, None) for variant in cores for scenario in ("image", "text")
    ]
    assert all("no member named cells" in row.why for row in document.rows)


def test_a_model_that_cannot_be_made_is_told_as_a_configuration_error(tmp_path: Path) -> None:
    """With the names that there are."""
    with pytest.raises(ConfigError, match="no tiny model 'qwen36'; there are: qwen35, "):
        tiny_subjects(CheckTable(models=("qwen36",)), tmp_path)


def test_a_real_model_without_a_projector_has_no_mtmd_runs() -> None:
    """And with a picture of its own nothing is known of its grid."""
    rows_only = real_subject(TABLE, Path("m.gguf"), None, None)
    assert rows_only.runs
    assert not any(run.geometry == "mtmd" for run in rows_only.runs)
    pictured = real_subject(TABLE, Path("m.gguf"), Path("p.gguf"), Path("i.png"))
    through = [run for run in pictured.runs if run.geometry == "mtmd"]
    assert through
    assert all(run.warns is None and run.scenario != "parity" for run in through)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all, so that each program is compiled once."""
    return tmp_path_factory.mktemp("check")


def real(test: Callable[..., None]) -> Callable[..., None]:
    """A test that needs built cores."""
    marks = (pytest.mark.native, pytest.mark.archives, pytest.mark.xdist_group("real-cores"))
    for mark in marks:
        test = mark(test)
    return test


IMAGE = Run("image-128", "image", "rows", 128, proves=True, warns=12)
PICTURE = Run("image-128-mtmd", "image", "mtmd", 128, proves=True)
PATIENT = Limits()


def played(
    cores: Cores,
    work: Path,
    *runs: Run,
    limits: Limits = PATIENT,
    given: Mapping[str, Path] | None = None,
) -> dict[tuple[str, str], CheckRow]:
    """Rows by scenario and variant, of the tiny qwen35 or of the files ``given``."""
    models = work / "models"
    files = {
        "model": tiny_model("qwen35", models).path,
        "projector": tiny_model("projector", models).path,
    }
    subject = Subject("qwen35", runs=runs, **(files | dict(given or {})))
    document = check(cores, revision="r", subjects=(subject,), work=work, limits=limits)
    return {(row.scenario, row.variant): row for row in document.rows}


@real
def test_a_scenario_that_the_program_does_not_know_is_unknown(cores: Cores, work: Path) -> None:
    """It is no pass on either variant, and costs the next run nothing."""
    rows = played(cores, work, Run("new", "new", "rows"), IMAGE)
    for variant in cores:
        row = rows["new", variant]
        assert (row.verdict, row.why) == (Verdict.UNKNOWN, "no scenario of that name")
        assert rows["image-128", variant].verdict is Verdict.OK
    assert len(rows["image-128", "baseline"].warnings) == 12


@real
@pytest.mark.parametrize("limits", [Limits(memory_mib=30), Limits(timeout_s=0.001)])
def test_a_limit_ends_the_run_and_not_the_check(cores: Cores, work: Path, limits: Limits) -> None:
    """Too little memory or time is a failure with a reason, for each run."""
    rows = played(cores, work, IMAGE, limits=limits)
    for row in rows.values():
        assert (row.verdict, row.right) == (Verdict.FAIL, None)
        assert row.why


@real
def test_another_library_than_the_built_one_is_noticed(cores: Cores, work: Path) -> None:
    """The digest of what was really loaded must be the build's."""
    foreign = replace(
        cores["patched"],
        libraries=tuple(replace(one, sha256="0" * 64) for one in cores["patched"].libraries),
    )
    row = played({**cores, "patched": foreign}, work, IMAGE)["image-128", "patched"]
    assert row.verdict is Verdict.FAIL
    assert row.why.startswith("another core was loaded: ")


@real
def test_a_picture_in_a_file_goes_the_whole_way(cores: Cores, work: Path, tmp_path: Path) -> None:
    """Read, cut into patches, projected: 160x160 pixels are 5x5 rows, one ubatch, four warnings."""
    image = tmp_path / "picture.png"
    image.write_bytes(picture(160, 0))
    rows = played(cores, work, PICTURE, given={"picture": image})
    without, with_ = rows["image-128-mtmd", "baseline"], rows["image-128-mtmd", "patched"]
    assert (len(without.warnings), without.warnings[0].n_tokens) == (4, 25)
    assert (with_.warnings, with_.verdict, with_.max_abs_diff) == ((), Verdict.OK, 0.0)


@real
@pytest.mark.parametrize("broken", ["model", "projector", "picture"])
def test_a_file_of_garbage_fails_and_is_named(
    cores: Cores, work: Path, tmp_path: Path, broken: str
) -> None:
    """Whichever of the three: a reason with its path, never a pass, never a traceback."""
    image = tmp_path / "picture.png"
    image.write_bytes(picture(160, 0))
    garbage = tmp_path / "garbage.bin"
    garbage.write_bytes(b"GGUF" + bytes(range(256)) * 8)
    for row in played(cores, work, PICTURE, given={"picture": image, broken: garbage}).values():
        assert row.verdict in (Verdict.FAIL, Verdict.UNKNOWN)
        assert "garbage.bin" in row.why
