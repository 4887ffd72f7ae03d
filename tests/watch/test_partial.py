"""A blob-filtered clone: fetched in few calls, and a missing content is never "no file"."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repos import build, git
from tests.support.upstream_like import FILES, KV, RECURRENT
from tests.watch.support import FIND_SLOT, table
from tracker.config import RoutingTable
from tracker.errors import TrackError
from tracker.evidence.watch import RegionStatus
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.watch import watch, watch_range

MOVED = "src/rs/slots.cpp"
WANTED = table(FIND_SLOT, routing=(RoutingTable(name="ours", arch="ARCH_OURS"),))


@pytest.fixture
def ids(tmp_path: Path) -> list[str]:
    """Commits of a remote; ``clone`` has their trees, no contents."""
    edited = FILES[RECURRENT].replace("cell.pos >= 0", "cell.pos > 0")
    made = build(
        tmp_path / "up",
        [FILES, {KV: "int x;\n"}, {RECURRENT: edited}, {RECURRENT: None, MOVED: edited}],
    )
    git(tmp_path / "up", "config", "uploadpack.allowFilter", "true")
    git(tmp_path / "up", "config", "uploadpack.allowAnySHA1InWant", "true")
    url = (tmp_path / "up").resolve().as_uri()
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", url, str(tmp_path / "clone"))
    return made


def test_a_filtered_clone_gives_the_same_answers(tmp_path: Path, ids: list[str]) -> None:
    """Regions, routing and break points are those of the whole repository."""
    documents = []
    for name in ("up", "clone"):
        with Repository.open(tmp_path / name) as repository:
            documents.append(
                (
                    watch(repository, WANTED, from_=ids[0], to=ids[3], progress=SILENT),
                    watch_range(repository, WANTED, from_=ids[0], to=ids[3], progress=SILENT),
                )
            )
    assert documents[0] == documents[1]
    assert documents[0][0].regions[0].status is RegionStatus.MOVED_AND_CHANGED


@pytest.mark.parametrize("range_", [False, True])
def test_without_the_remote_nothing_is_called_missing(
    tmp_path: Path, ids: list[str], range_: bool
) -> None:
    """A content that cannot be fetched stops the command; it is not an absent file."""
    (tmp_path / "up").rename(tmp_path / "away")
    with Repository.open(tmp_path / "clone") as repository, pytest.raises(TrackError) as caught:
        judge = watch_range if range_ else watch
        judge(repository, WANTED, from_=ids[0], to=ids[2], progress=SILENT)
    assert caught.value.exit_code == 4


def test_a_content_that_is_gone_is_unknown(tmp_path: Path, ids: list[str]) -> None:
    """In a damaged repository the file is there and its content is not: a clear error."""
    folder = tmp_path / "up"
    with Repository.open(folder) as repository:
        oid = repository.blob_id(ids[2], RECURRENT)
    assert oid is not None
    loosen(folder)
    (folder / "objects" / oid[:2] / oid[2:]).unlink()
    with Repository.open(folder) as repository:
        with pytest.raises(TrackError, match="missing"):
            watch(repository, WANTED, from_=ids[0], to=ids[2], progress=SILENT)
        history = watch_range(
            repository, table(FIND_SLOT), from_=ids[0], to=ids[2], progress=SILENT
        )
    assert [point.status for point in history.breaks] == ["unparsed"]


def loosen(folder: Path) -> None:
    """Every object in a file of its own, so that one can be taken away."""
    packs = list((folder / "objects" / "pack").glob("*.pack"))
    for pack in packs:
        content = pack.read_bytes()
        for part in (folder / "objects" / "pack").glob(f"{pack.stem}.*"):
            part.unlink()
        git(folder, "unpack-objects", "-q", stdin=content)
