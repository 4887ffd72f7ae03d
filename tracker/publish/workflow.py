"""The workflow that another project starts with, from templates/workflow.yml."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tracker.bundled import bundled
from tracker.errors import UsageError

ACTION = "lloyal-ai/lloyal-track"
# The commit of this tool's own release is not known to its files, so whoever installs it fills it
# in. Until then a run ends with these words: GitHub cannot resolve such a revision, and names it.
UNFILLED = "PUT-THE-COMMIT-ID-OF-YOUR-RELEASE-HERE"
FILL_IN = (
    f"put the commit id of the lloyal-track release that you use where {UNFILLED} stands: "
    "a run fails until then"
)
_SAFE = re.compile(r"[A-Za-z0-9._/@# -]+")
_CRON = re.compile(r"[0-9*,/ -]+")


def workflow(
    *,
    config: str = "lloyal-track.toml",
    state_dir: str = "vendor",
    to: str = "master",
    cron: str = "17 6 * * 1",
    commit: str = UNFILLED,
) -> str:
    """The text of a workflow file. ``commit``: of the action's release.

    Raises:
        UsageError: a value holds characters that would be more than a value in YAML.
    """
    from jinja2 import Environment, StrictUndefined

    values = {"config": config, "state_dir": state_dir, "to": to, "action": f"{ACTION}@{commit}"}
    for name, value in values.items():
        if not _SAFE.fullmatch(value):
            raise UsageError(f"{name} cannot be written into a workflow: {value!r}")
    if not _CRON.fullmatch(cron):
        raise UsageError(f"not a cron expression: {cron!r}")
    environment = Environment(  # noqa: S701  (YAML; every value is checked above)
        variable_start_string="[[",
        variable_end_string="]]",
        block_start_string="[%",
        block_end_string="%]",
        comment_start_string="[#",
        comment_end_string="#]",
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    text = bundled("templates").joinpath("workflow.yml").read_text(encoding="utf-8")
    return environment.from_string(text).render(**values, cron=cron)


def publishing_files(folder: Path) -> Iterator[Path]:
    """The workflow files around ``folder`` that publish, nearest first."""
    for place in (folder, *folder.parents):
        for file in sorted(place.glob(".github/workflows/*.y*ml")):
            if "stage: publish" in file.read_text(encoding="utf-8", errors="replace"):
                yield file


def unfilled(file: Path) -> bool:
    """Whether a run of the workflow cannot find the action: its commit was never filled in."""
    return UNFILLED in file.read_text(encoding="utf-8", errors="replace")
