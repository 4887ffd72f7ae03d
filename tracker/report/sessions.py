"""Soak document -> the plot of its sessions' memory."""

from __future__ import annotations

from tracker.evidence.soak import SoakDocument, SoakRun
from tracker.report.plot import Curve, Plot

_TONE = {"baseline": 0, "patched": 1}


def plot_of(soak: SoakDocument) -> Plot | None:
    """Resident memory over turns, a curve a session; None if nothing was sampled.

    Colour tells the variant, the pattern tells n_ubatch and the way in.
    """
    runs = [run for run in soak.runs if run.samples]
    patterns = list(dict.fromkeys((run.n_ubatch, run.way) for run in runs))
    if not runs:
        return None
    return Plot(
        lead=soak.summary,
        x_label="turn",
        y_label="resident memory, MiB",
        curves=tuple(
            Curve(
                name=name_of(run),
                points=tuple((float(sample.turn), sample.rss) for sample in run.samples),
                tone=_TONE[run.variant],
                dash=patterns.index((run.n_ubatch, run.way)),
            )
            for run in runs
        ),
    )


def name_of(run: SoakRun) -> str:
    """``baseline 512``, ``patched 512 server``."""
    return f"{run.variant} {run.n_ubatch}" + (" server" if run.way == "server" else "")
