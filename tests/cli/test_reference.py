"""The configuration reference is the code's own."""

from __future__ import annotations

from pathlib import Path

from tracker.cli.reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_page_is_fresh() -> None:
    """It is regenerated whenever a key changes."""
    assert PAGE.read_text(encoding="utf-8") == reference(), "run: python -m tracker.cli.reference"


def test_every_kind_of_table_is_there() -> None:
    """Plain, repeated and named tables are shown with the header that the file needs."""
    page = reference()
    for header in ("[upstream]", "[[upstream.archives]]", "[build.recipes.NAME]", "[[pins]]"):
        assert f"## `{header}`" in page
