"""A check that passed is kept by content, for every checkout of this user."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support import documents
from tracker.evidence.base import to_json
from tracker.evidence.verdict import Verdict
from tracker.native import reuse
from tracker.native.core import BuiltCore, Compiler
from tracker.native.plan import Subject, image_runs
from tracker.native.probe import Limits

PASSED = documents.check()


def core(folder: Path, **other: str) -> BuiltCore:
    """A core whose paths lie in ``folder``; nothing of it exists."""
    made = BuiltCore(
        variant="patched",
        tree="t",
        key="k",
        source_dir=folder / "source",
        build_dir=folder / "build",
        libraries=(),
        programs=(),
        include_dirs=(folder / "include",),
        digest="d",
        compiler=Compiler(folder / "cc", folder / "c++", "GNU", "g"),
        cxx_flags=(),
        defines=(),
    )
    return dataclasses.replace(made, **other)  # type: ignore[arg-type]


def key(
    folder: Path,
    *,
    weights: bytes = b"weights",
    n_ubatch: int = 512,
    claimed: tuple[str, ...] = (),
    **other: str,
) -> str:
    """The key of a check that happens in ``folder``."""
    folder.mkdir(exist_ok=True)
    model = folder / "tiny.gguf"
    model.write_bytes(weights)
    subject = Subject("qwen35", model, tuple(image_runs([n_ubatch])))
    return reuse.check_key({"patched": core(folder, **other)}, [subject], "r", Limits(), claimed)


def test_the_key_is_the_same_in_every_checkout(tmp_path: Path) -> None:
    """Equal content has one key wherever it lies, so a verdict can be shared between machines."""
    assert key(tmp_path / "here") == key(tmp_path / "there")


def test_whatever_the_check_depends_on_is_in_the_key(tmp_path: Path) -> None:
    """Another core, model, plan or claim is another check."""
    keys = [
        key(tmp_path),
        key(tmp_path, digest="other"),
        key(tmp_path, key="other"),
        key(tmp_path, weights=b"other"),
        key(tmp_path, n_ubatch=128),
        key(tmp_path, claimed=("image-512",)),
    ]
    assert len(set(keys)) == len(keys)


def test_a_check_that_passed_is_found_and_says_so(tmp_path: Path) -> None:
    """The same rows come back, marked as reused."""
    assert reuse.kept(tmp_path, "k") is None
    reuse.keep(tmp_path, "k", PASSED)
    assert reuse.kept(tmp_path, "k") == replace(PASSED, reused=True)


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.UNKNOWN])
def test_what_did_not_pass_is_looked_at_again(tmp_path: Path, verdict: Verdict) -> None:
    """A failure or a gap may have been the machine's fault: neither is kept nor believed."""
    failed = replace(PASSED, verdict=verdict)
    reuse.keep(tmp_path, "k", failed)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "k.json").write_bytes(to_json(failed))
    assert reuse.kept(tmp_path, "k") is None


def test_a_damaged_file_is_no_verdict(tmp_path: Path) -> None:
    """Half a document is as good as none."""
    reuse.keep(tmp_path, "k", PASSED)
    whole = (tmp_path / "k.json").read_bytes()
    (tmp_path / "k.json").write_bytes(whole[: len(whole) // 2])
    assert reuse.kept(tmp_path, "k") is None


def test_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder does not grow for ever."""
    monkeypatch.setattr(reuse, "_MOST_KEPT", 2)
    for number in range(3):
        reuse.keep(tmp_path, f"k{number}", PASSED)
        os.utime(tmp_path / f"k{number}.json", (number, number))
    reuse.keep(tmp_path, "k3", PASSED)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["k2.json", "k3.json"]


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    """The bump goes on; the next one checks again."""
    (tmp_path / "file").write_text("in the way")
    reuse.keep(tmp_path / "file" / "checks", "k", PASSED)
    assert reuse.kept(tmp_path, "k") is None


def test_it_lies_in_the_users_cache(private_cache: Path) -> None:
    """Beside the cores, so that whoever shares those shares it."""
    assert reuse.default_folder() == private_cache / "checks"
