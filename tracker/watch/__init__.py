"""What upstream did to the code that we depend on: regions and routing.

Answers only from upstream's source, read through ``git``; builds nothing, writes nothing. Unknown
is never reported as unchanged.
"""

from tracker.watch.dependencies import Touched
from tracker.watch.document import watch
from tracker.watch.first import first_break
from tracker.watch.history import watch_range

__all__ = ["Touched", "first_break", "watch", "watch_range"]
