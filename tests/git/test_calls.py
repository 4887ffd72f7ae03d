"""The sealed environment of git's children."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repos import build
from tracker.errors import EnvironmentFault
from tracker.git.calls import run_git, sealed_environment


def test_inherited_git_variables_do_not_reach_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook's GIT_DIR and GIT_INDEX_FILE would send commands to the wrong repository (G13)."""
    build(tmp_path / "victim", [{"a": "1"}], bare=False)
    build(tmp_path / "mine", [{"a": "1"}], bare=False)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "victim/.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "victim/.git/index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "victim"))
    asked = run_git(["rev-parse", "--show-toplevel"], cwd=tmp_path / "mine")
    assert asked.stdout.decode().strip() == str((tmp_path / "mine").resolve())


def test_user_configuration_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither ~/.gitconfig nor the XDG files nor injected configuration change git's answers."""
    home = tmp_path / "home"
    (home / "git").mkdir(parents=True)
    config = "[diff]\n\tmnemonicPrefix = true\n\tnoprefix = true\n[alias]\n\tmine = version\n"
    (home / ".gitconfig").write_text(config)
    (home / "git/config").write_text(config)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'alias.mine'='version'")
    ids = build(tmp_path / "r", [{"a": "1\n"}, {"a": "2\n"}])
    shown = run_git(["diff", *ids], cwd=tmp_path / "r").stdout
    assert shown.startswith(b"diff --git a/a b/a\n")
    assert run_git(["mine"], cwd=tmp_path, check=False).code != 0


def test_repository_configuration_cannot_change_a_diff(tmp_path: Path) -> None:
    """Settings in the repository's own file are outranked (G01, G02)."""
    ids = build(tmp_path / "r", [{"a": "1\n"}, {"a": "2\n"}])
    for key in ("diff.mnemonicPrefix", "diff.noprefix"):
        run_git(["config", key, "true"], cwd=tmp_path / "r")
    shown = run_git(["diff", *ids], cwd=tmp_path / "r").stdout
    assert shown.startswith(b"diff --git a/a b/a\n")


def test_signing_is_off_even_if_the_repository_asks_for_it(tmp_path: Path) -> None:
    """commit.gpgSign and tag.gpgSign would block on a prompt (G06, G07)."""
    build(tmp_path / "r", [{"a": "1\n"}])
    for key in ("commit.gpgSign", "tag.gpgSign"):
        run_git(["config", key, "true"], cwd=tmp_path / "r")
    env = {
        f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    made = run_git(["tag", "-a", "-m", "m", "t"], cwd=tmp_path / "r", extra_env=env, timeout_s=20)
    assert made.code == 0


def test_an_owner_other_than_the_user_is_no_obstacle(tmp_path: Path) -> None:
    """In a container the checkout often belongs to somebody else; the answer stays right (G14)."""
    ids = build(tmp_path / "r", [{"a": "1\n"}])
    asked = run_git(
        ["rev-parse", "master"],
        cwd=tmp_path / "r",
        extra_env={"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"},
    )
    assert asked.stdout.decode().strip() == ids[0]


def test_a_missing_git_is_an_environment_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback: the fault says what to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFault, match="git is not installed") as caught:
        run_git(["version"])
    assert caught.value.next_step
    assert caught.value.exit_code == 4


def test_a_child_that_hangs_is_ended_with_its_own_children(tmp_path: Path) -> None:
    """The time-out reaches the whole process group, so no pipe stays open."""
    with pytest.raises(EnvironmentFault, match="did not finish within"):
        run_git(["-c", "alias.wait=!sleep 300 & sleep 300", "wait"], cwd=tmp_path, timeout_s=0.5)


def test_a_failing_command_names_git_and_its_reason(tmp_path: Path) -> None:
    """A failure is never an empty answer."""
    build(tmp_path / "r", [{"a": "1\n"}])
    with pytest.raises(EnvironmentFault, match=r"git ls-tree failed \(status 128\)"):
        run_git(["ls-tree", "nonsense"], cwd=tmp_path / "r")
    assert run_git(["ls-tree", "nonsense"], cwd=tmp_path / "r", check=False).code == 128


def test_the_sealed_environment_keeps_what_the_network_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Proxies and PATH stay; prompts and locale do not."""
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("LC_MESSAGES", "de_DE.UTF-8")
    sealed = sealed_environment({"GIT_DIR": "x"})
    assert sealed["https_proxy"] == "http://proxy.example:3128"
    assert "LC_MESSAGES" not in sealed
    assert sealed["LC_ALL"] == "C.UTF-8"
    assert sealed["GIT_TERMINAL_PROMPT"] == "0"
    assert sealed["GIT_DIR"] == "x"
