"""doctor sees what is missing, and says how to mend it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import repos
from tracker import config, doctor
from tracker.evidence.doctor import DoctorDocument, Finding
from tracker.evidence.verdict import Status, Verdict
from tracker.publish.workflow import workflow


def finding(document: DoctorDocument, name: str) -> Finding:
    return next(found for found in document.findings if found.name == name)


def test_a_machine_without_git_and_compiler_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are named as failures, each with a step that mends it."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    document = doctor.examine(None, "no lloyal-track.toml")
    assert document.verdict is Verdict.FAIL
    for name in ("git", "C++ compiler", "configuration"):
        assert finding(document, name).status is Status.FAIL
        assert finding(document, name).mend


def test_an_old_git_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git without in-memory merges is a failure, not a surprise later."""
    old = tmp_path / "git"
    old.write_text("#!/bin/sh\necho git version 2.30.2\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert finding(doctor.examine(None), "git").status is Status.FAIL


def test_this_machine_is_ready_for_the_shipped_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With git, a compiler and the package's own build tools nothing is missing."""
    monkeypatch.chdir(tmp_path)
    document = doctor.examine(config.load(Path("archives.toml")))
    assert document.verdict is Verdict.OK, document.findings


_PINNED = """\
state_dir = "state"
[upstream]
url = "https://example.org/up.git"
[[pins]]
name = "version"
kind = "version-file"
path = ".version"
[[pins]]
name = "cmake"
kind = "pattern"
path = "CMakeLists.txt"
pattern = '"(b\\d+)"'
matches = 2
"""


def test_pins_that_disagree_come_first(tmp_path: Path) -> None:
    """File, lines and the value found, before anything about the machine."""
    (tmp_path / "lloyal-track.toml").write_text(_PINNED)
    (tmp_path / ".version").write_text("# why\nb9\n")
    (tmp_path / "CMakeLists.txt").write_text('A "b8"\n\nB "b8"\n')
    read = config.load(tmp_path / "lloyal-track.toml")
    first = doctor.examine(read).findings[0]
    assert first.status is Status.ATTENTION
    assert first.found == "CMakeLists.txt:1,3 says b8, disagrees with .version:2, which says b9"
    (tmp_path / "CMakeLists.txt").write_text('A "b8"\n\nB "b9"\n')
    document = doctor.examine(read)
    assert document.verdict is Verdict.FAIL
    assert "line 1 says b8, line 3 says b9" in document.findings[0].found
    (tmp_path / "CMakeLists.txt").write_text('A "b9"\n\nB "b9"\n')
    assert doctor.examine(read).findings[0].found == "2 read: b9"


def test_a_tag_and_an_id_are_not_called_equal_before_upstream_is_here(tmp_path: Path) -> None:
    """It is unknown, with the command that tells; with upstream's copy at hand it is told."""
    ids = repos.build(
        tmp_path / "state" / "away.git",
        [repos.Step({"a": text}, tags=(tag,)) for text, tag in (("1", "b8"), ("2", "b9"))],
    )
    (tmp_path / "lloyal-track.toml").write_text(
        _PINNED.replace("'\"(b\\d+)\"'", "'(\\w{40})'").replace("matches = 2\n", "")
    )
    (tmp_path / ".version").write_text("b9\n")
    (tmp_path / "CMakeLists.txt").write_text(f"{ids[0]}\n")
    read = config.load(tmp_path / "lloyal-track.toml")
    assert doctor.examine(read).findings[0].status is Status.UNKNOWN
    (tmp_path / "state" / "away.git").rename(tmp_path / "state" / "upstream.git")
    assert doctor.examine(read).findings[0].status is Status.ATTENTION


def test_a_workflow_without_its_commit_is_named(tmp_path: Path) -> None:
    """As `init` writes it, a run cannot find the action; filled in, the workflow is fine."""
    repos.build(tmp_path, [{"deps/track.toml": _PINNED}], bare=False)
    file = tmp_path / ".github" / "workflows" / "x.yml"
    file.parent.mkdir(parents=True)
    file.write_text(workflow())
    read = config.load(tmp_path / "deps" / "track.toml")
    found = finding(doctor.examine(read), "workflow")
    assert found.status is Status.ATTENTION
    assert "PUT-THE-COMMIT-ID-OF-YOUR-RELEASE-HERE" in found.mend
    file.write_text(workflow(commit="1" * 40))
    assert finding(doctor.examine(read), "workflow").status is Status.PASS


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("../upstream", "a path must be a whole one"),
        ("file:///nowhere/at%20all", "there is no such folder"),
        ("/nowhere", "there is no such folder"),
        ("https://example.org/lib.git", ""),
        ("git@example.org:lib.git", ""),
        ("file:///", ""),
    ],
)
def test_an_upstream_of_this_machine_must_be_there(tmp_path: Path, url: str, why: str) -> None:
    """Of another machine's nothing is said: the doctor contacts nobody."""
    file = tmp_path / "lloyal-track.toml"
    file.write_text(f'[upstream]\nurl = "{url}"\n')
    found = finding(doctor.examine(config.load(file)), "upstream")
    assert (found.status is Status.FAIL, why in found.found) == (bool(why), True)
