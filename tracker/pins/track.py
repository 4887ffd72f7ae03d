"""Our own pin file, pin.toml: what it says, and what it says after a move. Pure, but for reading.

It records more than the commit, because a commit alone does not tell a reader when the pin moved or
which patch set was proven on it. Comments and keys that are not ours stay.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tracker.errors import ConfigError
from tracker.evidence.revision import Revision

_FULL_ID = re.compile(r"[0-9a-f]{40}")
_HEAD = """\
# The upstream revision that this project is built on. `lloyal-track bump` moves it, and only if the
# evidence allows it.
"""


def commit_in(path: Path) -> str | None:
    """The full commit id in the file; None if there is no file yet.

    Raises:
        ConfigError: unreadable, not TOML, or without a full commit id.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as fault:
        raise ConfigError(f"cannot read the pin: {fault}", where=str(path)) from None
    try:
        commit = tomllib.loads(text).get("commit")
    except tomllib.TOMLDecodeError as fault:
        raise ConfigError(f"not valid TOML: {fault}", where=str(path)) from None
    if not isinstance(commit, str) or not _FULL_ID.fullmatch(commit):
        raise ConfigError(
            "no full commit id (40 hex digits) under the key `commit`",
            where=str(path),
            next_step="write the pinned revision's full id; an abbreviation can become ambiguous",
        )
    return commit


def content_after(
    path: Path, content: bytes | None, to: Revision, series_digest: str, date: str
) -> bytes:
    """What the file holds once it names ``to``; ``content``: what it holds now, None for no file.

    ``date``: of the move, ISO 8601.

    A mirror's own id is marked by ``source = "archive"``, with upstream's id beside it.

    Raises:
        ConfigError: the file that is there is not TOML.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    text = content.decode("utf-8") if content is not None else _HEAD
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as fault:
        raise ConfigError(f"not valid TOML: {fault}", where=str(path)) from None
    values = {
        "commit": to.commit,
        "source": str(to.source),
        "upstream_commit": to.upstream_commit,
        "name": to.name,
        "nightly": to.nightly,
        "release": to.release,
        "date": to.date,
        "moved": date,
        "patch_set": series_digest,
    }
    for key, value in values.items():
        if value is not None:
            document[key] = value
        else:
            document.pop(key, None)
    return tomlkit.dumps(document).encode()
