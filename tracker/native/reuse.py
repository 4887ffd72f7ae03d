"""Keeps a check that passed, so that the same check of the same cores need not run again.

The check is deterministic, and its key covers all that it depends on: the cores, the program, the
models, the plan, the judge and the patches' claims. A failure or a gap is not kept but looked at
again: a time-out or a killed child may have been this machine's fault.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import msgspec

from tracker.bundled import bundled
from tracker.evidence.base import digest, to_json
from tracker.evidence.build import Variant
from tracker.evidence.check import CheckDocument
from tracker.evidence.verdict import Verdict
from tracker.native.core import BuiltCore
from tracker.native.plan import Subject
from tracker.native.probe import Limits
from tracker.statedir import write_whole

_KEPT = (Verdict.OK, Verdict.ATTENTION)
_MOST_KEPT = 400  # of a quarter of a MiB each


def default_folder() -> Path:
    """Where checks that passed are kept, shared by all checkouts of this user."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("lloyal-track", appauthor=False)) / "checks"


def check_key(
    cores: Mapping[Variant, BuiltCore],
    subjects: Sequence[Subject],
    revision: str,
    limits: Limits,
    claimed: Collection[str],
) -> str:
    """Names one check by content; no path of this machine is part of it."""
    return digest(
        [[variant, core.key, core.digest] for variant, core in cores.items()],
        [
            [
                subject.arch,
                [asdict(run) for run in subject.runs],
                [
                    _sha256([file]) if file else ""
                    for file in (subject.model, subject.projector, subject.picture)
                ],
            ]
            for subject in subjects
        ],
        revision,
        asdict(limits),
        sorted(claimed),
        _sha256(sorted(bundled("build/probe").rglob("*.[ch]pp"))),
        _sha256(sorted(Path(__file__).parent.glob("*.py"))),
    )


def kept(folder: Path, key: str) -> CheckDocument | None:
    """The document of ``key``, marked as reused; None if there is none that can be read."""
    try:
        document = msgspec.json.decode((folder / f"{key}.json").read_bytes(), type=CheckDocument)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    if document.verdict not in _KEPT:
        return None
    return msgspec.structs.replace(document, reused=True)


def keep(folder: Path, key: str, document: CheckDocument) -> None:
    """Keep ``document`` unless something failed or is unknown; the oldest go when there are many.

    A folder that cannot be written is no fault: the next run checks again.
    """
    if document.verdict not in _KEPT:
        return
    with contextlib.suppress(OSError):
        write_whole(folder / f"{key}.json", to_json(document))
        made = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
        for old in made[:-_MOST_KEPT]:
            old.unlink()


def _sha256(files: Iterable[Path]) -> str:
    total = hashlib.sha256()
    for file in files:
        total.update(file.name.encode() + b"\0")
        with file.open("rb") as content:
            total.update(hashlib.file_digest(content, "sha256").digest())
    return total.hexdigest()
