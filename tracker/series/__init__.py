"""The carried patches: reading them, and what becomes of each on an upstream revision.

Works on blobs in the quarantine; never checks anything out and never writes to upstream's
repository. A conflict is a value.
"""

from tracker.series.bisecting import bisect
from tracker.series.reading import Series, read_series, series_digest
from tracker.series.rebasing import rebase
from tracker.series.sweeping import sweep

__all__ = ["Series", "bisect", "read_series", "rebase", "series_digest", "sweep"]
