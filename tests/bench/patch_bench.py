"""What the patch set costs at run time: the tiny model, token by token and image by image, baseline
and patched in turn. The model is so small that the book-keeping is a large part of each step: on a
real one the same cost is lost in the arithmetic.
"""

from __future__ import annotations

import statistics
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.real_cores import real_cores
from tracker.native.core import BuiltCore
from tracker.native.models import tiny_model

_ROUNDS = 7
_PROGRAM = r"""
#include "llama.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int, char ** argv) {
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model * model = llama_model_load_from_file(argv[1], llama_model_default_params());
    llama_context_params params = llama_context_default_params();
    params.n_ctx     = 8192;
    params.n_batch   = params.n_ubatch = 1024;
    params.n_seq_max = 8;
    params.n_rs_seq  = std::atoi(argv[2]);
    params.kv_unified = true;
    params.n_threads = params.n_threads_batch = 1;
    llama_context * ctx = llama_init_from_model(model, params);
    const int  n_embd = llama_model_n_embd(model);
    const auto since  = [](std::chrono::steady_clock::time_point from) {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    };
    auto from = std::chrono::steady_clock::now();
    for (int i = 0; i < 1500; ++i) {
        llama_batch batch = llama_batch_init(1, 0, 1);
        batch.n_tokens     = 1;
        batch.token[0]     = 'a';
        batch.pos[0]       = i;
        batch.n_seq_id[0]  = 1;
        batch.seq_id[0][0] = 0;
        batch.logits[0]    = 0;
        llama_decode(ctx, batch);
        llama_batch_free(batch);
    }
    const double text = since(from);
    from = std::chrono::steady_clock::now();
    for (int k = 0; k < 4; ++k) {
        const int n = 1024;
        llama_batch batch = llama_batch_init(n, n_embd, 1);
        std::vector<llama_pos> pos(4*n, 0);
        for (int i = 0; i < n; ++i) {
            pos[i]       = 2000 + 32*k;
            pos[i + n]   = pos[i] + i/32;
            pos[i + 2*n] = pos[i] + i%32;
            batch.n_seq_id[i]  = 1;
            batch.seq_id[i][0] = 0;
            batch.logits[i]    = 0;
            for (int j = 0; j < n_embd; ++j) {
                batch.embd[i*n_embd + j] = 0.01f*((i + j) % 17);
            }
        }
        llama_pos * own = batch.pos;
        batch.pos      = pos.data();
        batch.n_tokens = n;
        llama_decode(ctx, batch);
        batch.pos = own;
        llama_batch_free(batch);
    }
    std::printf("%.6f %.6f\n", text, since(from));
}
"""


def main() -> None:
    """One row for each way of decoding: medians of seven rounds, and their ratio."""
    print(f"{'decoded':<38}{'baseline s':>11}{'patched s':>11}{'ratio':>7}")
    with TemporaryDirectory(prefix="patch-bench-") as scratch:
        folder = Path(scratch)
        model = tiny_model("qwen35", folder).path
        programs = {
            variant: _compiled(core, folder / variant)
            for variant, core in real_cores(folder).items()
        }
        for n_snapshots in (0, 4):
            rounds = [
                {variant: _seconds(program, model, n_snapshots) for variant, program in turn}
                for turn in [list(programs.items()) for _ in range(_ROUNDS)]
            ]
            for at, what in enumerate(("1,500 tokens one by one", "4 images of 1,024 rows")):
                plain, patched = (
                    statistics.median(one[variant][at] for one in rounds)
                    for variant in ("baseline", "patched")
                )
                told = f"{what}, n_rs_seq {n_snapshots}"
                print(f"{told:<38}{plain:>11.3f}{patched:>11.3f}{patched / plain:>7.3f}")


def _compiled(core: BuiltCore, folder: Path) -> Path:
    folder.mkdir()
    (folder / "cost.cpp").write_text(_PROGRAM)
    command = [
        *(str(core.compiler.cxx), "-std=c++17", "-O1", "cost.cpp", "-o", "cost"),
        *(f"-I{include}" for include in core.include_dirs),
        *(str(library.path) for library in core.libraries if library.name != "mtmd"),
        f"-Wl,-rpath,{core.build_dir}",
    ]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "cost"


def _seconds(program: Path, model: Path, n_snapshots: int) -> tuple[float, float]:
    """Of the tokens, and of the images."""
    done = subprocess.run(
        [str(program), str(model), str(n_snapshots)], capture_output=True, text=True, check=True
    )
    text, images = map(float, done.stdout.split())
    return text, images
