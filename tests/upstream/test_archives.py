"""Archives in the user's cache: what is downloaded, resumed, verified, refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.support.package_index import PACKAGE, PackageIndex
from tracker.config import Archive
from tracker.errors import EnvironmentFault
from tracker.progress import SILENT
from tracker.upstream.archives import cache_folder, obtain

CONTENT = bytes(range(256)) * 4096
BLOCK = 1 << 16  # what pip_index asks for at once


def _archive(sha256: str, version: str = "1.0") -> Archive:
    return Archive(
        version=version, upstream_commit="0" * 9, date="2026-01-01T00:00:00Z", sha256=sha256
    )


def test_the_second_request_is_answered_from_the_cache(index: PackageIndex) -> None:
    """One download for any number of runs."""
    archive = _archive(index.add("1.0", CONTENT))
    first = obtain(PACKAGE, archive, progress=SILENT)
    second = obtain(PACKAGE, archive, progress=SILENT)
    assert first == second
    assert first.read_bytes() == CONTENT
    assert len(index.ranges) == 1


def test_a_broken_download_goes_on_where_it_broke(index: PackageIndex) -> None:
    """A connection that ends early is taken up with a Range request, not from the start."""
    archive = _archive(index.add("1.0", CONTENT))
    index.cut_after = 700_000
    assert obtain(PACKAGE, archive, progress=SILENT).read_bytes() == CONTENT
    first, second = index.ranges
    taken_up_at = int(second.removeprefix("bytes=").removesuffix("-"))
    # What came in after the last whole block may be lost with the connection.
    assert first == ""
    assert 700_000 - BLOCK < taken_up_at <= 700_000


def test_an_earlier_run_s_part_is_resumed(index: PackageIndex) -> None:
    """What an interrupted run left is used."""
    archive = _archive(index.add("1.0", CONTENT))
    part = _part_of(archive)
    part.write_bytes(CONTENT[:1000])
    assert obtain(PACKAGE, archive, progress=SILENT).read_bytes() == CONTENT
    assert index.ranges == ["bytes=1000-"]
    assert not part.exists()


def test_a_part_with_wrong_bytes_is_downloaded_again(index: PackageIndex) -> None:
    """A damaged part never ends as an error about the index."""
    archive = _archive(index.add("1.0", CONTENT))
    _part_of(archive).write_bytes(b"x" * 1000)
    assert obtain(PACKAGE, archive, progress=SILENT).read_bytes() == CONTENT
    assert index.ranges == ["bytes=1000-", ""]


def test_a_damaged_file_in_the_cache_is_replaced(index: PackageIndex) -> None:
    """A cached file is verified before it is used, not only when it came."""
    archive = _archive(index.add("1.0", CONTENT))
    file = obtain(PACKAGE, archive, progress=SILENT)
    file.write_bytes(CONTENT[:-1] + b"!")
    assert obtain(PACKAGE, archive, progress=SILENT).read_bytes() == CONTENT


def test_a_wrong_hash_that_the_index_announces_stops_before_the_download(
    index: PackageIndex,
) -> None:
    """The error names the file, the expected and the announced hash; nothing is downloaded."""
    real = index.add("1.0", CONTENT)
    with pytest.raises(EnvironmentFault) as caught:
        obtain(PACKAGE, _archive("0" * 64), progress=SILENT)
    assert f"{PACKAGE}-1.0.tar.gz" in caught.value.what
    assert "0" * 64 in caught.value.what
    assert real in caught.value.what
    assert caught.value.exit_code == 4
    assert index.ranges == []


def test_a_file_that_is_not_what_was_announced_is_not_kept(index: PackageIndex) -> None:
    """Without an announced hash the file itself is judged, and nothing of it stays."""
    index.announce = False
    got = index.add("1.0", CONTENT)
    with pytest.raises(EnvironmentFault) as caught:
        obtain(PACKAGE, _archive("0" * 64), progress=SILENT)
    assert got in caught.value.what
    left = [path for path in cache_folder().rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert left == []


def test_a_version_that_the_index_lacks_is_told_from_an_index_that_is_silent(
    index: PackageIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "absent" is said only after a complete answer."""
    archive = _archive(index.add("1.0", CONTENT), version="2.0")
    with pytest.raises(EnvironmentFault, match="has no source archive"):
        obtain(PACKAGE, archive, progress=SILENT)
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:secret@127.0.0.1:9/simple")
    with pytest.raises(EnvironmentFault, match="cannot download") as caught:
        obtain(PACKAGE, archive, progress=SILENT)
    assert "secret" not in caught.value.what


def test_a_folder_of_archives_serves_as_index(
    index: PackageIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip's find-links holds here too: no network at all."""
    folder = tmp_path / "wheelhouse"
    folder.mkdir()
    (folder / f"{PACKAGE}-1.0.tar.gz").write_bytes(CONTENT)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    archive = _archive(hashlib.sha256(CONTENT).hexdigest())
    assert obtain(PACKAGE, archive, progress=SILENT).read_bytes() == CONTENT
    assert index.ranges == []


def _part_of(archive: Archive) -> Path:
    folder = cache_folder() / archive.sha256[:16]
    folder.mkdir(parents=True)
    return folder / f"{PACKAGE}-{archive.version}.tar.part"
