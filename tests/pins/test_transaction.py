"""Several pin files are all new or all old, whenever the process is killed."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracker.errors import EnvironmentFault, OperationOpen, UsageError
from tracker.pins.transaction import Change, commit, finish, open_journal
from tracker.statedir import StateDir

OLD = {"one/pin.toml": b"old one\n", "two/version": b"old two\n", "two/CMakeLists.txt": b"old 3\n"}
NEW = {**{name: b"new " + content for name, content in OLD.items()}, "three/pin": b"new four\n"}
KILLS = 500


class Project:
    """Three repositories side by side, and the state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = StateDir(folder / "state")
        for name in NEW:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        self.state.folder.mkdir()
        for name, content in OLD.items():
            (folder / name).write_bytes(content)

    def files(self) -> dict[str, bytes]:
        return {
            file.relative_to(self.folder).as_posix(): file.read_bytes()
            for file in sorted(self.folder.rglob("*"))
            if file.is_file() and self.state.folder not in file.parents
        }

    def move(self) -> None:
        changes = [Change(self.folder / name, OLD.get(name), new) for name, new in NEW.items()]
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
    assert project.files() == NEW
    assert list(project.state.folder.iterdir()) == []


# Each of these is a step of the transaction that reaches the disk.
_STEPS: tuple[tuple[Any, str], ...] = (
    (os, "fsync"),
    (os, "fdopen"),
    (Path, "replace"),
    (Path, "chmod"),
    (Path, "unlink"),
    (Path, "mkdir"),
    (tempfile, "mkstemp"),
    (shutil, "rmtree"),
)


def killed_at(step: int, *, before: bool, do: Callable[[], None]) -> bool:
    """Run ``do`` in a child that kills itself at its ``step``-th step; True if it got that far."""
    child = os.fork()
    if child == 0:
        count = 0

        def counted(real: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                nonlocal count
                count += 1
                mine = count == step
                if mine and before:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = real(*args, **kwargs)
                if mine:
                    os.kill(os.getpid(), signal.SIGKILL)
                return result

            return call

        for owner, name in _STEPS:
            setattr(owner, name, counted(getattr(owner, name)))
        code = 1
        try:
            do()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def test_500_kills_and_nothing_is_torn(tmp_path: Path) -> None:
    """Killed at any step, the settling too: then resume gives all new, abort all old."""
    dice = random.Random(28166)  # noqa: S311  (a seed, not a secret)
    steps = 0
    probe = Project(tmp_path / "probe")
    while killed_at(steps + 1, before=True, do=probe.move):
        steps += 1
        shutil.rmtree(probe.folder)
        probe = Project(tmp_path / "probe")
    assert steps > 40, "the transaction has fewer steps than it should"
    killed = 0
    for number in range(KILLS):
        project = Project(tmp_path / str(number))
        killed += killed_at(dice.randint(1, steps), before=dice.random() < 0.5, do=project.move)
        side = dice.choice(("old", "new"))
        if dice.random() < 0.5:
            killed_at(
                dice.randint(1, steps),
                before=dice.random() < 0.5,
                do=lambda project=project, side=side: project.settle(side),  # type: ignore[misc]
            )
        was_open = open_journal(project.state) is not None
        project.settle(side)
        after = project.files()
        assert after in (OLD, NEW), f"kill {number} tore the pins"
        if was_open:
            assert after == (NEW if side == "new" else OLD)
        assert not project.state.operation.exists()
        shutil.rmtree(project.folder)
    assert killed == KILLS


def test_a_file_that_cannot_be_written_leaves_all_old(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the second file: the first is put back, and the journal is closed."""
    real = Path.replace

    def full(self: Path, target: Any) -> Any:
        if Path(target).name == "version" and self.read_bytes() == NEW["two/version"]:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(EnvironmentFault, match="No space") as caught:
        project.move()
    assert caught.value.next_step
    assert project.files() == OLD
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
    assert project.files() == OLD
    assert not project.state.operation.exists()


def test_a_second_move_is_refused_while_one_is_open(project: Project) -> None:
    """The open one is settled first."""
    assert killed_at(60, before=True, do=project.move)
    before = project.files()
    assert open_journal(project.state) is not None
    with pytest.raises(OperationOpen):
        project.move()
    assert project.files() == before


def test_somebody_elses_change_is_never_overwritten(project: Project) -> None:
    """A pin that is neither old nor new stops resume and abort, and nothing is written."""
    assert killed_at(60, before=True, do=project.move)
    (project.folder / "two" / "version").write_bytes(b"by hand\n")
    before = project.files()
    for side in ("old", "new"):
        with pytest.raises(UsageError, match="somebody else"):
            project.settle(side)
    assert project.files() == before
    assert project.state.operation.exists()


def test_a_damaged_journal_is_told(project: Project) -> None:
    """It is not taken for 'nothing is open'."""
    project.state.operation.write_text('{"kind": "pin"')
    with pytest.raises(UsageError) as caught:
        open_journal(project.state)
    assert caught.value.next_step


def test_a_read_only_pin_is_refused_before_anything_is_written(project: Project) -> None:
    """Its owner closed it: a rename would replace it all the same."""
    file = project.folder / "two" / "version"
    file.chmod(0o444)
    with pytest.raises(EnvironmentFault, match="read-only") as caught:
        project.move()
    assert caught.value.where == str(file)
    assert project.files() == OLD
    assert not project.state.operation.exists()


def test_ctrl_c_between_two_files_leaves_all_old(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the command says then, "nothing was moved", is true."""
    real = Path.replace

    def interrupted(self: Path, target: Any) -> Any:
        if Path(target).name == "version" and self.read_bytes() == NEW["two/version"]:
            raise KeyboardInterrupt
        return real(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        project.move()
    assert project.files() == OLD
    assert not project.state.operation.exists()
