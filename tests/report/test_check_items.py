from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.report.drawing import bent, drawn
from tests.support import documents
from tracker.evidence.item import Item
from tracker.evidence.verdict import Status, Verdict
from tracker.evidence.watch import RoutingAnswer, RoutingStatus


def test_a_changed_class_blocks_and_is_never_called_unneeded() -> None:
    """Routing to another class is attention; only behaviour can show that the patch is unneeded."""
    watch = documents.watch()
    moved = replace(
        watch.routing[0],
        status=RoutingStatus.CHANGED,
        to=(
            RoutingAnswer(
                class_="llama_memory_hybrid_idx", conditions=("needs_index",), evidence=("x.cpp:1",)
            ),
        ),
    )
    rows = tuple(
        replace(row, memory_class="llama_memory_hybrid_idx") if row.arch == "qwen35" else row
        for row in documents.check().rows
    )
    item = drawn(bent(watch=replace(watch, routing=(moved,)), check=documents.check(*rows)))[
        "routing:qwen35/default"
    ]
    assert (item.status, item.forbids) == (Status.ATTENTION, True)
    assert "llama_memory_hybrid -> llama_memory_hybrid_idx" in item.summary
    assert any("does not make the patch unneeded" in line for line in item.evidence)


def test_the_built_core_contradicting_the_source_is_a_failure() -> None:
    """If the program got another class than the source promises, the table is wrong."""
    rows = tuple(replace(row, memory_class="llama_kv_cache") for row in documents.check().rows)
    item = drawn(bent(check=documents.check(*rows)))["routing:qwen35/default"]
    assert (item.status, item.forbids) == (Status.FAIL, True)
    assert "llama_kv_cache" in item.summary


def test_a_patch_that_nobody_needs_any_more_is_shown() -> None:
    """An unpatched core that does not warn is attention: the patch may be unneeded."""
    rows = tuple(replace(row, warnings=()) for row in documents.check().rows)
    item = drawn(bent(check=documents.check(*rows)))["check:image-512/baseline"]
    assert (item.status, item.forbids) == (Status.ATTENTION, True)
    assert "may be unneeded" in item.summary


def check_item(name: str, **changes: object) -> Item:
    """The item after the qwen35 run of it was changed."""
    scenario, _, variant = name.removeprefix("check:").partition("/")
    rows = tuple(
        replace(row, **changes)
        if (row.scenario, row.variant, row.arch) == (scenario, variant, "qwen35")
        else row
        for row in documents.check().rows
    )
    return drawn(bent(check=documents.check(*rows)))[name]


WARNED = documents.row("qwen35", "baseline", 512).warnings


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"warnings": WARNED}, Status.FAIL, "still warns 6 times"),
        ({"rc": -11}, Status.FAIL, "killed by signal 11"),
        ({"rc": 3}, Status.FAIL, "ended with status 3"),
        ({"rc": None}, Status.FAIL, "did not end"),
        ({"logits_digest": None}, Status.UNKNOWN, "nothing shows that the image was processed"),
        ({"logits_digest": "other", "max_abs_diff": 8.25}, Status.FAIL, "by up to 8.25"),
        ({"library": None}, Status.UNKNOWN, "which core was loaded"),
        ({"verdict": Verdict.UNKNOWN, "why": "no log"}, Status.UNKNOWN, "no log"),
        ({"verdict": Verdict.FAIL, "why": "an assert"}, Status.FAIL, "an assert"),
    ],
)
def test_a_patched_run_passes_only_if_everything_is_proven(
    changes: dict[str, object], status: Status, said: str
) -> None:
    """One bad run among the models decides, and names its model."""
    item = check_item("check:image-512/patched", **changes)
    assert (item.status, item.forbids) == (status, True)
    assert said in item.summary
    assert "qwen35" in item.summary


def test_a_warning_without_an_image_is_a_failure() -> None:
    """The text-only control must be silent."""
    assert check_item("check:text/patched", warnings=WARNED).status is Status.FAIL


def test_a_patched_run_without_its_baseline_is_unknown() -> None:
    """Silence alone proves nothing: there must be a baseline that computed the same bits."""
    rows = tuple(row for row in documents.check().rows if row.variant == "patched")
    found = drawn(bent(check=documents.check(*rows)))
    assert found["check:image-512/patched"].status is Status.UNKNOWN
    assert found["check:image-512/baseline"].status is Status.UNKNOWN


def test_a_model_that_was_not_run_is_unknown() -> None:
    """A configured model without a run is not covered by the other's success."""
    rows = tuple(row for row in documents.check().rows if row.arch != "qwen35moe")
    item = drawn(bent(check=documents.check(*rows)))["check:image-512/patched"]
    assert item.status is Status.UNKNOWN
    assert "qwen35moe: no run" in item.summary


def test_another_scenario_does_not_stand_in_for_the_prefill() -> None:
    """A fork at the same n_ubatch is judged by the check's own verdict and covers nothing else."""
    rows = tuple(
        replace(row, scenario=f"fork-{row.n_ubatch}") if row.n_ubatch == 1024 else row
        for row in documents.check().rows
    )
    found = drawn(bent(check=documents.check(*rows)))
    assert found["check:image-1024/patched"].status is Status.UNKNOWN
    assert found["check:fork-1024/baseline"].status is Status.PASS


def further_item(name: str, **changes: object) -> Item:
    """The item of a scenario beyond the prefill after its patched qwen35 run was changed."""
    scenario = name.removeprefix("check:").partition("/")[0]
    rows = tuple(
        replace(row, **changes)
        if (row.scenario, row.variant, row.arch) == (scenario, "patched", "qwen35")
        else row
        for row in documents.further()
    )
    return drawn(bent(check=documents.check(*documents.check().rows, *rows)))[name]


def test_a_scenario_beyond_the_prefill_has_its_own_verdict() -> None:
    """Wrong without the patch is what the patch is for; a break may warn, if the check says ok."""
    assert further_item("check:rollback/baseline").status is Status.PASS
    assert "still needed" in further_item("check:rollback/baseline").summary
    assert further_item("check:rollback/patched").summary.startswith("no warning; 20 facts right")
    assert "warns 6 times, as it must" in further_item("check:breaks-direct/patched").summary
    unsure = further_item("check:rollback/patched", verdict=Verdict.UNKNOWN, why="no row decoded")
    assert (unsure.status, unsure.forbids) == (Status.UNKNOWN, True)


def test_a_wrong_fact_fails_whatever_the_verdict_says() -> None:
    """An "ok" that carries a broken fact contradicts itself: the worse of the two counts."""
    item = further_item("check:rollback/patched", broken=("logits off by 7",), facts=20)
    assert (item.status, item.forbids) == (Status.FAIL, True)
    assert "1 of 20 facts wrong with the patch: logits off by 7" in item.summary


def test_upstreams_own_fault_is_told_and_does_not_forbid() -> None:
    """Wrong with and without the patch, and no patch is for it: attention, never a pass."""
    same = {"claimed": False, "verdict": Verdict.ATTENTION, "broken": ("off by 7",), "why": "own"}
    item = further_item("check:rollback/patched", **same)
    assert (item.status, item.forbids) == (Status.ATTENTION, False)
    assert further_item("check:rollback/patched", **same, rc=-11).status is Status.FAIL
    claimed = further_item("check:rollback/patched", **{**same, "claimed": True})
    assert (claimed.status, claimed.forbids) == (Status.FAIL, True)


def test_a_storm_that_no_patch_is_for_does_not_forbid() -> None:
    """Patches of somebody else's are not judged by a cure that they do not bring."""
    why = "upstream's own fault: warns 6 times"
    told = {"warnings": WARNED, "claimed": False, "verdict": Verdict.ATTENTION, "why": why}
    rows = tuple(
        replace(row, **told) if (row.scenario, row.variant) == ("image-512", "patched") else row
        for row in documents.check().rows
    )
    item = drawn(bent(check=documents.check(*rows)))["check:image-512/patched"]
    assert (item.status, item.forbids, item.summary) == (Status.ATTENTION, False, why)
    bent_logits = tuple(
        replace(row, logits_digest="other") if row.warnings and not row.claimed else row
        for row in rows
    )
    item = drawn(bent(check=documents.check(*bent_logits)))["check:image-512/patched"]
    assert (item.status, item.forbids) == (Status.FAIL, True)


def test_a_scenario_is_due_on_both_variants() -> None:
    """A run that exists without the patch and is missing with it is unknown, not left out."""
    rows = tuple(
        row for row in documents.further() if (row.scenario, row.variant) != ("fork", "patched")
    )
    item = drawn(bent(check=documents.check(*documents.check().rows, *rows)))["check:fork/patched"]
    assert (item.status, item.forbids) == (Status.UNKNOWN, True)


def test_the_variants_of_a_scenario_stand_together() -> None:
    """The order is the plan's, whichever model or variant was run first."""
    rows = sorted(documents.check().rows, key=lambda row: (row.arch, row.variant))
    names = [name for name in drawn(bent(check=documents.check(*rows))) if name[:6] == "check:"]
    assert names[:4] == [
        "check:image-128/baseline",
        "check:image-128/patched",
        "check:image-512/baseline",
        "check:image-512/patched",
    ]


def test_each_way_in_is_compared_with_its_own_baseline() -> None:
    """Rows handed over and rows through mtmd have other logits and other counts: told apart."""
    rows = documents.check().rows
    through = tuple(
        replace(row, geometry="mtmd", logits_digest=f"{row.arch} mtmd", warnings=row.warnings * 2)
        for row in rows
        if row.scenario == "image-512"
    )
    found = drawn(bent(check=documents.check(*rows, *through)))
    assert found["check:image-512/patched"].status is Status.PASS
    said = found["check:image-512/baseline"].summary
    assert "qwen35 through rows, qwen35moe through rows: warns 6 times" in said
    assert "qwen35 through mtmd, qwen35moe through mtmd: warns 12 times" in said


def test_a_run_at_the_pin_is_shown_and_does_not_decide() -> None:
    """Four-way proof: what the pin does is evidence beside the target's, with items of its own."""
    rows = documents.check().rows
    at_pin = replace(rows[0], revision=documents.PIN.commit, warnings=())
    found = drawn(bent(check=documents.check(*rows, at_pin)))
    item = found[f"check:image-128/baseline@{documents.PIN.commit[:12]}"]
    assert (item.status, item.forbids) == (Status.ATTENTION, False)
    assert found["check:image-128/baseline"].status is Status.PASS


def test_runs_at_the_pin_prove_nothing_about_the_target() -> None:
    """Neither do they cover a missing run, nor does their memory class count as the target's."""
    rows = documents.check().rows
    at_pin = tuple(
        replace(row, revision=documents.PIN.commit, memory_class="llama_memory_recurrent")
        for row in rows
    )
    target = tuple(row for row in rows if row.arch != "qwen35moe" or row.variant == "baseline")
    found = drawn(bent(check=documents.check(*target, *at_pin)))
    assert found["check:image-512/patched"].status is Status.UNKNOWN
    assert found["routing:qwen35/default"].status is Status.ATTENTION
