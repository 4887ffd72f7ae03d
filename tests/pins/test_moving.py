"""Every pin of every downstream moves together, in its own form, with only the wanted bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import repos
from tracker import config as configuration
from tracker import pins
from tracker.config import Config
from tracker.errors import ConfigError, EnvironmentFault, UsageError
from tracker.git.repository import Repository
from tracker.git.revision import describe
from tracker.pins.submodule import gitlink
from tracker.statedir import StateDir

CONFIG = """\
state_dir = "state"
[upstream]
url = "https://example.org/up.git"
[[pins]]
name = "ours"
kind = "track"
path = "pin.toml"
[[pins]]
name = "version file"
kind = "version-file"
repository = "native"
path = ".upstream-version"
[[pins]]
name = "cmake"
kind = "pattern"
repository = "native"
path = "CMakeLists.txt"
pattern = '\\b(b\\d+)\\b'
matches = 2
[[pins]]
name = "second pattern of the same file"
kind = "pattern"
repository = "native"
path = "CMakeLists.txt"
pattern = 'ID ([0-9a-f]{40})'
[[pins]]
name = "gitlink"
kind = "submodule"
repository = "node"
path = "upstream"
"""
MOVED = "2026-12-01T00:00:00Z"


@dataclass(frozen=True)
class World:
    """Upstream with tags b1 and b2, and three downstream repositories side by side."""

    config: Config
    repository: Repository
    ids: list[str]

    @property
    def state(self) -> StateDir:
        return StateDir(self.config.state_dir)

    def reads(self) -> dict[str, tuple[str | None, str, str]]:
        to = describe(self.repository, self.ids[1])
        found = pins.read_pins(self.config, self.repository, to)
        return {read.name: (read.value, read.why, read.obstacle) for read in found}

    def move(self) -> None:
        pins.move_pins(self.config, self.state, describe(self.repository, self.ids[1]), "d1", MOVED)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    steps = [repos.Step({"a": text}, tags=(tag,)) for text, tag in (("1", "b1"), ("2", "b2"))]
    ids = repos.build(tmp_path / "upstream.git", steps)
    native = tmp_path / "native"
    cmake = f"set(A b1)\nset(B b1) # ID {ids[0]}\n"
    repos.build(native, [{".upstream-version": "# why\nb1\n", "CMakeLists.txt": cmake}], bare=False)
    node = tmp_path / "node"
    repos.build(node, [{"package.json": "{}\n"}], bare=False)
    repos.git(node, "update-index", "--add", "--cacheinfo", f"160000,{ids[0]},upstream")
    repos.git(node, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "submodule")
    (tmp_path / "pin.toml").write_text(f'# ours\ncommit = "{ids[0]}"\nextra = 1\n')
    (tmp_path / "lloyal-track.toml").write_text(CONFIG)
    with Repository.open(tmp_path / "upstream.git") as repository:
        yield World(configuration.load(tmp_path / "lloyal-track.toml"), repository, ids)


def test_all_pins_are_read_and_agree(world: World) -> None:
    """A tag and a full id of the same commit do not disagree."""
    first = world.ids[0]
    assert world.reads() == {
        "ours": (first, "", ""),
        "version file": ("b1", "", ""),
        "cmake": ("b1", "", ""),
        "second pattern of the same file": (first, "", ""),
        "gitlink": (first, "", ""),
    }


def test_all_pins_move_in_their_own_form(world: World) -> None:
    """Tags stay tags, ids stay ids; comments, other keys and other files stay."""
    first, second = world.ids
    base = world.config.base
    node_before = repos.git(base / "node", "ls-files", "-s")
    world.move()
    ours = (base / "pin.toml").read_text()
    assert ours.startswith(f'# ours\ncommit = "{second}"\nextra = 1\n')
    assert 'nightly = "b2"' in ours
    assert (base / "native" / ".upstream-version").read_text() == "# why\nb2\n"
    cmake = (base / "native" / "CMakeLists.txt").read_text()
    assert cmake == f"set(A b2)\nset(B b2) # ID {second}\n"
    assert gitlink(base / "node", "upstream") == second
    assert repos.git(base / "node", "ls-files", "-s") == node_before.replace(first, second)
    assert repos.git(base / "node", "status", "--porcelain").splitlines()[0].startswith("M")


def test_a_preview_is_what_the_move_does(world: World) -> None:
    """Every line that changes and no other, and nothing is written by looking."""
    first, second = world.ids
    base = world.config.base
    to = describe(world.repository, second)
    before = {place: repos.state(base / place) for place in ("native", "node")}
    changes = {c.path: c.diff for c in pins.preview(world.config, to, "d1", MOVED)}
    assert {place: repos.state(base / place) for place in before} == before
    said = [line for line in changes["native/CMakeLists.txt"].splitlines() if line[0] in "+-"]
    assert said[2:] == [
        "-set(A b1)",
        f"-set(B b1) # ID {first}",
        "+set(A b2)",
        f"+set(B b2) # ID {second}",
    ]
    assert "-b1\n+b2" in changes["native/.upstream-version"]
    assert f"-Subproject commit {first}\n+Subproject commit {second}" in changes["node/upstream"]
    world.move()
    ours = (base / "pin.toml").read_text().splitlines()
    added = [line[1:] for line in changes["pin.toml"].splitlines() if line[:1] == "+"][1:]
    assert added
    assert set(added) <= set(ours)
    assert len(changes) == 4


def test_a_pin_that_disagrees_is_told(world: World) -> None:
    """Our own pin is the measure; who says otherwise is named with file, line and value."""
    (world.config.base / "native" / ".upstream-version").write_text("# why\nb2\n")
    found = {read.name: read for read in pins.read_pins(world.config, world.repository)}
    assert found["version file"].trouble == (
        f"native/.upstream-version:2 says b2, disagrees with pin.toml:2, which says {world.ids[0]}"
    )
    assert found["cmake"].lines == (1, 2)
    assert not any(read.trouble for read in found.values() if read.name != "version file")


def test_tags_that_differ_are_told_without_upstream_too(world: World) -> None:
    """Before anything was fetched a tag has no commit: then the names are compared."""
    (world.config.base / "native" / ".upstream-version").write_text("b2\n")
    file = world.config.base / "lloyal-track.toml"
    text = file.read_text()
    start = text.index("[[pins]]")
    file.write_text(text[:start] + text[text.index("[[pins]]", start + 1) :])
    found = {read.name: read for read in pins.read_pins(configuration.load(file))}
    assert "native/CMakeLists.txt:1,2 says b1, disagrees with" in found["cmake"].trouble
    assert found["gitlink"].trouble == ""  # an id and a tag: not known before upstream is here


def test_a_pin_that_upstream_does_not_have_never_passes(world: World) -> None:
    """Unknown is told: in the list of pins, and where the first pin is looked up."""
    (world.config.base / "native" / ".upstream-version").write_text("# why\nb7\n")
    assert "does not have" in world.reads()["version file"][1]
    (world.config.base / "pin.toml").unlink()
    with pytest.raises(UsageError, match="says b7") as caught:
        pins.pinned_revision(world.config, world.repository)
    assert caught.value.where.endswith(".upstream-version:2")
    assert "upstream fetch" in caught.value.next_step


GITMODULES = """\
[submodule "up.stream"]
\tpath = upstream
\turl = https://example.org/up.git
\tbranch = %s
"""


@pytest.mark.parametrize(
    ("branch", "said"),
    [
        ("b1", ""),
        ("master", ""),
        (".", ""),
        ("b2", "disagrees with pin.toml:2"),
        ("b7", "does not have"),
        ("release", "is not upstream's configured branch master"),
    ],
)
def test_the_branch_of_a_submodule_is_shown_and_checked(
    world: World, branch: str, said: str
) -> None:
    """Without a pin of its own it is compared with the others, and no move changes it."""
    file = world.config.base / "node" / ".gitmodules"
    file.write_text(GITMODULES % branch)
    read = next(
        read
        for read in pins.read_pins(world.config, world.repository)
        if read.name == "gitlink branch"
    )
    assert (read.place, read.value, read.fixed) == ("node/.gitmodules:4", branch, True)
    assert said in read.why
    assert bool(said) is bool(read.why)
    world.move()
    assert file.read_text() == GITMODULES % branch


def test_the_branch_of_a_submodule_moves_if_it_is_a_pin(world: World) -> None:
    """Then it is one of the places that move together."""
    file = world.config.base / "node" / ".gitmodules"
    file.write_text(GITMODULES % "b1")
    written = world.config.file.read_text()
    world.config.file.write_text(
        written + '[[pins]]\nname = "branch"\nkind = "key"\nrepository = "node"\n'
        'path = ".gitmodules"\nkey = \'submodule."up.stream".branch\'\n'
    )
    moved = World(configuration.load(world.config.file), world.repository, world.ids)
    assert moved.reads()["branch"] == ("b1", "", "")
    assert "gitlink branch" not in moved.reads()
    moved.move()
    assert file.read_text() == GITMODULES % "b2"


def test_changes_that_are_not_committed_stand_in_the_way(world: World) -> None:
    """A pin file that the user is editing is not moved under his hands."""
    file = world.config.base / "native" / "CMakeLists.txt"
    file.write_text(file.read_text() + "# editing\n")
    assert "not committed" in world.reads()["cmake"][2]


def test_a_target_without_a_tag_stands_in_the_way_of_a_tag(world: World) -> None:
    """The version file names tags; a commit without one cannot be written there."""
    bare = world.config.base / "upstream.git"
    tree = repos.git(bare, "rev-parse", "b2^{tree}")
    commit = repos.git(
        bare, "-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", tree, "-m", "x"
    )
    to = describe(world.repository, commit)
    found = {read.name: read for read in pins.read_pins(world.config, world.repository, to)}
    assert "nightly tag" in found["version file"].obstacle
    assert found["gitlink"].obstacle == ""
    before = repos.state(world.config.base / "native")
    with pytest.raises(ConfigError):
        pins.move_pins(world.config, world.state, to, "d1", MOVED)
    assert repos.state(world.config.base / "native") == before


def test_a_locked_index_is_told_and_nothing_moves(world: World) -> None:
    """Another git command is at work in that repository: its lock is never removed."""
    lock = world.config.base / "node" / ".git" / "index.lock"
    lock.touch()
    before = (world.config.base / "pin.toml").read_text()
    with pytest.raises(EnvironmentFault) as caught:
        world.move()
    assert caught.value.where == str(lock)
    assert lock.exists()
    assert (world.config.base / "pin.toml").read_text() == before


def test_a_pin_that_cannot_be_read_is_a_value(world: World) -> None:
    """One broken pin does not hide the others."""
    (world.config.base / "native" / ".upstream-version").write_text("b1\nb2\n")
    reads = world.reads()
    assert reads["version file"][0] is None
    assert reads["gitlink"][0] == world.ids[0]


def test_without_a_pin_of_ours_the_first_readable_one_counts(world: World) -> None:
    """A downstream with only a version file needs no file of ours."""
    file = world.config.base / "lloyal-track.toml"
    text = file.read_text()
    start = text.index("[[pins]]")
    file.write_text(text[:start] + text[text.index("[[pins]]", start + 1) :])
    read = configuration.load(file)
    assert pins.pinned_revision(read, world.repository).commit == world.ids[0]


@pytest.mark.parametrize("same", [True, False])
def test_a_pin_that_upstream_threw_away_is_told(world: World, same: bool) -> None:
    """The history was rewritten: what stands for it now is named, and the pins can move (G22)."""
    git_dir = world.repository.git_dir
    identity = ("-c", "user.name=x", "-c", "user.email=x@x")
    tree = repos.git(git_dir, "rev-parse", world.ids[0 if same else 1] + "^{tree}")
    other = repos.git(git_dir, *identity, "commit-tree", tree, "-m", "rewritten")
    new = repos.git(git_dir, *identity, "commit-tree", tree, "-p", other, "-m", "and more")
    repos.git(git_dir, "update-ref", "refs/heads/master", new)
    for tag in ("b1", "b2"):
        repos.git(git_dir, "update-ref", f"refs/tags/{tag}", new)
    reads = pins.read_pins(world.config, world.repository, describe(world.repository, new))
    ours = next(read for read in reads if read.name == "ours")
    assert (ours.commit, ours.obstacle) == (world.ids[0], "")
    assert "no branch or tag of upstream" in ours.trouble
    assert (f"{new[:12]} holds the same files" in ours.trouble) == same
    assert ("no commit there holds its files" in ours.trouble) != same
