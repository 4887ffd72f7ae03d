"""What is known about two real revisions comes out, and nothing else."""

from __future__ import annotations

import pytest

from tests.watch.archived import archived, between
from tracker import series
from tracker.bundled import bundled
from tracker.changed_lines import changed_lines
from tracker.config import Config
from tracker.evidence.watch import RegionStatus, RoutingStatus
from tracker.progress import SILENT
from tracker.watch.document import Comparison, compare_files

pytestmark = [pytest.mark.archives, pytest.mark.xdist_group("watch-archives")]


@pytest.fixture(scope="module")
def found(config: Config) -> Comparison:
    before, after = between(archived("0.3.29"), archived("0.3.36"))
    touched = changed_lines(series.read_series(bundled("patchset")))
    return compare_files(config.watch, before, after, progress=SILENT, touched=touched)


def test_each_region_of_the_main_job_has_its_status(found: Comparison) -> None:
    """From 0.3.29 to 0.3.36: the slot search only moved by lines, two functions changed."""
    assert {region.name: str(region.status) for region in found.regions} == {
        "warn-region": "unchanged",
        "find_slot": "unchanged",
        "seq_rm": "changed",
        "create_memory": "changed",
        "cell": "unchanged",
        "prepare": "unchanged",
        "seq_cp": "unchanged",
        "s_copy": "unchanged",
        "hybrid-init_batch": "changed",
        "batch-init": "changed",
        "image-n_pos": "unchanged",
        "image-decoder_pos": "unchanged",
        "image-token_pos": "unchanged",
        "mrope-positions": "moved-and-changed",
        "qwen35-linear": "changed",
        "called:llama_memory_recurrent::mem_cell": "unchanged",
        "called:llama_memory_recurrent::mem_cell::is_empty": "unchanged",
        "called:llama_ubatch": "changed",
        "called:llama_ubatch::is_pos_2d": "unchanged",
    }


def test_the_warning_is_found_at_its_lines(found: Comparison) -> None:
    """The if that prints it: lines 641 to 646, now 659 to 664."""
    warn = next(region for region in found.regions if region.name == "warn-region")
    assert warn.from_ is not None
    assert warn.to is not None
    assert (warn.from_.start, warn.from_.end) == (641, 646)
    assert (warn.to.start, warn.to.end) == (659, 664)
    assert warn.status is RegionStatus.UNCHANGED
    assert warn.blocking


def test_the_memory_class_of_each_architecture(found: Comparison) -> None:
    """Ours keep llama_memory_hybrid from new code; the new one gets the class with an index."""
    rows = {f"{row.name}/{row.when}": row for row in found.routing}
    assert {
        name: (str(row.status), [a.class_ for a in row.from_], [a.class_ for a in row.to])
        for name, row in rows.items()
    } == {
        "qwen35/default": (
            "same-answer-new-code",
            ["llama_memory_hybrid"],
            ["llama_memory_hybrid"],
        ),
        "qwen35/mtp": ("same-answer-new-code", ["llama_kv_cache"], ["llama_kv_cache"]),
        "qwen35/swa": (
            "same-answer-new-code",
            ["llama_memory_hybrid_iswa"],
            ["llama_memory_hybrid_iswa"],
        ),
        "qwen35moe/default": (
            "same-answer-new-code",
            ["llama_memory_hybrid"],
            ["llama_memory_hybrid"],
        ),
        "qwen35moe/mtp": ("same-answer-new-code", ["llama_kv_cache"], ["llama_kv_cache"]),
        "qwen35moe/swa": (
            "same-answer-new-code",
            ["llama_memory_hybrid_iswa"],
            ["llama_memory_hybrid_iswa"],
        ),
        "qwen3next/default": (
            "same-answer-new-code",
            ["llama_memory_hybrid"],
            ["llama_memory_hybrid"],
        ),
        "qwen3next/mtp": ("changed", ["llama_memory_hybrid"], ["llama_kv_cache"]),
        "qwen4exp/default": ("changed", [], ["llama_memory_hybrid_idx"]),
        "qwen4exp/mtp": ("changed", [], ["llama_memory_hybrid_idx"]),
    }
    evidence = rows["qwen35/default"].to[0].evidence
    assert evidence[0] == "src/llama-model.cpp:2658"  # the default label
    assert evidence[-1] == "src/llama-model.cpp:2756"  # new llama_memory_hybrid
    assert "src/llama-arch.cpp:1100" in evidence  # its label in llm_arch_is_hybrid
    assert not any(row.status is RoutingStatus.UNRESOLVED for row in found.routing)


def test_every_new_memory_class_is_named(found: Comparison) -> None:
    """Four classes can be constructed that could not before; none is gone."""
    assert {(c.name, c.change) for c in found.classes} == {
        ("llama_kv_cache_dsa_iswa", "new"),
        ("llama_kv_cache_dsv4", "new"),
        ("llama_kv_cache_msa", "new"),
        ("llama_memory_hybrid_idx", "new"),
    }


def test_every_architecture_is_read_to_the_end(config: Config) -> None:
    """Not only the configured ones: the router is evaluated for each, none is unresolved."""
    from tracker.watch.routing import Router
    from tracker.watch.selector import parse

    function = parse(config.watch.routing_function or "", "routing")
    router = Router(archived("0.3.36"), function, config.watch.routing_subject)
    archs = router.library.enumeration_of("LLM_ARCH_QWEN35")
    rows = {
        arch: router.row(arch, config.watch.situations["default"])
        for arch in sorted(archs)
        if arch.startswith("LLM_ARCH_")
    }
    assert len(rows) > 120
    assert {arch: row.fault for arch, row in rows.items() if row.fault} == {}
    assert {row.answers[0].class_ for row in rows.values() if len(row.answers) == 1} > {
        "nullptr",
        "llama_kv_cache",
        "llama_memory_recurrent",
        "llama_memory_hybrid",
        "llama_memory_hybrid_idx",
    }
