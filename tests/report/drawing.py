"""Draws items from the documents of a realistic run, bent where a test wants it."""

from __future__ import annotations

from dataclasses import replace as with_fields

from tests.support import documents
from tracker import report
from tracker.config import Config
from tracker.evidence.item import Item
from tracker.report import Stages


def drawn(stages: Stages | None = None, config: Config | None = None) -> dict[str, Item]:
    """Id -> item, of all stages unless others are given; no id is there twice."""
    found = report.items(config or documents.config(), stages or documents.stages())
    assert len({item.id for item in found}) == len(found)
    return {item.id: item for item in found}


def bent(**stages: object) -> Stages:
    """The realistic stages with some of them replaced."""
    return with_fields(documents.stages(), **stages)  # type: ignore[arg-type]
