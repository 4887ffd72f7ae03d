"""An anchored statement is also what decides whether, and how often, it runs."""

from __future__ import annotations

import pytest

from tracker.evidence.watch import RegionStatus
from tracker.watch.compare import judge
from tracker.watch.locate import Region, in_file
from tracker.watch.selector import parse

_STATEMENT = 'if (n > 3) {\n    warn("odd position");\n  }'


def _region(body: str) -> Region:
    text = f"int f(int n) {{\n  {body}\n  return n;\n}}\n".encode()
    found = in_file(parse('f.cpp::f @if "odd position"', "r"), "f.cpp", text)
    assert isinstance(found, Region), found
    return found


@pytest.mark.parametrize(
    "around",
    [
        "for (int i = 0; i < 9; i++) {%s}",
        "for (int i = 0; i < 9; i++) %s",
        "for (int i : list) {%s}",
        "while (n--) {%s}",
        "if (n < 9) {%s}",
        "if (n < 9) {} else {%s}",
        "if (n < 9) {} else %s",
        "switch (n) { case 3: {%s} }",
        "switch (n) { default: %s }",
        "do {%s} while (n < 2);",
        "auto g = [&](int q) {%s};",
        "try {%s} catch (...) {}",
        "try {} catch (...) {%s}",
    ],
)
def test_what_is_put_around_it_is_a_change(around: str) -> None:
    """The text of the statement is the same, and runs at other times."""
    status, why = judge(_region(_STATEMENT), _region(around % _STATEMENT))
    assert status is RegionStatus.CHANGED
    assert why == "a loop or a condition that it stands in changed"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("for (int i = 0; i < n; i++) {%s}", "for (int i = 0; i <= n; i++) {%s}"),
        ("switch (n) { case 3: {%s} }", "switch (n) { case 4: {%s} }"),
        ("do {%s} while (n < 2);", "do {%s} while (n < 3);"),
        ("if (n < 9) {%s}", "if (n < 9) {} else {%s}"),
    ],
)
def test_another_condition_around_it_is_a_change(before: str, after: str) -> None:
    found = judge(_region(before % _STATEMENT), _region(after % _STATEMENT))
    assert found[0] is RegionStatus.CHANGED


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("%s", "int other = 3; {%s}"),
        ("if (n < 9) {%s}", "if (n < 9) { other(); %s } else { more(); }"),
        ("for (int i = 0; i < n; i++) {%s}", "for (int i = 0; i < n; i++ /* up */) {\n%s}"),
        ("switch (n) { case 3: {%s} }", "switch (n) { case 1: other(); case 3: {%s} }"),
    ],
)
def test_what_only_stands_beside_it_is_none(before: str, after: str) -> None:
    found = judge(_region(before % _STATEMENT), _region(after % _STATEMENT))
    assert found[0] in (RegionStatus.UNCHANGED, RegionStatus.COSMETIC)
