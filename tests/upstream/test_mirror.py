"""The mirror: one commit per archive, the same on every machine, nothing lost."""

from __future__ import annotations

import tarfile
from pathlib import Path

import msgspec
import pytest

from tests.support import repos
from tests.support.package_index import PackageIndex, archive, member
from tests.upstream.conftest import MakeConfig
from tracker.config import load
from tracker.errors import ConfigError, EnvironmentFault, UsageError
from tracker.evidence.revision import Source
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.upstream import bring, fetch_registry, open_repository, resolve

TOP = "small-upstream-1.0/vendor/core"
OLD = archive(
    [
        member(f"{TOP}/.git", b"gitdir: elsewhere\n"),
        member(f"{TOP}/.gitignore", b"*.o\nignored/\n"),
        member(f"{TOP}/.gitattributes", b"* text=auto eol=crlf\n"),
        member(f"{TOP}/a.cpp", b"int a;\r\nint b;\n"),
        member(f"{TOP}/kept.o", b"\0binary"),
        member(f"{TOP}/ignored/file", b"kept\n"),
        member(f"{TOP}/run.sh", b"#!/bin/sh\n", mode=0o755),
        member(f"{TOP}/link", kind=tarfile.SYMTYPE, link="a.cpp"),
        member(f"{TOP}/hard", kind=tarfile.LNKTYPE, link=f"{TOP}/a.cpp"),
        member(f"{TOP}/empty"),
        member(f"{TOP}/b.txt/", kind=tarfile.DIRTYPE),
        member(f'{TOP}/caf\u00e9 \\ "q"\nx', b"odd name\n"),
        member("small-upstream-1.0/.git/modules/vendor/core/HEAD", b"not upstream's\n"),
        member("small-upstream-1.0/setup.py", b"not upstream's\n"),
    ]
)
NEW = archive([member(f"{TOP}/a.cpp", b"int a2;\n")])


def test_every_file_arrives_as_the_archive_has_it(
    index: PackageIndex, mirror_config: MakeConfig
) -> None:
    """Ignored files, line ends, modes, links and odd names; the stray .git is left out."""
    config = mirror_config([("1.0", index.add("1.0", OLD))])
    fetch_registry(config, progress=SILENT)
    with open_repository(config) as repository:
        entries = {entry.path: entry for entry in repository.list_tree("master")}
        assert set(entries) == {
            ".gitattributes",
            ".gitignore",
            "a.cpp",
            'caf\u00e9 \\ "q"\nx',
            "empty",
            "hard",
            "ignored/file",
            "kept.o",
            "link",
            "run.sh",
        }
        assert repository.read(entries["a.cpp"].oid) == b"int a;\r\nint b;\n"
        assert entries["hard"].oid == entries["a.cpp"].oid
        assert entries["run.sh"].mode == "100755"
        assert entries["a.cpp"].mode == "100644"
        assert entries["link"].mode == "120000"
        assert repository.read(entries["link"].oid) == b"a.cpp"
        assert repository.git(["fsck", "--strict"], check=False).code == 0


def test_the_same_archives_make_the_same_ids_on_every_machine(
    index: PackageIndex,
    mirror_config: MakeConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The commits depend on the configuration and the archives: no clock, zone, user or git."""
    archives = [("1.0", index.add("1.0", OLD)), ("2.0", index.add("2.0", NEW))]
    here = fetch_registry(mirror_config(archives), progress=SILENT)
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody Else")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    (tmp_path / "gitconfig").write_text("[core]\n\tautocrlf = true\n[init]\n\tdefaultBranch = x\n")
    elsewhere = msgspec.structs.replace(mirror_config(archives), state_dir=tmp_path / "other")
    assert fetch_registry(elsewhere, progress=SILENT).commits == here.commits


@pytest.mark.archives
def test_the_real_archives_make_the_ids_that_everybody_has(tmp_path: Path) -> None:
    """llama.cpp as 0.3.29 and 0.3.36 carry it, by the configuration that ships."""
    shipped = load(Path(__file__).parents[2] / "archives.toml")
    document = fetch_registry(
        msgspec.structs.replace(shipped, state_dir=tmp_path / "state"), progress=SILENT
    )
    assert [(revision.name, revision.commit) for revision in document.commits] == [
        ("0.3.29", "fe8dc56409b724ddaeb42ac6ae7384a41f23db60"),
        ("0.3.36", "cd10815f38d3757997a045bc27d64bd7710e31fd"),
    ]


def test_a_revision_of_the_mirror_tells_its_upstream_commit(
    index: PackageIndex, mirror_config: MakeConfig
) -> None:
    """Tag, version and branch name the same commit; the upstream id is the published one."""
    config = mirror_config([("1.0", index.add("1.0", OLD)), ("2.0", index.add("2.0", NEW))])
    with bring(config, progress=SILENT) as repository:
        found = [resolve(repository, rev, config) for rev in ("2.0", "archive-2.0", "master")]
        assert found[0] == found[1] == found[2]
        assert found[0].source is Source.ARCHIVE
        assert found[0].name == "2.0"
        assert found[0].upstream_commit == "000000002"
        assert found[0].date == "2026-02-01T00:00:00Z"
        assert repository.is_snapshot
        for channel in ("stable", "nightly"):
            with pytest.raises(UsageError, match="no channel") as caught:
                resolve(repository, channel, config)
            assert caught.value.exit_code == 2


def test_a_mirror_that_is_there_is_left_alone(
    index: PackageIndex, mirror_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No archive is read and no index is asked when there is nothing new."""
    config = mirror_config([("1.0", index.add("1.0", OLD))])
    first = fetch_registry(config, progress=SILENT)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setattr("tracker.upstream.mirror.obtain", _never)
    second = fetch_registry(config, progress=SILENT)
    assert (first.changed, second.changed) == (True, False)
    assert second.commits == first.commits


def test_a_new_archive_is_added_on_top(index: PackageIndex, mirror_config: MakeConfig) -> None:
    """The commits that a pin may name stay what they were."""
    old = ("1.0", index.add("1.0", OLD))
    first = fetch_registry(mirror_config([old]), progress=SILENT)
    new = ("2.0", index.add("2.0", NEW))
    config = mirror_config([old, new])
    second = fetch_registry(config, progress=SILENT)
    assert second.commits[0] == first.commits[0]
    assert second.new_tags == ("archive-2.0",)
    with open_repository(config) as repository:
        commits = repository.commits(first.head.commit, "master")
        assert [commit.oid for commit in commits] == [second.head.commit]
        assert [entry.path for entry in repository.list_tree("master")] == ["a.cpp"]


def test_a_changed_table_makes_another_mirror(
    index: PackageIndex, mirror_config: MakeConfig
) -> None:
    """An archive put in front, another folder or date: never the old commits under a new name."""
    old, new = ("1.0", index.add("1.0", OLD)), ("2.0", index.add("2.0", NEW))
    first = fetch_registry(mirror_config([old, new]), progress=SILENT)
    second = fetch_registry(mirror_config([new]), progress=SILENT)
    assert second.head.commit != first.head.commit
    other = mirror_config([new], prefix="vendor")
    third = fetch_registry(other, progress=SILENT)
    assert third.head.commit != second.head.commit
    with open_repository(other) as repository:
        assert [entry.path for entry in repository.list_tree("master")] == ["core/a.cpp"]


def test_an_import_cut_short_leaves_the_mirror_as_it_was(
    index: PackageIndex, mirror_config: MakeConfig
) -> None:
    """The second archive is unusable: no ref moves, and a later run makes it whole."""
    old = ("1.0", index.add("1.0", OLD))
    first = fetch_registry(mirror_config([old]), progress=SILENT)
    broken = ("2.0", index.add("2.0", NEW[: len(NEW) // 2]))
    config = mirror_config([old, broken])
    with pytest.raises(EnvironmentFault, match="cannot read the archive"):
        fetch_registry(config, progress=SILENT)
    with open_repository(config) as repository:
        assert repository.resolve("master") == first.head.commit
        assert repository.tags_at(first.head.commit) == ["archive-1.0"]
    assert fetch_registry(mirror_config([old]), progress=SILENT).commits == first.commits


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (member("top/vendor/core/../../../etc/passwd", b"x"), "leaves the archive"),
        (member("top/vendor/core/pipe", kind=tarfile.FIFOTYPE), "neither a file nor a link"),
        (member("top/elsewhere/x", b"x"), "holds nothing below"),
    ],
)
def test_an_archive_that_is_no_plain_tree_is_refused(
    index: PackageIndex,
    mirror_config: MakeConfig,
    bad: tuple[tarfile.TarInfo, bytes],
    said: str,
) -> None:
    """Nothing leaves the tree, nothing is dropped in silence, and no empty commit is made."""
    config = mirror_config([("1.0", index.add("1.0", archive([bad])))])
    with pytest.raises((EnvironmentFault, ConfigError), match=said):
        fetch_registry(config, progress=SILENT)


def test_a_clone_is_never_turned_into_a_mirror(
    index: PackageIndex, mirror_config: MakeConfig, tmp_path: Path
) -> None:
    """Two histories in one repository would let a mirror's id pass for upstream's."""
    config = mirror_config([("1.0", index.add("1.0", OLD))])
    origin = tmp_path / "origin"
    repos.build(origin, [{"a": "1"}])
    repos.git(origin, "clone", "-q", "--bare", ".", str(config.state_dir / "upstream.git"))
    with pytest.raises(UsageError, match="holds a clone"):
        fetch_registry(config, progress=SILENT)
    with Repository.open(config.state_dir / "upstream.git") as repository:
        assert not repository.is_snapshot


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"sha256": "12"}, "sha256"),
        ({"upstream_commit": "main"}, "upstream_commit"),
        ({"date": "2026-01-01"}, "date"),
        ({"date": "soon"}, "date"),
        ({"version": "../1"}, "version"),
    ],
)
def test_a_table_that_cannot_be_used_names_its_key(
    mirror_config: MakeConfig, change: dict[str, str], key: str
) -> None:
    """Checked before anything is downloaded."""
    config = mirror_config([("1.0", "0" * 64)])
    broken = msgspec.structs.replace(config.upstream.archives[0], **change)
    upstream = msgspec.structs.replace(config.upstream, archives=(broken,))
    with pytest.raises(ConfigError) as caught:
        fetch_registry(msgspec.structs.replace(config, upstream=upstream), progress=SILENT)
    assert caught.value.where.endswith(f"archives[0].{key}")
    assert not config.state_dir.exists()


def _never(*_args: object, **_options: object) -> Path:
    raise AssertionError("an archive was asked for")
