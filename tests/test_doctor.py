"""doctor sees what is missing, and says how to mend it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracker import config, doctor
from tracker.evidence.doctor import DoctorDocument, Finding
from tracker.evidence.verdict import Status, Verdict


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
