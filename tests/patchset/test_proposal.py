"""docs/upstream-proposal.md says what is so: its programs are compiled and run."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tracker.evidence.build import Variant
from tracker.native.core import BuiltCore
from tracker.native.models import tiny_model

pytestmark = [pytest.mark.native, pytest.mark.archives, pytest.mark.xdist_group("native")]

_PAGE = Path(__file__).parents[2] / "docs/upstream-proposal.md"
_BLOCK = re.compile(r"^```cpp (?P<name>\S+)\n(?P<text>.*?)^```$", re.M | re.S)
_BLOCKS = {found["name"]: found["text"] for found in _BLOCK.finditer(_PAGE.read_text())}
_PROGRAMS = sorted(name for name in _BLOCKS if name.endswith(".cpp"))

#: What each prints on 0.3.36: without the patches, with them.
_SAID = {
    "image.cpp": (r"6 warnings", r"0 warnings"),
    "one-by-one.cpp": (r"returned true, logits off by [1-9]", r"returned false"),
    "whole-ubatch.cpp": (r"returned true, logits off by [1-9]", r"returned false"),
    "at-the-image.cpp": (r"returned true, logits off by [1-9]", r"returned false"),
    "further-back.cpp": (r"returned false", r"returned true"),
    "copied.cpp": (r"returned true, logits off by [1-9]", r"returned true"),
    "restored.cpp": (r"returned true, logits off by [1-9]", r"returned false"),
    "shared.cpp": (r"ends at 6", r"ends at 8"),
    "saved.cpp": (r"^$", r"saved something"),
}


def _outcome(core: BuiltCore, name: str, folder: Path) -> tuple[int, str]:
    for file, text in _BLOCKS.items():
        (folder / file).write_text(text)
    command = [
        *(str(core.compiler.cxx), "-std=c++17", name, "-o", "program"),
        *(f"-I{include}" for include in core.include_dirs),
        *(str(library.path) for library in core.libraries if library.name != "mtmd"),
        f"-Wl,-rpath,{core.build_dir}",
    ]
    subprocess.run(command, cwd=folder, check=True)
    model = tiny_model("qwen35", folder.parent).path
    done = subprocess.run(
        [str(folder / "program"), str(model)],
        env={**os.environ, "GGML_NO_BACKTRACE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_every_program_is_named_in_the_table() -> None:
    """And the other way round."""
    named = re.findall(r"^\| `([\w-]+)` \|", _PAGE.read_text(), re.M)
    assert sorted(f"{name}.cpp" for name in named) == _PROGRAMS == sorted(_SAID)


@pytest.mark.parametrize("name", _PROGRAMS)
def test_a_program_goes_wrong_without_the_patches_only(
    cores: dict[Variant, BuiltCore], name: str, tmp_path: Path
) -> None:
    """Exit status 0 is right; without the patches it is not 0, by a wrong answer or an abort."""
    variants: tuple[Variant, ...] = ("baseline", "patched")
    for variant, said in zip(variants, _SAID[name], strict=True):
        folder = tmp_path / variant
        folder.mkdir()
        code, told = _outcome(cores[variant], name, folder)
        assert (code == 0) is (variant == "patched"), f"{variant}: {code} {told}"
        assert re.search(said, told), told
