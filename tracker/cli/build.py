"""``lloyal-track build``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracker.cli.session import finish, session

if TYPE_CHECKING:
    from tracker.evidence.build import BuildDocument, VariantBuild

EPILOG = """Examples:

`lloyal-track build`: the pinned revision, without and with the patches.

`lloyal-track build master --variant baseline --explain`: what upstream's own core depends on.
"""


def build(
    context: typer.Context,
    rev: Annotated[
        str | None, typer.Argument(metavar="REV", help="The revision; default: the pin.")
    ] = None,
    variant: Annotated[
        Literal["baseline", "patched"] | None,
        typer.Option("--variant", help="Only without, or only with, the patch series."),
    ] = None,
    recipe: Annotated[
        str, typer.Option("--recipe", metavar="NAME", help="A recipe of the configuration.")
    ] = "check",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show everything that the stored core depends on.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Does the native core build, without and with the patches?

    Nothing is built twice.
    """
    this = session(context)
    from tracker.cores import VARIANTS, sources

    variants = (variant,) if variant else VARIANTS
    with this.progress() as progress, sources(this.config(), rev, variants, progress) as found:
        document, _ = found.build(recipe, progress)
        name = found.revision.name
    finish(document, json=json, show=lambda: _text(document, name, explain=explain))


def _text(document: BuildDocument, name: str, *, explain: bool) -> str:
    lines = [f"{name}, recipe {document.recipe}, {document.compiler}"]
    for variant in document.variants:
        lines += _lines(variant, explain=explain)
    for built in document.downstream:
        lines.append(
            f"{built.verdict:<9} {built.name:<9} in {built.seconds:.1f} s {built.why}".rstrip()
        )
        lines += [f"{'':<10}{line}" for line in built.last_lines]
        lines.append(f"{'':<10}log: {built.log}")
    return "\n".join(lines)


def _lines(variant: VariantBuild, *, explain: bool) -> list[str]:
    took = f"{variant.steps} steps in {variant.seconds:.1f} s, " if variant.steps else ""
    lines = [f"{variant.verdict:<9} {variant.variant:<9} {took}{variant.why}"]
    lines += [f"{'':<10}note: {warning}" for warning in variant.warnings]
    lines += [f"{'':<10}{error}" for error in variant.errors]
    if variant.errors or variant.log:
        lines.append(f"{'':<10}log: {variant.log}")
    if explain:
        lines += [f"{'':<10}{part} = {value}" for part, value in variant.inputs.items()]
        lines += [f"{'':<10}{artefact.path}" for artefact in variant.artefacts]
    return lines
