"""init finds the pins and patches of a project and writes a configuration that can be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import repos
from tracker import config as configuration
from tracker.cli.main import app
from tracker.pins import read_pins

ID = "d6d0ce8215a1c324e8de04b52f9dd65c5edc129f"


def init(*arguments: str) -> int:
    code = app(["init", *arguments], standalone_mode=False)
    assert isinstance(code, int)
    return code


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shapes of the real downstreams: a version file, six strings in CMake, a submodule."""
    cmake = "".join(f"# tested with b9581 ({number})\n" for number in range(6))
    files = {
        ".llama-cpp-version": "# why\nb9581\n",
        "CMakeLists.txt": cmake,
        "cmake/mixed.cmake": "b1234 b5678\n",
        "queue/0001-x.patch": "",
        "queue/0002-y.patch": "",
        ".gitmodules": '[submodule "llama.cpp"]\n\tpath = llama.cpp\n'
        "\turl = https://example.org/llama.cpp.git\n"
        '[submodule "other"]\n\tpath = other\n\turl = https://example.org/other\n',
    }
    repos.build(tmp_path, [files], bare=False)
    repos.git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{ID},llama.cpp")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_place_that_names_the_revision_is_found(
    project: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A version file, a submodule of upstream's name, and CMake strings that agree."""
    assert init("--json") == 0
    document = json.loads(capsysbinary.readouterr().out)
    found = {pin["path"]: (pin["kind"], pin["value"]) for pin in document["pins"]}
    assert found == {
        ".llama-cpp-version": ("version-file", "b9581"),
        "llama.cpp": ("submodule", ID),
        "CMakeLists.txt": ("pattern", "b9581"),
    }
    assert document["patches"] == "queue"
    read = configuration.load(project / "lloyal-track.toml")
    assert read.series_dir == project / "queue"
    assert {pin.name: pin.matches for pin in read.pins}["CMakeLists.txt"] == 6
    assert all(pin.value for pin in read_pins(read))
    assert "check" in read.build.recipes


def test_pins_that_disagree_are_told_at_once(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first thing to know about one's pins."""
    (project / "CMakeLists.txt").write_text("# b8369\n")
    assert init() == 1
    said = capsys.readouterr().out
    assert (
        "CMakeLists.txt:1 says b8369, disagrees with .llama-cpp-version:2, which says b9581" in said
    )


def test_a_bound_is_no_pin(project: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """A move must not rewrite since when something holds; what was passed over is told."""
    text = (project / "CMakeLists.txt").read_text()
    (project / "CMakeLists.txt").write_text(f"{text}# needs b9100+, broken in <b9000\n")
    assert init("--json") == 0
    document = json.loads(capsysbinary.readouterr().out)
    assert {pin["path"]: pin["value"] for pin in document["pins"]}["CMakeLists.txt"] == "b9581"
    told = "not taken for a pin: CMakeLists.txt names b9100 in line 7, b9000 in line 7"
    assert told in document["notes"]
    found = {pin.name: pin for pin in configuration.load(project / "lloyal-track.toml").pins}
    assert found["CMakeLists.txt"].matches == 6


def test_a_file_that_is_there_is_never_overwritten(project: Path) -> None:
    """Nothing is written, the workflow neither."""
    (project / "lloyal-track.toml").write_text("mine\n")
    from tracker.errors import UsageError

    with pytest.raises(UsageError):
        init("--workflow")
    assert (project / "lloyal-track.toml").read_text() == "mine\n"
    assert not (project / ".github").exists()


def test_the_workflow_says_what_is_to_be_filled_in(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run of it as it is would end with these words, so init says them first, and is not 0."""
    assert init("--workflow") == 1
    said = capsys.readouterr().out
    assert ".github/workflows/lloyal-track.yml: put the commit id of the lloyal-track" in said
    written = (project / ".github/workflows/lloyal-track.yml").read_text()
    uses = [line.strip() for line in written.splitlines() if "uses: lloyal-ai" in line]
    assert uses == ["- uses: lloyal-ai/lloyal-track@PUT-THE-COMMIT-ID-OF-YOUR-RELEASE-HERE"] * 3


def test_another_upstream_inherits_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder with another upstream the configuration is still one that loads."""
    monkeypatch.chdir(tmp_path)
    assert init("--upstream", "https://example.org/lib.git", "--branch", "main", "--workflow") == 1
    read = configuration.load(tmp_path / "lloyal-track.toml")
    assert (read.upstream.url, read.upstream.branch) == ("https://example.org/lib.git", "main")
    assert read.watch.regions == ()
    assert read.build.recipes == {}
    assert (tmp_path / ".github" / "workflows" / "lloyal-track.yml").is_file()


def test_the_only_submodule_is_the_upstream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its address, and the branch that its checkout came from."""
    repos.build(tmp_path / "ring", [{"ring.c": "int ring;\n"}], branch="trunk")
    url = (tmp_path / "ring").as_uri()
    modules = f'[submodule "ring"]\n\tpath = third_party/ring\n\turl = {url}\n'
    product = tmp_path / "product"
    repos.build(product, [{".gitmodules": modules, "patches/0001-x.patch": ""}], bare=False)
    repos.git(product, "update-index", "--add", "--cacheinfo", f"160000,{ID},third_party/ring")
    monkeypatch.chdir(product)
    assert init() == 0
    read = configuration.load(product / "lloyal-track.toml")
    assert (read.upstream.url, read.upstream.branch) == (url, "trunk")
    assert [(pin.kind, pin.path) for pin in read.pins] == [("submodule", "third_party/ring")]
    assert "third_party/ring: " + ID in capsys.readouterr().out


def test_a_fork_of_llama_cpp_is_watched_as_llama_cpp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder or its address says what it is; the branch is the one that .gitmodules names."""
    modules = (
        '[submodule "l"]\n\tpath = deps/llama.cpp\n\turl = https://example.org/acme/fork.git\n'
        "\tbranch = ours\n"
    )
    repos.build(tmp_path, [{".gitmodules": modules}], bare=False)
    repos.git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{ID},deps/llama.cpp")
    monkeypatch.chdir(tmp_path)
    assert init() == 1  # it has no patches: the shipped set is used
    read = configuration.load(tmp_path / "lloyal-track.toml")
    assert (read.upstream.url, read.upstream.branch) == (
        "https://example.org/acme/fork.git",
        "ours",
    )
    assert [pin.path for pin in read.pins] == ["deps/llama.cpp"]


def test_submodules_that_were_not_taken_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two, neither of them llama.cpp, none is guessed."""
    modules = "".join(
        f'[submodule "{n}"]\n\tpath = {n}\n\turl = https://example.org/{n}\n' for n in "ab"
    )
    repos.build(tmp_path, [{".gitmodules": modules}], bare=False)
    monkeypatch.chdir(tmp_path)
    assert init() == 1
    said = capsys.readouterr().out
    assert "no submodule was taken: a (https://example.org/a), b (https://example.org/b)" in said
    assert "None" not in said


def test_an_upstream_that_is_a_folder_is_written_as_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone is made from elsewhere, where a relative path would lead elsewhere."""
    repos.build(tmp_path / "up stream", [{"a.c": "int a;\n"}], branch="main")
    (tmp_path / "product").mkdir()
    monkeypatch.chdir(tmp_path / "product")
    assert init("--upstream", "../up stream") == 1
    read = configuration.load(tmp_path / "product" / "lloyal-track.toml")
    assert (read.upstream.url, read.upstream.branch) == ((tmp_path / "up stream").as_uri(), "main")
