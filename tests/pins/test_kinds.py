"""Only the wanted bytes of a pin file change, whatever kind it is."""

from __future__ import annotations

import difflib

import pytest

from tracker.config import PinTable
from tracker.errors import ConfigError
from tracker.pins import kinds

NEW = "b10525"
CMAKE = """\
# tested with b9581
set(LLAMA_TAG "b9581")   # keep in step with .llama-cpp-version
FetchContent_Declare(llama
    GIT_TAG b9581)
set(OTHER "b9581-extra")
"""
JSON = '{\r\n  "name": "x", "version": "b9581",\r\n  "llama": { "tag" : "b9581" }\r\n}\r\n'
GITMODULES = """\
[submodule "other"]
\tpath = other
\tbranch = b9581
[submodule "up.stream"]\t# b9581
\tpath = b9581
\tbranch\t=\tb9581\t; follows
"""
TOML = '# b9581\n[tool.x]\ntag = "b9581" # pinned\nother = "b9581"\n'
YAML = "other: b9581\njobs:\n  - tag: b9581  # pinned\n"


def table(kind: str, path: str, **more: object) -> PinTable:
    return PinTable(name="p", kind=kind, path=path, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pin", "text", "line"),
    [
        (table("version-file", "v"), "# one\n\n  b9581  \r\n# two\n", 3),
        (table("pattern", "C", pattern=r'LLAMA_TAG "([^"]+)"'), CMAKE, 2),
        (table("key", "p.json", key="llama.tag"), JSON, 3),
        (table("key", "p.toml", key="tool.x.tag"), TOML, 3),
        (table("key", "p.toml", key="tool.x.other"), TOML, 4),
        (table("key", "p.yml", key="jobs.0.tag"), YAML, 3),
        (table("key", "p.toml", key='"dep.x"."y.z"'), '["dep.x"]\n"y.z" = "b9581"\n', 2),
        (table("key", "p.json", key="a.1"), '\ufeff{\n\t"a" : [ "b9581",\n\t"b9581" ]}', 3),
        (table("key", ".gitmodules", key='submodule."up.stream".branch'), GITMODULES, 6),
        (table("version-file", "v"), "\ufeff# why\r\nb9581\t# pinned\r\n", 2),
        (table("version-file", "v"), "b9581", 1),
    ],
)
def test_one_line_changes_and_every_other_byte_stays(pin: PinTable, text: str, line: int) -> None:
    """Comments, blanks, line ends and look-alikes elsewhere are as they were."""
    assert kinds.value_of(pin, text.encode()) == "b9581"
    assert kinds.lines_of(pin, text.encode()) == (line,)
    after = kinds.rewritten(pin, text.encode(), NEW).decode()
    old, new = text.splitlines(keepends=True), after.splitlines(keepends=True)
    changed = [
        number for number, pair in enumerate(zip(old, new, strict=True), 1) if len({*pair}) > 1
    ]
    assert changed == [line]
    assert new[line - 1] == old[line - 1].replace("b9581", NEW)
    assert kinds.value_of(pin, after.encode()) == NEW


def test_a_pattern_may_stand_several_times() -> None:
    """Six version strings move together if six were expected."""
    pin = table("pattern", "C", pattern=r"\b(b\d+)\b(?!-)", matches=3)
    after = kinds.rewritten(pin, CMAKE.encode(), NEW).decode()
    assert after == CMAKE.replace("b9581", NEW).replace(f"{NEW}-extra", "b9581-extra")
    assert sum(line[0] == "+" for line in difflib.ndiff(CMAKE.split("\n"), after.split("\n"))) == 3


@pytest.mark.parametrize(
    ("pin", "text", "word"),
    [
        (table("pattern", "C", pattern=r'NO_TAG "([^"]+)"'), CMAKE, "0 times"),
        (table("pattern", "C", pattern=r"(b9581)", matches=6), CMAKE, "4 times, expected 6"),
        (table("pattern", "C", pattern=r"b9581"), CMAKE, "one group"),
        (table("pattern", "C", pattern=r"(b95"), CMAKE, "regular expression"),
        (
            table("pattern", "C", pattern=r"(b\d+)", matches=2),
            "b1 b2",
            "line 1 says b1, line 1 says b2",
        ),
        (table("version-file", "v"), "b1\nb2\n", "found 2"),
        (table("version-file", "v"), "# nothing\n", "found 0"),
        (table("version-file", "v"), "b1 b2\n", "one value"),
        (table("key", "p.json", key="llama.none"), JSON, "missing"),
        (table("key", "p.json", key="llama"), JSON, "no string"),
        (table("key", "p.json", key="a"), "{", "cannot be parsed"),
        (table("key", "p.ini", key="a"), "a=1", ".json"),
        (table("key", "p.json"), JSON, "needs `key`"),
        (table("key", "p.json", key="a..b"), JSON, "is no dotted key"),
        (table("key", ".gitmodules", key="a.b.c"), "[submodule\n", "cannot be parsed"),
        (table("pattern", "C", pattern=r'LLAMA_TAG "(b\d{4})"'), CMAKE, "found again"),
        (table("key", "p.yml", key="tag"), "tag: b9581 # x\ntag: b9581\n", "cannot be parsed"),
    ],
)
def test_a_miss_is_an_error_never_a_silent_old_pin(pin: PinTable, text: str, word: str) -> None:
    """What cannot be found exactly as configured stops the move and says why."""
    with pytest.raises(ConfigError) as caught:
        kinds.rewritten(pin, text.encode(), NEW)
    assert word in caught.value.what


def test_a_file_that_is_not_utf_8_is_refused() -> None:
    """Decoding with replacements would change bytes that nobody asked to change."""
    with pytest.raises(ConfigError, match="UTF-8"):
        kinds.value_of(table("version-file", "v"), b"\xff\xfeb\x001\x00")


def test_a_value_that_a_parser_builds_is_not_guessed() -> None:
    """An escaped spelling in JSON has no place to replace: that is told."""
    pin = table("key", "p.json", key="a")
    with pytest.raises(ConfigError, match="spelled out"):
        kinds.rewritten(pin, b'{"a": "\\u0062111111"}', NEW)
