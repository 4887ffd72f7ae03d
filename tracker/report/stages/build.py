"""Build document -> one item per variant, and per downstream core."""

from __future__ import annotations

from typing import get_args

from tracker.config import Config
from tracker.evidence.build import DownstreamBuild, Variant, VariantBuild
from tracker.evidence.item import Item
from tracker.evidence.verdict import Status, Verdict
from tracker.report.gathered import Stages
from tracker.report.standing import STATUS_OF, plural

_ERRORS_SHOWN = 5


def items(config: Config, stages: Stages) -> tuple[Item, ...]:
    """Both variants whenever a core is configured; a variant that was not built is unknown."""
    document = stages.build
    if document is None and not config.build.recipes:
        return ()
    built = {variant.variant: variant for variant in document.variants} if document else {}
    variants = tuple(
        _item(built[name], _command(stages, name)) if name in built else _unbuilt(name, stages)
        for name in get_args(Variant)
    )
    done = {one.name: one for one in document.downstream} if document else {}
    return variants + tuple(
        _downstream(table.name, done.get(table.name), stages) for table in config.build.downstream
    )


def _downstream(name: str, built: DownstreamBuild | None, stages: Stages) -> Item:
    """One core of ours on top; that nobody built it is unknown."""
    if built is None:
        status, said = Status.UNKNOWN, "not built: there was no core to build it on"
    elif built.verdict is Verdict.OK:
        status, said = Status.PASS, "builds"
    else:
        status, said = STATUS_OF[built.verdict], built.why
    return Item(
        id=f"build:{name}",
        title=f"downstream core, {name}",
        status=status,
        blocking=True,
        summary=said,
        evidence=built.last_lines if built else (),
        reproduce=stages.command("build {target}"),
    )


def _command(stages: Stages, variant: str) -> str:
    return stages.command("build {target} --variant ") + variant


def _unbuilt(variant: str, stages: Stages) -> Item:
    why = stages.why_not("build") if stages.build is None else "the build document lacks it"
    return Item(
        id=f"build:{variant}",
        title=f"native core, {variant}",
        status=Status.UNKNOWN,
        blocking=True,
        summary=f"not built: {why}",
        reproduce=_command(stages, variant),
    )


def _item(build: VariantBuild, command: str) -> Item:
    status = STATUS_OF[build.verdict]
    if status is Status.PASS and not build.artefacts:
        status, said = Status.UNKNOWN, "said to be built, but no artefact was named"
    elif status is Status.PASS:
        said = "builds"
    else:
        said = build.why or (build.errors[0] if build.errors else f"ended as {build.verdict}")
    notes = [f"CMake: {warning}" for warning in build.warnings]
    return Item(
        id=f"build:{build.variant}",
        title=f"native core, {build.variant}",
        status=status,
        blocking=True,
        summary=said,
        evidence=(*build.errors[:_ERRORS_SHOWN], *notes),
        details=(
            "taken from the store, nothing compiled"
            if build.cached
            else plural(build.steps, "build step"),
            f"tree {build.tree[:12]}, key {build.key[:12]}",
        ),
        reproduce=command,
    )
