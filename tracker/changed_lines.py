"""The lines that a patch series changes, as the watch takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracker.series import Series
    from tracker.watch import Touched


def changed_lines(series: Series) -> tuple[Touched, ...]:
    """One entry per patch and file that exists before it; added files lean on what they include,
    which no revision has yet.
    """
    from tracker.watch import Touched

    return tuple(
        Touched(
            patch=member.patch.name,
            path=file.old_path,
            lines=tuple(
                line.text for hunk in file.hunks for line in hunk.lines if line.mark != " "
            ),
        )
        for member in series.members
        for file in member.patch.files
        if file.old_path is not None and file.hunks
    )
