"""Writes docs/schemas from the evidence types: ``python -m tracker.cli.schemas [FOLDER]``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import get_args, get_type_hints

import msgspec

from tracker.evidence.base import Value
from tracker.evidence.build import BuildDocument
from tracker.evidence.bump import BumpDocument
from tracker.evidence.check import CheckDocument
from tracker.evidence.checklist import ChecklistDocument
from tracker.evidence.doctor import DoctorDocument
from tracker.evidence.error import ErrorDocument
from tracker.evidence.fuzz import FuzzDocument
from tracker.evidence.history import WatchHistoryDocument
from tracker.evidence.init import InitDocument
from tracker.evidence.log import LogDocument
from tracker.evidence.operation import AbortDocument, ResumeDocument
from tracker.evidence.parts import MergeDocument, PartDocument, PlanDocument
from tracker.evidence.publish import PublishDocument
from tracker.evidence.rebase import RebaseDocument
from tracker.evidence.soak import SoakDocument
from tracker.evidence.status import StatusDocument
from tracker.evidence.sweep import BisectDocument, SweepDocument
from tracker.evidence.tickets import TicketsDocument
from tracker.evidence.upstream import FetchDocument
from tracker.evidence.watch import WatchDocument

DOCUMENTS: tuple[type[Value], ...] = (
    AbortDocument,
    BisectDocument,
    BuildDocument,
    BumpDocument,
    CheckDocument,
    ChecklistDocument,
    DoctorDocument,
    ErrorDocument,
    FetchDocument,
    FuzzDocument,
    InitDocument,
    LogDocument,
    MergeDocument,
    PartDocument,
    PlanDocument,
    PublishDocument,
    RebaseDocument,
    ResumeDocument,
    SoakDocument,
    StatusDocument,
    SweepDocument,
    TicketsDocument,
    WatchDocument,
    WatchHistoryDocument,
)


def name_of(document: type[Value]) -> str:
    """The schema's name as the document carries it: ``lloyal-track/rebase/1``."""
    (name,) = get_args(get_type_hints(document)["schema_"])
    return str(name)


def file_name(document: type[Value]) -> str:
    """``rebase-1.json`` for ``lloyal-track/rebase/1``."""
    return "-".join(name_of(document).split("/")[1:]) + ".json"


def schema(document: type[Value]) -> bytes:
    """The JSON Schema (draft 2020-12) of ``document``; same type, same bytes."""
    made = msgspec.json.schema(document)
    titled = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": name_of(document),
        **made,
    }
    return msgspec.json.format(msgspec.json.encode(titled), indent=1) + b"\n"


def write(folder: Path) -> None:
    """One file per document."""
    folder.mkdir(parents=True, exist_ok=True)
    for document in DOCUMENTS:
        (folder / file_name(document)).write_bytes(schema(document))


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/schemas"))
