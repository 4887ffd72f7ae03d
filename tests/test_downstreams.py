"""init, then a dry run, in two projects shaped like the ones that this tool was written for.

A library that names the revision in a version file and in six CMake strings that went stale, and a
binding that carries upstream as a submodule. Only their shape is taken from real projects.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import patches, repos
from tests.support.tool import run_tool

SOURCE = "int answer(void) {\n    return 42;\n}\n"
STALE = """\
# Needs:
#   - runtime.cpp (b9500 or compatible)
# The helper library has this name since b9510+.
set(TESTED "b9500")
if(NOT RUNTIME_VERSION STREQUAL "b9500")
    message(WARNING "made for b9500, found ${RUNTIME_VERSION}")
else()\t# b9500 is fine
endif()
message(STATUS "recommended: b9500")
"""
PLACES = "CMakeLists.txt:2,4,5,6,7,9"
GITMODULES = """\
[submodule "library"]
\tpath = library
\turl = https://example.invalid/library.git
[submodule "runtime.cpp"]
\tpath = runtime.cpp
\turl = https://example.invalid/fork/runtime.cpp.git
"""


@dataclass(frozen=True)
class Side:
    """Both projects side by side; ``ids``: upstream's b9500, b9581 and b10000."""

    folder: Path
    ids: list[str]

    @property
    def library(self) -> Path:
        return self.folder / "library"

    @property
    def binding(self) -> Path:
        return self.folder / "binding"

    def run(self, project: Path, *arguments: str) -> tuple[int, str, str]:
        done = run_tool(project, "http://127.0.0.1:1", *arguments)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    def document(self, project: Path, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run(project, *arguments, "--json")[1])
        return found

    def init(self, project: Path) -> dict[str, Any]:
        return self.document(project, "init", "--upstream", self.upstream.as_uri())

    @property
    def upstream(self) -> Path:
        return self.folder / "runtime.cpp"


@pytest.fixture
def side(tmp_path: Path) -> Side:
    history = [
        repos.Step({"answer.c": SOURCE, "news": text}, tags=(f"b{text}",))
        for text in ("9500", "9581", "10000")
    ]
    ids = repos.build(tmp_path / "runtime.cpp", history)
    queue = patches.diff({"answer.c": SOURCE}, {"answer.c": SOURCE.replace("42", "43")})
    library: dict[str, repos.File] = {
        ".runtime-cpp-version": "# the revision for the tests\n\nb9581\n",
        "CMakeLists.txt": STALE,
        "queue/0001.patch": queue,
    }
    repos.build(tmp_path / "library", [library], bare=False)
    binding: dict[str, repos.File] = {
        ".gitmodules": GITMODULES,
        "CMakeLists.txt": "# the helper library has this name since b9510+\n",
        "queue/0001.patch": queue,
    }
    repos.build(tmp_path / "binding", [binding], bare=False)
    for path, commit in (("library", "1" * 40), ("runtime.cpp", ids[1])):
        entry = f"160000,{commit},{path}"
        repos.git(tmp_path / "binding", "update-index", "--add", "--cacheinfo", entry)
    who = ("-c", "user.name=x", "-c", "user.email=x@example.invalid")
    repos.git(tmp_path / "binding", *who, "commit", "-qm", "submodules, not initialised")
    return Side(tmp_path, ids)


def test_the_library_is_told_of_its_stale_strings(side: Side) -> None:
    """init finds the version file and six places; the disagreement is the first thing said."""
    document = side.init(side.library)
    found = {pin["path"]: (pin["kind"], pin["value"], pin["lines"]) for pin in document["pins"]}
    assert found == {
        ".runtime-cpp-version": ("version-file", "b9581", [3]),
        "CMakeLists.txt": ("pattern", "b9500", [2, 4, 5, 6, 7, 9]),
    }
    trouble = f"{PLACES} says b9500, disagrees with .runtime-cpp-version:3, which says b9581"
    assert document["notes"][0] == trouble
    assert side.document(side.library, "doctor")["findings"][0]["found"] == trouble
    _, out, err = side.run(side.library, "bump", "--to", "b10000", "--dry-run")
    assert err.splitlines()[1] == f"pins: {trouble}"
    assert " ".join(out.splitlines()[2].split()).startswith(f"attention Pins {PLACES} says b9500")


def test_a_dry_run_shows_exactly_what_a_move_changes(side: Side) -> None:
    """Every stale string and the version file, and nothing else; then the move does just that."""
    side.init(side.library)
    before = repos.state(side.library)
    code, out, _ = side.run(side.library, "bump", "--to", "b10000", "--dry-run")
    assert code == 0
    shown = [line[2:] for line in out.splitlines() if line.startswith(("  -", "  +"))]
    gone = [line[1:] for line in shown if line[0] == "-" and line[:3] != "---"]
    come = [line[1:] for line in shown if line[0] == "+" and line[:3] != "+++"]
    stale = [line for line in STALE.splitlines() if "b9500" in line]
    assert gone == ["b9581", *stale]
    assert come == ["b10000", *(line.replace("b9500", "b10000") for line in stale)]
    after = repos.state(side.library)
    assert {name for name in after if after[name] != before.get(name)} <= {
        name for name in after if name.startswith(".lloyal-track/")
    }
    assert side.run(side.library, "bump", "--to", "b10000")[0] == 0
    moved = repos.state(side.library)
    assert {name for name in before if moved[name] != before[name]} == {
        ".runtime-cpp-version",
        "CMakeLists.txt",
    }
    assert moved["CMakeLists.txt"].decode() == STALE.replace("b9500", "b10000")


def test_the_binding_has_its_gitlink_and_no_other_pin(side: Side) -> None:
    """The submodule of another project and "since b9510+" are no pins; nothing is initialised."""
    document = side.init(side.binding)
    assert [(pin["path"], pin["value"]) for pin in document["pins"]] == [
        ("runtime.cpp", side.ids[1])
    ]
    code, out, _ = side.run(side.binding, "bump", "--to", "b10000", "--dry-run")
    assert code == 0
    assert f"-Subproject commit {side.ids[1]}\n  +Subproject commit {side.ids[2]}" in out
    assert "in 1 pin file:" in out
    report = side.binding / ".lloyal-track" / "evidence" / "report.html"
    assert f"Report: {report.relative_to(side.binding)} " in out
    assert report.is_file()
    assert "Next: the same without --dry-run moves the pin.\n" in out


def test_both_move_together(side: Side) -> None:
    """One configuration over two repositories; moved and not committed yet, both are there."""
    side.init(side.library)
    file = side.library / "lloyal-track.toml"
    gitlink = (
        '\n[[pins]]\nname = "binding"\nkind = "submodule"\n'
        'repository = "../binding"\npath = "runtime.cpp"\n'
    )
    file.write_text(file.read_text() + gitlink)
    changes = side.document(side.library, "bump", "--to", "b10000", "--dry-run")["pin"]["changes"]
    assert {change["path"] for change in changes} == {
        "../binding/runtime.cpp",
        ".runtime-cpp-version",
        "CMakeLists.txt",
    }
    code, out, _ = side.run(side.library, "bump", "--to", "b10000")
    assert code == 0
    # the old commit is still checked out: without this, `git commit -a` would put it back
    assert "Next: git -C ../binding submodule update runtime.cpp\n" in out
    assert "Then: commit ../binding/runtime.cpp, .runtime-cpp-version, CMakeLists.txt\n" in out
    listed = repos.git(side.binding, "ls-files", "-s", "runtime.cpp", "library")
    assert f"160000 {side.ids[2]} 0\truntime.cpp" in listed
    assert f"160000 {'1' * 40} 0\tlibrary" in listed
    again = side.document(side.library, "bump", "--to", "b10000")
    assert (again["pin"]["outcome"], again["pin"]["changes"]) == ("already-there", [])


def test_a_pin_that_upstream_lacks_is_told_with_its_line(side: Side) -> None:
    """The real history may end before the pin: no guess, the file and the next step."""
    side.init(side.library)
    repos.git(side.upstream, "tag", "-d", "b9581")
    code, _, err = side.run(side.library, "bump", "--to", "b10000", "--dry-run")
    assert code == 2
    assert "says b9581, and our copy of upstream has no such revision" in err
    assert ".runtime-cpp-version:3" in err
