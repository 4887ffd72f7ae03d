"""Stage documents of a realistic run, 0.3.29 -> 0.3.36; bend them with ``msgspec.structs.replace``.

The facts are those that were measured on the two revisions; ids and diffs are made up.
"""

from __future__ import annotations

import datetime
from dataclasses import replace as with_fields
from pathlib import Path
from typing import get_args

from msgspec.structs import replace

from tracker import config as configuration
from tracker import report
from tracker.config import Config
from tracker.evidence.build import Artefact, BuildDocument, Variant, VariantBuild
from tracker.evidence.bump import BumpDocument, Proof, Provenance
from tracker.evidence.check import CheckDocument, CheckRow, Warned
from tracker.evidence.history import BreakPoint, WatchHistoryDocument
from tracker.evidence.item import Item
from tracker.evidence.pins import PinMove, PinRead
from tracker.evidence.rebase import (
    FileResult,
    HunkResult,
    Note,
    Outcome,
    PatchResult,
    RebaseDocument,
)
from tracker.evidence.revision import Revision, Source
from tracker.evidence.soak import Hypothesis, SoakDocument, SoakRun, SoakSample
from tracker.evidence.sweep import Drift, Furthest, PatchBreak, SweepDocument
from tracker.evidence.tickets import TicketOutcome, TicketResult, TicketsDocument, TicketState
from tracker.evidence.verdict import Verdict
from tracker.evidence.watch import (
    RegionResult,
    RegionStatus,
    RoutingAnswer,
    RoutingResult,
    RoutingStatus,
    Span,
    UpstreamCommit,
    WatchDocument,
)

REPOSITORY = Path(__file__).resolve().parents[2]

PIN = Revision(
    commit="4b1f0c7e0a5d4a0f9d8c2b6a1e3f5d7c9b8a6e42",
    source=Source.ARCHIVE,
    upstream_commit="f05cf4676",
    date="2026-06-13T00:00:00Z",
    name="0.3.29",
)
TARGET = Revision(
    commit="9e2d7a61c3b84f50a7d6e8f9102b3c4d5e6f7a80",
    source=Source.ARCHIVE,
    upstream_commit="0c1e57098",
    date="2026-10-01T00:00:00Z",
    name="0.3.36",
)
PATCH = "0001-recurrent-memory-tell-continuity-by-rank.patch"
_RECURRENT_CPP = "src/llama-memory-recurrent.cpp"
_RECURRENT_H = "src/llama-memory-recurrent.h"
_MODEL = "src/llama-model.cpp"
SHAPES = {
    128: [(9, 8, 128), (9, 9, 128), (9, 9, 128), (9, 9, 128), (9, 9, 73), (48, 9, 8)],
    512: [(9, 8, 512), (9, 9, 73), (48, 9, 8)],
    1024: [(9, 8, 585), (48, 9, 8)],
}


def config() -> Config:
    """The configuration that ``make bump`` uses, cut down to what these documents answer."""
    whole = configuration.load(REPOSITORY / "archives.toml")
    regions = ("warn-region", "find_slot", "seq_rm", "create_memory")
    return replace(
        whole,
        watch=replace(
            whole.watch,
            regions=tuple(table for table in whole.watch.regions if table.name in regions),
            routing=tuple(
                table
                for table in whole.watch.routing
                if table.name in ("qwen35", "qwen35moe") and table.when == "default"
            ),
        ),
        tickets=whole.tickets[:6],
    )


def hunk(old: int, new: int | None, function: str, outcome: Outcome) -> HunkResult:
    """A hunk that landed where it belongs."""
    landed = function if new is not None else None
    return HunkResult(
        old_start=old, new_start=new, function=function, landed_in=landed, outcome=outcome
    )


def patch(name: str = PATCH, outcome: Outcome = Outcome.OFFSET) -> PatchResult:
    """The rank-cells patch: two files, three hunks."""
    find_slot = "llama_memory_recurrent::find_slot"
    return PatchResult(
        name=name,
        subject="recurrent memory: tell continuity by rank, not by position",
        form=name,
        requires=(),
        outcome=outcome,
        flags=(),
        notes=(Note.REFRESH_NEEDED,) if outcome is Outcome.OFFSET else (),
        alone=outcome,
        files=(
            FileResult(
                path=_RECURRENT_H,
                new_path=None,
                hunks=(hunk(88, 91, "llama_memory_recurrent::mem_cell", outcome),),
            ),
            FileResult(
                path=_RECURRENT_CPP,
                new_path=None,
                hunks=(
                    hunk(560, 578, find_slot, outcome),
                    hunk(637, 655, find_slot, outcome),
                ),
            ),
        ),
        culprit=None,
        conflict=None,
    )


def rebase(*patches: PatchResult, verdict: Verdict = Verdict.OK) -> RebaseDocument:
    """The series on the target."""
    return RebaseDocument(
        verdict=verdict,
        from_=PIN.commit,
        onto=TARGET.commit,
        tree="c0ffee1234567890c0ffee1234567890c0ffee12" if verdict is Verdict.OK else None,
        patches=patches or (patch(),),
    )


def region(
    name: str,
    status: RegionStatus,
    lines: tuple[int, int, int, int],
    *,
    diff: str = "",
    blocking: bool = False,
) -> RegionResult:
    """A region of the recurrent memory, or create_memory."""
    path = _MODEL if name == "create_memory" else _RECURRENT_CPP
    owner = "llama_model" if name == "create_memory" else "llama_memory_recurrent"
    return RegionResult(
        name=name,
        selector=f"{path}::{owner}::{name}",
        status=status,
        from_=Span(path=path, start=lines[0], end=lines[1]),
        to=Span(path=path, start=lines[2], end=lines[3]),
        commits="unknown",
        why="",
        blocking=blocking,
        diff=diff,
    )


_SEQ_RM = f"""--- a/{_RECURRENT_CPP}
+++ b/{_RECURRENT_CPP}
@@ -158,6 +169,10 @@
     const pos_t end = p1 < 0 ? last : p1;
+    if (id >= n_sequences) {{
+        log("no such sequence");
+        return false;
+    }}
     const bool all = begin == 0 && end == last;
@@ -180,2 +195,2 @@
-    if (steps >= 1 && steps <= held) {{
+    if (!pending && steps >= 1 && steps <= held) {{
"""
_CREATE_MEMORY = f"""--- a/{_MODEL}
+++ b/{_MODEL}
@@ -2051,2 +2440,6 @@
-    const bool mtp = is_mtp(params) && arch_is(QWEN35);
+    const bool mtp = is_mtp(params) && arch_in(hybrid_qwen);
+    if (needs_index) {{
+        return make<memory_hybrid_idx>(params);
+    }}
     return make<memory_hybrid>(params);
"""


_CLASSES = {"default": "llama_memory_hybrid", "mtp": "llama_kv_cache"}


def routing(
    arch: str,
    when: str = "default",
    status: RoutingStatus = RoutingStatus.SAME_ANSWER_NEW_CODE,
    *,
    blocking: bool = True,
) -> RoutingResult:
    """The class of ``arch`` before and after."""

    def answer(*lines: int) -> RoutingAnswer:
        return RoutingAnswer(
            class_=_CLASSES.get(when, "llama_memory_hybrid_iswa"),
            conditions=(),
            evidence=tuple(f"{_MODEL}:{line}" for line in lines),
        )

    return RoutingResult(
        name=arch,
        arch=f"LLM_ARCH_{arch.upper()}",
        when=when,
        from_=(answer(2040, 2118),),
        to=(answer(2412, 2531),),
        status=status,
        blocking=blocking,
    )


def watch() -> WatchDocument:
    """What is true of the two revisions."""
    return WatchDocument(
        verdict=Verdict.ATTENTION,
        from_=PIN.commit,
        to=TARGET.commit,
        regions=(
            region("warn-region", RegionStatus.MOVED, (641, 648, 659, 666), blocking=True),
            region("find_slot", RegionStatus.MOVED, (487, 702, 505, 720), blocking=True),
            region("seq_rm", RegionStatus.MOVED_AND_CHANGED, (150, 233, 161, 247), diff=_SEQ_RM),
            region(
                "create_memory",
                RegionStatus.MOVED_AND_CHANGED,
                (1997, 2160, 2352, 2560),
                diff=_CREATE_MEMORY,
            ),
        ),
        routing=tuple(
            routing(table.name, table.when, blocking=table.blocking)
            for table in config().watch.routing
        ),
    )


def ticket(
    key: str,
    why: str,
    *,
    outcome: TicketOutcome = TicketOutcome.UNCHANGED,
    state: TicketState | None = None,
    changes: tuple[str, ...] = (),
) -> TicketResult:
    """A watched thread."""
    return TicketResult(
        key=key,
        why_watched=why,
        outcome=outcome,
        state=state,
        previous=state,
        changes=changes,
        why="no network: the name api.example.org does not resolve"
        if outcome is TicketOutcome.NOT_POLLED
        else "",
    )


def ticket_state(title: str = "a thread", state: str = "open", **other: object) -> TicketState:
    """What upstream said in November."""
    known = TicketState(
        polled_at="2026-11-24T06:00:00Z",
        kind="issue",
        title=title,
        state="closed" if state == "closed" else "open",
        state_reason=None,
        labels=(),
        updated_at="2026-11-20T10:11:12Z",
        acknowledged=False,
    )
    return replace(known, **other)


def tickets(outcome: TicketOutcome = TicketOutcome.NOT_POLLED) -> TicketsDocument:
    """The configured threads, by default on a machine without network."""
    return TicketsDocument(
        verdict=Verdict.UNKNOWN if outcome is TicketOutcome.NOT_POLLED else Verdict.OK,
        polled=outcome is not TicketOutcome.NOT_POLLED,
        tickets=tuple(
            ticket(table.key, table.why, outcome=outcome, state=ticket_state(f"about {table.why}"))
            for table in config().tickets
        ),
    )


def variant_build(variant: Variant, *, steps: int) -> VariantBuild:
    """A core that was built."""
    return VariantBuild(
        variant=variant,
        verdict=Verdict.OK,
        tree="5eed" * 10 if variant == "baseline" else "c0ffee1234567890c0ffee1234567890c0ffee12",
        key="ab12cd34ef56" if variant == "baseline" else "98fe76dc54ba",
        cached=steps == 0,
        steps=steps,
        seconds=steps * 1.2,
        log=f"work/{variant}.log",
        artefacts=(Artefact(path=f"store/{variant}/libllama.so", sha256="d1" * 32),),
    )


def build() -> BuildDocument:
    """Both variants; the patched one compiled only what the patch touches."""
    return BuildDocument(
        verdict=Verdict.OK,
        revision=TARGET.commit,
        recipe="check",
        compiler="g++ (Debian) 12.2.0",
        variants=(variant_build("baseline", steps=196), variant_build("patched", steps=16)),
    )


def row(arch: str, variant: Variant, n_ubatch: int, *, image: bool = True) -> CheckRow:
    """One run of the image prefill, or of its text-only control."""
    shapes = SHAPES[n_ubatch] if image and variant == "baseline" else []
    return CheckRow(
        scenario=f"image-{n_ubatch}" if image else "text",
        arch=arch,
        variant=variant,
        revision=TARGET.commit,
        geometry="rows" if image else "none",
        n_ubatch=n_ubatch,
        rc=0,
        # Every ubatch is looked at twice: prepared, then applied.
        warnings=tuple(
            Warned(position=position, after=after, sequence=0, n_tokens=tokens)
            for position, after, tokens in shapes
            for _ in range(2)
        ),
        memory_class="llama_memory_hybrid",
        logits_digest=f"{arch}-{n_ubatch}-{'image' if image else 'text'}",
        max_abs_diff=0.0 if variant == "patched" else None,
        compared_with="baseline" if variant == "patched" else None,
        library=("store/libllama.so", ("b0" if variant == "baseline" else "d1") * 32),
        verdict=Verdict.OK,
        why="",
        right=not shapes,
    )


def further() -> tuple[CheckRow, ...]:
    """What a host does around an image: wrong without the patch, right with it."""
    names = ("fork", "rollback", "breaks-direct")
    return tuple(
        replace(
            row(arch, variant, 512),
            scenario=name,
            facts=20,
            broken=("rollback of 3: logits off by 8.3",) * 2 if variant == "baseline" else (),
            warnings=row(arch, "baseline", 512).warnings if name == "breaks-direct" else (),
            right=variant == "patched",
            why="2 of 20 facts wrong without the patches: still needed"
            if variant == "baseline"
            else "",
        )
        for name in names
        for arch in ("qwen35", "qwen35moe")
        for variant in get_args(Variant)
    )


def check(*rows: CheckRow, verdict: Verdict = Verdict.OK) -> CheckDocument:
    """Every prefill and its control, for both models and variants."""
    variants: tuple[Variant, ...] = ("baseline", "patched")
    planned = tuple(
        row(arch, variant, n_ubatch)
        for n_ubatch in (128, 512, 1024)
        for variant in variants
        for arch in ("qwen35", "qwen35moe")
    ) + tuple(
        row(arch, variant, 512, image=False)
        for variant in variants
        for arch in ("qwen35", "qwen35moe")
    )
    return CheckDocument(verdict=verdict, revision=TARGET.commit, seconds=6.4, rows=rows or planned)


def four_way(*at_pin: CheckRow) -> report.Stages:
    """All stages, with a four-way proof: at the pin everything is as at the target."""
    target = (*check().rows, *further())
    rows = at_pin or tuple(replace(row, revision=PIN.commit) for row in target)
    return with_fields(
        stages(),
        check=check(*target, *rows),
        proof=Proof(revision=PIN.commit, build=replace(build(), revision=PIN.commit), why=""),
    )


def stages() -> report.Stages:
    """All stages ran."""
    return report.Stages(
        start=PIN,
        target=TARGET,
        rebase=rebase(),
        watch=watch(),
        tickets=tickets(),
        build=build(),
        check=check(),
        pins=(
            PinRead(name="default", path="vendor/archives/pin.toml", kind="track", value="0.3.29"),
        ),
        program="lloyal-track --config archives.toml",
    )


def bump(
    gathered: report.Stages | None = None,
    items: tuple[Item, ...] | None = None,
    used: Config | None = None,
) -> BumpDocument:
    """The document of a whole run, decided by the room's own functions."""
    gathered = gathered or stages()
    used = used or config()
    drawn = items if items is not None else report.items(used, gathered)
    against = report.forbidden_by(drawn)
    move = PinMove(
        outcome="forbidden" if against else "moved",
        from_=gathered.start,
        to=gathered.target,
        forbidden_by=against,
        pins=gathered.pins,
    )
    return BumpDocument(
        verdict=report.conclusion(drawn, gathered.rebase),
        summary=report.sentence(drawn, move),
        from_=gathered.start,
        to=gathered.target,
        items=drawn,
        pin=move,
        rebase=gathered.rebase,
        watch=gathered.watch,
        tickets=gathered.tickets,
        build=gathered.build,
        check=gathered.check,
        provenance=Provenance(
            tool="lloyal-track 0.1.0",
            command="lloyal-track --config archives.toml bump --to master",
            python="3.11.2",
            git="2.39.5",
            compiler="g++ (Debian) 12.2.0",
            series_digest="0123456789abcdef",
            config_digest="fedcba9876543210",
        ),
        started_at="2026-12-01T06:00:00Z",
        seconds=212.4,
        lines=report.tracker_lines(used, drawn, gathered),
    )


def _at(index: int) -> tuple[str, str]:
    """Id and date of revision ``index`` of the range below: 14 a day."""
    day = datetime.date(2026, 6, 8) + datetime.timedelta(days=index // 14)
    return f"{index:09x}{'0' * 31}", f"{day.isoformat()}T12:00:00Z"


_MERGES = {
    212: UpstreamCommit(commit="a1" * 20, subject="memory : snapshots for rollback", pr=26623),
    640: UpstreamCommit(commit="b2" * 20, subject="memory : a rollback is single use", pr=27100),
    870: UpstreamCommit(commit="c3" * 20, subject="memory : rework the cells", pr=27501),
    902: UpstreamCommit(commit="d4" * 20, subject="Revert the cells", pr=None),
}


def sweep() -> SweepDocument:
    """1,160 revisions in which the patch conflicted for a while."""
    answers = [
        (212, "unchanged", "offset"),
        (870, "offset", "conflict"),
        (902, "conflict", "offset"),
    ]
    furthest, date = _at(869)
    return SweepDocument(
        verdict=Verdict.OK,
        from_=_at(0)[0],
        to=_at(1160)[0],
        revisions=1160,
        contents=5,
        merges=9,
        breaks=tuple(
            PatchBreak(
                item=f"patch:{PATCH}",
                from_=_at(index - 1)[0],
                to=_at(index)[0],
                commit=_MERGES[index],
                date=_at(index)[1],
                before=before,
                after=after,
                alone=True,
                index=index,
            )
            for index, before, after in answers
        ),
        furthest=Furthest(commit=furthest, index=869, date=date),
        clean_again=259,
        drift=(
            Drift(item=f"patch:{PATCH}", touched=7, contents=5, answers=3, now="offset"),
            Drift(item="patch:0002-still.patch", touched=0, contents=1, answers=1, now="unchanged"),
        ),
    )


def watch_history() -> WatchHistoryDocument:
    """Over the same range seq_rm changed once."""
    return WatchHistoryDocument(
        verdict=Verdict.ATTENTION,
        from_=_at(0)[0],
        to=_at(1160)[0],
        revisions=1160,
        contents=11,
        breaks=(
            BreakPoint(
                item="region:seq_rm",
                from_=_at(639)[0],
                to=_at(640)[0],
                commit=_MERGES[640],
                date=_at(640)[1],
                status="changed",
                before="",
                after="",
                why="tokens differ",
                index=640,
            ),
        ),
    )


def soak() -> SoakDocument:
    """500 turns: the baseline grows, the patched core does not."""

    def run(variant: Variant, per_turn: float) -> SoakRun:
        return SoakRun(
            variant=variant,
            way="process",
            n_ubatch=512,
            verdict=Verdict.ATTENTION if per_turn else Verdict.OK,
            hypothesis=Hypothesis.GROWS if per_turn else Hypothesis.SURVIVES,
            why=f"{per_turn * 1024:.0f} KiB a turn" if per_turn else "",
            turns=500,
            turns_wanted=500,
            images=250,
            seconds=92.0,
            code=0,
            signal=None,
            warnings=1500 if variant == "baseline" else 0,
            storm="benign" if variant == "baseline" else "none",
            crash=None,
            failures=(),
            growth_kib=per_turn * 1024,
            log="work/soak.log",
            last_warnings=(),
            samples=tuple(
                SoakSample(
                    at_s=turn * 0.18,
                    turn=turn,
                    rss=212 + turn * per_turn + turn % 7,
                    free=9000.0,
                    swap=0.0,
                    load=0.5,
                    major_faults=0,
                    minor_faults=turn,
                    stalled=0.0,
                )
                for turn in range(500)
            ),
        )

    return SoakDocument(
        verdict=Verdict.ATTENTION,
        revision=TARGET.commit,
        summary="500 alternating turns: the baseline grows with turns, the patched core does not.",
        runs=(run("baseline", 0.31), run("patched", 0.0)),
    )
