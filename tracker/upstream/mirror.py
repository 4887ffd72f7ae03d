"""A git repository made from package archives, one commit each: ``fetch_registry``.

For machines that reach a package index and no forge. The commits are a pure function of the
configuration and the archives, so every machine makes the same ids; their history is a snapshot
and says nothing about who changed what. Never writes outside the state_dir and the user's cache.
"""

from __future__ import annotations

import re
import tarfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tracker.config import Archive, Config
from tracker.errors import ConfigError, EnvironmentFault, UsageError
from tracker.evidence.upstream import FetchDocument
from tracker.evidence.verdict import Verdict
from tracker.git.calls import run_git
from tracker.git.fast_import import FastImport, Signature
from tracker.git.repository import Repository
from tracker.git.revision import ARCHIVE_TAG, describe
from tracker.progress import Progress
from tracker.statedir import StateDir
from tracker.upstream.archives import obtain

_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+!-]*")
_HEX = re.compile(r"[0-9a-f]{7,40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_EXECUTABLE = 0o100


def fetch_registry(config: Config, *, progress: Progress) -> FetchDocument:
    """Bring the mirror to the configured archives; asks nobody if it is there already.

    Raises:
        ConfigError: the archives' table cannot be used.
        UsageError: the state_dir holds a clone, which a mirror must not replace.
        EnvironmentFault: download, disk or git.
    """
    package, archives = _checked(config)
    prefix = config.upstream.prefix.strip("/")
    git_dir = StateDir(config.state_dir).upstream
    _prepare(git_dir)
    with Repository.open(git_dir) as repository:
        made = _made_already(repository, package, archives, prefix)
    missing = archives[len(made) :]
    files = [obtain(package, archive, progress=progress) for archive in missing]
    branch = f"refs/heads/{config.upstream.branch}"
    if missing:
        progress.stage("mirror")
        with FastImport(git_dir) as out:
            parent = made[-1] if made else None
            for archive, file in zip(missing, files, strict=True):
                parent = out.begin_commit(
                    branch, _message(package, archive, prefix), _who(archive), parent=parent
                )
                _write_files(out, file, prefix, archive, progress)
                out.point(f"refs/tags/{ARCHIVE_TAG}{archive.version}", parent)
    else:  # archives taken off the end of the list: the branch goes back, the tags stay
        run_git(["update-ref", branch, made[-1]], git_dir=git_dir)
    run_git(["symbolic-ref", "HEAD", branch], git_dir=git_dir)
    with Repository.open(git_dir) as repository:
        commits = [
            describe(repository, repository.resolve(f"refs/tags/{ARCHIVE_TAG}{archive.version}"))
            for archive in archives
        ]
    return FetchDocument(
        verdict=Verdict.OK,
        origin=package,
        repository=str(git_dir),
        changed=bool(missing),
        head=commits[-1],
        commits=tuple(commits),
        new_tags=tuple(f"{ARCHIVE_TAG}{archive.version}" for archive in missing),
    )


def _checked(config: Config) -> tuple[str, tuple[Archive, ...]]:
    package, archives = config.upstream.package, config.upstream.archives
    if package is None or not _PACKAGE.fullmatch(package):
        raise ConfigError(
            "the registry needs the name of a package",
            where=f"{config.file}: upstream.package",
            next_step="set it, or use `--config archives.toml`",
        )
    if not archives:
        raise ConfigError(
            "no archive is configured",
            where=f"{config.file}: upstream.archives",
            next_step="add one, or use `--config archives.toml`",
        )
    for number, archive in enumerate(archives):
        for key, pattern in (
            ("version", _VERSION),
            ("upstream_commit", _HEX),
            ("sha256", _SHA256),
        ):
            value = getattr(archive, key)
            if not pattern.fullmatch(value):
                raise ConfigError(
                    f"{value!r} is no usable {key}",
                    where=f"{config.file}: upstream.archives[{number}].{key}",
                )
        _seconds(archive, f"{config.file}: upstream.archives[{number}].date")
    if len({archive.version for archive in archives}) != len(archives):
        raise ConfigError("a version stands twice", where=f"{config.file}: upstream.archives")
    return package, archives


def _seconds(archive: Archive, where: str = "") -> int:
    try:
        date = datetime.fromisoformat(archive.date)
    except ValueError:
        date = None
    if date is None or date.tzinfo is None:
        raise ConfigError(
            f"{archive.date!r} is no date with a zone, such as 2026-06-13T00:00:00Z", where=where
        )
    return int(date.astimezone(UTC).timestamp())


def _prepare(git_dir: Path) -> None:
    """An empty mirror, or the one that is there without the rests of an interrupted import."""
    if git_dir.exists():
        with Repository.open(git_dir) as repository:
            has_refs = bool(repository.git(["for-each-ref", "--count=1"]).stdout)
            if not repository.is_snapshot and has_refs:
                raise UsageError(
                    "this state_dir holds a clone, not a mirror made from archives",
                    where=str(git_dir),
                    next_step="use another state_dir for the mirror "
                    "(`--config archives.toml` does), or move the clone away",
                )
        for rest in (*git_dir.glob("objects/pack/tmp_*"), *git_dir.glob("fast_import_crash_*")):
            rest.unlink()
    else:
        git_dir.parent.mkdir(parents=True, exist_ok=True)
        run_git(["init", "--quiet", "--bare", "--template=", str(git_dir)])
    run_git(["config", "lloyal-track.source", "archive"], git_dir=git_dir)
    run_git(["config", "gc.auto", "0"], git_dir=git_dir)


def _made_already(
    repository: Repository, package: str, archives: tuple[Archive, ...], prefix: str
) -> list[str]:
    """The commits of the longest run of ``archives``, from the first, that the mirror has."""
    made: list[str] = []
    for archive in archives:
        tag = f"refs/tags/{ARCHIVE_TAG}{archive.version}"
        asked = repository.git(
            ["show", "--no-patch", "--format=%H%x00%P%x00%at%x00%B", tag], check=False
        )
        if asked.code != 0:
            break
        fields = asked.stdout.decode("utf-8", "replace").split("\0", 3)
        commit, parent, date, message = fields
        wanted = (
            made[-1] if made else "",
            str(_seconds(archive)),
            _message(package, archive, prefix),
        )
        if (parent, date, message.rstrip("\n") + "\n") != wanted:
            break
        made.append(commit)
    return made


def _message(package: str, archive: Archive, prefix: str) -> str:
    return (
        f"{package} {archive.version}, upstream {archive.upstream_commit}\n"
        "\n"
        "The upstream tree as this package's source archive carries it.\n"
        "\n"
        f"Archive-Version: {archive.version}\n"
        f"Archive-Sha256: {archive.sha256}\n"
        f"Archive-Folder: {prefix or '.'}\n"
        f"Upstream-Commit: {archive.upstream_commit}\n"
    )


def _who(archive: Archive) -> Signature:
    return Signature("lloyal-track mirror", "mirror@lloyal-track.invalid", _seconds(archive))


def _write_files(
    out: FastImport, file: Path, prefix: str, archive: Archive, progress: Progress
) -> None:
    count = 0
    text = f"{archive.version}: files into the mirror"
    try:
        with tarfile.open(file, "r:gz") as tar:
            for path, member in _members(tar, prefix):
                if member.issym():
                    target = member.linkname.encode("utf-8", "surrogateescape")
                    out.link(path, target)
                else:
                    content = tar.extractfile(member)
                    if content is None:
                        raise tarfile.ReadError(f"{member.name} has no content")
                    mode = 0o100755 if member.mode & _EXECUTABLE else 0o100644
                    # A hard link's own size is 0.
                    size = content.seek(0, 2) if member.islnk() else member.size
                    content.seek(0)
                    out.file(path, mode, size, content)
                count += 1
                if count % 200 == 0:
                    progress.step(count, None, text)
    except (tarfile.TarError, zlib.error, EOFError, OSError) as fault:
        raise EnvironmentFault(f"cannot read the archive: {fault}", where=str(file)) from None
    if not count:
        raise ConfigError(
            f"the archive {file.name} holds nothing below {prefix!r}",
            where="upstream.prefix",
            next_step="set the folder of the archive that holds the upstream tree",
        )


def _members(tar: tarfile.TarFile, prefix: str) -> Iterator[tuple[bytes, tarfile.TarInfo]]:
    """The files below ``prefix``, inside the archive's one top folder, with their path from there.

    A ``.git`` in any folder is left out: it belongs to the machine that made the archive, and a
    tree that holds one cannot be checked out.
    """
    wanted = [part for part in prefix.split("/") if part]
    for member in tar:
        parts = [part for part in member.name.split("/") if part not in ("", ".")]
        inside = parts[1 : 1 + len(wanted)] == wanted
        rest = parts[1 + len(wanted) :]
        if not inside or not rest or member.isdir():
            continue
        if ".." in parts or member.name.startswith("/"):
            raise tarfile.ReadError(f"the path {member.name!r} leaves the archive")
        if any(part.lower() == ".git" for part in rest):
            continue
        if not (member.isreg() or member.issym() or member.islnk()):
            raise tarfile.ReadError(f"{member.name} is neither a file nor a link")
        yield "/".join(rest).encode("utf-8", "surrogateescape"), member
