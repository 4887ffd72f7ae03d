"""The build, with real CMake, ninja and compiler, on a tree in miniature."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.support import repos
from tests.support.core_tree import RECURRENT, RECURRENT_HEADER, SRC_LISTS, core_tree, recurrent
from tracker.config import DownstreamTable
from tracker.errors import EnvironmentFault
from tracker.evidence.build import BuildDocument, Variant, VariantBuild
from tracker.evidence.verdict import Verdict
from tracker.git.repository import Repository
from tracker.native.build import build
from tracker.native.core import BuiltCore
from tracker.native.recipe import Recipe
from tracker.native.store import Store

pytestmark = pytest.mark.native

_RECIPE = Recipe(
    name="check",
    targets=("llama", "mtmd"),
    options=(("GGML_NATIVE", "OFF"),),
    c_flags=("-O0",),
    cxx_flags=("-O0",),
    backends=("cpu",),
    unity=True,
    jobs=2,
    timeout_s=120,
)
_WARNS_NOT = {RECURRENT: recurrent(0)}


class Bench:
    """One repository, one work folder, one store; ``trees`` are committed as they come."""

    def __init__(self, folder: Path) -> None:
        self.upstream = folder / "upstream"
        repos.build(self.upstream, bare=False)
        self.work = folder / "work"
        self.store = folder / "store"

    def build(
        self, trees: Mapping[Variant, Mapping[str, str]], recipe: Recipe = _RECIPE
    ) -> tuple[BuildDocument, dict[Variant, BuiltCore]]:
        commits: dict[Variant, str] = {}
        for variant, replaced in trees.items():
            gone = dict.fromkeys(repos.git(self.upstream, "ls-files").splitlines())
            commits[variant] = repos.commit(self.upstream, {**gone, **core_tree(replaced)})
        with Repository.open(self.upstream) as repository:
            return build(
                repository,
                revision="r1",
                trees={name: repository.tree(commit) for name, commit in commits.items()},
                recipe=recipe,
                work=self.work,
                store=Store(self.store, limit_gib=1),
            )

    def one(
        self, replaced: Mapping[str, str] | None = None, recipe: Recipe = _RECIPE
    ) -> VariantBuild:
        return self.build({"baseline": replaced or {}}, recipe)[0].variants[0]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def _children() -> list[str]:
    """Our child processes, without the one by which an open repository reads objects."""
    return [
        child.name() for child in psutil.Process().children(recursive=True) if child.name() != "git"
    ]


def _warnings(core: BuiltCore) -> int:
    count = ctypes.CDLL(str(core.library("llama").path)).llama_warnings()
    assert isinstance(count, int)
    return count


def test_both_variants_are_built_and_told_apart(bench: Bench) -> None:
    """Each core behaves as its own tree says; libraries that the patch does not reach are equal."""
    document, cores = bench.build({"baseline": {}, "patched": _WARNS_NOT})
    assert document.verdict is Verdict.OK
    assert (_warnings(cores["baseline"]), _warnings(cores["patched"])) == (6, 0)
    names = {library.name for library in cores["baseline"].libraries}
    assert names == {"llama", "mtmd", "ggml", "ggml-base", "ggml-cpu"}
    for name in names - {"llama"}:
        assert cores["baseline"].library(name).sha256 == cores["patched"].library(name).sha256
    assert cores["baseline"].digest != cores["patched"].digest


def test_the_patched_variant_compiles_only_what_the_patch_touches(bench: Bench) -> None:
    """One source, one link and its symbolic link, and the libraries that depend on it."""
    document, _ = bench.build({"baseline": {}, "patched": _WARNS_NOT})
    baseline, patched = document.variants
    assert patched.steps < baseline.steps / 2
    log = Path(patched.log).read_text()
    assert "llama-memory-recurrent.cpp.o" in log
    assert "Unity" not in log


def test_each_variant_has_its_own_headers(bench: Bench) -> None:
    """A program against the internals sees the layout that the library was compiled with."""
    wider = {
        RECURRENT_HEADER: core_tree()[RECURRENT_HEADER].replace("int pos", "long row; int pos")
    }
    _, cores = bench.build({"baseline": {}, "patched": wider})
    texts = {name: (core.source_dir / RECURRENT_HEADER).read_text() for name, core in cores.items()}
    assert "long row" in texts["patched"]
    assert "long row" not in texts["baseline"]
    assert all(folder.is_dir() for folder in cores["patched"].include_dirs)
    assert not list(cores["patched"].source_dir.rglob("*.cpp"))


def test_a_second_run_builds_nothing(bench: Bench) -> None:
    """Same trees, recipe and compiler: the same files, and not one step."""
    first, before = bench.build({"baseline": {}, "patched": _WARNS_NOT})
    second, after = bench.build({"baseline": {}, "patched": _WARNS_NOT})
    assert [variant.cached for variant in first.variants] == [False, False]
    assert [(v.cached, v.steps) for v in second.variants] == [(True, 0), (True, 0)]
    assert before == after
    assert [v.artefacts for v in first.variants] == [v.artefacts for v in second.variants]


def test_another_work_folder_makes_the_same_bytes(tmp_path: Path) -> None:
    """No path of this machine is compiled in, so a digest means the same everywhere."""
    cores = [Bench(tmp_path / name).build({"baseline": {}})[1]["baseline"] for name in ("a", "bb")]
    assert cores[0].digest == cores[1].digest
    where = ctypes.CDLL(str(cores[0].library("llama").path)).llama_where
    where.restype = ctypes.c_char_p
    assert where() == b"./src/llama.cpp"


def test_a_revision_that_does_not_compile_is_a_value(bench: Bench) -> None:
    """The compiler's own lines, paths as in the tree; the other variant still builds."""
    broken = {RECURRENT: "int recurrent( {\n"}
    document, cores = bench.build({"baseline": broken, "patched": _WARNS_NOT})
    baseline = document.variants[0]
    assert document.verdict is Verdict.FAIL
    assert baseline.verdict is Verdict.FAIL
    assert any(line.startswith(f"{RECURRENT}:1:") for line in baseline.errors)
    assert str(bench.work) not in "\n".join(baseline.errors)
    assert "error:" in Path(baseline.log).read_text()
    assert list(cores) == ["patched"]


def test_sources_that_clash_are_compiled_apart(bench: Bench) -> None:
    """Static names that stand in many sources are no fault of the revision."""
    same = "static int helper() { return 1; }\n"
    clashing = {
        f"src/models/m{number}.cpp": f"{same}int m{number}() {{ return helper(); }}\n"
        for number in range(12)
    }
    built = bench.one(clashing)
    assert built.verdict is Verdict.OK
    assert built.errors == ()
    again = bench.one({**clashing, "src/models/b.cpp": "int b() { return 3; }\n"})
    assert "FAILED" not in Path(again.log).read_text()


def test_without_unity_every_source_is_its_own(bench: Bench) -> None:
    """A recipe that forbids groups gets none."""
    built = bench.one(recipe=replace(_RECIPE, unity=False))
    assert built.verdict is Verdict.OK
    assert "Unity" not in Path(built.log).read_text()


def test_options_that_upstream_does_not_know_or_discourages_are_told(bench: Bench) -> None:
    """An ignored option would otherwise look like a choice that was made."""
    options = (("GGML_NATIVE", "OFF"), ("LLAMA_CUDA", "ON"), ("NO_SUCH_OPTION", "ON"))
    built = bench.one(recipe=replace(_RECIPE, options=options))
    assert built.verdict is Verdict.OK
    assert built.warnings == (
        "this revision does not know the option NO_SUCH_OPTION",
        "this revision calls the option LLAMA_CUDA deprecated",
    )
    assert bench.one(recipe=replace(_RECIPE, options=options)).warnings == built.warnings


def test_a_backend_that_was_asked_for_and_is_absent_fails(bench: Bench) -> None:
    """CMake accepts the option and builds without the backend: that is no success."""
    built = bench.one(recipe=replace(_RECIPE, backends=("cpu", "cuda")))
    assert built.verdict is Verdict.FAIL
    assert "cuda (GGML_CUDA)" in built.why


def test_a_missing_target_is_named(bench: Bench) -> None:
    """An old revision without mtmd says so, instead of a message of ninja."""
    built = bench.one(recipe=replace(_RECIPE, targets=("llama", "llava")))
    assert (built.verdict, built.why) == (Verdict.FAIL, "this revision has no target llava")


def test_libraries_of_an_earlier_revision_are_not_taken(bench: Bench) -> None:
    """The build folder keeps them; the artefacts are those that this revision's targets make."""
    bench.one()
    lists = core_tree()[SRC_LISTS].replace("0.0.1", "0.0.2")
    names = {Path(artefact.path).name for artefact in bench.one({SRC_LISTS: lists}).artefacts}
    assert "libllama.so.0.0.2" in names or "libllama.0.0.2.dylib" in names
    assert not any("0.0.1" in name for name in names)


def test_a_default_of_an_earlier_revision_is_forgotten(bench: Bench) -> None:
    """CMake's cache would keep the old default of an option that upstream flipped."""
    define = "\nif(FLIPPED)\n  target_compile_definitions(llama PRIVATE FLIPPED)\nendif()\n"
    uses = '#include "llama-memory-recurrent.h"\n#ifdef FLIPPED\nint recurrent::warn() const '
    uses += "{ return 1; }\n#else\nint recurrent::warn() const { return 0; }\n#endif\n"
    seen = []
    for default in ("OFF", "ON"):
        lists = f'option(FLIPPED "x" {default})\n' + core_tree()[SRC_LISTS] + define
        _, cores = bench.build({"baseline": {SRC_LISTS: lists, RECURRENT: uses}})
        seen.append(_warnings(cores["baseline"]))
    assert seen == [0, 1]


def test_a_new_source_found_by_a_glob_is_compiled(bench: Bench) -> None:
    """Upstream lists its models with a glob, which ninja alone would not notice."""
    bench.one()
    calls = core_tree()["src/llama-context.cpp"] + "int c();\nint d = c();\n"
    built = bench.one(
        {"src/models/c.cpp": "int c() { return 3; }\n", "src/llama-context.cpp": calls}
    )
    assert built.verdict is Verdict.OK
    assert "c.cpp" in "".join(
        path.read_text() for path in bench.work.glob("build-check-*/src/**/Unity/*.cxx")
    )


def test_the_build_sees_no_secret_and_no_repository(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upstream's code runs while it is built: no token, no home of the user, no git history."""
    monkeypatch.setenv("GITHUB_TOKEN", "s3cret-token")
    monkeypatch.setenv("CXXFLAGS", "-DEVIL")
    top = core_tree()["CMakeLists.txt"] + (
        'execute_process(COMMAND "${CMAKE_COMMAND}" -E environment)\n'
        "execute_process(COMMAND git rev-parse HEAD RESULT_VARIABLE code)\n"
        'message(STATUS "git says ${code}")\n'
    )
    text = Path(bench.one({"CMakeLists.txt": top}).log).read_text()
    assert "s3cret" not in text
    assert "EVIL" not in text
    assert f"HOME={bench.work / 'home'}" in text
    assert "git says 128" in text


def test_a_build_that_does_not_end_is_ended(bench: Bench) -> None:
    """A time limit proves nothing about the revision: unknown, and no child is left."""
    top = core_tree()["CMakeLists.txt"] + (
        'add_custom_target(forever COMMAND "${CMAKE_COMMAND}" -E sleep 600)\n'
        "add_dependencies(llama forever)\n"
    )
    built = bench.one({"CMakeLists.txt": top}, replace(_RECIPE, timeout_s=8))
    assert (built.verdict, built.why) == (Verdict.UNKNOWN, "it did not end within 8 s")
    assert _children() == []


class _Interrupts:
    """Ctrl-C in the middle of the compilation."""

    def stage(self, name: str) -> None:
        pass

    def say(self, text: str) -> None:
        pass

    def step(self, done: int, total: int | None, text: str) -> None:  # noqa: ARG002
        if done == 2:
            raise KeyboardInterrupt


def test_an_interrupted_build_leaves_no_child_and_goes_on(bench: Bench) -> None:
    """The same command again finishes the work; what was compiled is not compiled again."""
    commit = repos.commit(bench.upstream, core_tree())
    with Repository.open(bench.upstream) as repository:
        trees: dict[Variant, str] = {"baseline": repository.tree(commit)}
        store = Store(bench.store, limit_gib=1)
        with pytest.raises(KeyboardInterrupt):
            build(
                repository,
                revision="r1",
                trees=trees,
                recipe=_RECIPE,
                work=bench.work,
                store=store,
                progress=_Interrupts(),
            )
        assert _children() == []
        document, _ = build(
            repository, revision="r1", trees=trees, recipe=_RECIPE, work=bench.work, store=store
        )
    assert document.verdict is Verdict.OK


def test_no_compiler_is_said_with_the_next_step(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The machine's fault, not the revision's: nothing is judged."""
    commit = repos.commit(bench.upstream, core_tree())
    with Repository.open(bench.upstream) as repository:
        tree = repository.tree(commit)
        monkeypatch.setenv("PATH", str(tmp_path))
        for name in ("CC", "CXX"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(EnvironmentFault, match="no C\\+\\+ compiler") as caught:
            build(
                repository,
                revision="r1",
                trees={"baseline": tree},
                recipe=_RECIPE,
                work=bench.work,
                store=Store(bench.store, limit_gib=1),
            )
    assert caught.value.next_step


def test_two_runs_at_once_compile_once(tmp_path: Path) -> None:
    """Two checkouts, one store: the second waits, then finds the core made; both get the same."""
    benches = [Bench(tmp_path / name) for name in ("a", "b")]
    for bench in benches:
        bench.store = tmp_path / "store"
    with ThreadPoolExecutor(2) as pool:
        built = list(pool.map(Bench.one, benches))
    assert sorted(one.cached for one in built) == [False, True]
    assert built[0].artefacts == built[1].artefacts


def test_ccache_is_used_when_it_is_there(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compilers are started through it, with a cache of its own; the result is the same."""
    plain = bench.one()
    tools = tmp_path / "tools"
    tools.mkdir()
    launcher = tools / "ccache"
    launcher.write_text(f'#!/bin/sh\necho "$CCACHE_DIR" >> "{tools}/used"\nexec "$@"\n')
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CCACHE_DIR", "/some/cache")
    other = Bench(tmp_path / "other").one()
    assert "/some/cache" in (tools / "used").read_text()
    assert [a.sha256 for a in other.artefacts] == [a.sha256 for a in plain.artefacts]


def _on_top(command: str, folder: Path) -> Recipe:
    table = DownstreamTable(name="ours", command=("sh", "-c", command), dir=str(folder))
    return replace(_RECIPE, downstream=(table,))


def test_a_downstream_core_finds_what_it_needs(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Patched sources, headers, libraries, revision, compiler; no token."""
    monkeypatch.setenv("GITHUB_TOKEN", "s3cret")
    command = (
        'test -z "$GITHUB_TOKEN" && test "$LLOYAL_TRACK_REVISION" = r1 '
        '&& test "$LLOYAL_TRACK_VARIANT" = patched '
        '&& grep -q "return 0 + pos" "$LLOYAL_TRACK_SOURCE/src/llama-memory-recurrent.cpp" '
        '&& test -f "${LLOYAL_TRACK_INCLUDE%%:*}/llama.h" '
        '&& ls "$LLOYAL_TRACK_LIBRARIES" | grep -q libllama && test -x "$CXX" && pwd'
    )
    document, _ = bench.build({"baseline": {}, "patched": _WARNS_NOT}, _on_top(command, tmp_path))
    (ours,) = document.downstream
    assert (ours.verdict, ours.code) == (Verdict.OK, 0), Path(ours.log).read_text()
    assert Path(ours.log).read_text().strip() == str(tmp_path)


def test_a_downstream_core_that_fails_is_told_with_its_last_lines(
    bench: Bench, tmp_path: Path
) -> None:
    """Upstream builds, ours does not: the document says fail, and why."""
    command = "for i in $(seq 40); do echo line $i; done; echo 'x.cpp:3: error: no member'; exit 2"
    document, cores = bench.build({"baseline": {}}, _on_top(command, tmp_path))
    (ours,) = document.downstream
    assert document.verdict is Verdict.FAIL
    assert (ours.code, ours.why) == (2, "it ended with status 2")
    assert ours.last_lines[-1] == "x.cpp:3: error: no member"
    assert len(ours.last_lines) == 20
    assert set(cores) == {"baseline"}


def test_a_downstream_command_that_is_missing_is_a_failure(bench: Bench, tmp_path: Path) -> None:
    """A tool that is not there, or a folder: no traceback, nothing lost."""
    table = DownstreamTable(name="ours", command=("no-such-tool",), dir=str(tmp_path))
    document, _ = bench.build({"baseline": {}}, replace(_RECIPE, downstream=(table,)))
    assert document.downstream[0].verdict is Verdict.FAIL
    assert "no-such-tool" in document.downstream[0].why


def test_why_it_compiles_is_told(bench: Bench) -> None:
    """The part that differs from the nearest stored core is named."""
    assert bench.one().why == "compiled: the store is empty"
    assert bench.one(_WARNS_NOT).why == "compiled: no stored core has this tree"
    debug = replace(_RECIPE, cxx_flags=("-O0", "-g"))
    assert bench.one(_WARNS_NOT, debug).why == "compiled: no stored core has this options"
    assert bench.one().why.startswith("stored:")


def test_a_target_gets_flags_of_its_own_after_those_of_the_recipe(bench: Bench) -> None:
    """Only that target is compiled with them; one that the revision lacks is left out."""
    flags = (("ggml-cpu", "-O1 -DOURS=1"), ("no-such-target", "-O3"))
    built = bench.one(recipe=replace(_RECIPE, target_flags=flags))
    assert built.verdict is Verdict.OK
    (plan,) = bench.work.glob("build-*/build.ninja")
    stanzas = [part for part in plan.read_text().split("\n\n") if "-DOURS=1" in part]
    assert stanzas
    assert all("ggml-cpu.dir" in stanza for stanza in stanzas)
    assert all("-O0" in stanza.partition("-O1 -DOURS=1")[0] for stanza in stanzas)
    assert not bench.one(recipe=_RECIPE).cached
