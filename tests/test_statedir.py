"""The state folder is held by one run; its files are whole or old."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tracker.errors import OperationOpen
from tracker.statedir import StateDir, write_whole


def test_a_second_run_is_refused(tmp_path: Path) -> None:
    """Two runs on one state_dir: the second stops at once and names the folder."""
    first = StateDir(tmp_path / "state")
    with first.locked(), pytest.raises(OperationOpen) as caught, StateDir(first.folder).locked():
        pass
    assert caught.value.where == str(first.folder)
    with StateDir(first.folder).locked():
        assert first.folder.is_dir()


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    """The new content stands under the old permissions."""
    file = tmp_path / "pin"
    file.write_bytes(b"old")
    file.chmod(0o640)
    write_whole(file, b"new")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_full_disk_leaves_the_old_file_and_nothing_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the disk is full, the old content stays and no half file remains."""
    file = tmp_path / "pin"
    file.write_bytes(b"old")

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(file, b"new")
    assert file.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["pin"]
