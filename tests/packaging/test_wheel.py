"""The wheel carries all that the command needs, and works outside the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOP_LEVEL = (
    "templates",
    "patchset",
    "build/probe",
    "build/glue",
    "build/soak",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the checkout by its own backend, without an isolated environment."""
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "-w", str(place), str(ROOT)], check=True, capture_output=True)
    (found,) = place.glob("*.whl")
    return found


def tracked(folder: str) -> set[str]:
    """The files of ``folder`` that a checkout has, by git."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", folder], cwd=ROOT, check=True, capture_output=True
    )
    return {name for name in listed.stdout.decode().split("\0") if name}


def test_everything_from_the_top_level_travels(wheel: Path) -> None:
    """Templates, patch set, check program, CMake glue, schemas and both configurations."""
    inside = set(zipfile.ZipFile(wheel).namelist())
    for folder in TOP_LEVEL:
        wanted = {f"tracker/_bundled/{name}" for name in tracked(folder)}
        assert wanted
        assert wanted <= inside
    assert "tracker/_bundled/schemas/bump-1.json" in inside
    assert "tracker/_bundled/archives.toml" in inside
    assert "tracker/_bundled/lloyal-track.toml" in inside


def test_the_command_works_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    """Installed elsewhere it finds its own files, and sees nothing of the checkout."""
    place = tmp_path / "env"
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
    )
    packages = Path(site.stdout.decode().strip())
    zipfile.ZipFile(wheel).extractall(packages)
    # The dependencies are those of this environment; only lloyal-track itself comes from the wheel.
    with_editables_off = [
        entry for entry in sys.path if entry.endswith("site-packages") and Path(entry).is_dir()
    ]
    code = (
        f"import sys; sys.path.append({with_editables_off[0]!r}); import tracker; "
        f"assert tracker.__file__.startswith({str(packages)!r}), tracker.__file__; "
        "from tracker.cli.main import run; run()"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", code, "--config", "archives.toml", "doctor", "--json"],
        cwd=elsewhere,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.stdout, done.stderr.decode()
    document = json.loads(done.stdout)
    assert document["verdict"] == "ok", document
    assert not any(elsewhere.iterdir())
