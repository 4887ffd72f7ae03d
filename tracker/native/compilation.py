"""Compiles one tree in our work folder: sources made equal to the tree, configured, compiled.

One source folder and one build folder per recipe serve all revisions and both variants. Only files
that differ are written and ninja compiles what depends on them, so the patched variant costs what
the patch touches, and the next revision what upstream touched. What an earlier revision left behind
must not show in the result: CMake's cache is forgotten whenever its own files changed, and
only files that the targets of this revision make are named.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tracker.evidence.base import digest
from tracker.evidence.build import Variant
from tracker.evidence.verdict import Verdict
from tracker.native import children, cmake
from tracker.native.core import Compiler
from tracker.native.recipe import BACKEND_OPTIONS, Recipe
from tracker.progress import Progress

if TYPE_CHECKING:
    from tracker.git.quarantine import Quarantine
    from tracker.git.repository import Repository

_CMAKE_SUFFIXES = (".cmake", ".in")
_CMAKE_NAME = "CMakeLists.txt"


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of one recipe's builds below ``work``, all ours."""

    work: Path
    recipe: str

    @property
    def source(self) -> Path:
        return self.work / "source"

    @property
    def build(self) -> Path:
        return self.work / f"build-{self.recipe}"

    @property
    def home(self) -> Path:
        return self.work / "home"

    @property
    def configured(self) -> Path:
        """Says how the build folder is configured; absent while that is not known."""
        return self.build / "lloyal-track.configured"

    def log(self, variant: Variant) -> Path:
        """What CMake and the compiler said last; the store keeps its own copy."""
        return self.work / f"build-{self.recipe}-{variant}.log"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Held while the folders are changed."""
        from filelock import FileLock

        self.home.mkdir(parents=True, exist_ok=True)
        with FileLock(self.work / "build.lock"):
            yield


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one tree.

    ``verdict``: OK, FAIL (the revision does not build), or UNKNOWN (nothing can be said). ``why``:
    one sentence unless OK. ``products``: in the build folder, valid until the next compilation.
    """

    verdict: Verdict
    why: str = ""
    steps: int = 0
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    products: tuple[cmake.Product, ...] = ()


@dataclass(frozen=True, slots=True)
class Compilation:
    """Compiles trees of ``repository`` in ``folders``; the caller holds the folders' lock."""

    repository: Repository | Quarantine
    recipe: Recipe
    compiler: Compiler
    folders: Folders
    progress: Progress

    def run(self, tree: str, log: IO[bytes]) -> Outcome:
        """Bring the work folder to ``tree`` and compile the recipe's targets.

        Raises:
            EnvironmentFault: no build tools, a full or read-only disk.
        """
        deadline = time.monotonic() + self.recipe.timeout_s
        environment = children.clean_environment(
            self.folders.home, _ccache_environment(self.folders)
        )
        configured = self._configure(tree, log, environment)
        warnings = tuple(_option_warnings(configured, self.recipe))
        if configured.timed_out:
            return Outcome(Verdict.UNKNOWN, _late(self.recipe), warnings=warnings)
        if configured.errors:
            return Outcome(
                Verdict.FAIL,
                "CMake refuses to configure it",
                errors=configured.errors,
                warnings=warnings,
            )
        targets = self.recipe.targets
        known = cmake.target_names(self.folders.build)
        missing = ", ".join(name for name in targets if name not in known)
        if missing:
            return Outcome(Verdict.FAIL, f"it has no target {missing}", warnings=warnings)
        compiled = cmake.compile_targets(
            self.folders.source,
            self.folders.build,
            targets,
            jobs=self.recipe.jobs,
            environment=environment,
            log=log,
            timeout_s=deadline - time.monotonic(),
            progress=self.progress,
        )
        products = cmake.products(self.folders.build, targets) if compiled.ok else ()
        verdict, why = _judged(compiled, products, self.recipe)
        return Outcome(verdict, why, compiled.steps, compiled.errors, warnings, products)

    def _configure(
        self, tree: str, log: IO[bytes], environment: dict[str, str]
    ) -> cmake.Configured:
        from tracker.git.worktree import sync

        folders = self.folders
        definitions = self.recipe.definitions() | _placed(folders)
        wanted = digest(definitions, self.compiler.digest, str(self.compiler.cxx))
        known = folders.configured.read_text() if folders.configured.is_file() else ""
        # Gone until CMake ran: a run that is killed between here and there must not leave a note
        # that still holds for the old sources. The same for the other recipes' folders.
        for note in folders.work.glob(f"build-*/{folders.configured.name}"):
            note.unlink()
        self.progress.step(0, None, "writing the sources")
        changed = sync(self.repository, tree, folders.source)
        self.progress.step(0, None, "configuring")
        configured = cmake.configure(
            folders.source,
            folders.build,
            definitions,
            self.compiler,
            fresh=known != wanted or any(_configures(Path(path)) for path in changed),
            environment=environment,
            log=log,
            timeout_s=self.recipe.timeout_s,
        )
        if not configured.errors:
            folders.configured.write_text(wanted)
        return configured


def _configures(path: Path) -> bool:
    return path.name == _CMAKE_NAME or path.suffix in _CMAKE_SUFFIXES


def _placed(folders: Folders) -> dict[str, str]:
    """Cache entries that name paths of this machine; they leave no trace in the result."""
    mapped = f"-ffile-prefix-map={folders.source}=. -ffile-prefix-map={folders.build}=build"
    entries = {"CMAKE_C_FLAGS": mapped, "CMAKE_CXX_FLAGS": mapped, "GGML_CCACHE": "OFF"}
    ccache = shutil.which("ccache")
    if ccache:
        entries |= {"CMAKE_C_COMPILER_LAUNCHER": ccache, "CMAKE_CXX_COMPILER_LAUNCHER": ccache}
    return entries


def _ccache_environment(folders: Folders) -> dict[str, str]:
    """ccache keeps its cache in the user's home, which a build does not see."""
    home = Path.home()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    usual = home / "Library/Caches/ccache" if sys.platform == "darwin" else cache / "ccache"
    return {
        "CCACHE_DIR": os.environ.get("CCACHE_DIR") or str(usual),
        "CCACHE_BASEDIR": str(folders.work),
        "CCACHE_NOHASHDIR": "1",
    }


def _option_warnings(configured: cmake.Configured, recipe: Recipe) -> Iterator[str]:
    """What CMake says of the options that the recipe asked for; ours are no news."""
    asked = recipe.asked()
    for name in configured.unused:
        if name in asked:
            yield f"this revision does not know the option {name}"
    for name in configured.deprecated:
        if name in asked:
            yield f"this revision calls the option {name} deprecated"


def _judged(
    compiled: cmake.Compiled, products: tuple[cmake.Product, ...], recipe: Recipe
) -> tuple[Verdict, str]:
    if compiled.timed_out:
        return Verdict.UNKNOWN, _late(recipe)
    if compiled.killed:
        return Verdict.UNKNOWN, "the machine ended the compiler: too little memory for the jobs"
    if not compiled.ok:
        return Verdict.FAIL, "it does not compile"
    unmade = [product.path.name for product in products if not product.path.is_file()]
    if unmade:
        return Verdict.FAIL, f"the build ended well, but did not make {', '.join(unmade)}"
    made = {product.target for product in products}
    absent = [name for name in recipe.backends if f"ggml-{name}" not in made]
    # Before backends were libraries of their own, the CPU's code stood in ggml's.
    if absent == ["cpu"] and "ggml-base" not in made and made & {"ggml", "llama"}:
        absent = []
    if absent:
        asked = ", ".join(f"{name} ({BACKEND_OPTIONS[name]})" for name in absent)
        return Verdict.FAIL, f"backend asked for, but absent from the result: {asked}"
    return Verdict.OK, ""


def _late(recipe: Recipe) -> str:
    return f"it did not end within {recipe.timeout_s} s"
