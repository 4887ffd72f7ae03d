"""From a REV to built and checked cores; for a bump, a bisection, and what else needs a core.

Composes ``upstream``, ``series`` and ``native`` for one revision, without judging anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tracker.evidence.build import BuildDocument, Variant, VariantBuild
from tracker.evidence.verdict import Verdict, worst

if TYPE_CHECKING:
    from tracker.config import Config
    from tracker.evidence.check import CheckDocument, Instrument
    from tracker.evidence.rebase import RebaseDocument
    from tracker.evidence.revision import Revision
    from tracker.git.quarantine import Quarantine
    from tracker.native.core import BuiltCore
    from tracker.progress import Progress
    from tracker.series import Series

VARIANTS: tuple[Variant, ...] = ("baseline", "patched")


@dataclass(frozen=True, slots=True)
class Sources:
    """The trees of one revision. ``refused``: why a variant that was asked for has no tree.

    ``claimed``: the check's scenarios that the patches in the result say they prove.
    """

    config: Config
    revision: Revision
    quarantine: Quarantine
    trees: dict[Variant, str]
    refused: dict[Variant, str]
    claimed: frozenset[str] = frozenset()

    def build(
        self, recipe: str, progress: Progress, instruments: Sequence[Instrument] = ()
    ) -> tuple[BuildDocument, dict[Variant, BuiltCore]]:
        """Build the trees; a refused variant is in the document as a conflict.

        Raises:
            UsageError: no such recipe.
            EnvironmentFault: no compiler, a full or read-only disk.
        """
        from tracker.native.build import build
        from tracker.native.compiler import find_compiler
        from tracker.native.recipe import instrumented, recipe_of
        from tracker.native.store import Store, default_folder
        from tracker.statedir import StateDir

        wanted = instrumented(recipe_of(self.config.build, recipe), instruments)
        if self.trees:
            document, cores = build(
                self.quarantine,
                revision=self.revision.commit,
                trees=self.trees,
                recipe=wanted,
                work=StateDir(self.config.state_dir).work,
                store=Store(default_folder(), limit_gib=self.config.build.store_gib),
                progress=progress,
            )
            variants, compiler = document.variants, document.compiler
            downstream = document.downstream
        else:
            cores, variants, compiler, downstream = {}, (), find_compiler().identity, ()
        variants += tuple(_refused(variant, why) for variant, why in self.refused.items())
        document = BuildDocument(
            verdict=worst(
                [*(one.verdict for one in variants), *(one.verdict for one in downstream)]
            ),
            revision=self.revision.commit,
            recipe=wanted.name,
            compiler=compiler,
            variants=variants,
            downstream=downstream,
        )
        return document, cores


@contextmanager
def sources(
    config: Config, rev: str | None, variants: Sequence[Variant], progress: Progress
) -> Iterator[Sources]:
    """The trees of ``rev`` (None: the pin), held as long as the state folder's lock.

    Raises:
        UsageError: nothing was fetched yet, or no such revision.
        OperationOpen: another run is at work here.
    """
    from tracker import pins, series, upstream
    from tracker.git.quarantine import Quarantine
    from tracker.statedir import StateDir

    state = StateDir(config.state_dir)
    with (
        state.locked(),
        upstream.open_repository(config) as repository,
        Quarantine(repository, state.quarantine) as quarantine,
    ):
        start = pins.pinned_revision(config, repository)
        revision = upstream.resolve(repository, rev, config) if rev else start
        trees: dict[Variant, str] = {}
        refused: dict[Variant, str] = {}
        if "baseline" in variants:
            trees["baseline"] = repository.tree(revision.commit)
        claimed: frozenset[str] = frozenset()
        if "patched" in variants:
            progress.stage("rebase")
            queue = series.read_series(config.series_dir)
            rebased = series.rebase(
                repository,
                queue,
                from_=start.commit,
                onto=revision.commit,
                quarantine=quarantine,
                progress=progress,
            )
            if rebased.tree is not None:
                trees["patched"] = rebased.tree
            else:
                refused["patched"] = why_no_tree(rebased)
            claimed = claims(queue, rebased)
        yield Sources(config, revision, quarantine, trees, refused, claimed)


def check_cores(
    config: Config,
    cores: dict[Variant, BuiltCore],
    revision: str,
    claimed: frozenset[str],
    progress: Progress,
) -> CheckDocument:
    """The image-prefill check on the tiny models; one that passed on equal cores is used again."""
    from tracker.native import check, reuse
    from tracker.native.claims import with_claims
    from tracker.native.probe import Limits
    from tracker.statedir import StateDir

    table, work = config.check, StateDir(config.state_dir).work / "check"
    limits = Limits(table.timeout_s, table.memory_mib)
    subjects = check.tiny_subjects(table, work / "models")
    key = reuse.check_key(cores, subjects, revision, limits, claimed)
    done = reuse.kept(reuse.default_folder(), key)
    if done is None:
        ran = check.check(
            cores,
            revision=revision,
            subjects=subjects,
            work=work,
            limits=limits,
            progress=progress,
        )
        done = with_claims(ran, claimed)
        reuse.keep(reuse.default_folder(), key, done)
    return done


def why_no_tree(rebased: RebaseDocument) -> str:
    """The patches that kept the series from applying, as the end of a sentence."""
    stopped = [
        f"{patch.name}: {patch.outcome}"
        for patch in rebased.patches
        if patch.verdict in (Verdict.CONFLICT, Verdict.ERROR)
    ]
    return f"the series does not apply here ({', '.join(stopped)})"


def _refused(variant: Variant, why: str) -> VariantBuild:
    return VariantBuild(
        variant=variant,
        verdict=Verdict.CONFLICT,
        tree="",
        key="",
        cached=False,
        steps=0,
        seconds=0.0,
        log="",
        artefacts=(),
        why=why,
    )


def claims(queue: Series, rebased: RebaseDocument) -> frozenset[str]:
    """The check's scenarios that the patches in the result say they prove."""
    from tracker.evidence.rebase import Outcome

    absent = {patch.name for patch in rebased.patches if patch.outcome is Outcome.NOT_APPLICABLE}
    return frozenset(
        scenario
        for member in queue.members
        if member.patch.name not in absent
        for scenario in member.entry.proof
    )
