"""``lloyal-track doctor``."""

from __future__ import annotations

from typing import Annotated

import typer

from tracker.cli.session import finish, session
from tracker.errors import ConfigError

EPILOG = """Examples:

`lloyal-track doctor && lloyal-track bump --to master --dry-run`: look first, then try.
"""

Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


def doctor(context: typer.Context, json: Json = False) -> None:
    """What is missing on this machine, and the step that mends it."""
    from tracker.doctor import examine

    this = session(context)
    target = "master"
    try:
        config = this.config()
        target = config.upstream.branch
        document = examine(config)
    except ConfigError as fault:
        where = f" ({fault.where})" if fault.where else ""
        document = examine(None, f"{fault.what}{where}")

    def show() -> str:
        marks = {"pass": "ok  ", "attention": "note", "unknown": "?   ", "fail": "FAIL"}
        lines: list[str] = []
        for finding in document.findings:
            lines.append(f"{marks[finding.status]}  {finding.name:<14} {finding.found}")
            if finding.mend:
                lines.append(f"{'':<20} -> {finding.mend}")
        ready = document.verdict.exit_code == 0
        lines.append("")
        lines.append(
            f"Ready. Next: {this.program} bump --to {target} --dry-run"
            if ready
            else "Not ready: mend the lines marked FAIL."
        )
        return "\n".join(lines)

    finish(document, json=json, show=show)
