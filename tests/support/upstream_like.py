"""A small upstream in the shape of the real one: a memory class, its sibling, and a router.

Written for the tests; only its shape is upstream's.
"""

from __future__ import annotations

RECURRENT = "src/memory-recurrent.cpp"
KV = "src/kv-cache.cpp"
ARCH_H = "src/arch.h"
ARCH = "src/arch.cpp"
MODEL_H = "src/model.h"
MODEL = "src/model.cpp"

FILES: dict[str, str] = {
    RECURRENT: """\
#include "memory-recurrent.h"

bool memory_recurrent::seq_rm(int seq, int p0, int p1) {
    if (p0 < 0) {
        p0 = 0;
    }
    return cells[seq].clear(p0, p1);
}

bool memory_recurrent::find_slot(const ubatch & ub) {
    for (int s = 0; s < ub.n_seqs; ++s) {
        auto & cell = cells[s];
        if (cell.pos >= 0 && ub.last(s) != cell.pos + ub.n_tokens) {
            // positions jump
            LOG_WARN("%s: odd token position %d after %d\\n", __func__, ub.last(s), cell.pos);
        }
        cell.pos = ub.last(s);
    }
    return true;
}
""",
    KV: """\
#include "kv-cache.h"

bool kv_cache::find_slot(const ubatch & ub) {
    if (ub.n_tokens > size) {
        LOG_WARN("%s: batch of %d is too big\\n", __func__, ub.n_tokens);
        return false;
    }
    return true;
}
""",
    ARCH_H: """\
#pragma once

enum arch_id {
    ARCH_BERT,
    ARCH_LLAMA,
    ARCH_MAMBA,
    ARCH_HYBRID,
    ARCH_OURS,
    ARCH_UNKNOWN,
};

bool arch_is_recurrent(const arch_id & arch);
bool arch_is_hybrid(const arch_id & arch);
""",
    ARCH: """\
#include "arch.h"

bool arch_is_recurrent(const arch_id & arch) {
    return arch == ARCH_MAMBA;
}

bool arch_is_hybrid(const arch_id & arch) {
    switch (arch) {
        case ARCH_HYBRID:
        case ARCH_OURS:
            return true;
        default:
            return false;
    }
}
""",
    MODEL_H: '#pragma once\n#include "arch.h"\n',
    MODEL: """\
#include "model.h"

memory * model::create_memory(const params & p) const {
    memory * res;

    switch (arch) {
        case ARCH_BERT:
            {
                res = nullptr;
            } break;
        case ARCH_LLAMA:
            {
                if (hparams.chunked) {
                    res = new kv_chunked(*this);
                    break;
                }
            }
            [[fallthrough]];
        default:
            {
                const bool draft = p.type == TYPE_DRAFT && (arch == ARCH_OURS);

                if (arch_is_recurrent(arch)) {
                    res = new memory_recurrent(*this);
                } else if (arch_is_hybrid(arch) && !draft) {
                    filter_cb filter = nullptr;
                    if (arch == ARCH_OURS) {
                        filter = [&](int il) { return il < hparams.n_layer; };
                    }
                    if (hparams.swa != SWA_NONE) {
                        res = new memory_hybrid_iswa(*this, std::move(filter));
                    } else {
                        res = new memory_hybrid(
                            /* model  */ *this,
                            /* filter */ std::move(filter));
                    }
                } else {
                    ASSERT(!hparams.broken);
                    res = new kv_cache(*this);
                }
            }
    }

    return res;
}
""",
}


def changed(path: str, old: str, new: str) -> dict[str, str]:
    """The one file ``path`` with ``old``, which stands in it once, replaced."""
    assert FILES[path].count(old) == 1, (path, old, FILES[path].count(old))
    return {path: FILES[path].replace(old, new)}
