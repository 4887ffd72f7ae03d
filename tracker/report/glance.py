"""The whole checklist in a dozen rows: what the terminal table and the top of each report show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tracker.evidence.verdict import Status
from tracker.report.stages.check import CONTROL, prefill_size
from tracker.report.standing import plural, worst_status
from tracker.report.view import (
    NOT_RUN,
    Behaviour,
    Bundle,
    Cell,
    Group,
    Scenario,
    View,
    bundles,
    key_of,
    scenario_of,
)

_NAMES_SHOWN = 4
_WRONG_SHOWN = 2


@dataclass(frozen=True, slots=True)
class Row:
    """One row. ``title``: of its group, "" if the row above carries it already."""

    kind: str
    title: str
    status: Status
    said: str


def glance(view: View) -> tuple[Row, ...]:
    """At least one row a group; items that say the same share one."""
    return tuple(
        Row(group.kind, "" if number else group.title, status, said)
        for group in view.groups
        for number, (status, said) in enumerate(_rows(group, view.behaviour))
    )


def named(bundle: Bundle) -> str:
    """The keys of the items; of many, those that matter most, or how many there are."""
    shown, more = bundle.items, ""
    if len(shown) > _NAMES_SHOWN:
        shown = tuple(item for item in shown if item.blocking)
        if not 0 < len(shown) <= _NAMES_SHOWN:
            return plural(len(bundle.items), bundle.first.kind)
        more = f" and {len(bundle.items) - len(shown)} more"
    return ", ".join(key_of(item).removesuffix("/default") for item in shown) + more


def _rows(group: Group, behaviour: Behaviour | None) -> Iterator[tuple[Status, str]]:
    if group.kind == "check" and behaviour is not None:
        yield from _behaviour_rows(group, behaviour)
    elif group.kind == "human":
        for accepted in (False, True):
            names = [key_of(item) for item in group.items if bool(item.accepted) is accepted]
            if names:
                yield group.items[0].status, ", ".join(names) + (": accepted" if accepted else "")
    else:
        for bundle in bundles(group.items):
            yield bundle.first.status, _said(group.kind, bundle)


def _said(kind: str, bundle: Bundle) -> str:
    if kind == "patch" and bundle.first.status is Status.PASS:
        titles = "; ".join(item.title for item in bundle.items[:_NAMES_SHOWN])
        many = len(bundle.items) > _NAMES_SHOWN
        return f"{plural(len(bundle.items), 'patch') if many else titles}: {bundle.said}"
    name = named(bundle)
    said = bundle.said if bundle.said.startswith(name) else f"{name}: {bundle.said}"
    return said + ("; accepted" if bundle.first.accepted else "")


def _behaviour_rows(group: Group, behaviour: Behaviour) -> Iterator[tuple[Status, str]]:
    """Warnings without -> with the patch for the prefill and its control; then all the rest."""
    shown = [row for row in behaviour.rows if row.n_ubatch is not None or row.name == CONTROL]
    for row in shown:
        cells = _at_target(behaviour, row)
        counts = " → ".join(cell.text if cell else NOT_RUN for cell in cells)
        statuses = [cell.status if cell else Status.UNKNOWN for cell in cells]
        where = "on text alone" if row.n_ubatch is None else f"at n_ubatch {row.n_ubatch}"
        yield worst_status(statuses), f"{counts} warnings {where}"
    at_target = [item for item in group.items if "@" not in item.id]
    patched = [
        item
        for item in at_target
        if item.id.endswith("/patched") and prefill_size(scenario_of(item)) is not None
    ]
    compared = any("bit-equal" in item.summary for item in patched)
    if compared and all(item.status is Status.PASS for item in patched):
        yield Status.PASS, "logits bit-equal with and without the patch"
    names = {row.name for row in behaviour.rows} - {row.name for row in shown}
    further = [item for item in at_target if scenario_of(item) in names]
    if further:
        said = f"{plural(len(names), 'further scenario')}{_wrong(*behaviour.wrong)}"
        yield worst_status(item.status for item in further), said
    told = bundles(item for item in at_target if item.status is not Status.PASS)
    for bundle in told[:_WRONG_SHOWN]:
        yield bundle.first.status, f"{named(bundle)}: {bundle.said}"
    rest = [bundle.first for bundle in told[_WRONG_SHOWN:]]
    if rest:
        listed = ", ".join(map(key_of, rest[:_NAMES_SHOWN]))
        more = f" and {len(rest) - _NAMES_SHOWN} more" if len(rest) > _NAMES_SHOWN else ""
        yield worst_status(item.status for item in rest), f"also {listed}{more}"


def _wrong(without: str, with_: str) -> str:
    if (without, with_) == ("0", "0"):
        return ""
    if NOT_RUN not in (without, with_):
        return f": {without} → {with_} wrong results"
    if with_ == NOT_RUN:
        return f": {without} wrong results without the patches, {NOT_RUN} with them"
    return f": {with_} wrong results with the patches, {NOT_RUN} without them"


def _at_target(behaviour: Behaviour, row: Scenario) -> list[Cell | None]:
    """The cells of the target; all of them if nothing ran there."""
    cells = [cell for core, cell in zip(behaviour.cores, row.cells, strict=True) if core.at_target]
    return cells or list(row.cells)
