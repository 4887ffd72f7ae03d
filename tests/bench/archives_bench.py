"""The patch set on every archive, built and checked on three of them.

``CHECKED=0.3.17,0.3.36`` builds and checks these instead (``CHECKED=all``: each; minutes of CPU per
archive, once, because cores are kept). Downloads half a gigabyte once into the user's cache; state
lies in build/out/archives.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tracker import config, cores, series, upstream
from tracker.config import Config
from tracker.evidence.build import Variant
from tracker.evidence.check import CheckDocument
from tracker.evidence.rebase import PatchResult, RebaseDocument
from tracker.evidence.revision import Revision
from tracker.evidence.verdict import Verdict
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.native.check import check, tiny_subjects
from tracker.native.claims import with_claims
from tracker.native.probe import Limits
from tracker.progress import SILENT
from tracker.series import Series
from tracker.statedir import StateDir
from tracker.upstream.mirror import fetch_registry

# The oldest without snapshots of the state, the pin of archives.toml, and its target.
_CHECKED = "0.3.22,0.3.29,0.3.36"
_WRITTEN_FOR = "0.3.29"


def main() -> None:
    found = config.load(Path(__file__).with_name("archives.toml"))
    fetch_registry(found, progress=SILENT)
    asked = os.environ.get("CHECKED", _CHECKED)
    queue = series.read_series(found.series_dir)
    state = StateDir(found.state_dir)
    with (
        Repository.open(state.upstream) as repository,
        Quarantine(repository, state.quarantine) as quarantine,
    ):
        for archive in found.upstream.archives:
            revision = upstream.resolve(repository, f"archive-{archive.version}", found)
            rebased = series.rebase(
                repository,
                queue,
                from_=f"archive-{_WRITTEN_FOR}",
                onto=revision.commit,
                quarantine=quarantine,
                progress=SILENT,
            )
            applied = "; ".join(_patch(patch) for patch in rebased.patches)
            print(f"{archive.version:<8} {rebased.verdict:<10} {applied}", flush=True)
            if asked == "all" or archive.version in asked.split(","):
                for line in _checked(found, queue, repository, quarantine, revision, rebased):
                    print(f"{'':<9}{line}", flush=True)


def _patch(patch: PatchResult) -> str:
    form = "" if patch.form == patch.name else ", another form"
    return f"{patch.name[:4]} {patch.outcome}{form}" + "".join(f" {flag}!" for flag in patch.flags)


def _checked(
    found: Config,
    queue: Series,
    repository: Repository,
    quarantine: Quarantine,
    revision: Revision,
    rebased: RebaseDocument,
) -> Iterator[str]:
    """Built and checked, in lines."""
    trees: dict[Variant, str] = {"baseline": repository.tree(revision.commit)}
    if rebased.tree is not None:
        trees["patched"] = rebased.tree
    built, made = cores.Sources(found, revision, quarantine, trees, {}).build("check", SILENT)
    for variant in built.variants:
        took = "stored" if variant.cached else f"{variant.steps} steps, {variant.seconds:.0f} s"
        yield f"{variant.variant:<9} {variant.verdict} ({took}) {variant.why}"
    if set(made) != {"baseline", "patched"}:
        return
    work = StateDir(found.state_dir).work / "check"
    document = with_claims(
        check(
            made,
            revision=revision.commit,
            subjects=tiny_subjects(found.check, work / "models"),
            work=work,
            limits=Limits(found.check.timeout_s, found.check.memory_mib),
        ),
        cores.claims(queue, rebased),
    )
    yield _counted(document)
    for row in document.rows:
        if row.verdict is not Verdict.OK:
            yield f"  {row.verdict}: {row.arch} {row.scenario} {row.variant}: {row.why}"


def _counted(document: CheckDocument) -> str:
    """``check ok, 86 runs each, 62 s: 1394 -> 60 warnings, 92 -> 0 wrong results``."""
    sums = {
        variant: [
            (len(row.warnings), len(row.broken)) for row in document.rows if row.variant == variant
        ]
        for variant in ("baseline", "patched")
    }
    warnings, wrong = (
        " -> ".join(str(sum(pair[at] for pair in pairs)) for pairs in sums.values())
        for at in (0, 1)
    )
    return (
        f"check {document.verdict}, {len(sums['patched'])} runs each, {document.seconds:.0f} s: "
        f"{warnings} warnings (breaks included), {wrong} wrong results"
    )


if __name__ == "__main__":
    main()
