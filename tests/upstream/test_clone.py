"""The clone: blob-filtered, brought up to date, never hanging, never losing what was recorded."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec
import pytest

from tests.support import repos
from tracker import config
from tracker.config import Config
from tracker.errors import EnvironmentFault, UsageError
from tracker.evidence.verdict import Verdict
from tracker.git import transfer
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.upstream import bring, fetch_git, open_repository, resolve


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """An upstream that serves filtered clones."""
    made = tmp_path / "origin"
    first = repos.Step({"a.cpp": "one\n"}, "first", ("b9999",))
    repos.build(made, [first, repos.Step({"a.cpp": "two\n"}, "second", ("b10000",))], bare=False)
    repos.git(made, "config", "uploadpack.allowFilter", "true")
    return made


@pytest.fixture
def clone_config(tmp_path: Path, origin: Path) -> Config:
    file = tmp_path / "lloyal-track.toml"
    file.write_text(f'state_dir = "state"\n[upstream]\nurl = "file://{origin}"\n')
    return config.load(file)


def _at(configured: Config, url: str) -> Config:
    return msgspec.structs.replace(
        configured, upstream=msgspec.structs.replace(configured.upstream, url=url)
    )


def test_a_clone_brings_history_and_tags_but_no_file_contents(
    clone_config: Config, origin: Path
) -> None:
    """Contents come when somebody reads them."""
    document = fetch_git(clone_config, progress=SILENT)
    assert document.head.commit == repos.git(origin, "rev-parse", "HEAD")
    assert document.new_tags == ("b10000", "b9999")
    with open_repository(clone_config) as repository:
        missing = repository.git(
            ["rev-list", "--objects", "--missing=print", "--all"]
        ).stdout.decode()
        assert missing.count("\n?") == 2
        assert repository.read_path("master", "a.cpp") == b"two\n"


def test_a_second_fetch_brings_the_new_commits(clone_config: Config, origin: Path) -> None:
    """The branch names upstream's present tip; nothing new is said plainly."""
    fetch_git(clone_config, progress=SILENT)
    assert fetch_git(clone_config, progress=SILENT).changed is False
    tip = repos.commit(origin, {"a.cpp": "three\n"}, "third")
    document = fetch_git(clone_config, progress=SILENT)
    assert (document.changed, document.head.commit, document.verdict) == (True, tip, Verdict.OK)


def test_a_moved_tag_is_followed_and_reported(clone_config: Config, origin: Path) -> None:
    """Never "up to date" on a stale tag; the old commit stays readable for what recorded it."""
    old = repos.git(origin, "rev-parse", "b10000")
    fetch_git(clone_config, progress=SILENT)
    new = repos.commit(origin, {"a.cpp": "rewritten\n"})
    repos.git(origin, "tag", "--force", "b10000")
    document = fetch_git(clone_config, progress=SILENT)
    assert document.verdict is Verdict.ATTENTION
    assert [(tag.name, tag.from_, tag.to) for tag in document.moved_tags] == [("b10000", old, new)]
    with open_repository(clone_config) as repository:
        assert resolve(repository, "b10000", clone_config).commit == new
        assert resolve(repository, old, clone_config).commit == old


def test_a_rewritten_branch_keeps_the_old_commits(clone_config: Config, origin: Path) -> None:
    """A pin that upstream no longer reaches is still judged from our copy."""
    pinned = repos.commit(origin, {"a.cpp": "pinned\n"})
    fetch_git(clone_config, progress=SILENT)
    repos.git(origin, "reset", "-q", "--hard", "HEAD~1")
    tip = repos.commit(origin, {"a.cpp": "other\n"})
    repos.git(origin, "reflog", "expire", "--expire=now", "--all")
    repos.git(origin, "gc", "-q", "--prune=now")
    document = fetch_git(clone_config, progress=SILENT)
    assert document.head.commit == tip
    with open_repository(clone_config) as repository:
        assert repository.resolve(pinned) == pinned


def test_a_tag_that_upstream_deleted_is_kept_and_reported(
    clone_config: Config, origin: Path
) -> None:
    """A pin may still name it."""
    fetch_git(clone_config, progress=SILENT)
    repos.git(origin, "tag", "--delete", "b9999")
    document = fetch_git(clone_config, progress=SILENT)
    assert document.gone_tags == ("b9999",)
    with open_repository(clone_config) as repository:
        assert resolve(repository, "b9999", clone_config).nightly == "b9999"


def test_a_branch_upstream_does_not_have_is_named(clone_config: Config, origin: Path) -> None:
    """Found before anything is downloaded."""
    repos.git(origin, "branch", "--move", "main")
    with pytest.raises(UsageError, match=r"no branch master\. It has: main"):
        fetch_git(clone_config, progress=SILENT)
    assert not (clone_config.state_dir / "upstream.git").exists()


@pytest.mark.parametrize(("name", "archives"), [("core", False), ("llama.cpp", True)])
def test_an_unreachable_address_leaves_the_clone_as_it_was(
    clone_config: Config, name: str, archives: bool
) -> None:
    """Exit 4 with the next step, for llama.cpp the archives too; no password is shown; a run that
    needs news does not go on.
    """
    fetch_git(clone_config, progress=SILENT)
    dead = _at(clone_config, f"http://user:secret@127.0.0.1:9/{name}.git")
    with pytest.raises(EnvironmentFault) as caught:
        bring(dead, progress=SILENT)
    assert caught.value.exit_code == 4
    assert caught.value.where == f"http://127.0.0.1:9/{name}.git"
    assert "secret" not in caught.value.what
    assert "`upstream.url`" in caught.value.next_step
    assert ("archives.toml" in caught.value.next_step) is archives
    with open_repository(dead) as repository:
        assert resolve(repository, "master", dead).nightly == "b10000"


def test_a_server_that_accepts_and_says_nothing_is_given_up(
    clone_config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first contact has a limit of its own: git alone would wait for minutes."""
    monkeypatch.setattr(transfer, "_CONTACT_S", 0.2)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(EnvironmentFault, match="no answer within") as caught:
            fetch_git(_at(clone_config, f"http://127.0.0.1:{port}/core.git"), progress=SILENT)
    assert caught.value.where.endswith("core.git")
    assert not (clone_config.state_dir / "upstream.git").exists()


@pytest.mark.parametrize("url", ["ext::sh -c 'touch {}'", "--upload-pack=touch {}"])
def test_an_address_is_never_a_command(clone_config: Config, tmp_path: Path, url: str) -> None:
    """A configuration from elsewhere cannot run anything by its address."""
    canary = tmp_path / "canary"
    with pytest.raises(EnvironmentFault):
        fetch_git(_at(clone_config, url.format(canary)), progress=SILENT)
    assert not canary.exists()


def test_a_mirror_is_never_updated_as_a_clone(clone_config: Config) -> None:
    """Its ids are not upstream's."""
    git_dir = clone_config.state_dir / "upstream.git"
    repos.build(git_dir)
    repos.git(git_dir, "config", "lloyal-track.source", "archive")
    with pytest.raises(UsageError, match="made from archives"):
        fetch_git(clone_config, progress=SILENT)


def test_nothing_fetched_yet_says_what_to_run(clone_config: Config) -> None:
    """Reading never fetches by itself."""
    with pytest.raises(UsageError) as caught:
        open_repository(clone_config)
    assert "upstream fetch" in caught.value.next_step


@pytest.fixture
def tagged(origin: Path, clone_config: Config) -> Repository:
    repos.commit(origin, {"b": "3"}, tag="v0.9.0")
    repos.git(origin, "tag", "b10326")
    repos.git(origin, "tag", "gguf-v0.17.1")
    who = ("-c", "user.name=A. Tester", "-c", "user.email=tester@example.invalid")
    repos.git(origin, *who, "tag", "-a", "v0.10.0", "-m", "a release", "b10000")
    repos.git(origin, "tag", "v1.0.0-rc1")
    repos.commit(origin, {"b": "4"}, "after the last tag")
    return bring(clone_config, progress=SILENT)


def test_channels_go_by_number_and_know_their_tags(
    tagged: Repository, clone_config: Config
) -> None:
    """b10326 is newer than b9999, v0.10.0 than v0.9.0; candidates and other tags don't count."""
    nightly = resolve(tagged, "nightly", clone_config)
    stable = resolve(tagged, "stable", clone_config)
    assert (nightly.nightly, nightly.release, nightly.name) == ("b10326", "v0.9.0", "b10326")
    assert (stable.nightly, stable.release) == ("b10000", "v0.10.0")
    tagged.close()


def test_an_annotated_tag_means_its_commit(tagged: Repository, clone_config: Config) -> None:
    """The peeled id, so that a pin on it is recognised."""
    assert resolve(tagged, "v0.10.0", clone_config) == resolve(tagged, "b10000", clone_config)
    tagged.close()


def test_a_missing_nightly_tag_is_no_abbreviated_id(
    tagged: Repository, clone_config: Config
) -> None:
    """``b9581`` is also hexadecimal: without the tag it must not find some commit."""
    commit = tagged.resolve("master")
    short = commit[:7]
    assert resolve(tagged, short, clone_config).commit == commit
    with pytest.raises(UsageError, match="no tag b9581"):
        resolve(tagged, "b9581", clone_config)
    tagged.close()


def test_a_commit_without_a_tag_is_known_by_its_id(
    tagged: Repository, clone_config: Config
) -> None:
    """A branch's name is no name for a revision: it moves."""
    found = resolve(tagged, "master", clone_config)
    assert (found.name, found.nightly, found.release) == (found.commit[:12], None, None)
    assert found.upstream_commit == found.commit
    assert found.date == "2023-11-14T22:17:20Z"
    tagged.close()


def test_a_history_without_tags_has_no_channels(clone_config: Config, tmp_path: Path) -> None:
    """Exit 2, with what to name instead."""
    plain = tmp_path / "plain"
    repos.build(plain, [{"a": "1"}], bare=False)
    other = _at(clone_config, f"file://{plain}")
    with bring(other, progress=SILENT) as repository:
        for channel in ("stable", "nightly"):
            with pytest.raises(UsageError, match="no channel"):
                resolve(repository, channel, other)
