"""Which class the router constructs, evaluated from its source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.upstream_like import ARCH, ARCH_H, FILES, MODEL, MODEL_H, RECURRENT, changed
from tests.watch.support import route, run, table
from tracker.config import RoutingTable
from tracker.evidence.verdict import Verdict
from tracker.evidence.watch import RoutingResult, RoutingStatus

NOTHING = {RECURRENT: "int x;\n"}


def answers(found: RoutingResult) -> dict[str, tuple[str, ...]]:
    return {answer.class_: answer.conditions for answer in found.to}


@pytest.mark.parametrize(
    ("arch", "when", "expected"),
    [
        ("ARCH_OURS", "default", ["memory_hybrid"]),
        ("ARCH_OURS", "draft", ["kv_cache"]),
        ("ARCH_OURS", "window", ["memory_hybrid_iswa"]),
        ("ARCH_HYBRID", "draft", ["memory_hybrid"]),
        ("ARCH_MAMBA", "default", ["memory_recurrent"]),
        ("ARCH_BERT", "default", ["nullptr"]),
        ("ARCH_UNKNOWN", "default", ["kv_cache"]),
        ("ARCH_LLAMA", "default", ["kv_chunked", "kv_cache"]),
        ("ARCH_OURS", "open", ["kv_cache", "memory_hybrid", "memory_hybrid_iswa"]),
    ],
)
def test_the_truth_table(tmp_path: Path, arch: str, when: str, expected: list[str]) -> None:
    """Each arch and situation gets the class that the code would construct."""
    found = route(tmp_path, arch, NOTHING, when=when)
    assert found.status is RoutingStatus.SAME
    assert sorted(answers(found)) == sorted(expected)


def test_evidence_names_the_lines_that_decided(tmp_path: Path) -> None:
    """The deciding lines are told in the order of evaluation, other files included."""
    found = route(tmp_path, "ARCH_OURS", NOTHING)
    assert found.to[0].evidence == (
        "src/model.cpp:19",
        "src/model.cpp:23",
        "src/arch.cpp:4",
        "src/model.cpp:25",
        "src/arch.cpp:10",
        "src/model.cpp:21",
        "src/model.cpp:30",
        "src/model.cpp:33",
    )
    assert found.to[0].conditions == (
        "hparams.swa == SWA_NONE (assumed)",
        "p.type != TYPE_DRAFT (assumed)",
    )


def test_what_cannot_be_decided_stays_a_condition(tmp_path: Path) -> None:
    """A conditional break before a fall-through gives both answers, each with its condition."""
    found = route(tmp_path, "ARCH_LLAMA", NOTHING)
    assert answers(found) == {
        "kv_chunked": ("hparams.chunked (open)",),
        "kv_cache": ("not hparams.chunked (open)",),
    }


def test_another_arch_added_is_the_same(tmp_path: Path) -> None:
    """Code for other architectures does not touch our answer."""
    label = "        case ARCH_LLAMA:\n"
    new = "        case ARCH_UNKNOWN:\n            { res = new kv_new(1); } break;\n"
    edit = changed(MODEL, label, new + label)
    assert route(tmp_path, "ARCH_OURS", edit).status is RoutingStatus.SAME


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (MODEL, "&& !draft", "&& draft == false"),
        (
            ARCH,
            "        case ARCH_HYBRID:\n        case ARCH_OURS:\n",
            "        case ARCH_OURS:\n        case ARCH_HYBRID:\n",
        ),
    ],
)
def test_the_same_answer_from_new_code(tmp_path: Path, path: str, old: str, new: str) -> None:
    """Rewritten deciding code with the same answer says so; a reordered label is not even that."""
    found = route(tmp_path, "ARCH_OURS", changed(path, old, new))
    wanted = RoutingStatus.SAME_ANSWER_NEW_CODE if path == MODEL else RoutingStatus.SAME
    assert found.status is wanted
    assert list(answers(found)) == ["memory_hybrid"]


@pytest.mark.parametrize(
    ("path", "old", "new", "now"),
    [
        (MODEL, "new memory_hybrid(", "new memory_hybrid_idx(", "memory_hybrid_idx"),
        (ARCH, "        case ARCH_OURS:\n", "", "kv_cache"),
        (ARCH, "arch == ARCH_MAMBA;", "arch != ARCH_BERT;", "memory_recurrent"),
        (MODEL, "case ARCH_BERT:\n", "case ARCH_BERT:\ncase ARCH_OURS:\n", "nullptr"),
        (MODEL, "return res;", "return arch == ARCH_OURS ? new kv_cache(1) : res;", "kv_cache"),
        (MODEL, "&& !draft) {", "&& !draft && arch != ARCH_OURS) {", "kv_cache"),
    ],
)  # fmt: skip
def test_another_class_is_changed(tmp_path: Path, path: str, old: str, new: str, now: str) -> None:
    """However the code comes to it, another class is a changed answer."""
    found = route(tmp_path, "ARCH_OURS", changed(path, old, new))
    assert found.status is RoutingStatus.CHANGED
    assert list(answers(found)) == [now]
    assert found.why == f"memory_hybrid became {now}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return res;", "for (auto & f : all) { if (f.takes(arch)) return f(); }\nreturn res;"),
        ("    return res;", "    return registry.at(arch)(*this);"),
        ("    return res;", "    goto done;\ndone:\n    return res;"),
        ("    return res;\n", ""),
        ("res = new memory_hybrid(\n", "res = pick(\n"),
        ("if (arch_is_recurrent", "if (@@) {}\nif (arch_is_recurrent"),
    ],
)  # fmt: skip
def test_what_cannot_be_followed_is_unresolved(tmp_path: Path, old: str, new: str) -> None:
    """A loop, a table, a jump, a missing return, an unknown maker or bad syntax: no guess."""
    found = route(tmp_path, "ARCH_OURS", changed(MODEL, old, new))
    assert found.status is RoutingStatus.UNRESOLVED
    assert found.why


@pytest.mark.parametrize(
    "meaning",
    [
        "#define memory_hybrid kv_cache\n",
        "#define ARCH_OURS ARCH_BERT\n",
        "#define arch_is_hybrid(a) false\n",
        "#define if(x) if (!(x))\n",
        "using memory_hybrid = kv_cache;\n",
        "typedef kv_cache memory_hybrid;\n",
    ],
)
@pytest.mark.parametrize("path", [MODEL, MODEL_H])
def test_a_name_with_another_meaning_is_unresolved(tmp_path: Path, path: str, meaning: str) -> None:
    """A macro or an alias that bears a deciding name, there or in a header: no answer."""
    found = route(tmp_path, "ARCH_OURS", {path: FILES[path] + meaning})
    assert found.status is RoutingStatus.UNRESOLVED
    assert "has another meaning" in found.why


def test_without_a_router_on_the_pin_nothing_is_gone(tmp_path: Path) -> None:
    """Where the routing function did not exist nothing is known, also of an arch that is absent."""
    found = route(tmp_path, "ARCH_NEW", {MODEL: FILES[MODEL]}, before={MODEL: "int x;\n"})
    assert found.status is RoutingStatus.UNRESOLVED
    assert "model::create_memory does not exist there" in found.why


def test_a_new_open_condition_is_unresolved(tmp_path: Path) -> None:
    """An answer that now depends on something nobody assumed is not called the same."""
    edit = changed(MODEL, "&& !draft) {", "&& !draft && !p.flat) {")
    found = route(tmp_path, "ARCH_OURS", edit)
    assert found.status is RoutingStatus.UNRESOLVED
    assert sorted(answers(found)) == ["kv_cache", "memory_hybrid"]


def test_an_arch_that_does_not_exist_gets_no_answer(tmp_path: Path) -> None:
    """The default branch is no answer for a name that no enum has."""
    found = route(tmp_path, "ARCH_NEXT", NOTHING)
    assert found.status is RoutingStatus.UNRESOLVED
    assert found.to == ()


def test_a_new_arch_is_told(tmp_path: Path) -> None:
    """An architecture that appears is a change, with what it gets."""
    edit = changed(ARCH_H, "    ARCH_UNKNOWN,\n", "    ARCH_NEXT,\n    ARCH_UNKNOWN,\n")
    found = route(tmp_path, "ARCH_NEXT", edit)
    assert found.status is RoutingStatus.CHANGED
    assert found.why == "new architecture; it gets kv_cache"


def test_a_helper_function_is_followed(tmp_path: Path) -> None:
    """Construction moved into a helper of the same class is evaluated there."""
    built = "new memory_hybrid("
    head, _, tail = FILES[MODEL].partition(built)
    rest = tail.partition(";")[2]
    text = f"{head}make_hybrid(p, arch == ARCH_OURS);{rest}"
    helper = """
static memory * make_hybrid(const params & q, bool ours) {
    if (ours) {
        return new memory_ours(q);
    }
    return new memory_hybrid(q);
}
"""
    found = route(tmp_path, "ARCH_OURS", {MODEL: text + helper})
    assert list(answers(found)) == ["memory_ours"]


def test_a_preprocessor_branch_is_a_condition(tmp_path: Path) -> None:
    """Code under ``#ifdef`` inside the router decides only under that condition."""
    edit = changed(
        MODEL,
        "    return res;",
        "#ifdef USE_FLAT\n    return new kv_flat(*this);\n#else\n    return res;\n#endif",
    )
    found = route(tmp_path, "ARCH_OURS", edit)
    assert answers(found)["kv_flat"][-1] == "defined(USE_FLAT) (open)"
    assert answers(found)["memory_hybrid"][-1] == "not defined(USE_FLAT) (open)"


def test_the_router_is_followed_when_it_moves(tmp_path: Path) -> None:
    """The routing function in another file still answers."""
    found = route(tmp_path, "ARCH_OURS", {MODEL: None, "src/model-memory.cpp": FILES[MODEL]})
    assert found.status is RoutingStatus.SAME
    assert found.to[0].evidence[0] == "src/model-memory.cpp:19"


def test_a_gone_router_is_unresolved(tmp_path: Path) -> None:
    """Without the routing function there is no answer, and the reason is told."""
    found = route(tmp_path, "ARCH_OURS", {MODEL: "int x;\n"})
    assert found.status is RoutingStatus.UNRESOLVED
    assert "model::create_memory does not exist there" in found.why


def test_a_new_memory_class_is_told(tmp_path: Path) -> None:
    """A class that the router can construct at the target only is a finding with its line."""
    label = "        case ARCH_LLAMA:\n"
    new = "        case ARCH_UNKNOWN:\n            { res = new kv_new(1); } break;\n"
    document = run(
        tmp_path,
        table(routing=(RoutingTable(name="ours", arch="ARCH_OURS"),)),
        changed(MODEL, label, new + label),
    )
    assert document.routing[0].status is RoutingStatus.SAME
    assert [(c.name, c.change, c.evidence) for c in document.classes] == [
        ("kv_new", "new", ("src/model.cpp:12",))
    ]
    assert document.verdict is Verdict.ATTENTION


@pytest.mark.parametrize("expected", [False, True])
def test_an_arch_that_may_be_absent_is_quiet(tmp_path: Path, expected: bool) -> None:
    """A future architecture may be watched before it exists; any other absent one is unresolved."""
    question = RoutingTable(name="next", arch="ARCH_NEXT", may_be_absent=expected)
    document = run(tmp_path, table(routing=(question,)), NOTHING)
    wanted = RoutingStatus.SAME if expected else RoutingStatus.UNRESOLVED
    assert document.routing[0].status is wanted
    assert document.verdict is (Verdict.OK if expected else Verdict.UNKNOWN)


@pytest.mark.parametrize(
    "code",
    [
        "auto swap_it = [&]() { res = new kv_other(1); };\nswap_it();\nreturn res;",
        "fill(res);\nreturn res;",
        "registry.fill(&res);\nreturn res;",
        "std::swap(res, other);\nreturn res;",
        "auto & again = res;\nagain = new kv_other(1);\nreturn res;",
        "auto * where = &res;\n*where = new kv_other(1);\nreturn res;",
        "replace_it(res);\nreturn res;",
        "[&]() { res = new kv_other(1); }();\nreturn res;",
        "run([&] { res = new kv_other(1); });\nreturn res;",
        "memory *& again = res;\nagain = new kv_other(1);\nreturn res;",
        "WRAP(res);\nreturn res;",
        "DONE;\nreturn res;",
        "RETURN_IF(p.fast);\nreturn res;",
    ],
)
def test_a_variable_that_others_may_change_is_not_trusted(tmp_path: Path, code: str) -> None:
    """A local function, a reference, an address, a callee or a macro may change it: no guess."""
    helper = "\nstatic void replace_it(memory *& m) { m = new kv_other(1); }\n"
    text = FILES[MODEL].replace("return res;", code) + helper
    found = route(tmp_path, "ARCH_OURS", {MODEL: text})
    assert found.status is RoutingStatus.UNRESOLVED, found.why


@pytest.mark.parametrize(
    "code",
    [
        "LOG_DEBUG(res);\nreturn res;",
        "ASSERT(res);\nreturn res;",
        "auto describe = [&](int x) { return x; };\ndescribe(1);\nreturn res;",
        "{ memory * res = nullptr; use(1); }\nreturn res;",
        "{ bool draft = true; (void) draft; }\nreturn res;",
        "const auto * same = shape(1);\nreturn res;",
        "for (auto & l : layers) { l.touch(p); }\nreturn res;",
        "look(res);\nreturn res;",
    ],
)
def test_what_cannot_change_the_answer_does_not(tmp_path: Path, code: str) -> None:
    """Logging, asserting, shadowing, loops over other things and calls by value leave it."""
    helper = "\nstatic void look(const memory * m) { m->x(); }\n"
    text = FILES[MODEL].replace("return res;", code) + helper
    found = route(tmp_path, "ARCH_OURS", {MODEL: text})
    assert list(answers(found)) == ["memory_hybrid"], found.why


def test_an_exception_is_an_answer_of_its_own(tmp_path: Path) -> None:
    """A path that throws constructs nothing."""
    edit = changed(MODEL, "&& !draft) {", '&& !draft) {\nthrow std::runtime_error("no");')
    assert list(answers(route(tmp_path, "ARCH_OURS", edit))) == ["an exception"]


def test_two_names_of_one_constant_are_not_called_different(tmp_path: Path) -> None:
    """An enumerator that equals ours leaves the comparison open instead of deciding it."""
    enum = FILES[ARCH_H].replace(
        "    ARCH_UNKNOWN,", "    ARCH_SAME = ARCH_OURS,\n    ARCH_UNKNOWN,"
    )
    text = FILES[MODEL].replace("case ARCH_BERT:", "case ARCH_SAME:")
    found = route(tmp_path, "ARCH_OURS", {ARCH_H: enum, MODEL: text})
    assert found.status is RoutingStatus.UNRESOLVED


@pytest.mark.parametrize(("when", "now"), [("draft", "kv_cache"), ("default", "memory_hybrid")])
def test_one_value_is_not_two_constants(tmp_path: Path, when: str, now: str) -> None:
    """What equals one constant does not equal another: such a question is not open."""
    code = "if (p.type == TYPE_DRAFT && p.type == TYPE_OTHER) { return new kv_x(1); }\nreturn res;"
    found = route(tmp_path, "ARCH_OURS", changed(MODEL, "return res;", code), when=when)
    assert list(answers(found)) == [now]


def test_a_value_that_was_never_set_is_not_a_condition(tmp_path: Path) -> None:
    """A branch on a variable without a value is unresolved, with that reason."""
    code = "bool flag;\nif (flag) { return new kv_x(1); }\nreturn res;"
    found = route(tmp_path, "ARCH_OURS", changed(MODEL, "return res;", code))
    assert found.status is RoutingStatus.UNRESOLVED
    assert "before it has a value" in found.why
    assert found.to == ()


@pytest.mark.parametrize(
    "code",
    [
        "case ARCH_BERT:\nif (p.x) {\ncase ARCH_OURS:\nreturn 0; }",
        "int early = 1;\n        case ARCH_BERT:",
    ],
)
def test_a_label_inside_a_block_is_not_followed(tmp_path: Path, code: str) -> None:
    """A jump into a block, or code before the first label, is unresolved."""
    found = route(tmp_path, "ARCH_OURS", changed(MODEL, "case ARCH_BERT:", code))
    assert found.status is RoutingStatus.UNRESOLVED
    assert "label" in found.why


def test_a_question_that_changes_nothing_is_not_asked(tmp_path: Path) -> None:
    """Two branches that construct the same class are one answer without an open condition."""
    code = "if (p.twice) { res = new kv_x(1); } else { res = new kv_x(2); }\nreturn res;"
    found = route(tmp_path, "ARCH_OURS", changed(MODEL, "return res;", code))
    assert [(answer.class_, answer.conditions) for answer in found.to] == [
        ("kv_x", ("hparams.swa == SWA_NONE (assumed)", "p.type != TYPE_DRAFT (assumed)"))
    ]
