"""Tests that share something costly run in one process."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.xdist_group("groups")


def test_a_group_stays_together(request: pytest.FixtureRequest) -> None:
    """The distributor marks each test of a group; a pytest that it does not know would undo that
    without a word, and every fixture be made once for each process.
    """
    shared = hasattr(request.config, "workerinput")
    assert request.node.nodeid.endswith("@groups") == shared
