"""Our own pin file, pin.toml: what it says, and what it says after a move. Pure, but for reading.

It records more than the commit, because a commit alone does not tell a reader when the pin moved or
which patch set was proven on it. Comments and keys that are not ours stay.
"""

from __future__ import annotations

import codecs
import re
import tomllib
from pathlib import Path

from tracker.config import line_of
from tracker.errors import ConfigError
from tracker.evidence.revision import Revision

_FULL_ID = re.compile(r"[0-9a-f]{40}")
_LONE_NEWLINE = re.compile(r"(?<!\r)\n")
_HEAD = """\
# The upstream revision that this project is built on. `lloyal-track bump` moves it, and only if the
# evidence allows it.
"""


def commit_in(path: Path) -> tuple[str | None, tuple[int, ...]]:
    """The full commit id in the file, and its line; None if there is no file yet.

    Raises:
        ConfigError: unreadable, not TOML, or without a full commit id.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None, ()
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
    line = line_of(text, "commit")
    return commit, (line,) if line else ()


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

    bom = codecs.BOM_UTF8 if (content or b"").startswith(codecs.BOM_UTF8) else b""
    text = content.decode("utf-8-sig") if content is not None else _HEAD
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
    after = tomlkit.dumps(document)
    if "\r\n" in text and not _LONE_NEWLINE.search(text):
        after = _LONE_NEWLINE.sub(
            "\r\n", after
        )  # tomlkit ends the lines that it adds in its own way
    return bom + after.encode()
