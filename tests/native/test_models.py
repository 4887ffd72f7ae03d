"""Tiny models: the same bytes on every machine, whole or not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader

from tracker.native import models
from tracker.native.models import ARCHITECTURES, GENERATION, tiny_model, write_model

NAMES = (*ARCHITECTURES, "qwen35moe-all", "projector")


@pytest.mark.parametrize("name", NAMES)
def test_the_same_name_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    """The evidence of two machines can be compared."""
    first, second = (write_model(name, tmp_path / folder) for folder in "ab")
    assert first.path.read_bytes() == second.path.read_bytes()
    assert (first.sha256, first.path.name) == (second.sha256, f"{name}.{GENERATION}.gguf")


@pytest.mark.parametrize("name", NAMES)
def test_each_weight_is_a_finite_number(name: str, tmp_path: Path) -> None:
    """No tensor is constant zero, so each of them counts for the result."""
    read = GGUFReader(write_model(name, tmp_path).path)
    assert read.tensors
    for tensor in read.tensors:
        values = np.asarray(tensor.data)
        assert np.isfinite(values).all(), tensor.name
        assert np.abs(values).max() > 0, tensor.name


def test_the_models_differ(tmp_path: Path) -> None:
    """Each has weights of its own: equal logits of two models would be a mistake of ours."""
    assert len({write_model(name, tmp_path).sha256 for name in NAMES}) == len(NAMES)


def test_a_stored_model_is_not_made_again(tmp_path: Path) -> None:
    """This generation's file is taken as it lies there; another generation's is not."""
    made = write_model("mamba2", tmp_path)
    made.path.with_name(f"mamba2.{GENERATION - 1}.gguf").write_bytes(b"old")
    made.path.write_bytes(b"as it lies there")
    assert tiny_model("mamba2", tmp_path).path.read_bytes() == b"as it lies there"
    made.path.unlink()
    assert tiny_model("mamba2", tmp_path).sha256 == made.sha256


def test_a_model_that_cannot_be_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a file under the right name would be taken by every later run."""

    def broken(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setitem(models._RECIPES, "mamba2", (1, broken))
    with pytest.raises(OSError, match="no space left"):
        write_model("mamba2", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_there_is_no_model_of_another_name(tmp_path: Path) -> None:
    """A typing error is not a model of no content."""
    with pytest.raises(KeyError):
        tiny_model("qwen36", tmp_path)
