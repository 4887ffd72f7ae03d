"""A package index of our own, and configurations that use it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.package_index import PACKAGE, PackageIndex, package_index
from tracker import config
from tracker.config import Config


@pytest.fixture
def index(
    private_cache: Path,  # noqa: ARG001  (asked for its effect)
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[PackageIndex]:
    """The only index that pip knows in the test; the cache is empty."""
    for name in list(os.environ):
        if name.upper().startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with package_index() as running:
        monkeypatch.setenv("PIP_INDEX_URL", running.url)
        yield running


MakeConfig = Callable[..., Config]


@pytest.fixture
def mirror_config(tmp_path: Path) -> MakeConfig:
    """``mirror_config([(version, sha256), ...])``: archives of the package, oldest first."""

    def make(
        archives: Sequence[tuple[str, str]], *, prefix: str = "vendor/core", extra: str = ""
    ) -> Config:
        lines = [
            'state_dir = "state"',
            "[upstream]",
            'url = "https://upstream.invalid/core"',
            'source = "registry"',
            f'package = "{PACKAGE}"',
            f'prefix = "{prefix}"',
            extra,
        ]
        for number, (version, sha256) in enumerate(archives, start=1):
            lines += [
                "[[upstream.archives]]",
                f'version = "{version}"',
                f'upstream_commit = "{number:09x}"',
                f'date = "2026-0{number}-01T00:00:00Z"',
                f'sha256 = "{sha256}"',
            ]
        file = tmp_path / "lloyal-track.toml"
        file.write_text("\n".join(lines))
        return config.load(file)

    return make
