"""Which files a bump may change, and what of them is believed."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support import documents, repos
from tracker import config as configuration
from tracker.config import Config
from tracker.errors import ConfigError, UsageError
from tracker.publish.pin_files import changes, left_out, only_versions_differ, top_of, tracked_pins

_CMAKE = 'set(LLAMA_TAG "b9581")\nfetch(https://example.invalid/b9581.tar.gz)\n'
_CONFIG = """
[upstream]
url = "https://example.invalid/up"
[[pins]]
name = "default"
kind = "track"
path = "vendor/pin.toml"
[[pins]]
name = "cmake"
kind = "pattern"
path = "CMakeLists.txt"
pattern = "b[0-9]+"
matches = 2
[[pins]]
name = "core"
kind = "submodule"
path = "core"
[[pins]]
name = "scratch"
kind = "track"
path = "scratch/pin.toml"
[[pins]]
name = "sister"
kind = "version-file"
path = ".version"
repository = "../sister"
"""


@pytest.fixture
def used(tmp_path: Path) -> Config:
    """A repository with a tracked pin, a CMake file, a submodule and an ignored pin."""
    small = tmp_path / "ours"
    files = {
        "lloyal-track.toml": _CONFIG,
        "vendor/pin.toml": 'commit = "b9581"\n',
        "CMakeLists.txt": _CMAKE,
        ".gitignore": "scratch/\n",
    }
    repos.build(small, [files], bare=False)
    repos.git(small, "update-index", "--add", "--cacheinfo", f"160000,{'d' * 40},core")
    (small / "scratch").mkdir()
    (small / "scratch/pin.toml").write_text('commit = "b9581"\n')
    return configuration.load(small / "lloyal-track.toml")


@pytest.fixture
def handed(tmp_path: Path) -> Path:
    """What the other job left."""
    files = tmp_path / "handed/files"
    (files / "vendor").mkdir(parents=True)
    (files / "vendor/pin.toml").write_text('commit = "b10001"\n')
    (files / "CMakeLists.txt").write_text(_CMAKE.replace("b9581", "b10001"))
    return tmp_path / "handed"


def test_only_tracked_pins_of_this_repository_count(used: Config) -> None:
    """A pin that git ignores, or of a sister repository, is not published here."""
    found = tracked_pins(used, used.base)
    assert [path for _, path in found] == ["vendor/pin.toml", "CMakeLists.txt", "core"]
    assert [note.split()[2] for note in left_out(used, used.base)] == ["scratch", "sister"]


def test_moved_pins_become_changes(used: Config, handed: Path) -> None:
    """Files with their new content, a submodule as the commit it points to."""
    document = documents.bump()
    target = replace(document.to, upstream_commit="e" * 40)
    made = changes(used, replace(document, to=target), used.base, handed)
    assert [(c.path, c.mode) for c in made] == [
        ("vendor/pin.toml", "100644"),
        ("CMakeLists.txt", "100644"),
        ("core", "160000"),
    ]
    assert made[1].content.count(b"b10001") == 2
    assert made[2].gitlink == "e" * 40


def test_a_short_id_is_no_submodule(used: Config) -> None:
    """An abbreviated upstream id, as archives publish it, never enters a gitlink."""
    made = changes(used, documents.bump(), used.base, None)
    assert "core" not in [change.path for change in made]


@pytest.mark.parametrize(
    "tampered",
    [
        _CMAKE + "execute_process(COMMAND sh)\n",
        _CMAKE.replace("fetch", "evil"),
        _CMAKE.replace("example", "evil"),
        _CMAKE.replace('"b9581"', '"b9581" evil'),
        _CMAKE.replace('"b9581"', '"evil"'),
    ],
)
def test_a_tampered_file_is_refused(used: Config, handed: Path, tampered: str) -> None:
    """The job that ran upstream's code can change versions, and nothing a build would execute."""
    (handed / "files/CMakeLists.txt").write_text(tampered)
    with pytest.raises(ConfigError, match="more than a version"):
        changes(used, documents.bump(), used.base, handed)


def test_a_link_is_not_followed(used: Config, handed: Path, tmp_path: Path) -> None:
    """A symbolic link could bring a secret of the runner into the pull request."""
    (tmp_path / "secret").write_text(_CMAKE)
    (handed / "files/CMakeLists.txt").unlink()
    (handed / "files/CMakeLists.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(ConfigError, match="regular file"):
        changes(used, documents.bump(), used.base, handed)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (b"b9581\n", b"b10001\n", True),
        (b"v1.2.3", b"v1.10.0", True),
        (b"d6d0ce8215a1", b"0c1e57098", True),
        (b"tag: llama-b9581-src", b"tag: llama-b10001-src", True),
        (b"b9581", b"main", False),
        (b"a b9581", b"c b9581", False),
        (b"b9581\n", b"b9581\n\n", False),
    ],
)
def test_what_counts_as_a_version(old: bytes, new: bytes, same: bool) -> None:
    """Tags, releases and ids; no other word."""
    assert only_versions_differ(old, new) is same


def test_outside_a_repository_there_is_nothing_to_publish(tmp_path: Path) -> None:
    """The complaint names the folder."""
    with pytest.raises(UsageError, match="not inside a git repository"):
        top_of(tmp_path)
