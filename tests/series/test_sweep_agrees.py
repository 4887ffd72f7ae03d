"""A sweep of a random history says at each revision what a rebase from nothing says there.

``SWEEPS=N`` tries N histories instead of a few; each has a number that makes it again.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from tests.support.patches import diff, series_of
from tests.support.repos import File, build
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.series import Series, read_series, rebase
from tracker.series.sweeping import sweep_range

_HISTORIES = int(os.environ.get("SWEEPS", "6"))
_REVISIONS = 24
_CALLS = [f"step({n});" for n in range(9)]


def _function(name: str, changed: dict[int, str] | None = None) -> list[str]:
    calls = {**dict(enumerate(_CALLS)), **(changed or {})}
    body = [f"    {calls[n]}" for n in sorted(calls)]
    return [f"void {name}() {{", *body, "}", ""]


def _text(functions: list[list[str]]) -> str:
    return "".join(f"{line}\n" for function in functions for line in function)


_NAMES = ["f", "g", "h", "find_slot"]
_PIN: dict[str, File] = {
    "src/a.cpp": _text([_function(name) for name in _NAMES[:3]]),
    "src/b.cpp": _text([_function("find_slot"), _function("k")]),
    "src/deep/c.cpp": _text([_function("z")]),
    "inc/a.h": "struct cells {\n    int pos;\n    int src;\n};\n",
    "docs/notes.txt": "notes\n",
}


def _edited(path: str, name: str, changed: dict[int, str]) -> dict[str, File]:
    """The pin's file with another text of one function."""
    content = _PIN[path]
    assert isinstance(content, str)
    return {path: content.replace(_text([_function(name)]), _text([_function(name, changed)]))}


_G = _edited("src/a.cpp", "g", {4: "mine(4);"})
_G_AND_SLOT = {**_G, **_edited("src/b.cpp", "find_slot", {2: "mine(2);", 6: "mine(6);"})}
_ON_TOP: dict[str, File] = {
    "src/a.cpp": str(_G["src/a.cpp"]).replace("mine(4);", "mine(4);\n    more(4);")
}
_SERIES: list[tuple[list[bytes], str | None]] = [
    ([diff(_PIN, _G), diff({**_PIN, **_G}, _ON_TOP)], None),
    ([diff(_PIN, _G_AND_SLOT)], None),
    ([diff(_PIN, {"src/deep/new.cpp": _text([_function("fresh")])}), diff(_PIN, _G)], None),
    ([diff(_PIN, {"src/deep/c.cpp": None}), diff(_PIN, {"inc/a.h": "struct cells {\n};\n"})], None),
    (
        [diff(_PIN, _G), diff(_PIN, _edited("src/b.cpp", "find_slot", {0: "", 3: "mine(3);"}))],
        '[[patch]]\nfile = "0001.patch"\nneeds = ["k"]\n'
        '[[patch]]\nfile = "0002.patch"\nrequires = ["0001.patch"]\n',
    ),
    (
        [
            diff(_PIN, _edited("src/a.cpp", "g", {3: "mine(3);"})),
            diff(
                {**_PIN, **_edited("src/a.cpp", "g", {3: "theirs(3);"})},
                _edited("src/a.cpp", "g", {3: "mine(theirs(3));"}),
            ),
        ],
        '[[patch]]\nfile = "0001.patch"\nforms = ["0002.patch"]\n',
    ),
]


@dataclass
class _Upstream:
    """Where upstream is, and what it may do next."""

    chance: random.Random
    files: dict[str, list[list[str]] | str] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)
    fresh: count[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.files = {
            "src/a.cpp": [_function(name) for name in _NAMES[:3]],
            "src/b.cpp": [_function("find_slot"), _function("k")],
            "src/deep/c.cpp": [_function("z")],
            "inc/a.h": str(_PIN["inc/a.h"]),
            "docs/notes.txt": "notes\n",
        }

    def code(self) -> list[str]:
        return sorted(path for path, text in self.files.items() if isinstance(text, list) and text)

    def step(self) -> None:
        moves: list[Callable[[], None]] = [
            *[self.edit] * 5,
            *[self.back] * 2,
            *[self.notes] * 2,
            self.carry,
            self.move,
            self.twin,
            self.rename,
            self.remove,
            self.block,
            self.mode,
            self.header,
            self.ends,
            self.begin,
        ]
        self.chance.choice(moves)()

    def edit(self) -> None:
        """Some line of some function."""
        if self.code():
            function = self.chance.choice(self.functions(self.chance.choice(self.code())))
            if len(function) > 4:
                at = self.chance.randrange(1, len(function) - 2)
                function[at] = f"    theirs({next(self.fresh)});"

    def back(self) -> None:
        """A function as it was on the pin."""
        if self.code():
            function = self.chance.choice(self.functions(self.chance.choice(self.code())))
            if function:
                function[:] = _function(function[0].split()[1].partition("(")[0])

    def carry(self) -> None:
        """What a patch does, or half of it."""
        for path in self.code():
            for function in self.functions(path):
                if "    step(4);" in function and "g()" in function[0]:
                    function[function.index("    step(4);")] = "    mine(4);"
                elif "    step(2);" in function and "find_slot" in function[0]:
                    function[function.index("    step(2);")] = "    mine(2);"
                elif "    step(3);" in function and self.chance.random() < 0.5:
                    function[function.index("    step(3);")] = "    theirs(3);"

    def notes(self) -> None:
        if "docs/notes.txt" in self.files:
            self.files["docs/notes.txt"] = f"{next(self.fresh)}: find_slot and g\n"

    def move(self) -> None:
        """A function to another file, maybe a new one."""
        if self.code():
            source = self.functions(self.chance.choice(self.code()))
            function = source.pop(self.chance.randrange(len(source)))
            self.put(function)

    def twin(self) -> None:
        """A copy of a function, under its own name or another."""
        if self.code():
            function = list(self.chance.choice(self.functions(self.chance.choice(self.code()))))
            if function and self.chance.random() < 0.5:
                function[0] = f"void twin{next(self.fresh)}() {{"
            self.put(function)

    def put(self, function: list[str]) -> None:
        target = self.chance.choice([*self.code(), f"src/n{next(self.fresh)}.cpp"])
        if self.free(target):
            functions = self.files.setdefault(target, [])
            assert isinstance(functions, list)
            functions.insert(self.chance.randrange(len(functions) + 1), function)

    def rename(self) -> None:
        path = self.chance.choice(sorted(self.files))
        other = self.chance.choice([f"src/m{next(self.fresh)}.cpp", "lib/" + path])
        if self.free(other):
            self.files[other] = self.files.pop(path)

    def remove(self) -> None:
        if len(self.files) > 2:
            del self.files[self.chance.choice(sorted(self.files))]

    def block(self) -> None:
        """A file or a link where a folder was, and the other way round."""
        folder = self.chance.choice(["src/deep", "src/deep/new.cpp/x", "lib", "inc"])
        for path in list(self.files):
            if path.startswith(f"{folder}/") or folder.startswith(f"{path}/") or path == folder:
                del self.files[path]
        self.files[folder] = f"{next(self.fresh)}\n"

    def mode(self) -> None:
        path = self.chance.choice(sorted(self.files))
        self.modes[path] = self.chance.choice(["100644", "100755", "120000"])

    def header(self) -> None:
        if "inc/a.h" in self.files:
            self.files["inc/a.h"] = (
                f"struct cells {{\n    int pos;\n    int n{next(self.fresh)};\n}};\n"
            )

    def ends(self) -> None:
        """Other line ends, for good or until the function is written anew."""
        if self.code():
            for function in self.functions(self.chance.choice(self.code())):
                function[:] = [line.rstrip("\r") + "\r" for line in function]

    def functions(self, path: str) -> list[list[str]]:
        found = self.files[path]
        assert isinstance(found, list)
        return found

    def free(self, path: str) -> bool:
        return not any(
            p == path or path.startswith(f"{p}/") or p.startswith(f"{path}/")
            for p in self.files
            if p != path or isinstance(self.files[p], str)
        )

    def tree(self) -> dict[str, File]:
        return {
            path: (
                self.modes.get(path, "100644"),
                (_text(c) if isinstance(c, list) else c).encode(),
            )
            for path, c in self.files.items()
        }


def _history(number: int) -> list[dict[str, File]]:
    """The commits of history ``number``: what each writes and removes."""
    upstream = _Upstream(random.Random(number))  # noqa: S311  (a test, not a secret)
    steps: list[dict[str, File]] = [dict(_PIN)]
    before = upstream.tree()
    for _ in range(_REVISIONS):
        for _ in range(upstream.chance.choice([1, 1, 1, 2, 3])):
            upstream.step()
        now = upstream.tree()
        gone: dict[str, File] = dict.fromkeys(sorted(before.keys() - now.keys()))
        steps.append(gone | {path: c for path, c in now.items() if before.get(path) != c})
        before = now
    return steps


def _differences(folder: Path, number: int, series: Series) -> list[str]:
    ids = build(folder / "up", _history(number))
    found: list[str] = []
    with Repository.open(folder / "up") as repository:
        with Quarantine(repository, folder / "swept") as store:
            swept = sweep_range(repository, series, ids[0], ids[-1], store, SILENT)
        for index, commit in enumerate(ids):
            with Quarantine(repository, folder / f"fresh{index}") as store:
                ends = {"from_": ids[0], "onto": commit}
                alone = rebase(repository, series, **ends, quarantine=store, progress=SILENT)
            want = [(str(p.outcome), p.flags, str(p.alone)) for p in alone.patches]
            had = [
                (str(a.outcome), a.flags, str(a.alone) if p.alone is not None else "None")
                for a, p in zip(swept.answers_at(index), alone.patches, strict=True)
            ]
            if had != want:
                found.append(f"{index}: swept {had}, rebased {want}")
    return found


@pytest.mark.parametrize("number", range(_HISTORIES))
def test_a_sweep_agrees_with_a_rebase_from_nothing(tmp_path: Path, number: int) -> None:
    """At every revision, for every patch, in series and alone, flags too."""
    patches, toml = _SERIES[number % len(_SERIES)]
    series = read_series(series_of(tmp_path / "p", *patches, toml=toml))
    assert _differences(tmp_path, number, series) == []
