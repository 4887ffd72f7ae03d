"""Check document -> one item per scenario and variant, over all tiny models.

``image-N`` is the prefill itself: without the patch it must warn (else the patch may be unneeded),
with the patch it must not, and both must compute the same bits. Every other scenario is judged by
the check's own verdict. Nothing passes on a verdict alone: a run must have ended, and must name the
core it loaded.
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


@dataclass(slots=True)
class _Group:
    """The runs of one item; ``missing``: models that have none, though they were configured."""

    rows: list[CheckRow] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def items(config: Config, stages: Stages) -> tuple[Item, ...]:
    """In the order of the plan. A run at another revision than the document's is only shown."""
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
    return tuple(_item(key, group, baselines, document, stages) for key, group in groups.items())


def real_classes(document: CheckDocument | None) -> dict[str, tuple[str, ...]]:
    """Model architecture -> memory classes that the built core at the target really constructed."""
    found: dict[str, dict[str, None]] = {}
    for row in document.rows if document else ():
        if row.memory_class and document and row.revision == document.revision:
            found.setdefault(row.arch, {})[row.memory_class] = None
    return {arch: tuple(classes) for arch, classes in found.items()}


def is_prefill(row: CheckRow) -> bool:
    """The row is the image prefill that the warning is about."""
    size = row.scenario.removeprefix(_PREFILL)
    return size != row.scenario and size.isdigit() and row.geometry != "none"


def _uncovered(config: Config, document: CheckDocument) -> list[tuple[str, str, str]]:
    """(scenario, variant, model) of every configured prefill that has no run."""
    if not config.check.enabled:
        return []
    ran = {
        (row.n_ubatch, row.variant, row.arch)
        for row in document.rows
        if row.revision == document.revision and is_prefill(row)
    }
    return [
        (f"{_PREFILL}{n}", variant, model)
        for n in config.check.n_ubatch
        for variant in get_args(Variant)
        for model in config.check.models
        if (n, variant, model) not in ran
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
    place = "" if at_target else f"@{revision[:12]}"
    return Item(
        id=f"check:{scenario}/{variant}{place}",
        title=f"{scenario}, {variant}" + ("" if at_target else f", at {revision[:12]}"),
        status=worst_status(status for _, status, _ in judged),
        blocking=at_target,
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
    ways = {row.geometry for row in rows}
    return [f"{row.arch} through {row.geometry}" if len(ways) > 1 else row.arch for row in rows]


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
        if row.geometry == "none" and row.warnings:
            return Status.FAIL, f"warns {_times(row)} without any image"
        plain = "no warning, as it should be" if row.geometry == "none" else str(row.verdict)
        return STATUS_OF[row.verdict], row.why or plain
    if row.logits_digest is None:
        return Status.UNKNOWN, "no logits, so nothing shows that the image was processed"
    if row.variant == "baseline":
        return _without_patch(row)
    return _with_patch(row, baseline)


def _unproven(row: CheckRow) -> tuple[Status, str] | None:
    """What keeps a run from proving anything, whatever else it says."""
    why = f": {row.why}" if row.why else ""
    if row.rc is None:
        return Status.FAIL, f"did not end in time{why}"
    if row.rc < 0:
        return Status.FAIL, f"killed by signal {-row.rc}{why}"
    if row.rc > 0:
        return Status.FAIL, f"ended with status {row.rc}{why}"
    if STATUS_OF[row.verdict] in (Status.FAIL, Status.UNKNOWN):
        return STATUS_OF[row.verdict], row.why or f"the check says {row.verdict}"
    if row.library is None:
        return Status.UNKNOWN, "nothing proves which core was loaded"
    return None


def _without_patch(row: CheckRow) -> tuple[Status, str]:
    if not row.warnings:
        return Status.ATTENTION, "no warning without the patch: it may be unneeded now"
    return STATUS_OF[row.verdict], f"warns {_times(row)} without the patch: it is still needed"


def _with_patch(row: CheckRow, baseline: CheckRow | None) -> tuple[Status, str]:
    if row.warnings:
        return Status.FAIL, f"still warns {_times(row)} with the patch"
    if baseline is None or baseline.logits_digest is None:
        return Status.UNKNOWN, "no warning, but no baseline to compare the logits with"
    if baseline.logits_digest != row.logits_digest:
        size = "" if row.max_abs_diff is None else f" by up to {row.max_abs_diff:g}"
        return Status.FAIL, f"no warning, but the logits differ from the baseline's{size}"
    return STATUS_OF[row.verdict], "no warning; logits bit-equal to the baseline"


def _times(row: CheckRow) -> str:
    return plural(len(row.warnings), "time")


def _evidence(name: str, row: CheckRow) -> str:
    shapes = dict.fromkeys(
        f"{line.position} after {line.after} ({line.n_tokens} tokens)" for line in row.warnings
    )
    warned = plural(len(row.warnings), "warning") + (f": {', '.join(shapes)}" if shapes else "")
    return f"{name}, n_ubatch {row.n_ubatch}: {warned}; memory {row.memory_class or 'not told'}"


def _detail(name: str, row: CheckRow) -> str:
    core = row.library[1][:12] if row.library else "unknown"
    return f"{name}: logits {row.logits_digest or 'none'}, core {core}"
