"""Everything that is judged is an item ``kind:key``."""

from __future__ import annotations

from typing import Literal

from tracker.evidence.base import Value, digest
from tracker.evidence.verdict import Status


class Item(Value, frozen=True, kw_only=True):
    """One line of the checklist.

    ``id``: ``kind:key``, e.g. ``patch:0001-x.patch``, ``region:find_slot``,
    ``routing:qwen35/default``, ``ticket:ggml-org/llama.cpp#28166``, ``build:patched``,
    ``check:image-512/patched``, ``pin:default``, ``human:discriminator``. ``summary``: one sentence
    that says what was found. ``evidence``: further lines, may be empty. ``details``: lines for the
    reader that an acceptance does not bind, because they change without a change of meaning (line
    numbers, digests of this machine's files). ``reproduce``: the command that shows it again, or
    "". ``blocking``: whether a status other than pass forbids the pin to move. ``accepted``: a
    human's recorded reason with its date, or "". ``lapsed``: a recorded reason that no longer
    counts because the evidence changed, or "". ``accept``: the command with which a person
    accepts it, where that is one way on, or "".
    """

    id: str
    title: str
    status: Status
    blocking: bool
    summary: str
    evidence: tuple[str, ...] = ()
    reproduce: str = ""
    accepted: str = ""
    details: tuple[str, ...] = ()
    lapsed: str = ""
    accept: str = ""

    @property
    def kind(self) -> str:
        return self.id.partition(":")[0]

    @property
    def digest(self) -> str:
        """Binds an acceptance to what was seen: changes when status, summary or evidence do."""
        return digest(self.id, self.status, self.summary, self.evidence)

    @property
    def forbids(self) -> bool:
        """True if this item alone forbids the pin to move."""
        return self.blocking and self.status is not Status.PASS and not self.accepted


class TrackerLine(Value, frozen=True, kw_only=True):
    """One line of the tracker's own list, answered by items.

    ``items``: ids, in checklist order. ``state``: done = every item passes (or was accepted), and a
    ticket's awaited state was reached; unknown = at least one item was not judged; else open.
    ``said``: one sentence.
    """

    title: str
    items: tuple[str, ...]
    state: Literal["done", "open", "unknown"]
    said: str
