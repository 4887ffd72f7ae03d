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
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tracker.bundled import bundled
from tracker.evidence.build import Variant
from tracker.evidence.verdict import Verdict
from tracker.native import children, cmake
from tracker.native.core import Compiler
from tracker.native.recipe import BACKEND_OPTIONS, Recipe
from tracker.native.unity import clashes, grouping
from tracker.progress import Progress

if TYPE_CHECKING:
    from tracker.git.quarantine import Quarantine
    from tracker.git.repository import Repository

_CMAKE_SUFFIXES = (".cmake", ".in")
_MOST_ATTEMPTS = 6
_CMAKE_NAME = "CMakeLists.txt"


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of one recipe's builds below ``work``, all ours.

    ``digest``: of whatever the build folder's cache depends on besides the sources.
    """

    work: Path
    recipe: str
    digest: str

    @property
    def source(self) -> Path:
        return self.work / "source"

    @property
    def build(self) -> Path:
        return self.work / f"build-{self.recipe}-{self.digest}"

    @property
    def home(self) -> Path:
        return self.work / "home"

    @property
    def configured(self) -> Path:
        """Stands while the build folder is configured for the sources as they are."""
        return self.build / "lloyal-track.configured"

    def clashing(self) -> list[str]:
        """Sources that an earlier build found to stand alone."""
        return self._clashing.read_text().split("\n") if self._clashing.is_file() else []

    def remember_clashing(self, sources: Iterable[str]) -> None:
        self._clashing.write_text("\n".join(sorted({*self.clashing(), *sources})))

    @property
    def _clashing(self) -> Path:
        return self.work / "clashing-sources"

    def log(self, variant: Variant) -> Path:
        """What CMake and the compiler said last; the store keeps its own copy."""
        return self.work / f"build-{self.recipe}-{variant}.log"

    def drop_outdated(self) -> None:
        """Remove build folders of this recipe as it was before, or of another compiler."""
        pattern = re.compile(re.escape(f"build-{self.recipe}-") + r"[0-9a-f]{8}")
        for folder in self.work.glob(f"build-{self.recipe}-*"):
            if folder != self.build and folder.is_dir() and pattern.fullmatch(folder.name):
                shutil.rmtree(folder)

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
    """Compiles trees of ``repository`` in ``folders``; the caller holds the folders' lock.

    ``touched``: paths in which the variants differ from one another.
    """

    repository: Repository | Quarantine
    recipe: Recipe
    compiler: Compiler
    folders: Folders
    touched: tuple[str, ...]
    progress: Progress

    def run(self, tree: str, log: IO[bytes]) -> Outcome:
        """Bring the work folder to ``tree`` and compile the recipe's targets.

        Raises:
            EnvironmentFault: no build tools, a full or read-only disk.
        """
        deadline = time.monotonic() + self.recipe.timeout_s
        self.folders.drop_outdated()
        fresh = self._write_sources(tree)
        if not self.recipe.unity:
            return self._attempt({}, deadline, log, fresh=fresh)[0]
        groups = grouping(self.folders.source, self.touched, self.folders.clashing())
        for _ in range(_MOST_ATTEMPTS):
            outcome, output = self._attempt(groups.definitions(), deadline, log, fresh=fresh)
            found = clashes(self.folders.build, self.folders.source, output)
            if outcome.verdict is not Verdict.FAIL or not found:
                return outcome
            self.folders.remember_clashing(found)
            groups = groups.without(found)
            fresh = False
        return self._attempt({}, deadline, log, fresh=True)[0]

    def _write_sources(self, tree: str) -> bool:
        """Make the source folder equal to ``tree``; True if CMake's cache must be forgotten."""
        from tracker.git.worktree import sync

        self.progress.step(0, None, "writing the sources")
        known = self.folders.configured.is_file()
        # Gone until CMake ran: a run that is killed between here and there must not leave a note
        # that holds for other sources. The same for the other recipes' folders.
        for note in self.folders.work.glob(f"build-*/{self.folders.configured.name}"):
            note.unlink()
        changed = sync(self.repository, tree, self.folders.source)
        return not known or any(_configures(Path(path)) for path in changed)

    def _attempt(
        self, grouped: dict[str, str], deadline: float, log: IO[bytes], *, fresh: bool
    ) -> tuple[Outcome, str]:
        """Configure and compile once; the outcome, and what ninja printed."""
        folders = self.folders
        environment = children.clean_environment(folders.home, _ccache_environment(folders))
        self.progress.step(0, None, "configuring")
        configured = cmake.configure(
            folders.source,
            folders.build,
            self.recipe.definitions() | _placed(folders) | grouped,
            self.compiler,
            fresh=fresh,
            environment=environment,
            log=log,
            timeout_s=deadline - time.monotonic(),
        )
        warnings = tuple(_option_warnings(configured, self.recipe))
        if configured.timed_out:
            return Outcome(Verdict.UNKNOWN, _late(self.recipe), warnings=warnings), ""
        if configured.errors:
            why = "CMake refuses to configure it"
            return Outcome(Verdict.FAIL, why, errors=configured.errors, warnings=warnings), ""
        folders.configured.touch()
        targets = self.recipe.targets
        known = cmake.target_names(folders.build)
        missing = ", ".join(name for name in targets if name not in known)
        if missing:
            why = f"this revision has no target {missing}"
            return Outcome(Verdict.FAIL, why, warnings=warnings), ""
        compiled = cmake.compile_targets(
            folders.source,
            folders.build,
            targets,
            jobs=self.recipe.jobs,
            # Groups that clash are found together, not one a time.
            most_failures=4 if grouped else 1,
            environment=environment,
            log=log,
            timeout_s=deadline - time.monotonic(),
            progress=self.progress,
        )
        products = cmake.products(folders.build, targets) if compiled.ok else ()
        verdict, why = _judged(compiled, products, self.recipe)
        outcome = Outcome(verdict, why, compiled.steps, compiled.errors, warnings, products)
        return outcome, compiled.output


def _configures(path: Path) -> bool:
    return path.name == _CMAKE_NAME or path.suffix in _CMAKE_SUFFIXES


def _placed(folders: Folders) -> dict[str, str]:
    """Cache entries that name paths of this machine; they leave no trace in the result."""
    mapped = f"-ffile-prefix-map={folders.source}=. -ffile-prefix-map={folders.build}=build"
    entries = {
        "CMAKE_C_FLAGS": mapped,
        "CMAKE_CXX_FLAGS": mapped,
        "CMAKE_PROJECT_TOP_LEVEL_INCLUDES": str(bundled("build/glue") / "flags.cmake"),
        "GGML_CCACHE": "OFF",
    }
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
