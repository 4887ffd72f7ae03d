"""The native core of a revision, once per variant: out of the store, or compiled and stored.

A revision that does not build is a value in the document, never an exception. What was built is
copied to the store before the work folder moves on to the next tree.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tracker.evidence.base import digest
from tracker.evidence.build import Artefact, BuildDocument, Variant, VariantBuild
from tracker.evidence.verdict import Verdict, worst
from tracker.native.cmake import Product
from tracker.native.compilation import Compilation, Folders, Outcome
from tracker.native.compiler import find_compiler, instruction_set
from tracker.native.core import BuiltCore, Compiler, Library
from tracker.native.downstream import build_downstream
from tracker.native.recipe import Recipe
from tracker.native.store import Entry, Store, key_of
from tracker.progress import SILENT, Progress

if TYPE_CHECKING:
    from tracker.git.quarantine import Quarantine
    from tracker.git.repository import Repository

# Where a program against the core finds its headers, in the tree's own layout. Upstream moved them
# over time; a folder that a revision lacks is left out.
_HEADER_FOLDERS = (
    "include",
    "ggml/include",
    "src",
    "tools/mtmd",
    "examples/llava",
    "ggml/src",
    ".",
)
_HEADER_SUFFIXES = (".h", ".hpp", ".inc")
_DEFINES = ("LLAMA_SHARED", "GGML_SHARED", "GGML_BACKEND_SHARED")
_LOG = "build.log"


def build(
    repository: Repository | Quarantine,
    *,
    revision: str,
    trees: Mapping[Variant, str],
    recipe: Recipe,
    work: Path,
    store: Store,
    progress: Progress = SILENT,
) -> tuple[BuildDocument, dict[Variant, BuiltCore]]:
    """The core of every tree in ``trees`` (variant -> git tree id), built in their order.

    ``work``: a folder of ours for sources and objects. The recipe's downstream cores are built on
    the patched core, else on the baseline, every time: what they read besides is not known.
    Returns the document and the cores of the variants that built; one that failed is in the
    document only.

    Raises:
        EnvironmentFault: no compiler, no build tools, a full or read-only disk.
    """
    compiler = find_compiler()
    folders = Folders(work, recipe.name, digest(recipe.definitions(), compiler.digest)[:8])
    touched = _touched(repository, trees.values())
    compilation = Compilation(repository, recipe, compiler, folders, touched, progress)
    results: list[VariantBuild] = []
    cores: dict[Variant, BuiltCore] = {}
    for variant, tree in trees.items():
        progress.stage(f"build {variant}")
        started = time.monotonic()
        result, entry = _variant(compilation, variant, tree, store)
        seconds = round(time.monotonic() - started, 3)
        results.append(msgspec.structs.replace(result, seconds=seconds))
        if entry is not None:
            cores[variant] = core_of(entry, variant, recipe, compiler)
    core = cores.get("patched") or cores.get("baseline")
    downstream = tuple(
        build_downstream(table, repository, core, revision, work=work, progress=progress)
        for table in recipe.downstream
        if core is not None
    )
    document = BuildDocument(
        verdict=worst([*(one.verdict for one in results), *(one.verdict for one in downstream)]),
        revision=revision,
        recipe=recipe.name,
        compiler=compiler.identity,
        variants=tuple(results),
        downstream=downstream,
    )
    return document, cores


def key_parts(tree: str, recipe: Recipe, compiler: Compiler) -> dict[str, str]:
    """Everything that a core's content depends on, by name; no path of this machine."""
    return {
        "tree": tree,
        "targets": " ".join(recipe.targets),
        "options": " ".join(f"{name}={value}" for name, value in recipe.definitions().items()),
        "unity": str(recipe.unity),
        "compiler": compiler.digest,
        "platform": sys.platform,
        "processor": instruction_set(compiler) if recipe.native else "generic",
    }


def explain(parts: Mapping[str, str], store: Store) -> str:
    """Why the store has no core of ``parts``: what differs from the one that comes nearest."""
    nearest: list[str] | None = None
    for manifest in store.manifests():
        differing = [name for name in parts if manifest.parts.get(name) != parts[name]]
        if nearest is None or len(differing) < len(nearest):
            nearest = differing
    if nearest is None:
        return "compiled: the store is empty"
    if not nearest:
        return "compiled: the stored core was damaged"
    return f"compiled: no stored core has this {' and '.join(nearest)}"


def core_of(entry: Entry, variant: Variant, recipe: Recipe, compiler: Compiler) -> BuiltCore:
    """The core that a verified entry holds."""
    source = entry.folder / "source"
    programs = set(json.loads(entry.manifest.facts["programs"]))
    files = {
        Path(file.path).name: file
        for file in entry.manifest.files
        if file.path.startswith("bin/") and not file.link
    }
    libraries = tuple(
        Library(_library_name(name), entry.folder / file.path, file.sha256)
        for name, file in files.items()
        if name not in programs
    )
    return BuiltCore(
        variant=variant,
        tree=entry.manifest.parts["tree"],
        key=entry.manifest.key,
        source_dir=source,
        build_dir=entry.folder / "bin",
        libraries=libraries,
        programs=tuple(entry.folder / files[name].path for name in sorted(programs)),
        include_dirs=tuple(source / name for name in _HEADER_FOLDERS if (source / name).is_dir()),
        digest=digest([(library.name, library.sha256) for library in libraries]),
        compiler=compiler,
        cxx_flags=recipe.cxx_flags,
        defines=_DEFINES,
    )


def _touched(repository: Repository | Quarantine, trees: Iterable[str]) -> tuple[str, ...]:
    """The paths in which ``trees`` differ from the first of them, sorted."""
    listings = [
        {entry.path: entry.oid for entry in repository.list_tree(tree)} for tree in set(trees)
    ]
    differing = (listings[0].items() ^ other.items() for other in listings[1:])
    return tuple(sorted({path for pairs in differing for path, _ in pairs}))


def _variant(
    compilation: Compilation, variant: Variant, tree: str, store: Store
) -> tuple[VariantBuild, Entry | None]:
    """One variant from the store, else made; ``seconds`` is filled in by the caller."""
    parts = key_parts(tree, compilation.recipe, compilation.compiler)
    key = key_of(parts)
    entry = store.get(key)
    if entry is not None:
        return _stored(variant, entry), entry
    why = explain(parts, store)
    with store.making(key, compilation.progress), compilation.folders.locked():
        # Another run may have made it while this one waited.
        entry = store.get(key)
        if entry is not None:
            return _stored(variant, entry), entry
        log_path = compilation.folders.log(variant)
        with log_path.open("wb") as log:
            outcome = compilation.run(tree, log)
        if outcome.verdict is Verdict.OK:
            entry = _store(compilation, parts, outcome, log_path, store)
    result = VariantBuild(
        variant=variant,
        verdict=outcome.verdict,
        tree=tree,
        key=key,
        cached=False,
        steps=outcome.steps,
        seconds=0.0,
        log=str(log_path),
        artefacts=_artefacts(entry) if entry else (),
        errors=outcome.errors,
        warnings=outcome.warnings,
        why=outcome.why or why,
        inputs=parts,
    )
    return result, entry


def _store(
    compilation: Compilation,
    parts: dict[str, str],
    outcome: Outcome,
    log: Path,
    store: Store,
) -> Entry:
    compilation.progress.step(outcome.steps, outcome.steps, "storing the core")
    programs = [made.path.name for made in outcome.products if made.kind == "EXECUTABLE"]
    facts = {
        "recipe": compilation.recipe.name,
        "compiler": compilation.compiler.identity,
        "warnings": json.dumps(outcome.warnings),
        "programs": json.dumps(programs),
    }

    def fill(place: Path) -> None:
        _copy_products(outcome.products, place / "bin")
        _copy_headers(compilation.folders.source, place / "source")
        shutil.copyfile(log, place / _LOG)

    return store.put(key_of(parts), parts, facts, fill)


def _stored(variant: Variant, entry: Entry) -> VariantBuild:
    return VariantBuild(
        variant=variant,
        verdict=Verdict.OK,
        tree=entry.manifest.parts["tree"],
        key=entry.manifest.key,
        cached=True,
        steps=0,
        seconds=0.0,
        log=str(entry.folder / _LOG),
        artefacts=_artefacts(entry),
        warnings=tuple(json.loads(entry.manifest.facts["warnings"])),
        why="stored: this tree was built with this recipe and compiler before",
        inputs=entry.manifest.parts,
    )


def _artefacts(entry: Entry) -> tuple[Artefact, ...]:
    return tuple(
        Artefact(path=str(entry.folder / file.path), sha256=file.sha256)
        for file in entry.manifest.files
        if file.path.startswith("bin/") and not file.link
    )


def _copy_products(products: tuple[Product, ...], place: Path) -> None:
    """The products and the symbolic links by which the loader finds them, in one folder."""
    place.mkdir(parents=True)
    for product in products:
        shutil.copy2(product.path, place / product.path.name)
        for link in product.path.parent.iterdir():
            if link.is_symlink() and link.resolve() == product.path.resolve():
                # All links lead straight to the file: a chain would need its middle link too.
                (place / link.name).symlink_to(product.path.name)


def _copy_headers(source: Path, place: Path) -> None:
    place.mkdir(parents=True)
    for name in _HEADER_FOLDERS:
        folder = source / name
        # Headers of backends and of vendored packages are no business of a user of the core.
        deep = name in ("include", "src", "tools/mtmd")
        for header in sorted(folder.rglob("*") if deep else folder.glob("*")):
            if header.suffix in _HEADER_SUFFIXES and header.is_file() and not header.is_symlink():
                copy = place / header.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(header, copy)


def _library_name(file_name: str) -> str:
    """``llama`` for ``libllama.so.0.5.0``, ``libllama.0.dylib`` and ``llama.dll``."""
    return re.sub(r"^lib", "", file_name).partition(".")[0]
