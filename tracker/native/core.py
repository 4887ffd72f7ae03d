"""The native core that a build produced, as a value: what the check compiles and runs against.

Built only by ``tracker.native.build`` and read by everything that uses a core. It names files in
the artefact store; nothing here reads or writes them. The store verifies the digests when it hands
a core out, so a holder may trust the paths for the length of one command, not longer: a later run
may prune the store.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tracker.evidence.build import Variant


@dataclass(frozen=True, slots=True)
class Compiler:
    """The machine's compilers.

    ``c`` and ``cxx``: absolute paths. ``identity``: e.g. ``GNU 12.2.0 x86_64-linux-gnu``.
    ``digest``: changes when the compiler's binary, version or target does.
    """

    c: Path
    cxx: Path
    identity: str
    digest: str


@dataclass(frozen=True, slots=True)
class Library:
    """One shared library of the core.

    ``name``: without prefix and suffix: ``llama``, ``mtmd``, ``ggml``, ``ggml-base``, ``ggml-cpu``.
    ``path``: the real file, not a symbolic link. ``sha256``: of its content.
    """

    name: str
    path: Path
    sha256: str


@dataclass(frozen=True, slots=True)
class BuiltCore:
    """One variant of the core.

    ``tree``: the git tree it was built from. ``key``: its content address in the store.
    ``source_dir``: that tree's headers in the tree's own layout (``src/llama-context.h``,
    ``include/llama.h``, ``ggml/include/ggml.h``, ``tools/mtmd/mtmd.h``): headers only, no sources.
    ``build_dir``: folder of the libraries, which find each other beside themselves, and of the
    programs if the recipe built any. ``include_dirs``: for ``-I``, in order, all below
    ``source_dir``. ``digest``: over all libraries. ``cxx_flags``: as the core was compiled with, so
    that a program against its internal classes sees the same layout (``-DNDEBUG``, sanitizers).
    ``defines``: preprocessor definitions that users of the libraries need.
    """

    variant: Variant
    tree: str
    key: str
    source_dir: Path
    build_dir: Path
    libraries: tuple[Library, ...]
    programs: tuple[Path, ...]
    include_dirs: tuple[Path, ...]
    digest: str
    compiler: Compiler
    cxx_flags: tuple[str, ...]
    defines: tuple[str, ...]

    def library(self, name: str) -> Library:
        """The library called ``name``.

        Raises:
            KeyError: this core has none.
        """
        for library in self.libraries:
            if library.name == name:
                return library
        raise KeyError(name)
