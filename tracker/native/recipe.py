"""What to build and how: a recipe of the configuration as a value, and what identifies its result.

Pure. The machine's paths are no part of a recipe: two machines with the same compiler and the same
recipe make the same core.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tracker.config import BuildTable, DownstreamTable
from tracker.errors import UsageError
from tracker.evidence.check import Instrument

# Upstream's option for each backend that a recipe may ask for.
BACKEND_OPTIONS = {
    "cpu": "GGML_CPU",
    "metal": "GGML_METAL",
    "cuda": "GGML_CUDA",
    "vulkan": "GGML_VULKAN",
}

# A build must not reach out: no download of a web interface, no package that configure fetches, no
# export into the user's home.
_QUIET_OPTIONS = {
    "FETCHCONTENT_FULLY_DISCONNECTED": "ON",
    "CMAKE_EXPORT_NO_PACKAGE_REGISTRY": "ON",
    "CMAKE_FIND_USE_PACKAGE_REGISTRY": "OFF",
}
# Only set where the revision knows them, so that they never count as unknown options of a recipe.
_OFFLINE_SERVER = {"LLAMA_BUILD_UI": "OFF", "LLAMA_USE_PREBUILT_UI": "OFF"}


# The last word on a command line wins, so these hold whatever the recipe itself says.
_INSTRUMENTS: dict[Instrument, tuple[str, ...]] = {
    # Upstream's asserts and its verification of the cells' tails; the standard containers' bounds.
    "debug": ("-UNDEBUG", "-D_GLIBCXX_ASSERTIONS"),
    "sanitize": ("-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-g1"),
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """One recipe. ``options``: CMake cache entries as configured, sorted by name.

    ``target_flags``: (target, further flags). ``backends``: names of ``BACKEND_OPTIONS`` that the
    result must contain. ``unity``: several sources may be compiled as one where the revision allows
    it. ``jobs`` 0: one per processor. ``downstream``: what is built on top of the core.
    """

    name: str
    targets: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    c_flags: tuple[str, ...]
    cxx_flags: tuple[str, ...]
    backends: tuple[str, ...]
    unity: bool
    jobs: int
    timeout_s: int
    downstream: tuple[DownstreamTable, ...] = ()
    target_flags: tuple[tuple[str, str], ...] = ()

    @property
    def native(self) -> bool:
        """The result depends on this machine's processor."""
        words = (
            *self.c_flags,
            *self.cxx_flags,
            *(word for _, to in self.target_flags for word in to.split()),
        )
        said_off = dict(self.options).get("GGML_NATIVE", "ON").upper() in (
            "OFF",
            "0",
            "FALSE",
            "NO",
        )
        return not said_off or "-march=native" in words

    @property
    def build_type(self) -> str:
        return dict(self.options).get("CMAKE_BUILD_TYPE", "Release")

    def asked(self) -> dict[str, str]:
        """The options that the recipe itself asks for: those whose fate is reported."""
        # Upstream turns Metal on by itself on a Mac; what was not asked for is not built.
        backends = {"GGML_METAL": "OFF"}
        backends |= {BACKEND_OPTIONS[name]: "ON" for name in self.backends}
        return backends | dict(self.options)

    def definitions(self) -> dict[str, str]:
        """All cache entries of this recipe, sorted; none of them names a path of this machine."""
        kind = self.build_type.upper()
        ours = {
            "CMAKE_BUILD_TYPE": self.build_type,
            "CMAKE_BUILD_RPATH_USE_ORIGIN": "ON",
            **_QUIET_OPTIONS,
        }
        if any("server" in target for target in self.targets):
            ours |= _OFFLINE_SERVER
        if self.c_flags:
            ours[f"CMAKE_C_FLAGS_{kind}"] = " ".join(self.c_flags)
        if self.cxx_flags:
            ours[f"CMAKE_CXX_FLAGS_{kind}"] = " ".join(self.cxx_flags)
        if self.target_flags:
            ours["LLOYAL_TRACK_FLAGS"] = ";".join(f"{name}={to}" for name, to in self.target_flags)
        return dict(sorted((ours | self.asked()).items()))


def recipe_of(table: BuildTable, name: str) -> Recipe:
    """The recipe ``name`` of the configuration.

    Raises:
        UsageError: there is none of that name.
    """
    found = table.recipes.get(name)
    if found is None:
        known = ", ".join(sorted(table.recipes)) or "none"
        raise UsageError(
            f"no recipe {name!r} in the configuration; there are: {known}",
            where="build.recipes",
            next_step=f"add a table [build.recipes.{name}], or name one of these",
        )
    return Recipe(
        name=name,
        targets=found.targets,
        options=tuple(sorted(found.options.items())),
        c_flags=tuple(shlex.split(found.c_flags)),
        cxx_flags=tuple(shlex.split(found.cxx_flags)),
        backends=found.backends,
        target_flags=tuple(sorted(found.target_flags.items())),
        unity=found.unity,
        jobs=table.jobs,
        timeout_s=found.timeout_s,
        downstream=tuple(one for one in table.downstream if one.recipe == name),
    )


def instrumented(recipe: Recipe, instruments: Iterable[Instrument]) -> Recipe:
    """``recipe`` with a build that finds more, or as it is without ``instruments``."""
    for instrument in instruments:
        flags = _INSTRUMENTS[instrument]
        recipe = replace(
            recipe,
            name=f"{recipe.name}-{instrument}",
            # Without flags of its own a recipe has CMake's; an instrument must not undo them.
            c_flags=(*(recipe.c_flags or ("-O1",)), *flags),
            cxx_flags=(*(recipe.cxx_flags or ("-O1",)), *flags),
            target_flags=tuple(
                (name, " ".join(word for word in to.split() if word != "-DNDEBUG"))
                for name, to in recipe.target_flags
            ),
            downstream=(),
        )
    return recipe
