"""What ``lloyal-track check --fuzz`` prints."""

from __future__ import annotations

from tracker.evidence.fuzz import FuzzDocument, FuzzFailure, FuzzRow


def text(document: FuzzDocument, name: str) -> str:
    """Each variant: what failed and how to see it again, then which operations were executed."""
    which = f"{document.first} to {document.first + document.sequences - 1} of seed {document.seed}"
    lines = [f"{name}: {document.verdict}, sequences {which}, {document.seconds:.0f} s"]
    for row in document.rows:
        lines += ["", *_row(row)]
        for failure in row.shortest:
            lines += _failure(failure, document.seed)
    return "\n".join(lines)


def _row(row: FuzzRow) -> list[str]:
    narrowest = f", called wrong from {row.narrowest:.2g} on" if row.narrowest is not None else ""
    operations = ", ".join(f"{one.name} {one.done}/{one.tried}" for one in row.operations)
    return [
        f"{row.verdict:<9} {row.variant}: {row.why}",
        f"{'':<10}{row.per_second:.0f} sequences/s on one core",
        f"{'':<10}{row.executed:.0%} of the operations executed: {operations}",
        f"{'':<10}{row.open} removals left open, {row.lucky} done without need and right",
        f"{'':<10}{row.compared} logits compared: rounding up to {row.rounding:.1g} "
        f"(may be {row.tolerance}){narrowest}",
    ]


def _failure(failure: FuzzFailure, seed: int) -> list[str]:
    context = (
        f"{failure.arch}, {failure.n_rs} snapshots, n_ubatch {failure.n_ubatch}, "
        f"{'one stream' if failure.unified else 'a stream each'}"
    )
    whose = "" if failure.claimed else ", upstream's own"
    size = f" (off by {failure.diff:.3g})" if failure.diff is not None else ""
    return [
        f"{'':<10}{failure.kind}{whose}: {failure.what}{size}",
        f"{'':<12}{context}; "
        f"again: lloyal-track check --fuzz 1 --seed {seed} --from {failure.index}",
        *(f"{'':<12}{line}" for line in failure.story or failure.moves.split(";")),
    ]
