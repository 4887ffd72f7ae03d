"""Sessions on the real core: baseline against patched, and faults on purpose told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.real_cores import Cores
from tracker.errors import EnvironmentFault
from tracker.evidence.soak import Hypothesis, SoakDocument
from tracker.evidence.verdict import Verdict
from tracker.native.models import tiny_model
from tracker.native.serving import picture
from tracker.native.soak import Plan, soak

pytestmark = [
    pytest.mark.native,
    pytest.mark.archives,
    pytest.mark.xdist_group("real-cores"),
]

_TURNS = 60
_IMAGE_PX = 160  # 5 x 5 rows


def run(
    cores: Cores, folder: Path, *, leak_kib: int = 0, crash_at: int = 0, n_ubatch: int = 128
) -> SoakDocument:
    plan = Plan(
        model=tiny_model("qwen35", folder).path,
        projector=tiny_model("projector", folder).path,
        turns=_TURNS,
        n_ubatch=(n_ubatch,),
        image_px=_IMAGE_PX,
        leak_kib=leak_kib,
        crash_at=crash_at,
    )
    return soak(cores, plan, revision="r", work=folder / "soak")


def test_baseline_warns_and_patched_does_not(cores: Cores, tmp_path: Path) -> None:
    """Both survive; every second turn is an image, for which an unpatched core warns four times."""
    document = run(cores, tmp_path)
    baseline, patched = document.runs
    assert document.verdict is Verdict.OK, document
    assert [r.hypothesis for r in document.runs] == [Hypothesis.SURVIVES] * 2
    assert (baseline.turns, baseline.images) == (_TURNS, _TURNS // 2)
    assert (baseline.warnings, baseline.storm) == (4 * _TURNS // 2, "benign")
    assert (patched.warnings, patched.storm) == (0, "none")
    assert patched.samples[-1].rss > 10
    said = f"baseline survives after {_TURNS} turns, {2 * _TURNS} warnings / patched survives"
    assert said in document.summary


def test_an_injected_leak_is_told(cores: Cores, tmp_path: Path) -> None:
    """512 KiB a turn that nobody frees: growth of about that, and not a pass."""
    (found,) = run({"patched": cores["patched"]}, tmp_path, leak_kib=512).runs
    assert (found.hypothesis, found.verdict) == (Hypothesis.GROWS, Verdict.FAIL), found
    assert found.growth_kib is not None
    assert 400 < found.growth_kib < 700


def test_an_injected_crash_is_told(cores: Cores, tmp_path: Path) -> None:
    """The signal, the frames, and that the machine was not short of memory."""
    (found,) = run({"baseline": cores["baseline"]}, tmp_path, crash_at=21).runs
    assert (found.hypothesis, found.verdict) == (Hypothesis.CRASHES_IDLE, Verdict.FAIL), found
    assert (found.turns, found.code, found.signal) == (20, -11, "SIGSEGV")
    assert found.crash is not None
    assert any("main" in frame for frame in found.crash.frames)
    assert "non-consecutive" in found.last_warnings[-1]


def test_a_model_that_cannot_be_loaded_is_inconclusive(cores: Cores, tmp_path: Path) -> None:
    """No turn was done, so nothing is said about the core; the reason is told."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"no model")
    plan = Plan(model=broken, projector=broken, turns=4)
    (found,) = soak({"patched": cores["patched"]}, plan, revision="r", work=tmp_path / "w").runs
    assert (found.hypothesis, found.verdict) == (Hypothesis.INCONCLUSIVE, Verdict.UNKNOWN)
    assert "cannot load the model" in found.why


def test_a_core_without_a_server_says_so(cores: Cores, tmp_path: Path) -> None:
    """The check recipe builds none."""
    plan = Plan(model=tmp_path, projector=tmp_path, turns=4, way="server")
    with pytest.raises(EnvironmentFault, match="without llama-server"):
        soak({"patched": cores["patched"]}, plan, revision="r", work=tmp_path / "w")


def test_pictures_differ_and_are_pictures() -> None:
    """No turn can be answered from another's picture."""
    first, second = picture(40, 1), picture(40, 2)
    assert first != second
    assert first.startswith(b"\x89PNG\r\n\x1a\n")
    assert first[16:24] == (40).to_bytes(4, "big") * 2
