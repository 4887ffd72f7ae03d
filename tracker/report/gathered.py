"""What was gathered for one move; the input of everything this room draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tracker.evidence.build import BuildDocument
from tracker.evidence.bump import Proof
from tracker.evidence.check import CheckDocument
from tracker.evidence.pins import PinRead
from tracker.evidence.rebase import RebaseDocument
from tracker.evidence.revision import Revision
from tracker.evidence.tickets import TicketsDocument
from tracker.evidence.watch import WatchDocument


@dataclass(frozen=True, slots=True)
class Stages:
    """What was gathered for a move from ``start`` to ``target``.

    A stage that did not run is None; ``not_run`` says why, by stage name (``rebase``, ``watch``,
    ``tickets``, ``build``, ``check``), as the end of a sentence: "the series conflicts".
    ``program``: how the reader starts the tool, e.g. ``lloyal-track --config archives.toml``.
    """

    start: Revision
    target: Revision
    rebase: RebaseDocument | None = None
    watch: WatchDocument | None = None
    tickets: TicketsDocument | None = None
    build: BuildDocument | None = None
    check: CheckDocument | None = None
    proof: Proof | None = None
    pins: tuple[PinRead, ...] = ()
    not_run: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    program: str = "lloyal-track"

    def why_not(self, stage: str) -> str:
        """Why ``stage`` did not run; never empty."""
        return self.not_run.get(stage) or "it was not part of this run"

    def command(self, words: str) -> str:
        """A command line that shows something again, at these two revisions."""
        names = {"start": self.start.commit[:12], "target": self.target.commit[:12]}
        return f"{self.program} {words.format(**names)}"
