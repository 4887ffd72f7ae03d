"""Composes the rooms: evidence first, then the decision, then the pin.

The only place that knows the order of the stages. It judges nothing itself: each room returns its
document, ``report`` draws the items from them, and only an item that forbids keeps the pin.
"""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from msgspec.structs import replace

from tracker import __version__, pins, report, series, tickets, upstream, watch
from tracker.changed_lines import changed_lines
from tracker.config import Config
from tracker.cores import Sources, check_cores, claims, why_no_tree
from tracker.evidence.base import digest, to_json
from tracker.evidence.build import BuildDocument, Variant
from tracker.evidence.bump import BumpDocument, Proof, Provenance
from tracker.evidence.check import CheckDocument
from tracker.evidence.pins import PinMove, PinRead
from tracker.evidence.rebase import RebaseDocument
from tracker.evidence.revision import Revision
from tracker.evidence.tickets import TicketsDocument
from tracker.evidence.verdict import worst
from tracker.evidence.watch import WatchDocument
from tracker.git.calls import run_git
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.markup import plain
from tracker.progress import Progress
from tracker.report import decisions
from tracker.report.gathered import Stages
from tracker.series import Series
from tracker.statedir import StateDir, write_whole

CHECK_RECIPE = "check"
# A workflow polls in a job of its own, with a token, shortly before; a person repeats a bump.
TICKETS_REUSED_S = 3600.0


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for.

    ``to``: a REV. ``four_way``: build and check the pin too, to compare with. ``dry_run``: decide,
    but move nothing and record nothing. ``program`` and ``command``: how the tool was started, for
    the lines that a reader types again.
    """

    to: str
    four_way: bool = False
    dry_run: bool = False
    acceptances: tuple[decisions.Acceptance, ...] = ()
    program: str = "lloyal-track"
    command: str = "lloyal-track bump"


def bump(config: Config, request: Request, *, progress: Progress) -> BumpDocument:
    """Gather the evidence for a move to ``request.to``, decide, and move the pin if all allows it.

    Raises:
        TrackError: the run cannot go on; the pin is as it was.
    """
    state = StateDir(config.state_dir)
    decisions.refuse_impossible(config, request.acceptances)
    with state.locked():
        pins.refuse_open_operation(state)
        progress.stage("upstream")
        with upstream.bring(config, progress=progress) as repository:
            return _Run(config, request, state, repository, progress).document()


def store_evidence(state: StateDir, document: BumpDocument) -> None:
    """Keep the document and the reports drawn from it, each written whole."""
    write_whole(state.bump, to_json(document))
    write_whole(state.evidence / "checklist.md", report.markdown(document).encode())
    write_whole(state.evidence / "report.html", report.html(document).encode())


@dataclass(frozen=True, slots=True)
class _Native:
    """What building and checking gave; ``not_run``: why a stage of them did not run."""

    build: BuildDocument | None = None
    check: CheckDocument | None = None
    not_run: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Run:
    """One bump in one locked state_dir."""

    config: Config
    request: Request
    state: StateDir
    repository: Repository
    progress: Progress

    def document(self) -> BumpDocument:
        started, clock = datetime.now(UTC), time.monotonic()
        start = pins.pinned_revision(self.config, self.repository)
        target = upstream.resolve(self.repository, self.request.to, self.config)
        reads = pins.read_pins(self.config, self.repository, target)
        for trouble in filter(None, (read.trouble for read in reads)):
            self.progress.say(f"pins: {plain(trouble, 400)}")
        queue = series.read_series(self.config.series_dir)
        with Quarantine(self.repository, self.state.quarantine) as quarantine:
            rebased = self._rebase(queue, quarantine, start, target)
            watched = self._watch(queue, start, target)
            polled = self._poll(start, target, watched)
            native = self._native(quarantine, target, queue, rebased)
            native, proof = self._proof(quarantine, start, target, queue, native)
        stages = Stages(
            start=start,
            target=target,
            rebase=rebased,
            watch=watched,
            tickets=polled,
            build=native.build,
            check=native.check,
            proof=proof,
            pins=reads,
            not_run=native.not_run,
            program=self.request.program,
        )
        items = report.items(self.config, stages)
        decided = decisions.decide(items, self.request.acceptances, started.date())
        for name in {one.item for one in self.request.acceptances} - {one.item for one in decided}:
            self.progress.say(f"{plain(name, 200)} passes: there is nothing to accept")
        decided_before = decisions.read(decisions.path_of(self.config))
        items = decisions.apply(items, (*decided_before, *decided))
        forbidden_by = report.forbidden_by(items)
        moved = started.isoformat(timespec="seconds").replace("+00:00", "Z")
        patch_set = series.series_digest(queue)
        move = PinMove(
            outcome=self._outcome(reads, start, target, forbidden_by),
            from_=start,
            to=target,
            forbidden_by=forbidden_by,
            pins=reads,
            changes=pins.preview(self.config, target, patch_set, moved),
        )
        compiler = native.build.compiler if native.build else ""
        document = BumpDocument(
            verdict=report.conclusion(items, rebased),
            summary=report.sentence(items, move),
            from_=start,
            to=target,
            items=items,
            pin=move,
            rebase=rebased,
            watch=watched,
            tickets=polled,
            build=native.build,
            check=native.check,
            provenance=self._provenance(queue, compiler),
            started_at=started.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - clock, 1),
            lines=report.tracker_lines(self.config, items, stages),
            proof=proof,
        )
        # Evidence is kept before the pin moves, and does not say so yet: a run that dies in between
        # can be explained, and is not taken for one that moved.
        store_evidence(self.state, _before_the_move(document))
        if not self.request.dry_run:
            decisions.record(decisions.path_of(self.config), decided)
        if move.outcome == "moved":
            self.progress.stage("pin")
            pins.move_pins(self.config, self.state, target, patch_set, moved)
            store_evidence(self.state, document)
        return document

    def _rebase(
        self, queue: Series, quarantine: Quarantine, start: Revision, target: Revision
    ) -> RebaseDocument:
        self.progress.stage("rebase")
        return series.rebase(
            self.repository,
            queue,
            from_=start.commit,
            onto=target.commit,
            quarantine=quarantine,
            progress=self.progress,
            program=self.request.program,
        )

    def _watch(self, queue: Series, start: Revision, target: Revision) -> WatchDocument | None:
        """None if nothing is watched: then there is nothing to prove, and no item."""
        if not self.config.watch.regions and not self.config.watch.routing:
            return None
        self.progress.stage("watch")
        return watch.watch(
            self.repository,
            self.config.watch,
            from_=start.commit,
            to=target.commit,
            progress=self.progress,
            touched=changed_lines(queue),
        )

    def _poll(
        self, start: Revision, target: Revision, watched: WatchDocument | None
    ) -> TicketsDocument:
        history = tickets.LocalHistory(
            self.repository,
            self.config.upstream.repository or "",
            start.commit,
            target.commit,
            tuple(region.to for region in (watched.regions if watched else ()) if region.to),
        )
        return tickets.poll(
            self.config.tickets,
            self.state.tickets,
            write=not self.request.dry_run,
            history=history,
            reuse_s=TICKETS_REUSED_S,
            progress=self.progress,
        )

    def _native(
        self,
        quarantine: Quarantine,
        revision: Revision,
        queue: Series,
        rebased: RebaseDocument,
    ) -> _Native:
        """Build and check both variants; a series that does not apply leaves the baseline."""
        if CHECK_RECIPE not in self.config.build.recipes:
            why = f"the configuration has no recipe `{CHECK_RECIPE}`"
            return _Native(not_run={"build": why, "check": why})
        trees: dict[Variant, str] = {"baseline": self.repository.tree(revision.commit)}
        refused: dict[Variant, str] = {}
        if rebased.tree is not None:
            trees["patched"] = rebased.tree
        else:
            refused["patched"] = why_no_tree(rebased)
        sources = Sources(self.config, revision, quarantine, trees, refused)
        built, cores = sources.build(CHECK_RECIPE, self.progress)
        if not self.config.check.enabled:
            return _Native(built, not_run={"check": "the configuration turns it off"})
        if not cores:
            return _Native(built, not_run={"check": "nothing was built that could be checked"})
        claimed = claims(queue, rebased)
        checked = check_cores(self.config, cores, revision.commit, claimed, self.progress)
        return _Native(built, checked)

    def _proof(
        self,
        quarantine: Quarantine,
        start: Revision,
        target: Revision,
        queue: Series,
        native: _Native,
    ) -> tuple[_Native, Proof | None]:
        """Build and check the pin too, if a four-way proof was asked for; its runs stand behind."""
        if not self.request.four_way:
            return native, None
        if native.check is None:
            why = f"the target was not checked: {native.not_run['check']}"
            return native, Proof(revision=start.commit, build=None, why=why)
        if start.commit == target.commit:
            return native, Proof(revision=start.commit, build=native.build, why="")
        at_pin = self._native(
            quarantine, start, queue, self._rebase(queue, quarantine, start, start)
        )
        why = "" if at_pin.check else f"the pin was not checked: {at_pin.not_run['check']}"
        if at_pin.check is not None:
            checks = (native.check, at_pin.check)
            both = replace(
                native.check,
                verdict=worst(check.verdict for check in checks),
                seconds=sum(check.seconds for check in checks),
                rows=tuple(row for check in checks for row in check.rows),
                reused=all(check.reused for check in checks),
            )
            native = _Native(native.build, both, native.not_run)
        return native, Proof(revision=start.commit, build=at_pin.build, why=why)

    def _outcome(
        self,
        reads: tuple[PinRead, ...],
        start: Revision,
        target: Revision,
        forbidden_by: tuple[str, ...],
    ) -> Literal["moved", "would-move", "already-there", "forbidden"]:
        if forbidden_by:
            return "forbidden"
        moving = (read.commit for read in reads if not read.fixed)
        if {start.commit, *moving} == {target.commit}:
            return "already-there"
        return "would-move" if self.request.dry_run else "moved"

    def _provenance(self, queue: Series, compiler: str) -> Provenance:
        git = run_git(["--version"]).stdout.decode(errors="replace").strip()
        return Provenance(
            tool=f"lloyal-track {__version__}",
            command=self.request.command,
            python=platform.python_version(),
            git=git.removeprefix("git version "),
            compiler=compiler,
            series_digest=series.series_digest(queue),
            config_digest=digest(self.config.digest_input),
        )


def _before_the_move(document: BumpDocument) -> BumpDocument:
    """The same evidence, with a move that is decided but not done."""
    if document.pin.outcome != "moved":
        return document
    pin = replace(document.pin, outcome="would-move")
    return replace(document, pin=pin, summary=report.sentence(document.items, pin))
