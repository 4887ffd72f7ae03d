"""A bump document, arranged for a reader: what Markdown, HTML and terminal have in common.

Arranges and counts; judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tracker.evidence.bump import BumpDocument
from tracker.evidence.check import CheckRow
from tracker.evidence.item import Item
from tracker.evidence.rebase import Note, PatchResult
from tracker.evidence.revision import Revision
from tracker.evidence.verdict import Status
from tracker.report.stages.check import CONTROL, prefill_size, run_names
from tracker.report.standing import BADNESS, STATUS_OF, worst_status

# Kind -> heading, and the question that its items answer. In the order of the checklist.
KINDS = {
    "pin": ("Pins", "Where is the revision written, and do all places agree?"),
    "patch": ("Patches", "Does each carried patch still apply, and still mean the same?"),
    "region": ("Watched code", "What did upstream do to the code we depend on?"),
    "routing": ("Routing", "Which class does each model get now?"),
    "build": ("Native core", "Does it compile, without and with the patches?"),
    "check": ("Behaviour", "Is the patch still needed, enough and harmless?"),
    "proof": (
        "Four-way proof",
        "Against the pin: are the patches still needed, still enough, harmless?",
    ),
    "ticket": ("Tickets", "Did anything happen in the threads we follow?"),
    "human": ("For a person", "What can no machine tell?"),
}
STATUS_ORDER = tuple(reversed(BADNESS))


NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Group:
    """Items of one kind. ``commands``: what shows the listed ones again, each once."""

    kind: str
    title: str
    question: str
    items: tuple[Item, ...]

    @property
    def status(self) -> Status:
        return worst_status(item.status for item in self.items)

    @property
    def commands(self) -> tuple[str, ...]:
        if self.kind == "human":  # their command decides, it shows nothing
            return ()
        return tuple(dict.fromkeys(item.reproduce for item in self.listed if item.reproduce))

    @property
    def listed(self) -> tuple[Item, ...]:
        """The items that a reader looks for one by one."""
        return tuple(item for item in self.items if self.kind != "check" or not _is_further(item))

    @property
    def folded(self) -> tuple[Item, ...]:
        """Passing scenarios beyond the prefill and its control: in the table, and in a fold."""
        return tuple(item for item in self.items if item not in self.listed)

    @property
    def titled(self) -> bool:
        """Whether a title says more than the key and the sentence do."""
        return self.kind in ("patch", "ticket", "human")

    @property
    def evidence(self) -> bool:
        """Whether any item has lines to show."""
        return any(item.evidence or item.details for item in self.items)

    @property
    def counted(self) -> str:
        """``3 pass, 1 attention``."""
        return counted(self.items)


@dataclass(frozen=True, slots=True)
class Bundle:
    """Items of one kind and status that say the same; ``said`` is what they share."""

    items: tuple[Item, ...]
    said: str

    @property
    def first(self) -> Item:
        return self.items[0]


@dataclass(frozen=True, slots=True)
class Cell:
    """One scenario on one core.

    ``parts``: the number of warnings, then what was wrong of what was looked at; one for each group
    of models that differ.
    """

    parts: tuple[str, ...]
    status: Status

    @property
    def text(self) -> str:
        return "; ".join(self.parts)


@dataclass(frozen=True, slots=True)
class Core:
    """A column of the behaviour table: one variant at one revision."""

    revision: str
    variant: str
    at_target: bool


@dataclass(frozen=True, slots=True)
class Scenario:
    """A row of it. ``n_ubatch``: of the prefill itself, None for all others."""

    name: str
    n_ubatch: int | None
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Scenario x core; a cell is None where nothing ran.

    ``wrong``: at the target, how many facts were wrong without and with the patches, and how many
    runs had no result; ``not run`` where there was none.
    """

    cores: tuple[Core, ...]
    rows: tuple[Scenario, ...]
    wrong: tuple[str, str]


@dataclass(frozen=True, slots=True)
class View:
    """Everything that a template needs, arranged."""

    document: BumpDocument

    @property
    def groups(self) -> tuple[Group, ...]:
        found: dict[str, list[Item]] = {kind: [] for kind in KINDS}
        for item in self.document.items:
            found.setdefault(item.kind, []).append(item)
        return tuple(
            Group(kind, *KINDS.get(kind, (kind.capitalize(), "")), tuple(items))
            for kind, items in found.items()
            if items
        )

    @property
    def counts(self) -> tuple[tuple[Status, int], ...]:
        """How many of each status, worst first, none left out."""
        return tuple(
            (status, sum(item.status is status for item in self.document.items))
            for status in STATUS_ORDER
        )

    @property
    def forbidding(self) -> tuple[Bundle, ...]:
        return bundles(item for item in self.document.items if item.forbids)

    @property
    def worth_a_look(self) -> tuple[Bundle, ...]:
        """Neither passing nor forbidding, nor waiting for a person, nor decided; worst first."""
        shown = [
            item
            for item in self.document.items
            if item.status not in (Status.PASS, Status.HUMAN)
            and not item.forbids
            and not item.accepted
        ]
        return bundles(sorted(shown, key=lambda item: STATUS_ORDER.index(item.status)))

    @property
    def waiting(self) -> tuple[Item, ...]:
        """For a person, undecided."""
        return tuple(
            item
            for item in self.document.items
            if item.status is Status.HUMAN and not item.accepted and not item.forbids
        )

    @property
    def decided(self) -> tuple[Item, ...]:
        return tuple(item for item in self.document.items if item.accepted)

    @property
    def provenance(self) -> tuple[tuple[str, str], ...]:
        """Name and value, the command first; the two revisions are shown on their own."""
        made = self.document.provenance
        return (
            ("command", made.command),
            ("tool", made.tool),
            ("patch set", made.series_digest),
            ("configuration", made.config_digest),
            ("compiler", made.compiler or "none was needed"),
            ("git", made.git),
            ("python", made.python),
            ("started", self.document.started_at),
            ("took", f"{self.document.seconds:.0f} s"),
        )

    @property
    def conflicts(self) -> tuple[PatchResult, ...]:
        """The patches that conflict, in series order."""
        rebase = self.document.rebase
        return tuple(patch for patch in (rebase.patches if rebase else ()) if patch.conflict)

    @property
    def redrawn(self) -> tuple[PatchResult, ...]:
        """The patches that stand on the target with another text than their file has, in order."""
        rebase = self.document.rebase
        return tuple(
            patch
            for patch in (rebase.patches if rebase else ())
            if patch.diff and not {Note.REFRESH_NEEDED, Note.FORM}.isdisjoint(patch.notes)
        )

    @property
    def diffs(self) -> dict[str, str]:
        """Item id -> what upstream changed there."""
        watch = self.document.watch
        return {
            f"region:{region.name}": region.diff
            for region in (watch.regions if watch else ())
            if region.diff
        }

    @property
    def behaviour(self) -> Behaviour | None:
        return behaviour(self.document)


def scenario_of(item: Item) -> str:
    """``image-512`` of ``check:image-512/patched``."""
    return key_of(item).partition("/")[0]


def _is_further(item: Item) -> bool:
    scenario = scenario_of(item)
    return item.status is Status.PASS and scenario != CONTROL and prefill_size(scenario) is None


def counted(items: Iterable[Item]) -> str:
    """``3 pass, 1 attention``, best first; "" of none."""
    listed = list(items)
    pairs = ((status, sum(item.status is status for item in listed)) for status in BADNESS)
    return ", ".join(f"{count} {status}" for status, count in pairs if count)


def bundles(items: Iterable[Item]) -> tuple[Bundle, ...]:
    """Items of a kind and status, decided or not, whose sentences start alike (up to ``;``).

    Six threads that were not polled for one reason are one line.
    """
    found: dict[tuple[str, Status, bool, str], list[Item]] = {}
    for item in items:
        start = item.summary.partition(";")[0]
        found.setdefault((item.kind, item.status, bool(item.accepted), start), []).append(item)
    return tuple(
        Bundle(tuple(group), group[0].summary if len(group) == 1 else start)
        for (_, _, _, start), group in found.items()
    )


def key_of(item: Item) -> str:
    """The item's id without its kind."""
    return item.id.partition(":")[2]


def revision_name(revision: Revision) -> str:
    """``0.3.36 (0c1e57098)``: what a reader knows it by, with upstream's id."""
    upstream = revision.upstream_commit or revision.commit
    return revision.name if revision.name == upstream[:12] else f"{revision.name} ({upstream[:12]})"


def behaviour(document: BumpDocument) -> Behaviour | None:
    """The table of the check; None if nothing ran.

    Columns pin before target, baseline before patched; rows in the order of the plan.
    """
    rows = document.check.rows if document.check else ()
    if document.check is None or not rows:
        return None
    names = {document.from_.commit: document.from_.name, document.to.commit: document.to.name}
    order = [document.from_.commit, document.to.commit]
    by_cell: dict[tuple[str, str, str], list[CheckRow]] = {}
    for row in rows:
        by_cell.setdefault((row.scenario, row.revision, row.variant), []).append(row)
    cores = sorted(
        {(revision, variant) for _, revision, variant in by_cell},
        key=lambda core: (order.index(core[0]) if core[0] in order else len(order), core),
    )
    statuses = {item.id: item.status for item in document.items}
    target = document.check.revision
    there = [row for row in rows if row.revision == target]
    return Behaviour(
        cores=tuple(
            Core(
                revision=names.get(revision, revision[:12]),
                variant=variant,
                at_target=revision == target,
            )
            for revision, variant in cores
        ),
        rows=tuple(
            Scenario(
                name=scenario,
                n_ubatch=prefill_size(scenario),
                cells=tuple(
                    _cell(by_cell.get((scenario, *core), []), statuses, target) for core in cores
                ),
            )
            for scenario in dict.fromkeys(row.scenario for row in rows)
        ),
        wrong=(
            _wrong([row for row in there if row.variant == "baseline"]),
            _wrong([row for row in there if row.variant == "patched"]),
        ),
    )


def _wrong(rows: list[CheckRow]) -> str:
    if not rows:
        return NOT_RUN
    open_ = sum(row.right is None for row in rows)
    without = f" (and {open_} runs without a result)" if open_ else ""
    return f"{sum(len(row.broken) for row in rows)}{without}"


def _cell(rows: list[CheckRow], statuses: dict[str, Status], target: str) -> Cell | None:
    if not rows:
        return None
    by_count: dict[str, list[str]] = {}
    for name, row in zip(run_names(rows), rows, strict=True):
        by_count.setdefault(_count(row), []).append(name)
    parts = tuple(
        count if len(by_count) == 1 else f"{', '.join(names)}: {count}"
        for count, names in by_count.items()
    )
    name = f"check:{rows[0].scenario}/{rows[0].variant}"
    if rows[0].revision != target:
        name += f"@{rows[0].revision[:12]}"
    status = statuses.get(name) or worst_status(STATUS_OF[row.verdict] for row in rows)
    return Cell(parts, status)


def _count(row: CheckRow) -> str:
    if row.rc is None:
        return "no end"
    if row.rc:
        return f"signal {-row.rc}" if row.rc < 0 else f"rc {row.rc}"
    wrong = f" + {len(row.broken)}/{row.facts} wrong" if row.broken else ""
    return f"{len(row.warnings)}{wrong}"
