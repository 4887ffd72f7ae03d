"""Pins in trees that are not as tidy as they should be: all move, or none and it is said why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import repos
from tracker import config as configuration
from tracker import pins
from tracker.config import Config
from tracker.errors import ConfigError
from tracker.evidence.pins import PinRead
from tracker.git.repository import Repository
from tracker.git.revision import describe
from tracker.pins.submodule import gitlink
from tracker.statedir import StateDir

CONFIG = """\
state_dir = "state"
[upstream]
url = "https://example.org/up.git"
"""
FILE = '[[pins]]\nname = "{0}"\nkind = "version-file"\npath = "{0}"\n'
GITLINK = '[[pins]]\nname = "{0}"\nkind = "submodule"\nrepository = "{0}"\npath = "{1}"\n'


@dataclass
class Tree:
    """An empty project beside an upstream with the tags b1 and b2."""

    folder: Path
    upstream: Repository
    ids: list[str]

    def config(self, *tables: str) -> Config:
        (self.folder / "lloyal-track.toml").write_text(CONFIG + "".join(tables))
        return configuration.load(self.folder / "lloyal-track.toml")

    def reads(self, config: Config) -> dict[str, PinRead]:
        to = describe(self.upstream, self.ids[1])
        return {read.name: read for read in pins.read_pins(config, self.upstream, to)}

    def move(self, config: Config) -> None:
        to = describe(self.upstream, self.ids[1])
        pins.move_pins(config, StateDir(config.state_dir), to, "d1", "2026-12-01T00:00:00Z")

    def refused(self, config: Config) -> ConfigError:
        """Nothing can be shown of a move that is refused, and it leaves no operation."""
        to = describe(self.upstream, self.ids[1])
        assert pins.preview(config, to, "d1", "2026-12-01T00:00:00Z") == ()
        with pytest.raises(ConfigError) as caught:
            self.move(config)
        assert not StateDir(config.state_dir).operation.exists()
        return caught.value

    def binding(self, name: str = "node", path: str = "up") -> Path:
        """A repository with a submodule at b1 that is not initialised."""
        folder = self.folder / name
        repos.build(folder, [{"package.json": "{}\n"}], bare=False)
        entry = f"160000,{self.ids[0]},{path}"
        repos.git(folder, "update-index", "--add", "--cacheinfo", entry)
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        repos.git(folder, *who, "commit", "-qm", "submodule")
        return folder


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    steps = [repos.Step({"a": text}, tags=(f"b{text}",)) for text in "12"]
    ids = repos.build(tmp_path / "upstream.git", steps)
    with Repository.open(tmp_path / "upstream.git") as upstream:
        yield Tree(tmp_path, upstream, ids)


def test_a_link_stays_a_link_and_the_file_behind_it_moves(tree: Tree) -> None:
    """What counts as changed and not committed is the file, in the repository where it lies."""
    other = tree.folder / "other"
    repos.build(other, [{"version": "b1\n"}], bare=False)
    link = tree.folder / "v"
    link.symlink_to("other/version")
    config = tree.config(FILE.format("v"))
    (other / "version").write_text("# editing\nb1\n")
    assert "not committed" in tree.reads(config)["v"].obstacle
    (other / "version").write_text("b1\n")
    assert tree.reads(config)["v"].obstacle == ""
    tree.move(config)
    assert link.is_symlink()
    assert (other / "version").read_text() == "b2\n"


def test_links_in_a_circle_and_a_folder_are_told(tree: Tree) -> None:
    """One such pin is a value that does not hide the others; the move is refused."""
    tree.binding()
    (tree.folder / "good").write_text("b1\n")
    (tree.folder / "circle").symlink_to("circle")
    (tree.folder / "folder").mkdir()
    for name in ("circle", "folder"):
        config = tree.config(FILE.format("good"), FILE.format(name), GITLINK.format("node", "up"))
        reads = tree.reads(config)
        assert reads["good"].value == "b1"
        assert "cannot be read" in reads[name].trouble
        assert tree.refused(config).where == str(tree.folder / name)
        assert (tree.folder / "good").read_text() == "b1\n"


def test_a_read_only_file_stands_in_the_way_from_the_start(tree: Tree) -> None:
    """It is known before anything is built."""
    (tree.folder / "v").write_text("b1\n")
    (tree.folder / "v").chmod(0o444)
    assert tree.reads(tree.config(FILE.format("v")))["v"].obstacle == "the file is read-only"


def test_the_same_place_twice_moves_once(tree: Tree) -> None:
    """Through two names, through a link, or a submodule configured twice."""
    (tree.folder / "v").write_text("b1\n")
    (tree.folder / "link").symlink_to("v")
    node = tree.binding()
    twice = GITLINK.format("node", "up")
    config = tree.config(
        FILE.format("v"), FILE.format("link"), twice, twice.replace('name = "node"', 'name = "n"')
    )
    tree.move(config)
    assert (tree.folder / "v").read_text() == "b2\n"
    assert gitlink(node, "up") == tree.ids[1]


def test_a_branch_is_no_pin(tree: Tree) -> None:
    """It names the target today and something else tomorrow."""
    (tree.folder / "v").write_text("master\n")
    config = tree.config(FILE.format("v"))
    read = tree.reads(config)["v"]
    assert (read.commit, bool(read.why), bool(read.obstacle)) == (None, True, True)
    tree.refused(config)


def test_a_submodule_in_a_merge_conflict_has_no_commit(tree: Tree) -> None:
    """One of three sides would be a guess."""
    node = tree.binding()
    sides = "".join(f"160000 {str(side) * 40} {side}\tup\n" for side in (1, 2, 3))
    repos.git(node, "update-index", "--force-remove", "up")
    repos.git(node, "update-index", "--index-info", stdin=sides.encode())
    config = tree.config(GITLINK.format("node", "up"))
    assert "merge conflict" in tree.reads(config)["node"].trouble
    assert tree.refused(config).next_step
    assert repos.git(node, "ls-files", "-s", "up").encode() + b"\n" == sides.encode()


def test_a_staged_gitlink_stands_in_the_way_and_a_checkout_does_not(tree: Tree) -> None:
    """The submodule's own work tree, detached at whatever commit, is neither asked nor touched."""
    node = tree.binding()
    repos.build(node / "up", [{"mine": "1\n"}, {"mine": "2\n"}], bare=False)
    repos.git(node / "up", "checkout", "-q", "--detach", "HEAD~1")
    (node / "up" / "mine").write_text("edited\n")
    config = tree.config(GITLINK.format("node", "up"))
    assert tree.reads(config)["node"].obstacle == ""
    before = repos.state(node / "up")
    tree.move(config)
    assert repos.state(node / "up") == before
    assert gitlink(node, "up") == tree.ids[1]
    repos.git(node, "update-index", "--cacheinfo", f"160000,{'3' * 40},up")
    assert "not committed" in tree.reads(config)["node"].obstacle


def test_in_a_linked_worktree_only_its_own_index_changes(tree: Tree) -> None:
    """Each work tree has an index of its own."""
    node = tree.binding()
    repos.git(node, "worktree", "add", "-q", str(tree.folder / "second"), "HEAD")
    tree.move(tree.config(GITLINK.format("second", "up")))
    assert gitlink(tree.folder / "second", "up") == tree.ids[1]
    assert gitlink(node, "up") == tree.ids[0]


@pytest.mark.parametrize("form", ["--split-index", "--index-version=4"])
def test_every_form_of_index_is_kept(tree: Tree, form: str) -> None:
    """git writes it, so what git can read stays readable, with every other entry."""
    node = tree.binding()
    repos.git(node, "update-index", *form.replace("=", " ").split())
    before = repos.git(node, "ls-files", "-s")
    tree.move(tree.config(GITLINK.format("node", "up")))
    assert repos.git(node, "ls-files", "-s") == before.replace(tree.ids[0], tree.ids[1])
    repos.git(node, "fsck", "--no-dangling")


def test_a_path_means_one_submodule(tree: Tree) -> None:
    """Not one below it, and not one that a wildcard finds; a repository's subfolder will do."""
    node = tree.binding(path="libs/up")
    for path in ("libs", "libs/u*", "up"):
        assert "no submodule" in tree.reads(tree.config(GITLINK.format("node", path)))["node"].why
    (node / "libs").mkdir()
    below = GITLINK.format("node", "up").replace('"node"\npath', '"node/libs"\npath')
    tree.move(tree.config(below))
    assert gitlink(node, "libs/up") == tree.ids[1]


def test_a_folder_without_git_is_told(tree: Tree) -> None:
    """Neither git's own usage nor a traceback."""
    (tree.folder / "node").mkdir()
    config = tree.config(GITLINK.format("node", "up"))
    assert "no git repository" in tree.reads(config)["node"].why
