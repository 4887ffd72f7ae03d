"""The store of built cores: whole or absent, verified, bounded, safe for two."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tracker.native.store import MANIFEST, Store, key_of

_PARTS = {"tree": "t1", "recipe": "check"}
_KEY = key_of(_PARTS)


def _store(folder: Path, *, limit_gib: float = 1.0) -> Store:
    return Store(folder, limit_gib=limit_gib)


def _put(store: Store, parts: dict[str, str] = _PARTS, content: bytes = b"core") -> str:
    key = key_of(parts)

    def fill(place: Path) -> None:
        (place / "bin").mkdir()
        (place / "bin/libllama.so.1").write_bytes(content)
        (place / "bin/libllama.so").symlink_to("libllama.so.1")

    store.put(key, parts, {"note": "x"}, fill)
    return key


def test_what_was_put_is_got_back_by_another_store(tmp_path: Path) -> None:
    """An entry holds its files, links, parts and facts for every later process."""
    _put(_store(tmp_path))
    entry = _store(tmp_path).get(_KEY)
    assert entry is not None
    assert (entry.folder / "bin/libllama.so").read_bytes() == b"core"
    assert entry.manifest.parts == _PARTS
    assert entry.manifest.facts == {"note": "x"}


def test_the_key_depends_on_every_part() -> None:
    """Any part that differs, or is named otherwise, gives another address."""
    keys = {
        key_of(_PARTS),
        key_of({**_PARTS, "tree": "t2"}),
        key_of({**_PARTS, "recipe": "release"}),
        key_of({"tree": "t1", "recipes": "check"}),
    }
    assert len(keys) == 4


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "bin/libllama.so.1").write_bytes(b"evil"),
        lambda folder: (folder / "bin/libllama.so.1").unlink(),
        lambda folder: (folder / MANIFEST).write_text("{"),
        lambda folder: _point_elsewhere(folder / "bin/libllama.so"),
    ],
    ids=["content", "missing", "manifest", "link"],
)
def test_a_damaged_entry_is_dropped_not_used(tmp_path: Path, damage: object) -> None:
    """Same size or not: what does not match its digest is gone, and can be made again."""
    _put(_store(tmp_path))
    place = tmp_path / _KEY[:2] / _KEY
    assert callable(damage)
    damage(place)
    store = _store(tmp_path)
    assert store.get(_KEY) is None
    assert not place.exists()
    _put(store)
    assert store.get(_KEY) is not None


def _point_elsewhere(link: Path) -> None:
    link.unlink()
    link.symlink_to("/etc/passwd")


def test_a_failed_filling_leaves_nothing(tmp_path: Path) -> None:
    """A full disk while an entry is made: the error passes, no half entry stays."""

    def fill(place: Path) -> None:
        (place / "half").write_bytes(b"x")
        raise OSError(28, "No space left on device")

    store = _store(tmp_path)
    with pytest.raises(OSError, match="No space"):
        store.put(_KEY, _PARTS, {}, fill)
    assert store.get(_KEY) is None
    assert list((tmp_path / _KEY[:2]).iterdir()) == []


def test_the_longest_unused_go_first(tmp_path: Path) -> None:
    """Pruning keeps what was used last, whatever was made last."""
    old, used, new = ({"tree": name} for name in ("old", "used", "new"))
    for number, parts in enumerate((old, used, new)):
        store = _store(tmp_path)
        key = _put(store, parts, b"x" * 1000)
        store.close()
        os.utime(tmp_path / key[:2] / key / "in-use", (number, number))
    os.utime(tmp_path / key_of(used)[:2] / key_of(used) / "in-use", (9, 9))
    small = _store(tmp_path, limit_gib=1500 / (1 << 30))
    assert small.prune() == [key_of(old), key_of(new)]
    assert small.get(key_of(used)) is not None


def test_what_another_run_holds_is_not_pruned(tmp_path: Path) -> None:
    """An entry in use survives a store that is far too small."""
    holder = _store(tmp_path)
    _put(holder)
    other = _store(tmp_path, limit_gib=0.0)
    assert other.prune() == []
    holder.close()
    assert other.prune() == [_KEY]
    assert other.get(_KEY) is None


def test_a_store_that_may_only_be_read_serves_its_entries(tmp_path: Path) -> None:
    """Marking the use fails there, which is no reason to compile."""
    _put(_store(tmp_path))
    place = tmp_path / _KEY[:2] / _KEY
    files = [place, *place.rglob("*")]
    for file in files:
        if not file.is_symlink():
            file.chmod(0o555)
    try:
        assert _store(tmp_path).get(_KEY) is not None
    finally:
        place.chmod(0o755)
        (place / "bin").chmod(0o755)


def test_leavings_of_killed_runs_are_swept(tmp_path: Path) -> None:
    """A folder that a killed run left beside is removed once it is a day old, not before."""
    _put(_store(tmp_path))
    stale = tmp_path / _KEY[:2] / ".stale.x"
    fresh = tmp_path / _KEY[:2] / ".fresh.x"
    for folder in (stale, fresh):
        folder.mkdir()
    os.utime(stale, (1, 1))
    _store(tmp_path).prune()
    assert not stale.exists()
    assert fresh.exists()


def test_the_newest_manifests_come_first(tmp_path: Path) -> None:
    """What --explain compares with is the entry used last."""
    for number, name in enumerate(("a", "b")):
        key = _put(_store(tmp_path), {"tree": name})
        os.utime(tmp_path / key[:2] / key / "in-use", (number, number))
    assert [m.parts["tree"] for m in _store(tmp_path).manifests()] == ["b", "a"]
