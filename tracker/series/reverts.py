"""Lines that upstream added since the pin and a patch removes: the flag ``silent-revert``.

A three-way merge from the pin cannot remove such lines, and who settles a conflict has seen them; a
patch that was made for another revision can remove them unseen.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tracker.evidence.rebase import Flag, Outcome
from tracker.series.mentions import lines_in
from tracker.series.merging import Merger
from tracker.series.pinned import FileStep
from tracker.series.trees import Slot, Tree
from tracker.series.verdicts import FileJudged

_CODE = 3  # characters of a line that tells something; a brace alone does not


class Reverts:
    """``pin``: upstream's own files on the pin; ``pin_tree``: id of the tree that holds them."""

    def __init__(self, merger: Merger, pin: Tree, pin_tree: str) -> None:
        self._merger = merger
        self._pin, self._pin_tree = pin, pin_tree
        self._on_pin: dict[bytes, bool] = {}  # whether some file of the pin holds the line

    def flagged(self, judged: FileJudged, before: Tree, step: FileStep) -> FileJudged:
        """``judged``, with the flag if its change to ``before`` removes what upstream added."""
        path = step.file.old_path
        if path is None or judged.outcome is Outcome.CONFLICT:
            return judged
        target = judged.result.new_path or path
        ours = before.get(target) or before.get(path)
        upstream = before.files.get(target) or before.files.get(path)
        result = judged.changes.get(target)
        if ours is None or upstream is None or ours == result:
            return judged
        lines = self._merger.lines
        now = Counter(lines(ours.oid))
        left = Counter(lines(result.oid)) if result is not None else Counter()
        lost = (now - left) & Counter(lines(upstream.oid))
        telling = self._since_pin(path, upstream, [n for n in lost if len(n.strip()) >= _CODE])
        if not telling:
            return judged
        shown = telling[0].decode("utf-8", "replace").strip()
        why = f"{target}: removes what upstream added since the pin: {shown}"
        return replace(judged, flags=(*judged.flags, Flag.SILENT_REVERT), why=(*judged.why, why))

    def _since_pin(self, path: str, upstream: Slot, removed: list[bytes]) -> list[bytes]:
        """Those of the lines that upstream added. Of a file that the pin has under another name, or
        not at all, those that stand in no file of the pin.
        """
        pinned = self._pin.get(path)
        if pinned is not None:
            lines = self._merger.lines
            added = Counter(lines(upstream.oid)) - Counter(lines(pinned.oid))
            return [line for line in removed if line in added]
        bare = {line: line.rstrip(b"\r\n") for line in removed}
        unasked = set(bare.values()) - self._on_pin.keys()
        there = lines_in(self._merger.quarantine, self._pin_tree, unasked)
        self._on_pin |= {line: line in there for line in unasked}
        return [line for line in removed if not self._on_pin[bare[line]]]
