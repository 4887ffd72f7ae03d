"""Recipes as values: what an instrument adds."""

from __future__ import annotations

from tracker.native.recipe import Recipe, instrumented

RELEASE = Recipe(
    name="check",
    targets=("llama",),
    options=(),
    c_flags=(),
    cxx_flags=("-O3", "-DNDEBUG"),
    backends=("cpu",),
    unity=True,
    jobs=2,
    timeout_s=60,
    target_flags=(("ggml-cpu", "-O2 -DNDEBUG"),),
)


def test_a_debug_build_has_asserts_whatever_the_recipe_says() -> None:
    """The last definition wins, and flags of a target come after all others."""
    made = instrumented(RELEASE, ["debug"])
    assert made.cxx_flags.index("-UNDEBUG") > made.cxx_flags.index("-DNDEBUG")
    assert "-DNDEBUG" not in dict(made.target_flags)["ggml-cpu"]
    assert "-UNDEBUG" in made.definitions()["CMAKE_C_FLAGS_RELEASE"]


def test_instruments_can_be_combined_and_are_told_apart() -> None:
    """Each has a build folder and stored cores of its own; none leaves the recipe as it is."""
    both = instrumented(RELEASE, ["debug", "sanitize"])
    assert both.name == "check-debug-sanitize"
    assert "-fsanitize=address,undefined" in both.cxx_flags
    kinds = [RELEASE, both, *(instrumented(RELEASE, [one]) for one in ("debug", "sanitize"))]
    assert len({str(kind.definitions()) for kind in kinds}) == 4
    assert instrumented(RELEASE, []) == RELEASE
