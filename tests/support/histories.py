"""Random small histories with a random series each, made to be awkward; a seed fixes all of it."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.patches import diff, series_of
from tests.support.repos import File, git
from tracker.git.calls import sealed_environment

State = dict[str, File]

_FOLDERS = ("", "src/", "src/deep/", "lib/")
_CALLS = ("step(1);", "step(2);", "if (a) {", "}", "", "total += a;", "auto n = size(a);")
_WORDS = ("alpha", "beta", "gamma", "delta")
_LINK = "120000"
_PROGRAM = "100755"


@dataclass
class Story:
    """``commits``: full states with the indexes of their parents; the pin is number ``pin``."""

    commits: list[tuple[State, tuple[int, ...]]] = field(default_factory=list)
    pin: int = 0
    patches: list[bytes] = field(default_factory=list)
    toml: str = ""


def write(folder: Path, commits: Sequence[tuple[Mapping[str, File], tuple[int, ...]]]) -> list[str]:
    """A bare repository with these commits; ``master`` is the last one. Returns their ids."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "--bare", "-b", "master")
    stream = bytearray()
    for number, (files, parents) in enumerate(commits, start=1):
        message = f"change {number} (#{number})".encode()
        stream += b"commit refs/heads/master\nmark :%d\n" % number
        stream += b"committer Up Stream <up@example.org> %d +0000\n" % (1_700_000_000 + number)
        stream += b"data %d\n%s\n" % (len(message), message)
        for word, parent in zip((b"from", *[b"merge"] * 9), parents, strict=False):
            stream += b"%s :%d\n" % (word, parent + 1)
        stream += b"deleteall\n"
        for path, content in files.items():
            mode, text = content if isinstance(content, tuple) else ("100644", content)
            raw = text.encode() if isinstance(text, str) else text or b""
            stream += f"M {mode} inline {path}\ndata {len(raw)}\n".encode() + raw + b"\n"
        stream += b"\n"
    marks = folder / "marks"
    subprocess.run(
        ["git", "fast-import", "--quiet", f"--export-marks={marks}"],
        cwd=folder,
        env=sealed_environment(),
        input=bytes(stream),
        check=True,
    )
    ids = dict(line.split(" ") for line in marks.read_text().splitlines())
    return [ids[f":{number}"] for number in range(1, len(commits) + 1)]


def story(seed: int, folder: Path) -> Story:
    """A history of a dozen commits and a series of one to three patches for its pin.

    ``folder``: the series is written there.
    """
    return _Teller(random.Random(seed)).tell(folder)  # noqa: S311  (a test, not a secret)


class _Teller:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._patched: list[tuple[State, State]] = []

    def tell(self, folder: Path) -> Story:
        chance = self._chance
        state = self._first()
        told = Story([(dict(state), ())])
        if chance.random() < 0.3:
            told.commits.append((self._changed(state), (0,)))
        told.pin = len(told.commits) - 1
        pin = told.commits[-1][0]
        patches, forms = self._series(pin)
        told.toml = self._settings(len(patches), forms)
        series_of(folder, *patches, *forms, toml=told.toml)
        tips = [told.pin]
        for _ in range(chance.randrange(6, 12)):
            at = tips[0]
            if len(tips) > 1 and chance.random() < 0.4:
                other = tips.pop()
                merged = {**told.commits[at][0], **told.commits[other][0]}
                told.commits.append((merged, (at, other)))
                tips[0] = len(told.commits) - 1
                continue
            if chance.random() < 0.2 and len(tips) == 1:
                tips.append(chance.randrange(max(told.pin - 1, 0), len(told.commits)))
            branch = chance.randrange(len(tips))
            before = tips[branch]
            told.commits.append((self._changed(told.commits[before][0]), (before,)))
            tips[branch] = len(told.commits) - 1
        if tips[0] != len(told.commits) - 1:
            told.commits.append((self._changed(told.commits[tips[0]][0]), (tips[0],)))
        return told

    def _first(self) -> State:
        chance = self._chance
        state: State = {"doc.txt": "\n".join(chance.choices(_WORDS, k=3)) + "\n"}
        for number in range(chance.randrange(2, 5)):
            kind = chance.choice((".cpp", ".cpp", ".h", ".txt"))
            path = chance.choice(_FOLDERS) + f"f{number}{kind}"
            names = chance.sample(range(8), chance.randrange(1, 4))
            state[path] = "// top\n\n" + "".join(self._function(f"fn_{n}") for n in names)
        if chance.random() < 0.4:
            state["place"] = "a file where a folder could be\n"
        return state

    def _function(self, name: str) -> str:
        count = self._chance.randrange(3, 10)
        alike = self._chance.random() < 0.4
        lines = (
            _CALLS[n % 2] if alike else self._chance.choice((*_CALLS, f"{name}_{n}(a);"))
            for n in range(count)
        )
        body = "".join(f"    {line}\n" if line else "\n" for line in lines if line not in "}")
        return f"void {name}(int a) {{\n{body}    return;\n}}\n\n"

    def _series(self, pin: State) -> tuple[list[bytes], list[bytes]]:
        """The patches, each on top of the one before it, and forms of the first."""
        chance = self._chance
        patches: list[bytes] = []
        here = dict(pin)
        for _ in range(chance.randrange(1, 4)):
            base = dict(here)
            foreign = chance.random() < 0.12
            if foreign:
                base = self._changed(base)
            new = self._edited(base)
            if new == base or chance.random() < 0.25:
                # Only a new file: the pin, or some revision, may have something else in its place.
                path = chance.choice(
                    ("added.txt", "place/new.txt", "place/new.txt", "src", "lib/new.txt")
                )
                base, foreign = {}, foreign or path in here or _blocked(here, path)
                new = {path: f"mine {len(patches)}\n"}
            options = chance.choice(((), ("-M",), ("--full-index",)))
            patches.append(_difference(base, new, *options))
            self._patched.append((base, new))
            if not foreign:
                here = {**here, **new} if not base else new
        forms = []
        if chance.random() < 0.2:
            base = self._changed(pin)
            new = self._edited(base)
            if new != base:
                forms.append(_difference(base, new, "--full-index"))
        return patches, forms

    def _settings(self, patches: int, forms: Sequence[bytes]) -> str:
        chance = self._chance
        text = ""
        for number in range(1, patches + 1):
            text += f'[[patch]]\nfile = "{number:04}.patch"\n'
            if number == 1 and forms:
                text += f'forms = ["{patches + 1:04}.patch"]\n'
            if chance.random() < 0.25:
                text += f'needs = ["{chance.choice((*_WORDS, "fn_1", "fn_2"))}"]\n'
            if number > 1 and chance.random() < 0.4:
                text += f'requires = ["{number - 1:04}.patch"]\n'
        return text

    def _edited(self, state: State) -> State:
        """What a patch does: mostly lines, sometimes whole files."""
        new = dict(state)
        for _ in range(self._chance.choices((1, 2, 3), (6, 3, 1))[0]):
            kind = self._chance.choices(
                (self._line, self._add, self._rename, self._remove, self._mode),
                (12, 3, 1.5, 1, 1),
            )[0]
            kind(new)
        return new

    def _changed(self, state: State) -> State:
        """What upstream does in one commit."""
        new = dict(state)
        for _ in range(self._chance.choices((1, 2), (4, 1))[0]):
            kinds = {
                self._line: 8,
                self._move_function: 4,
                self._copy_function: 2,
                self._drop_function: 1,
                self._indent: 1,
                self._ends: 1,
                self._rename: 3,
                self._remove: 1,
                self._mode: 1.5,
                self._add: 1.5,
                self._swap_folder: 2,
                self._words: 2,
                self._take: 4,
                self._restore: 2,
            }
            self._chance.choices(list(kinds), list(kinds.values()))[0](new)
        return new

    def _text_of(self, state: State) -> tuple[str, str] | None:
        """A text file that has functions."""
        able = [(p, t) for p, t in sorted(state.items()) if isinstance(t, str) and "() {" not in t]
        able = [(p, t) for p, t in able if "void " in t]
        return self._chance.choice(able) if able else None

    def _line(self, state: State) -> None:
        chosen = self._text_of(state)
        if chosen is None:
            return
        path, text = chosen
        lines = text.splitlines(keepends=True)
        at = self._chance.randrange(len(lines))
        line = self._chance.choice((*_CALLS, f"edit_{self._chance.randrange(30)}(a);"))
        new = [f"    {line}\n" if line else "\n"] * self._chance.choice((0, 1, 1, 1, 2))
        lines[at : at + self._chance.randrange(2)] = new
        state[path] = "".join(lines)

    def _function_of(self, state: State) -> tuple[str, str] | None:
        chosen = self._text_of(state)
        if chosen is None:
            return None
        path, text = chosen
        return path, self._chance.choice(_functions(text) or [""])

    def _move_function(self, state: State) -> None:
        chosen, goal = self._function_of(state), self._text_of(state)
        if chosen is None or not chosen[1]:
            return
        path, function = chosen
        target = goal[0] if goal is not None and self._chance.random() < 0.7 else "src/new.cpp"
        if _blocked(state, target):
            return
        state[path] = str(state[path]).replace(function, "", 1)
        old = state.get(target)
        state[target] = (old if isinstance(old, str) else "") + function

    def _copy_function(self, state: State) -> None:
        chosen, goal = self._function_of(state), self._text_of(state)
        if chosen is None or goal is None:
            return
        function = chosen[1]
        if self._chance.random() < 0.6:
            function = function.replace("void fn_", f"void g{self._chance.randrange(9)}_", 1)
        text = str(state[goal[0]])
        before = self._chance.random() < 0.5
        state[goal[0]] = function + text if before else text + function

    def _drop_function(self, state: State) -> None:
        chosen = self._function_of(state)
        if chosen is not None:
            state[chosen[0]] = str(state[chosen[0]]).replace(chosen[1], "", 1)

    def _indent(self, state: State) -> None:
        chosen = self._function_of(state)
        if chosen is not None:
            new = chosen[1].replace("\n    ", "\n        ")
            state[chosen[0]] = str(state[chosen[0]]).replace(chosen[1], new, 1)

    def _ends(self, state: State) -> None:
        """Other line ends in the whole file."""
        chosen = self._text_of(state)
        if chosen is not None:
            path, text = chosen
            plain = text.replace("\r\n", "\n")
            state[path] = plain if plain != text else text.replace("\n", "\r\n")

    def _rename(self, state: State) -> None:
        path = self._chance.choice(sorted(state))
        end = path.rpartition(".")[2]
        target = self._chance.choice(_FOLDERS) + f"m{self._chance.randrange(5)}.{end}"
        if target not in state and not _blocked(state, target):
            state[target] = state.pop(path)

    def _remove(self, state: State) -> None:
        if len(state) > 1:
            del state[self._chance.choice(sorted(state))]

    def _mode(self, state: State) -> None:
        path = self._chance.choice(sorted(state))
        content = state[path]
        if isinstance(content, tuple):
            state[path] = "was special\n" if content[0] == _LINK else content[1].decode()
        elif isinstance(content, str):
            link = self._chance.random() < 0.4
            state[path] = (_LINK, b"elsewhere") if link else (_PROGRAM, content.encode())

    def _add(self, state: State) -> None:
        folder = self._chance.choice((*_FOLDERS, "place/", "other/deep/"))
        path = folder + self._chance.choice(("added.txt", "added.cpp", "src", "lib", "place"))
        if path not in state and not _blocked(state, path):
            state[path] = self._function(f"fn_{self._chance.randrange(10)}")

    def _swap_folder(self, state: State) -> None:
        """A folder becomes a file, or a file a folder."""
        folder = self._chance.choice(("src", "lib", "place", "other", "src/deep", "other/deep"))
        inside = [path for path in state if path.startswith(folder + "/")]
        if _blocked(state, folder):
            return
        if folder in state:
            del state[folder]
            state[folder + "/inside.txt"] = "inside\n"
        else:
            for path in inside:
                del state[path]
            state[folder] = "no folder\n" if self._chance.random() < 0.6 else (_LINK, b"elsewhere")

    def _words(self, state: State) -> None:
        count = self._chance.randrange(3)
        state["doc.txt"] = "\n".join(self._chance.choices((*_WORDS, "fn_1"), k=count)) + "\n"

    def _take(self, state: State) -> None:
        """A patch goes upstream: the whole of it where its files are as they were, or one file."""
        if not self._patched:
            return
        base, new = self._chance.choice(self._patched)
        touched = [p for p in sorted({*base, *new}) if base.get(p) != new.get(p)]
        if self._chance.random() < 0.4:
            touched = touched[:1]
        for path in touched:
            old, wanted, now = base.get(path), new.get(path), state.get(path)
            if now == old and wanted is not None and not _blocked(state, path):
                state[path] = wanted
            elif now == old and path in state:
                del state[path]
            elif isinstance(now, str) and isinstance(old, str) and isinstance(wanted, str):
                state[path] = _carried(now, old, wanted)

    def _restore(self, state: State) -> None:
        """A file is again as a patch once met it."""
        bases = [base for base, _new in self._patched if base]
        if bases:
            base = self._chance.choice(bases)
            path = self._chance.choice(sorted(base))
            if not _blocked(state, path):
                state[path] = base[path]


def _difference(old: State, new: State, *options: str) -> bytes:
    gone: dict[str, File] = dict.fromkeys(old.keys() - new.keys())
    changed: dict[str, File] = {p: c for p, c in new.items() if old.get(p) != c}
    return diff(old, {**gone, **changed}, *options)


def _functions(text: str) -> list[str]:
    parts = text.split("void ")[1:]
    return ["void " + part for part in parts if part.endswith("}\n\n")]


def _blocked(state: State, path: str) -> bool:
    """A file stands where the path needs a folder, or a folder where it needs a file."""
    above = path.split("/")[:-1]
    parents = {"/".join(above[: n + 1]) for n in range(len(above))}
    return not parents.isdisjoint(state) or any(p.startswith(path + "/") for p in state)


def _carried(now: str, old: str, wanted: str) -> str:
    """``now`` with the lines that ``wanted`` adds to ``old``, where the lines before are found."""
    out, lines = now, old.splitlines(keepends=True)
    before = ""
    for line in wanted.splitlines(keepends=True):
        if line not in lines and before and before in out:
            out = out.replace(before, before + line, 1)
        before = line
    return out
