"""A configuration is used only if every key of it was understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracker import config
from tracker.errors import ConfigError

MINIMAL = """\
[upstream]
url = "https://example.org/up.git"
"""


def written(folder: Path, text: str, name: str = "lloyal-track.toml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_relative_paths_refer_to_the_folder_of_the_file(tmp_path: Path) -> None:
    """state_dir and the series folder stand beside the configuration, not beside the caller."""
    file = written(tmp_path, 'state_dir = "state"\n[series]\ndir = "queue"\n' + MINIMAL)
    read = config.load(file)
    assert read.state_dir == tmp_path / "state"
    assert read.series_dir == tmp_path / "queue"


def test_the_shipped_patch_set_is_for_its_own_upstream_only(tmp_path: Path) -> None:
    """llama.cpp needs no folder of patches; for any other upstream they stand in ``patches``."""
    ours = config.load(written(tmp_path, MINIMAL + 'repository = "ggml-org/llama.cpp"\n'))
    assert (ours.series_dir / "series.toml").is_file()
    assert ours.decisions.parent == ours.state_dir
    other = config.load(written(tmp_path, MINIMAL))
    assert other.series_dir == tmp_path / "patches"
    assert other.decisions.parent == other.series_dir


def test_the_shipped_configuration_can_be_refined(tmp_path: Path) -> None:
    """Watched code, tickets and recipes are inherited; folders and pins are the heir's own."""
    file = written(tmp_path, f'extends = "{config.SHIPPED_PARENT}"\n')
    read = config.load(file)
    assert read.pins == ()
    assert "check" in read.build.recipes
    assert read.watch.regions
    assert read.state_dir == tmp_path / "vendor"


@pytest.mark.parametrize(
    ("text", "line", "key", "word"),
    [
        (MINIMAL + 'urll = "x"\n', 3, "upstream.urll", "unknown key"),
        ("[upstream]\nbranch = 'x'\n", 1, "upstream", "`url` is missing"),
        (MINIMAL + "branch = 7\n", 3, "upstream.branch", "Expected `str`"),
        (
            MINIMAL + '[[pins]]\nname = "a"\nkind = "track"\npath = "p"\n'
            '[[pins]]\nkind = "track"\nname = "a"\npath = "q"\n',
            9,
            "pins[1].name",
            "second pin of the name `a`",
        ),
        (
            MINIMAL + '[[pins]]\nname = "a"\nkind = "pattern"\npath = "p"\nmatches = 0\n',
            7,
            "pins[0].matches",
            ">= 1",
        ),
        (
            MINIMAL + '[[watch.regions]]\nname = "a"\nselector = "f"\n'
            '[[watch.regions]]\nname = "b"\nselector = 5\n',
            8,
            "watch.regions[1].selector",
            "Expected `str`",
        ),
        ("a = = 1\n", 1, "", "not valid TOML"),
    ],
)
def test_a_fault_names_file_line_and_key(
    tmp_path: Path, text: str, line: int, key: str, word: str
) -> None:
    """The reader is sent to the very line; what is wrong stands in the message."""
    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        config.load(file)
    assert caught.value.where.startswith(f"{file}:{line}")
    assert key in caught.value.where
    assert word in caught.value.what
    assert caught.value.exit_code == 2


def test_extends_merges_tables_and_the_nearer_file_wins(tmp_path: Path) -> None:
    """Tables are merged key by key; arrays replace."""
    written(
        tmp_path,
        MINIMAL + 'branch = "main"\n[[tickets]]\nkey = "a/b#1"\nwhy = "x"\n',
        "far.toml",
    )
    near = written(
        tmp_path,
        'extends = "far.toml"\ntickets = []\n[upstream]\nbranch = "next"\n',
        "near.toml",
    )
    read = config.load(near)
    assert read.upstream.url == "https://example.org/up.git"
    assert read.upstream.branch == "next"
    assert read.tickets == ()


def test_a_fault_in_an_extended_file_is_shown_there(tmp_path: Path) -> None:
    """The line belongs to the file that holds the fault."""
    far = written(tmp_path, MINIMAL + "branch = 7\n", "far.toml")
    near = written(tmp_path, 'extends = "far.toml"\n', "near.toml")
    with pytest.raises(ConfigError) as caught:
        config.load(near)
    assert caught.value.where.startswith(f"{far}:3")


def test_extends_in_a_circle_is_refused(tmp_path: Path) -> None:
    """Two files that extend each other end in an error, not in a recursion."""
    written(tmp_path, 'extends = "b.toml"\n', "a.toml")
    written(tmp_path, 'extends = "a.toml"\n', "b.toml")
    with pytest.raises(ConfigError, match="circle"):
        config.load(tmp_path / "a.toml")


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    """A wrong --config is a usage error with the next step."""
    with pytest.raises(ConfigError) as caught:
        config.load(tmp_path / "none.toml")
    assert caught.value.next_step


def test_the_search_goes_upwards(tmp_path: Path) -> None:
    """From a folder below, the configuration above is found."""
    file = written(tmp_path, MINIMAL)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert config.find(below) == file


def test_the_shipped_archive_configuration_works_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--config archives.toml`` needs no checkout: the shipped one is used, with state here."""
    monkeypatch.chdir(tmp_path)
    read = config.load(Path("archives.toml"))
    assert read.upstream.source == "registry"
    assert read.state_dir.is_relative_to(tmp_path)
    assert [archive.version for archive in read.upstream.archives] == ["0.3.29", "0.3.36"]
