"""Check document -> one item per scenario and variant, over all tiny models.

``image-N`` is the prefill itself: without the patch it must warn (else the patch may be unneeded),
with the patch it must not, and both must compute the same bits. ``text`` is its control. Every
other scenario is judged by the check's own verdict. Nothing passes on a verdict alone: a run must
have ended, must name the core it loaded, and must be there in both variants.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import get_args

from tracker.config import Config
from tracker.evidence.build import Variant
from tracker.evidence.check import CheckDocument, CheckRow
from tracker.evidence.item import Item
from tracker.evidence.verdict import Status
from tracker.report.gathered import Stages
from tracker.report.standing import STATUS_OF, plural, worst_status

_PREFILL = "image-"
CONTROL = "text"
_SHAPES_SHOWN = 4
_BROKEN_SHOWN = 3


@dataclass(slots=True)
class _Group:
    """The runs of one item; ``missing``: models that have none, though they were configured."""

    rows: list[CheckRow] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def items(config: Config, stages: Stages) -> tuple[Item, ...]:
    """In the order of the plan, scenario by scenario.

    A run at another revision than the document's is shown, and never blocks.
    """
    document = stages.check
    if document is None:
        if not config.check.enabled:
            return ()
        return (_not_run(stages),)
    groups: dict[tuple[str, str, str], _Group] = {}
    for row in document.rows:
        groups.setdefault((row.scenario, row.variant, row.revision), _Group()).rows.append(row)
    for scenario, variant, model in _uncovered(config, document):
        groups.setdefault((scenario, variant, document.revision), _Group()).missing.append(model)
    if not groups:
        return (_not_run(stages, "the check document holds no run"),)
    baselines = {_twin(row): row for row in document.rows if row.variant == "baseline"}
    first = {scenario: place for place, (scenario, _, _) in reversed([*enumerate(groups)])}
    order = sorted(groups, key=lambda key: first[key[0]])  # the variants of a scenario together
    return tuple(_item(key, groups[key], baselines, document, stages) for key in order)


def real_classes(document: CheckDocument | None) -> dict[str, tuple[str, ...]]:
    """Model architecture -> memory classes that the built core at the target really constructed."""
    found: dict[str, dict[str, None]] = {}
    for row in document.rows if document else ():
        if row.memory_class and document and row.revision == document.revision:
            found.setdefault(row.arch, {})[row.memory_class] = None
    return {arch: tuple(classes) for arch, classes in found.items()}


def is_prefill(row: CheckRow) -> bool:
    """The row is the image prefill that the warning is about."""
    return prefill_size(row.scenario) is not None and row.geometry != "none"


def prefill_size(scenario: str) -> int | None:
    """The n_ubatch of ``image-N``; None for any other scenario."""
    size = scenario.removeprefix(_PREFILL)
    return int(size) if size != scenario and size.isdecimal() else None


def _uncovered(config: Config, document: CheckDocument) -> list[tuple[str, str, str]]:
    """(scenario, variant, model) of every run at the target that should be there and is not.

    Due are both variants of whatever ran, and every configured model and size of the prefill.
    """
    rows = [row for row in document.rows if row.revision == document.revision]
    ran = {(row.scenario, row.variant, row.arch) for row in rows}
    due = [(row.scenario, row.arch) for row in rows]
    if config.check.enabled:
        due += [
            (f"{_PREFILL}{n}", arch) for n in config.check.n_ubatch for arch in config.check.models
        ]
        ran -= {
            (row.scenario, row.variant, row.arch)
            for row in rows
            if row.scenario.startswith(_PREFILL) and row.geometry == "none"
        }
    return [
        (scenario, variant, arch)
        for scenario, arch in dict.fromkeys(due)
        for variant in get_args(Variant)
        if (scenario, variant, arch) not in ran
    ]


def _not_run(stages: Stages, why: str = "") -> Item:
    return Item(
        id="check:image-prefill",
        title="image-prefill check",
        status=Status.UNKNOWN,
        blocking=True,
        summary=f"not run: {why or stages.why_not('check')}",
        reproduce=stages.command("check {target}"),
    )


def _item(
    key: tuple[str, str, str],
    group: _Group,
    baselines: dict[tuple[str, ...], CheckRow],
    document: CheckDocument,
    stages: Stages,
) -> Item:
    scenario, variant, revision = key
    names = run_names(group.rows)
    judged = [
        (name, *_judged(row, baselines.get(_twin(row))))
        for name, row in zip(names, group.rows, strict=True)
    ]
    judged += [(model, Status.UNKNOWN, "no run") for model in group.missing]
    at_target = revision == document.revision
    # Upstream's own faults alone forbid nothing; beside anything else that is wrong they do.
    against = [
        (row, status)
        for row, (_, status, _) in zip(group.rows, judged, strict=False)
        if status is not Status.PASS
    ]
    ours = not against or any(row.claimed or status is Status.FAIL for row, status in against)
    place = "" if at_target else f"@{revision[:12]}"
    return Item(
        id=f"check:{scenario}/{variant}{place}",
        title=f"{scenario}, {variant}" + ("" if at_target else f", at {revision[:12]}"),
        status=worst_status(status for _, status, _ in judged),
        blocking=at_target and (bool(group.missing) or ours),
        summary=_joined([(model, said) for model, _, said in judged]),
        evidence=tuple(_evidence(name, row) for name, row in zip(names, group.rows, strict=True)),
        details=tuple(_detail(name, row) for name, row in zip(names, group.rows, strict=True)),
        reproduce=f"{stages.program} check {revision[:12]} --scenario {scenario}",
    )


def _twin(row: CheckRow) -> tuple[str, ...]:
    """What the two variants of one run have in common."""
    return (row.scenario, row.arch, row.geometry, row.revision)


def run_names(rows: list[CheckRow]) -> list[str]:
    """Each run's model, and how the image came in where that differs: ``qwen35 through mtmd``."""
    ways = {row.geometry for row in rows if row.geometry != "none"}
    return [
        f"{row.arch} through {row.geometry}"
        if len(ways) > 1 and row.geometry != "none"
        else row.arch
        for row in rows
    ]


def _joined(said: list[tuple[str, str]]) -> str:
    """One sentence for all models: said once where they agree."""
    by_sentence: dict[str, list[str]] = {}
    for model, sentence in said:
        by_sentence.setdefault(sentence, []).append(model)
    if len(by_sentence) == 1:
        return said[0][1]
    return "; ".join(f"{', '.join(models)}: {what}" for what, models in by_sentence.items())


def _judged(row: CheckRow, baseline: CheckRow | None) -> tuple[Status, str]:
    doubt = _unproven(row)
    if doubt is not None:
        return doubt
    if not is_prefill(row):
        return STATUS_OF[row.verdict], row.why or _described(row)
    return _without_patch(row) if row.variant == "baseline" else _with_patch(row, baseline)


def _described(row: CheckRow) -> str:
    """What a run showed that the check has no sentence for."""
    if row.scenario == CONTROL:
        return "no warning, as it should be"
    if row.variant == "baseline":
        warned = f"warns {_times(row)} without the patch: it is still needed"
        return warned if row.warnings else "right without the patch"
    said = [f"warns {_times(row)}, as it must" if row.warnings else "no warning"]
    if row.facts:
        said.append(f"{plural(row.facts, 'fact')} right")
    if row.compared_with == "baseline" and row.max_abs_diff == 0:
        said.append("logits bit-equal to the baseline")
    return "; ".join(said)


def _wrong(row: CheckRow) -> str:
    return f"{len(row.broken)} of {plural(row.facts, 'fact')} wrong"


def _unproven(row: CheckRow) -> tuple[Status, str] | None:
    """What keeps a run from proving anything, whatever else it says."""
    why = f": {row.why}" if row.why else ""
    if row.rc is None:
        found = Status.FAIL, f"did not end in time{why}"
    elif row.rc < 0:
        found = Status.FAIL, f"killed by signal {-row.rc}{why}"
    elif row.rc > 0:
        found = Status.FAIL, f"ended with status {row.rc}{why}"
    elif STATUS_OF[row.verdict] in (Status.FAIL, Status.UNKNOWN):
        found = STATUS_OF[row.verdict], row.why or f"the check says {row.verdict}"
    elif row.library is None:
        found = Status.UNKNOWN, "nothing proves which core was loaded"
    elif is_prefill(row) and row.logits_digest is None:
        found = Status.UNKNOWN, "no logits, so nothing shows that the image was processed"
    elif row.variant == "patched" and row.broken and row.claimed:
        found = Status.FAIL, f"{_wrong(row)} with the patch: {row.broken[0]}"
    elif row.scenario == CONTROL and row.warnings:
        found = Status.FAIL, f"warns {_times(row)} without any image"
    else:
        return None
    return found


def _without_patch(row: CheckRow) -> tuple[Status, str]:
    if not row.warnings:
        return Status.ATTENTION, "no warning without the patch: it may be unneeded now"
    return STATUS_OF[row.verdict], f"warns {_times(row)} without the patch: it is still needed"


def _with_patch(row: CheckRow, baseline: CheckRow | None) -> tuple[Status, str]:
    if row.warnings and row.claimed:
        return Status.FAIL, f"still warns {_times(row)} with the patch"
    warned = f"warns {_times(row)}" if row.warnings else "no warning"
    if baseline is None or baseline.logits_digest is None:
        return Status.UNKNOWN, f"{warned}, but no baseline to compare the logits with"
    if baseline.logits_digest != row.logits_digest:
        size = "" if row.max_abs_diff is None else f" by up to {row.max_abs_diff:g}"
        return Status.FAIL, f"{warned}, but the logits differ from the baseline's{size}"
    return STATUS_OF[row.verdict], row.why or f"{warned}; logits bit-equal to the baseline"


def _times(row: CheckRow) -> str:
    return plural(len(row.warnings), "time")


def _evidence(name: str, row: CheckRow) -> str:
    shapes = dict.fromkeys(
        f"{line.position} after {line.after} ({line.n_tokens} tokens)" for line in row.warnings
    )
    said = [plural(len(row.warnings), "warning")]
    if shapes:
        listed = list(shapes)[:_SHAPES_SHOWN]
        more = len(shapes) - len(listed)
        said[0] += f": {', '.join(listed)}" + (f" and {more} more shapes" if more > 0 else "")
    if row.broken:
        said.append(f"{_wrong(row)}: {'; '.join(row.broken[:_BROKEN_SHOWN])}")
    elif row.facts:
        said.append(f"{plural(row.facts, 'fact')} right")
    said.append(f"memory {row.memory_class or 'not told'}")
    return f"{name}, n_ubatch {row.n_ubatch}: {'; '.join(said)}"


def _detail(name: str, row: CheckRow) -> str:
    core = row.library[1][:12] if row.library else "unknown"
    return f"{name}: logits {row.logits_digest or 'none'}, core {core}"
