"""The evidence that the last bump left; shared by the commands that only read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tracker.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from tracker.evidence.bump import BumpDocument


def last_bump(file: Path) -> BumpDocument:
    """The document that the last bump left in ``file``.

    Raises:
        UsageError: there was none yet.
        ConfigError: the file is damaged, or was written by another version.
    """
    import msgspec

    from tracker.evidence.bump import BumpDocument

    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise UsageError(
            "no evidence yet: no bump was run with this configuration",
            where=str(file),
            next_step="lloyal-track bump --to master --dry-run",
        ) from None
    try:
        return msgspec.json.decode(content, type=BumpDocument)
    except msgspec.DecodeError as fault:
        raise ConfigError(
            f"the stored evidence cannot be read: {fault}",
            where=str(file),
            next_step="make it again: lloyal-track bump --to master --dry-run",
        ) from None
