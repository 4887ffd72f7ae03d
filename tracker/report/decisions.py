"""What people decided about items: patchset/decisions.toml, the one file of this room.

A decision binds the digest of the item's evidence. While that stays the same the item is shown as
accepted; once it changes the item is asked again, with the old reason shown. A decision never makes
an item pass and never hides it.
"""

from __future__ import annotations

import datetime
import difflib
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tracker.config import Config, line_of
from tracker.errors import ConfigError, UsageError
from tracker.evidence.item import Item
from tracker.evidence.verdict import Status
from tracker.statedir import write_whole

FILE_NAME = "decisions.toml"
_KINDS = ("pin", "patch", "region", "routing", "build", "check", "ticket", "human")
_HEAD = """\
# What people decided about items of the checklist (bump --accept ITEM --because TEXT).
# Each holds while the digest of the item's evidence stays the same; then it is asked again.
"""


class Decision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``item``: its id; ``digest``: ``Item.digest`` as it was when the decision was taken."""

    item: str
    because: str
    date: datetime.date
    digest: str


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    decision: tuple[Decision, ...] = ()


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What was asked for on the command line: accept ``item``, ``because`` of this."""

    item: str
    because: str


def path_of(config: Config) -> Path:
    """The file lies beside the patches, so that it is reviewed with them."""
    return config.decisions


def read(path: Path) -> tuple[Decision, ...]:
    """The decisions, in file order; none if there is no file.

    Raises:
        ConfigError: unreadable, not TOML, an unknown or missing key, a wrong type.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as fault:
        raise ConfigError(f"cannot read the decisions: {fault}", where=str(path)) from None
    try:
        return msgspec.convert(tomllib.loads(text), _File).decision
    except tomllib.TOMLDecodeError as fault:
        line = re.search(r"line (\d+)", str(fault))
        where = f"{path}:{line.group(1)}" if line else str(path)
        raise ConfigError(f"not valid TOML: {fault}", where=where) from None
    except msgspec.ValidationError as fault:
        message, _, tail = str(fault).partition(" - at `$")
        key = tail.rstrip("`").lstrip(".")
        line_number = line_of(text, key)
        where = f"{path}:{line_number} {key}" if line_number else f"{path} {key}".rstrip()
        raise ConfigError(message, where=where, next_step="correct or remove that entry") from None


def refuse_impossible(config: Config, acceptances: Iterable[Acceptance]) -> None:
    """Refuse before the work what can be known to be wrong before it: a mistyped name.

    Raises:
        UsageError: no item of that kind and name can come out of a run with ``config``.
    """
    known = {
        "human": {table.name for table in config.checklist.human},
        "ticket": {table.key for table in config.tickets},
        "pin": {table.name for table in config.pins},
    }
    for wanted in acceptances:
        kind, _, key = wanted.item.partition(":")
        names = known.get(kind)
        if (names is not None and key not in names) or kind not in _KINDS or not key:
            possible = [f"{one}:{name}" for one, listed in known.items() for name in sorted(listed)]
            near = difflib.get_close_matches(wanted.item, possible, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "see `lloyal-track checklist`"
            raise UsageError("no such item to accept", where=wanted.item, next_step=hint)


def decide(
    items: Sequence[Item], acceptances: Iterable[Acceptance], today: datetime.date
) -> tuple[Decision, ...]:
    """The decisions that ``acceptances`` mean for ``items`` as they are now; none about one that
    passes.

    Raises:
        UsageError: no such item, or no reason given.
    """
    by_id = {item.id: item for item in items}
    taken: dict[str, Decision] = {}
    for wanted in acceptances:
        item = by_id.get(wanted.item)
        if item is None:
            near = difflib.get_close_matches(wanted.item, by_id, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "see `lloyal-track checklist`"
            raise UsageError("no such item to accept", where=wanted.item, next_step=hint)
        if item.status is Status.PASS:
            continue  # no decision is needed: a run that took minutes is not thrown away for that
        because = " ".join(wanted.because.split())
        if not because:
            raise UsageError(
                "an acceptance needs a reason", where=item.id, next_step="add --because TEXT"
            )
        taken[item.id] = Decision(item=item.id, because=because, date=today, digest=item.digest)
    return tuple(taken.values())


def apply(items: Sequence[Item], decisions: Iterable[Decision]) -> tuple[Item, ...]:
    """``items`` with what was decided about them; of several decisions about one, the last."""
    latest = {decision.item: decision for decision in decisions}
    return tuple(_decided(item, latest.get(item.id)) for item in items)


def _decided(item: Item, decision: Decision | None) -> Item:
    if decision is None or item.status is Status.PASS:
        return item
    said = f"{decision.because} ({decision.date.isoformat()})"
    if decision.digest == item.digest:
        return replace(item, accepted=said)
    return replace(item, lapsed=said)


def record(path: Path, decisions: Sequence[Decision]) -> None:
    """Write ``decisions`` into the file, whole or not at all; comments and other entries stay.

    An older entry about the same item is replaced: the file says what holds, git says what held.

    Raises:
        ConfigError: the file that is there cannot be read.
        OSError: it cannot be written; it is as it was.
    """
    if not decisions:
        return
    import tomlkit
    from tomlkit.items import AoT

    read(path)
    text = path.read_text(encoding="utf-8") if path.exists() else _HEAD
    document = tomlkit.parse(text)
    entries = document.get("decision")
    if not isinstance(entries, AoT):
        entries = tomlkit.aot()
        document["decision"] = entries
    renewed = {decision.item for decision in decisions}
    for index in reversed(range(len(entries))):
        if entries[index].get("item") in renewed:
            del entries[index]
    for decision in decisions:
        table = tomlkit.table()
        for key, value in msgspec.structs.asdict(decision).items():
            table[key] = value
        entries.append(table)
    write_whole(path, tomlkit.dumps(document).encode())
