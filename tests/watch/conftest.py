"""Fixtures that need the package archives."""

from __future__ import annotations

import pytest

from tests.watch.archived import Tree, archived, shipped
from tracker.config import Config


@pytest.fixture(scope="session")
def config() -> Config:
    """The configuration that ships for the archives."""
    return shipped()


@pytest.fixture(scope="session")
def tree() -> Tree:
    """The sources of the newest archive."""
    return archived(shipped().upstream.archives[-1].version)
