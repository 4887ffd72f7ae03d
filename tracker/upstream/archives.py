"""Package archives in the user's cache: found, downloaded, resumed, verified.

A file stands under its final name only after its sha256 was checked; nothing else is ever handed
out. The download itself runs in a child (``pip_index``), so pip's internals never load here.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

from tracker.config import Archive
from tracker.errors import EnvironmentFault
from tracker.progress import Progress

_BUSY_S = 600
_LINES = 3


def cache_folder() -> Path:
    """Where archives are kept, shared by all checkouts of this user."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("lloyal-track", appauthor=False)) / "archives"


def obtain(package: str, archive: Archive, *, progress: Progress) -> Path:
    """The verified archive file, from the cache or the package index.

    Raises:
        EnvironmentFault: it cannot be downloaded, or its sha256 is not the configured one.
    """
    from filelock import FileLock, Timeout

    name = f"{package}-{archive.version}.tar.gz"
    file = cache_folder() / archive.sha256[:16] / name
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file.with_suffix(".lock"))
    try:
        with lock.acquire(timeout=_BUSY_S):
            if file.exists():
                progress.step(0, None, f"{name}: checking the cached file")
                if _sha256(file) == archive.sha256:
                    return file
                file.unlink()  # damaged on disk: it was right when it got its name
            _download(package, archive, file, progress)
    except Timeout:
        raise EnvironmentFault(
            f"another run has been downloading {name} for {_BUSY_S} s",
            where=str(file),
            next_step="wait until it ends, or end it, then run the command again",
        ) from None
    return file


def _download(package: str, archive: Archive, file: Path, progress: Progress) -> None:
    """Fill, verify and rename. A resumed file that proves wrong is taken once more."""
    part = file.with_suffix(".part")
    resumed = part.exists()
    while True:
        _run_child(package, archive, part, progress)
        got = _sha256(part)
        if got == archive.sha256:
            part.replace(file)
            return
        part.unlink()
        if not resumed:
            raise _mismatch(file.name, archive, got)
        resumed = False


def _mismatch(name: str, archive: Archive, got: str) -> EnvironmentFault:
    return EnvironmentFault(
        f"wrong sha256 of {name}: expected {archive.sha256}, got {got}",
        where=f"upstream.archives version {archive.version}",
        next_step="nothing of it was used; correct `sha256` if the configuration is wrong, "
        "or ask the index's keeper why the file differs",
    )


def _run_child(package: str, archive: Archive, part: Path, progress: Progress) -> None:
    command = [sys.executable, str(Path(__file__).with_name("pip_index.py"))]
    command += [package, archive.version, archive.sha256, str(part)]
    label = f"{package} {archive.version}"
    progress.step(0, None, f"{label}: asking the package index")
    error: dict[str, Any] | None = None
    finished = False
    said: list[str] = []
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as child:
        assert child.stdout is not None  # noqa: S101  (opened as a pipe)
        try:
            for line in child.stdout:
                match _event(line):
                    case {"event": "progress", "done": int(done), "total": total}:
                        mib = total // 2**20 if total else None
                        progress.step(done // 2**20, mib, f"{label}: MiB downloaded")
                    case {"event": "error"} as error:
                        pass
                    case {"event": "done"}:
                        finished = True
                    case None:
                        said.append(line.strip())
        except BaseException:
            child.kill()
            raise
    if finished and child.returncode == 0:
        return
    if error is None:
        why = " ".join(said[-_LINES:]) or f"status {child.returncode}"
        error = {"kind": "internals", "why": why}
    if error["kind"] == "internals":
        _plain_pip(package, archive, part, error["why"], progress)
        return
    _refuse(package, archive, part, error)


def _event(line: str) -> dict[str, Any] | None:
    """One line of the child; None if it is no event (a library that prints, a traceback)."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _refuse(package: str, archive: Archive, part: Path, error: dict[str, Any]) -> NoReturn:
    kind, why = error["kind"], error.get("why", "")
    where = f"{package} {archive.version}"
    if kind == "mismatch":
        raise _mismatch(error["file"], archive, f"{why} (as the package index announces it)")
    if kind == "absent":
        raise EnvironmentFault(
            f"the package index has no source archive of {where}",
            where=f"upstream.archives version {archive.version}",
            next_step=f"check the version, and the index that pip uses: "
            f"{Path(sys.executable).name} -m pip config list",
        )
    if kind == "disk":
        raise EnvironmentFault(
            f"cannot write the download: {why}", where=str(part), next_step="free some space"
        )
    raise EnvironmentFault(
        f"cannot download {where}: {why or 'the package index did not answer'}",
        where=where,
        next_step="check the network and pip's settings, then run it again: "
        "the download goes on where it broke",
    )


def _plain_pip(package: str, archive: Archive, part: Path, why: str, progress: Progress) -> None:
    """A pip whose internals are not as we know them: ask its command line.

    That runs the package's build back end for its metadata, which must be installed.
    """
    import tempfile

    progress.step(0, None, f"{package} {archive.version}: pip download")
    with tempfile.TemporaryDirectory(dir=part.parent) as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-input", "--quiet", "--no-deps"]
        command += ["--no-binary", ":all:", "--no-build-isolation", "--dest", folder]
        command.append(f"{package}=={archive.version}")
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        files = list(Path(folder).iterdir())
        if done.returncode == 0 and len(files) == 1:
            files[0].replace(part)
            return
    said = " ".join(done.stderr.strip().splitlines()[-_LINES:])
    raise EnvironmentFault(
        f"pip can download {package} {archive.version} in neither way: {why}; {said}",
        where=f"{package} {archive.version}",
        next_step=f"{Path(sys.executable).name} -m pip install 'pip>=23.1' scikit-build-core",
    )


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
