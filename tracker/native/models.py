"""Tiny models with random weights, made from nothing: same name, same bytes, on every machine.

They exist so that the check needs no download and ends in seconds. Their weights mean nothing; what
counts is that they take the same path through the core as the real architecture: the memory class,
the M-RoPE sections, the projector. Never used to judge what a model says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Changes when the bytes of any model change, so that a stored one is made anew.
GENERATION = 3

_N_VOCAB = 263
_N_EMBD = 64
_N_BLOCK = 4
_SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
)


@dataclass(frozen=True, slots=True)
class TinyModel:
    """A model file that lies on disk. ``sha256``: of its content."""

    name: str
    path: Path
    sha256: str


class _Weights:
    """Draws weights in a fixed order from a fixed seed, and hands them to the writer."""

    def __init__(self, writer: Any, seed: int) -> None:
        import numpy as np

        self._writer = writer
        self._random = np.random.Generator(np.random.PCG64(seed))

    def add(
        self,
        name: str,
        *dims: int,
        spread: float | None = None,
        around: float = 0.0,
    ) -> None:
        """One F32 tensor; ``dims`` in ggml's order (fastest first).

        ``spread`` defaults to 1/sqrt(dims[0]), which keeps activations near 1.
        """
        scale = dims[0] ** -0.5 if spread is None else spread
        # random(): the raw generator's doubles; the ziggurat of normal() may change between
        # releases of numpy, and with it every digest.
        drawn = self._random.random(tuple(reversed(dims))) * 2.0 - 1.0
        self.put(name, (around + drawn * scale * 3.0**0.5).astype("float32"))

    def put(self, name: str, values: NDArray[np.float32]) -> None:
        """One tensor with given values, in numpy's order (slowest first)."""
        self._writer.add_tensor(name, values)


def _byte_tokens() -> list[str]:
    """The 256 tokens of a byte-level vocabulary, in GPT-2's printable spelling."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spelled = {byte: chr(byte) for byte in kept}
    for offset, byte in enumerate(byte for byte in range(256) if byte not in spelled):
        spelled[byte] = chr(256 + offset)
    return [spelled[byte] for byte in range(256)]


def _add_vocabulary(writer: Any, pre: str) -> None:
    tokens = [*_byte_tokens(), *_SPECIAL, "th"]
    control, normal = 3, 1
    types = [control if token in _SPECIAL else normal for token in tokens]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(["t h"])
    writer.add_eos_token_id(258)
    writer.add_pad_token_id(256)
    writer.add_add_bos_token(False)


def _add_text_keys(writer: Any, arch: str) -> None:
    writer.add_context_length(8192)
    writer.add_embedding_length(_N_EMBD)
    writer.add_block_count(_N_BLOCK)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_key_length(32)
    writer.add_value_length(32)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e7)
    writer.add_rope_dimension_count(16)
    writer.add_uint32(f"{arch}.full_attention_interval", 2)
    writer.add_ssm_conv_kernel(4)
    writer.add_ssm_inner_size(64)
    writer.add_ssm_state_size(16)
    writer.add_ssm_time_step_rank(4)
    writer.add_ssm_group_count(2)


def _add_embeddings(weights: _Weights) -> None:
    weights.add("token_embd.weight", _N_EMBD, _N_VOCAB, spread=1.0)
    weights.add("output.weight", _N_EMBD, _N_VOCAB)
    weights.add("output_norm.weight", _N_EMBD, spread=0.1, around=1.0)


def _add_mixer(weights: _Weights, block: int, *, joined: bool) -> None:
    """Attention in every second block, a gated delta net in the others.

    ``joined``: beta and alpha stand in one tensor, as in qwen3next.
    """
    at = f"blk.{block}"
    weights.add(f"{at}.attn_norm.weight", 64, spread=0.1, around=1.0)
    weights.add(f"{at}.post_attention_norm.weight", 64, spread=0.1, around=1.0)
    if block % 2:
        weights.add(f"{at}.attn_q.weight", 64, 256)
        weights.add(f"{at}.attn_k.weight", 64, 64)
        weights.add(f"{at}.attn_v.weight", 64, 64)
        weights.add(f"{at}.attn_output.weight", 128, 64)
        weights.add(f"{at}.attn_q_norm.weight", 32, spread=0.1, around=1.0)
        weights.add(f"{at}.attn_k_norm.weight", 32, spread=0.1, around=1.0)
        return
    weights.add(f"{at}.attn_qkv.weight", 64, 128)
    weights.add(f"{at}.attn_gate.weight", 64, 64)
    weights.add(f"{at}.ssm_conv1d.weight", 4, 128)
    weights.add(f"{at}.ssm_dt.bias", 4, spread=0.5)
    weights.add(f"{at}.ssm_a", 4, spread=0.1, around=-0.5)
    if joined:
        weights.add(f"{at}.ssm_ba.weight", 64, 8)
    else:
        weights.add(f"{at}.ssm_beta.weight", 64, 4)
        weights.add(f"{at}.ssm_alpha.weight", 64, 4)
    weights.add(f"{at}.ssm_norm.weight", 16, spread=0.1, around=1.0)
    weights.add(f"{at}.ssm_out.weight", 64, 64)


def _add_experts(weights: _Weights, block: int) -> None:
    at = f"blk.{block}"
    weights.add(f"{at}.ffn_gate_inp.weight", 64, 4)
    weights.add(f"{at}.ffn_gate_exps.weight", 64, 32, 4)
    weights.add(f"{at}.ffn_up_exps.weight", 64, 32, 4)
    weights.add(f"{at}.ffn_down_exps.weight", 32, 64, 4)
    weights.add(f"{at}.ffn_gate_inp_shexp.weight", 64)
    weights.add(f"{at}.ffn_gate_shexp.weight", 64, 32)
    weights.add(f"{at}.ffn_up_shexp.weight", 64, 32)
    weights.add(f"{at}.ffn_down_shexp.weight", 32, 64)


def _add_expert_keys(writer: Any, used: int = 2) -> None:
    writer.add_expert_count(4)
    writer.add_expert_used_count(used)
    writer.add_expert_feed_forward_length(32)
    writer.add_expert_shared_feed_forward_length(32)


def _qwen35(writer: Any, weights: _Weights) -> None:
    _add_text_keys(writer, "qwen35")
    writer.add_feed_forward_length(128)
    writer.add_rope_dimension_sections([3, 3, 2, 0])
    _add_vocabulary(writer, "qwen35")
    _add_embeddings(weights)
    for block in range(_N_BLOCK):
        _add_mixer(weights, block, joined=False)
        weights.add(f"blk.{block}.ffn_gate.weight", 64, 128)
        weights.add(f"blk.{block}.ffn_up.weight", 64, 128)
        weights.add(f"blk.{block}.ffn_down.weight", 128, 64)


def _qwen35moe(writer: Any, weights: _Weights, used: int = 2) -> None:
    _add_text_keys(writer, "qwen35moe")
    _add_expert_keys(writer, used)
    writer.add_rope_dimension_sections([3, 3, 2, 0])
    _add_vocabulary(writer, "qwen35")
    _add_embeddings(weights)
    for block in range(_N_BLOCK):
        _add_mixer(weights, block, joined=False)
        _add_experts(weights, block)


def _qwen35moe_all(writer: Any, weights: _Weights) -> None:
    """With all experts at work: where some are chosen, rounding now and then chooses others."""
    _qwen35moe(writer, weights, used=4)


def _qwen3next(writer: Any, weights: _Weights) -> None:
    """A hybrid with one-dimensional positions: must behave exactly as upstream."""
    _add_text_keys(writer, "qwen3next")
    _add_expert_keys(writer)
    _add_vocabulary(writer, "qwen2")
    _add_embeddings(weights)
    for block in range(_N_BLOCK):
        _add_mixer(weights, block, joined=True)
        _add_experts(weights, block)


def _mamba2(writer: Any, weights: _Weights) -> None:
    """Purely recurrent: the same memory class, without attention beside it."""
    import numpy as np

    writer.add_context_length(8192)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(0)
    writer.add_head_count(8)  # up to 0.3.29, this is the rank of the time step too
    writer.add_block_count(2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_ssm_conv_kernel(4)
    writer.add_ssm_inner_size(128)
    writer.add_ssm_state_size(16)
    writer.add_ssm_time_step_rank(8)
    writer.add_ssm_group_count(1)
    _add_vocabulary(writer, "qwen2")
    _add_embeddings(weights)
    for block in range(2):
        at = f"blk.{block}"
        weights.add(f"{at}.attn_norm.weight", 64, spread=0.1, around=1.0)
        weights.add(f"{at}.ssm_in.weight", 64, 2 * 128 + 2 * 16 + 8)
        weights.add(f"{at}.ssm_conv1d.weight", 4, 128 + 2 * 16)
        weights.add(f"{at}.ssm_conv1d.bias", 128 + 2 * 16, spread=0.1)
        weights.add(f"{at}.ssm_dt.bias", 8, spread=0.5)
        weights.add(f"{at}.ssm_a", 1, 8, spread=0.1, around=-0.5)
        weights.put(f"{at}.ssm_d", np.ones((8, 1), dtype=np.float32))
        weights.add(f"{at}.ssm_norm.weight", 128, 1, spread=0.1, around=1.0)
        weights.add(f"{at}.ssm_out.weight", 128, 64)


def _projector(writer: Any, weights: _Weights) -> None:
    """A vision encoder with Qwen3-VL's merger: one block, 16x16 patches merged two by two."""
    writer.add_type("mmproj")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "qwen3vl_merger")
    writer.add_bool("clip.use_gelu", True)
    for key, value in (
        ("embedding_length", 32),
        ("attention.head_count", 2),
        ("feed_forward_length", 64),
        ("block_count", 1),
        ("projection_dim", 64),
        ("image_size", 128),
        ("patch_size", 16),
        ("spatial_merge_size", 2),
    ):
        writer.add_uint32(f"clip.vision.{key}", value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-6)
    writer.add_array("clip.vision.image_mean", [0.5, 0.5, 0.5])
    writer.add_array("clip.vision.image_std", [0.5, 0.5, 0.5])

    weights.add("v.patch_embd.weight", 16, 16, 3, 32, spread=0.05)
    weights.add("v.patch_embd.weight.1", 16, 16, 3, 32, spread=0.05)
    weights.add("v.patch_embd.bias", 32, spread=0.1)
    weights.add("v.position_embd.weight", 32, 64, spread=0.5)
    for norm in ("v.post_ln", "v.blk.0.ln1", "v.blk.0.ln2"):
        weights.add(f"{norm}.weight", 32, spread=0.1, around=1.0)
        weights.add(f"{norm}.bias", 32, spread=0.1)
    for name, rows, columns in (
        ("v.blk.0.attn_qkv", 32, 96),
        ("v.blk.0.attn_out", 32, 32),
        ("v.blk.0.ffn_up", 32, 64),
        ("v.blk.0.ffn_down", 64, 32),
        ("mm.0", 128, 128),
        ("mm.2", 128, 64),
    ):
        weights.add(f"{name}.weight", rows, columns)
        weights.add(f"{name}.bias", columns, spread=0.1)


_RECIPES: dict[str, tuple[int, Callable[[Any, _Weights], None]]] = {
    "qwen35": (35, _qwen35),
    "qwen35moe": (36, _qwen35moe),
    "qwen35moe-all": (40, _qwen35moe_all),
    "qwen3next": (37, _qwen3next),
    "mamba2": (38, _mamba2),
    "projector": (39, _projector),
}

#: The text models, by architecture.
ARCHITECTURES = ("qwen35", "qwen35moe", "qwen3next", "mamba2")


@contextmanager
def _written(path: Path) -> Iterator[Path]:
    """A file that appears at ``path`` complete or not at all."""
    beside = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_model(name: str, directory: Path) -> TinyModel:
    """Make the model ``name`` in ``directory``: an architecture, ``qwen35moe-all``, ``projector``.

    Raises:
        KeyError: there is no recipe of that name.
    """
    from gguf import GGUFWriter

    seed, recipe = _RECIPES[name]
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.{GENERATION}.gguf"
    with _written(path) as beside:
        arch = "clip" if name == "projector" else name.partition("-")[0]
        writer = GGUFWriter(beside, arch)
        recipe(writer, _Weights(writer, seed))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    return TinyModel(name, path, hashlib.sha256(path.read_bytes()).hexdigest())


def tiny_model(name: str, directory: Path) -> TinyModel:
    """The model ``name``, made in ``directory`` unless this generation of it lies there already."""
    path = directory / f"{name}.{GENERATION}.gguf"
    if path.is_file():
        return TinyModel(name, path, hashlib.sha256(path.read_bytes()).hexdigest())
    return write_model(name, directory)
