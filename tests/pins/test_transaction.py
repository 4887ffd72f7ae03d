"""Several pin files are all new or all old, whenever the process is killed."""

from __future__ import annotations

import errno
import functools
import itertools
import os
import random
import shutil
import signal
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import repos
from tracker.errors import EnvironmentFault, OperationOpen, UsageError
from tracker.pins.submodule import gitlink
from tracker.pins.transaction import Change, GitlinkChange, commit, finish, open_journal
from tracker.statedir import StateDir

# Of a submodule it is the commit that the index of its repository names.
GITLINK = "node/upstream"
OLD = {
    "ours/pin.toml": b"old one\n",
    "native/.version": b"old two\n",
    "native/CMakeLists.txt": b"old 3\n",
    GITLINK: b"1" * 40,
}
NEW = {
    **{name: b"new " + content for name, content in OLD.items()},
    GITLINK: b"2" * 40,
    "ours/second.toml": b"new four\n",
}
KILLS = 500
NEVER = 1 << 40


class Project:
    """Three repositories side by side, one of them with a submodule, and the state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = StateDir(folder / "state")
        self.node = folder / "node"
        repos.build(self.node, [{"package.json": "{}\n", "lib/a.js": "1\n"}], bare=False)
        entry = f"160000,{OLD[GITLINK].decode()},upstream"
        repos.git(self.node, "update-index", "--add", "--cacheinfo", entry)
        self._index = (self.node / ".git" / "index").read_bytes()
        self.reset()
        self.untouched = self.others()

    def reset(self) -> None:
        """As before any move."""
        shutil.rmtree(self.state.folder, ignore_errors=True)
        self.state.folder.mkdir()
        for file in (self.node / ".git").glob("*index*"):
            file.unlink()
        (self.node / ".git" / "index").write_bytes(self._index)
        for name in NEW.keys() - OLD.keys():
            (self.folder / name).unlink(missing_ok=True)
        for name, content in OLD.items():
            if name != GITLINK:
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / name).write_bytes(content)

    def pins(self) -> dict[str, bytes]:
        """What every pin says."""
        found = {
            name: (self.folder / name).read_bytes()
            for name in NEW
            if name != GITLINK and (self.folder / name).exists()
        }
        return {**found, GITLINK: gitlink(self.node, "upstream").encode()}

    def others(self) -> tuple[dict[str, bytes], str]:
        """Every other file but the index, and every other entry of the index."""
        files = {
            name: content
            for name, content in repos.state(self.folder).items()
            if name not in NEW and name != "node/.git/index" and not name.startswith("state/")
        }
        listed = repos.git(self.node, "ls-files", "-s").splitlines()
        return files, "\n".join(line for line in listed if not line.startswith("160000"))

    def move(self) -> None:
        changes: list[Change | GitlinkChange] = [
            Change(self.folder / name, OLD.get(name), new)
            for name, new in NEW.items()
            if name != GITLINK
        ]
        old, new = OLD[GITLINK].decode(), NEW[GITLINK].decode()
        changes.insert(2, GitlinkChange(self.node, "upstream", old, new))
        commit(self.state, changes, "b2")

    def settle(self, side: Any) -> None:
        journal = open_journal(self.state)
        if journal is not None:
            finish(self.state, journal, side)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_all_files_are_new_and_nothing_is_left_over(project: Project) -> None:
    """After a move there is no journal, no copy, no file beside."""
    project.move()
    assert project.pins() == NEW
    assert project.others() == project.untouched
    assert list(project.state.folder.iterdir()) == []


_Steps = tuple[tuple[Any, str], ...]
# Each of these is a step of the transaction that reaches the disk.
_STEPS: _Steps = (
    (os, "fsync"),
    (os, "fdopen"),
    (os, "link"),
    (Path, "replace"),
    (Path, "chmod"),
    (Path, "unlink"),
    (Path, "mkdir"),
    (tempfile, "mkstemp"),
    (shutil, "rmtree"),
    (shutil, "copy2"),
    (subprocess, "Popen"),  # killed after it, git outlives us
)


@contextmanager
def at_each_step(reached: Callable[[], None], steps: _Steps = _STEPS) -> Iterator[None]:
    """``reached`` is called before and after every step."""

    def watched(real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            reached()
            result = real(*args, **kwargs)
            reached()
            return result

        return call

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in steps:
            patch.setattr(owner, name, watched(getattr(owner, name)))
        yield


def moments(project: Project) -> list[bool]:
    """One before and one after each step of a move: is its journal there?"""
    seen: list[bool] = []
    with at_each_step(lambda: seen.append(project.state.operation.exists())):
        project.move()
    return seen


def killed_at(moment: int, do: Callable[[], None], steps: _Steps = _STEPS) -> bool:
    """Run ``do`` in a child that is killed at its ``moment``-th; True if it got that far."""
    child = os.fork()
    if child == 0:
        countdown = itertools.count(moment - 1, -1)

        def reached() -> None:
            if next(countdown) == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        code = 1
        try:
            with at_each_step(reached, steps):
                do()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


@pytest.fixture
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGKILL loses nothing that the kernel has, and waiting for a disk 8,000 times is slow."""
    monkeypatch.setattr(os, "fsync", lambda _handle: None)


@pytest.mark.usefixtures("no_fsync")
def test_500_kills_and_nothing_is_torn(project: Project) -> None:
    """Killed at any moment, in the settling too: then resume gives all new, abort all old."""
    dice = random.Random(28166)  # noqa: S311  (a seed, not a secret)
    seen = moments(project)
    begun = [moment for moment, journal in enumerate(seen, 1) if journal]
    assert len(begun) > 60, "the transaction has fewer steps than it should"
    settled = {"old": 0, "new": 0}
    for number in range(KILLS):
        project.reset()
        # Before the journal is there little can go wrong: most kills come later.
        among = begun if dice.random() < 0.8 else range(1, len(seen) + 1)
        assert killed_at(dice.choice(among), project.move)
        side = dice.choice(("old", "new"))
        if dice.random() < 0.5:
            killed_at(dice.choice(begun), functools.partial(project.settle, side))
        was_open = open_journal(project.state) is not None
        project.settle(side)
        after = project.pins()
        assert after in (OLD, NEW), f"kill {number} tore the pins"
        assert project.others() == project.untouched, f"kill {number} left something"
        if was_open:
            assert after == (NEW if side == "new" else OLD)
            assert list(project.state.folder.iterdir()) == []
            settled[side] += 1
    assert min(settled.values()) > KILLS // 5


def test_a_file_that_cannot_be_written_leaves_all_old(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the second file: the first is put back, and the journal is closed."""
    real = Path.replace

    def full(self: Path, target: Any) -> Any:
        if Path(target).name == ".version" and self.read_bytes() == NEW["native/.version"]:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(EnvironmentFault, match="No space") as caught:
        project.move()
    assert caught.value.next_step
    assert project.pins() == OLD
    assert not project.state.operation.exists()


def test_a_full_state_folder_touches_no_pin(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a journal nothing is begun."""

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EnvironmentFault):
        project.move()
    assert project.pins() == OLD
    assert not project.state.operation.exists()


def test_a_second_move_is_refused_while_one_is_open(project: Project) -> None:
    """The open one is settled first."""
    assert killed_at(120, project.move)
    before = project.pins()
    assert open_journal(project.state) is not None
    with pytest.raises(OperationOpen):
        project.move()
    assert project.pins() == before


def test_somebody_elses_change_is_never_overwritten(project: Project) -> None:
    """A pin that is neither old nor new stops resume and abort, and nothing is written."""
    assert killed_at(120, project.move)
    (project.folder / "native" / ".version").write_bytes(b"by hand\n")
    before = project.pins()
    for side in ("old", "new"):
        with pytest.raises(UsageError, match="somebody else"):
            project.settle(side)
    assert project.pins() == before
    assert project.state.operation.exists()


def test_a_damaged_journal_is_told(project: Project) -> None:
    """It is not taken for 'nothing is open'."""
    project.state.operation.write_text('{"kind": "pin"')
    with pytest.raises(UsageError) as caught:
        open_journal(project.state)
    assert caught.value.next_step


def test_a_read_only_pin_is_refused_before_anything_is_written(project: Project) -> None:
    """Its owner closed it: a rename would replace it all the same."""
    file = project.folder / "native" / ".version"
    file.chmod(0o444)
    with pytest.raises(EnvironmentFault, match="read-only") as caught:
        project.move()
    assert caught.value.where == str(file)
    assert project.pins() == OLD
    assert not project.state.operation.exists()


def test_ctrl_c_between_two_files_leaves_all_old(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the command says then, "nothing was moved", is true."""
    real = Path.replace

    def interrupted(self: Path, target: Any) -> Any:
        if Path(target).name == ".version" and self.read_bytes() == NEW["native/.version"]:
            raise KeyboardInterrupt
        return real(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        project.move()
    assert project.pins() == OLD
    assert not project.state.operation.exists()


def test_a_full_disk_at_the_index_leaves_all_old(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of one repository were new already when the gitlink of the other one failed."""
    real = Path.replace

    def full(self: Path, target: Any) -> Any:
        if Path(target).name == "index":
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(EnvironmentFault, match="No space") as caught:
        project.move()
    assert caught.value.where == str(project.node / "upstream")
    assert project.pins() == OLD
    assert project.others() == project.untouched
    assert list(project.state.folder.iterdir()) == []


def test_the_lock_of_another_git_is_never_removed(project: Project) -> None:
    """It is told who is in the way, and the operation stays open until the lock is gone."""
    assert killed_at(1, project.move, steps=((os, "link"),))
    lock = project.node / ".git" / "index.lock"
    lock.write_bytes(b"DIRC")
    with pytest.raises(EnvironmentFault, match="another git command") as caught:
        project.settle("new")
    assert caught.value.where == str(lock)
    assert lock.read_bytes() == b"DIRC"
    lock.unlink()
    project.settle("new")
    assert project.pins() == NEW


def test_what_git_thinks_of_the_other_files_is_kept(project: Project) -> None:
    """A file changed in the same instant as the index was written is still seen as changed."""
    file, index = project.node / "package.json", project.node / ".git" / "index"
    then = (1_700_000_000, 1_700_000_000)
    repos.git(project.node, "config", "core.trustctime", "false")  # which a test cannot set back
    os.utime(file, then)
    repos.git(project.node, "add", "package.json")
    file.write_text("[]\n")  # as long as before
    for changed in (file, index):
        os.utime(changed, then)
    project.move()
    assert "package.json" in repos.git(project.node, "diff-files", "--name-only").splitlines()


def test_a_git_that_outlives_the_killed_run_changes_nothing(
    project: Project, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on only after abort said that every pin is old, and every pin stays old."""
    tools = tmp_path_factory.mktemp("tools")
    go, ended = tools / "go", tools / "ended"
    for pipe in (go, ended):
        os.mkfifo(pipe)
    slow = tools / "git"
    slow.write_text(
        f"""#!/bin/sh
case " $* " in
*" update-index "*) read _ < {go}; {shutil.which("git")} "$@"; echo ended > {ended};;
*) exec {shutil.which("git")} "$@";;
esac
"""
    )
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    real = subprocess.Popen

    def start(command: list[str], **more: Any) -> Any:
        child = real(command, **more)
        if "update-index" in command:
            os.kill(os.getpid(), signal.SIGKILL)
        return child

    def move() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(subprocess, "Popen", start)
            project.move()

    assert killed_at(NEVER, move)
    project.settle("old")
    go.write_text("go\n")
    assert ended.read_text() == "ended\n"
    assert project.pins() == OLD
    assert project.others() == project.untouched


def test_a_pin_that_somebody_changes_at_this_moment_stays_theirs(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What we made new is old again, their file is as they left it, and nothing is left open."""
    real = Path.replace
    theirs = project.folder / "native" / "CMakeLists.txt"

    def meanwhile(self: Path, target: Any) -> Any:
        if Path(target).name == "pin.toml":
            theirs.write_bytes(b"by hand\n")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", meanwhile)
    with pytest.raises(EnvironmentFault, match="somebody else"):
        project.move()
    assert project.pins() == {**OLD, "native/CMakeLists.txt": b"by hand\n"}
    assert list(project.state.folder.iterdir()) == []
