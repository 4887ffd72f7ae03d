"""Seals every test off from this machine: its user, its git, its tokens.

Only two things of the user are let in: downloads, built cores and check programs (or each test run
would download and compile again), but no kept verdict (or a test would not run its check); and the
settings of pip (or a download would go to an index that this machine does not reach).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest

from tests.support.real_cores import Cores, real_cores

_FOREIGN = ("GIT_", "GITHUB_", "GH_", "ACTIONS_", "LLOYAL_TRACK_", "SSH_")
_XDG = ("CONFIG", "DATA", "STATE", "CACHE", "RUNTIME")


@pytest.fixture(scope="session", autouse=True)
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The home of the test run: empty, and nothing outside it is read or written."""
    home = tmp_path_factory.mktemp("home")
    cache = Path(platformdirs.user_cache_dir("lloyal-track", appauthor=False))
    pip_settings = _pip_settings()
    with pytest.MonkeyPatch.context() as environment:
        for name in list(os.environ):
            if name.startswith(_FOREIGN):
                environment.delenv(name)
        environment.setenv("HOME", str(home))
        for kind in _XDG:
            folder = home / kind.lower()
            folder.mkdir(mode=0o700)
            suffix = "DIR" if kind == "RUNTIME" else "HOME"
            environment.setenv(f"XDG_{kind}_{suffix}", str(folder))
        environment.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        environment.setenv("GIT_CONFIG_NOSYSTEM", "1")
        environment.setenv("LC_ALL", "C.UTF-8")
        environment.setenv("TZ", "UTC")
        environment.setenv("COLUMNS", "100")
        if pip_settings is not None:
            environment.setenv("PIP_CONFIG_FILE", str(pip_settings))
        sealed_cache = Path(platformdirs.user_cache_dir("lloyal-track", appauthor=False))
        sealed_cache.mkdir(parents=True, exist_ok=True)
        for name in ("archives", "cores", "programs"):
            (cache / name).mkdir(parents=True, exist_ok=True)
            (sealed_cache / name).symlink_to(cache / name, target_is_directory=True)
        yield home


def _pip_settings() -> Path | None:
    """The user's own pip configuration; the machine's is found without help."""
    if "PIP_CONFIG_FILE" in os.environ:
        return None
    for file in (Path(platformdirs.user_config_dir("pip")) / "pip.conf", Path("~/.pip/pip.conf")):
        if file.expanduser().is_file():
            return file.expanduser()
    return None


@pytest.fixture(scope="session")
def core_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state that ``cores`` came out of."""
    return tmp_path_factory.mktemp("cores")


@pytest.fixture(scope="session")
def cores(core_folder: Path) -> Cores:
    """The newest archive's core, without and with the patches."""
    return real_cores(core_folder)


@pytest.fixture
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty user cache for a test that must see downloads or builds happen."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return Path(platformdirs.user_cache_dir("lloyal-track", appauthor=False))
