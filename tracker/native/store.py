"""The built cores in the user's cache: content-addressed, verified when used, bounded in size.

An entry is a folder named by its key, made beside and renamed into place, so that a reader sees all
of it or nothing. Its manifest names every file with its digest; an entry that does not match it is
dropped and built again, never used. Two runs may share one store: making and pruning happen under
locks, and an entry that a run holds is not pruned under its feet.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from tracker.progress import SILENT, Progress

FORMAT = 1
MANIFEST = "manifest.json"
_IN_USE = "in-use"
_GIB = 1 << 30


class StoredFile(msgspec.Struct, frozen=True):
    """``path``: below the entry, with slashes. ``link``: a symbolic link's target, else ""."""

    path: str
    sha256: str
    size: int
    link: str = ""


class Manifest(msgspec.Struct, frozen=True):
    """What an entry holds. ``parts``: everything that went into ``key``, by name, for people.

    ``facts``: what the build wants to remember about the entry.
    """

    format: int
    key: str
    parts: dict[str, str]
    facts: dict[str, str]
    files: tuple[StoredFile, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A verified entry; ``folder`` stays in the store while this process lives."""

    folder: Path
    manifest: Manifest


def key_of(parts: dict[str, str]) -> str:
    """The content address of ``parts`` (32 hex digits)."""
    text = msgspec.json.encode([FORMAT, parts], order="deterministic")
    return hashlib.sha256(text).hexdigest()[:32]


def default_folder() -> Path:
    """Where built cores are kept, shared by all checkouts of this user."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("lloyal-track", appauthor=False)) / "cores"


class Store:
    """Entries below ``folder``; nothing is created before the first entry is.

    ``limit_gib``: the size that ``prune`` keeps the store under, as far as nobody uses the rest.
    """

    def __init__(self, folder: Path, *, limit_gib: float) -> None:
        self.folder = folder
        self._limit = int(limit_gib * _GIB)
        self._held: dict[str, IO[bytes]] = {}

    def get(self, key: str) -> Entry | None:
        """The entry of ``key``, verified and held; None if there is none, or it was damaged."""
        place = self._place(key)
        if not self._hold(key):
            return None
        try:
            manifest = _verified(place, key)
        except _Damaged:
            self._release(key)
            self._drop(place)
            return None
        with contextlib.suppress(PermissionError):  # a store that this user may only read
            os.utime(place / _IN_USE)
        return Entry(place, manifest)

    def put(
        self,
        key: str,
        parts: dict[str, str],
        facts: dict[str, str],
        fill: Callable[[Path], None],
    ) -> Entry:
        """A new entry whose files ``fill`` writes into the folder that it is given.

        Raises:
            OSError: the store cannot be written; what was there before is intact.
        """
        place = self._place(key)
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{key}."))
        try:
            beside.chmod(0o755)
            fill(beside)
            manifest = Manifest(FORMAT, key, parts, facts, tuple(_measured(beside)))
            (beside / MANIFEST).write_bytes(
                msgspec.json.format(msgspec.json.encode(manifest), indent=1)
            )
            (beside / _IN_USE).touch()
            self._release(key)
            _remove(place)
            beside.rename(place)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
        found = self.get(key)
        if found is None:
            raise OSError(f"the store lost what was just written: {place}")
        self.prune()
        return found

    @contextlib.contextmanager
    def making(self, key: str, progress: Progress = SILENT) -> Iterator[None]:
        """Held by the one run that makes ``key``; another one waits, then finds it made."""
        from filelock import FileLock, Timeout

        locks = self.folder / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        lock = FileLock(locks / f"{key}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            progress.step(0, None, "waiting for another run that builds the same core")
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def manifests(self) -> list[Manifest]:
        """Of all entries that can be read, most recently used first; not verified."""
        found = []
        for place in self._entries():
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                manifest = _read(place)
                found.append((_used_at(place), manifest))
        return [manifest for _, manifest in sorted(found, key=lambda pair: -pair[0])]

    def size(self) -> int:
        """Bytes of all entries, as their manifests say."""
        return sum(_size(place) for place in self._entries())

    def prune(self) -> list[str]:
        """Drop the entries longest unused until the store is within its limit; the keys dropped.

        An entry that any run holds stays. Leavings of runs that were killed go too.
        """
        from filelock import FileLock, Timeout

        if not self.folder.is_dir():
            return []
        lock = FileLock(self.folder / "prune.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return []
        try:
            self._sweep_leavings()
            entries = sorted(((_used_at(p), p) for p in self._entries()), key=lambda pair: pair[0])
            total = sum(_size(place) for _, place in entries)
            dropped = []
            for _, place in entries:
                if total <= self._limit:
                    break
                size = _size(place)
                if self._drop(place):
                    total -= size
                    dropped.append(place.name)
            return dropped
        finally:
            lock.release()

    def close(self) -> None:
        """Let go of all entries."""
        for key in list(self._held):
            self._release(key)

    def _place(self, key: str) -> Path:
        return self.folder / key[:2] / key

    def _entries(self) -> list[Path]:
        return [path.parent for path in self.folder.glob(f"??/*/{MANIFEST}")]

    def _hold(self, key: str) -> bool:
        """Take a shared lock on the entry; the kernel gives it back however this process ends."""
        if key in self._held:
            return True
        try:
            held = (self._place(key) / _IN_USE).open("rb")
        except OSError:
            return False
        fcntl.flock(held, fcntl.LOCK_SH)
        if not _same_file(held, self._place(key) / _IN_USE):
            # Dropped, maybe made anew, between the two lines above.
            held.close()
            return self._hold(key)
        self._held[key] = held
        return True

    def _release(self, key: str) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            held.close()

    def _drop(self, place: Path) -> bool:
        """Remove an entry unless somebody holds it."""
        try:
            with (place / _IN_USE).open("rb") as mark:
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(place)
        except BlockingIOError:
            return False
        except OSError:
            _remove(place)
        return True

    def _sweep_leavings(self) -> None:
        day_ago = time.time() - 86400
        for leaving in self.folder.glob("??/.*"):
            if leaving.lstat().st_mtime < day_ago:
                shutil.rmtree(leaving, ignore_errors=True)


class _Damaged(Exception):
    pass


def _same_file(held: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(held.fileno()), path.stat())
    except OSError:
        return False


def _remove(place: Path) -> None:
    """Out of sight first, so that nobody sees half an entry."""
    away = place.with_name(f".{place.name}.gone.{os.getpid()}")
    with contextlib.suppress(OSError):
        place.rename(away)
        shutil.rmtree(away, ignore_errors=True)


def _used_at(place: Path) -> float:
    try:
        return (place / _IN_USE).stat().st_mtime
    except OSError:
        return 0.0


def _size(place: Path) -> int:
    try:
        return sum(file.size for file in _read(place).files)
    except (OSError, msgspec.MsgspecError):
        return 0


def _read(place: Path) -> Manifest:
    return msgspec.json.decode((place / MANIFEST).read_bytes(), type=Manifest)


def _verified(place: Path, key: str) -> Manifest:
    try:
        manifest = _read(place)
        if manifest.format != FORMAT or manifest.key != key:
            raise _Damaged
        for file in manifest.files:
            path = place / file.path
            if file.link:
                if str(path.readlink()) != file.link:
                    raise _Damaged
            elif path.stat().st_size != file.size or sha256_of(path) != file.sha256:
                raise _Damaged
    except (OSError, msgspec.MsgspecError):
        raise _Damaged from None
    return manifest


def _measured(folder: Path) -> Iterator[StoredFile]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            yield StoredFile(name, "", 0, link=str(path.readlink()))
        elif path.is_file():
            yield StoredFile(name, sha256_of(path), path.stat().st_size)


def sha256_of(path: Path) -> str:
    """The digest of a file's content.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
