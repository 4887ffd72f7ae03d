"""The workflow that another project starts with, from templates/workflow.yml."""

from __future__ import annotations

import re

from tracker.bundled import bundled
from tracker.errors import UsageError

# Set by whoever installs it: a workflow names the action by a commit, and that of this tool's own
# release is not known to its files.
NO_COMMIT = "0" * 40
ACTION = f"lloyal-ai/lloyal-track@{NO_COMMIT} # the commit id of the release that you use"
_SAFE = re.compile(r"[A-Za-z0-9._/@# -]+")
_CRON = re.compile(r"[0-9*,/ -]+")


def workflow(
    *,
    config: str = "lloyal-track.toml",
    state_dir: str = "vendor",
    to: str = "master",
    cron: str = "17 6 * * 1",
    action: str = ACTION,
) -> str:
    """The text of a workflow file.

    Raises:
        UsageError: a value holds characters that would be more than a value in YAML.
    """
    from jinja2 import Environment, StrictUndefined

    values = {"config": config, "state_dir": state_dir, "to": to, "action": action}
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
