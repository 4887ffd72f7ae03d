"""Builds the cores that stand on upstream's: a configured command after ours, its end as a value.

The command belongs to the user, but it compiles upstream code: it sees the patched sources, our
headers and libraries, the revision, and those variables that the configuration names; no token
unless it is named there. Its log is kept.
"""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from tracker.config import DownstreamTable
from tracker.errors import EnvironmentFault
from tracker.evidence.build import DownstreamBuild
from tracker.evidence.verdict import Verdict
from tracker.markup import plain
from tracker.native import children
from tracker.native.core import BuiltCore
from tracker.progress import Progress

if TYPE_CHECKING:
    from tracker.git.quarantine import Quarantine
    from tracker.git.repository import Repository

_LAST_LINES = 20


def build_downstream(
    table: DownstreamTable,
    repository: Repository | Quarantine,
    core: BuiltCore,
    revision: str,
    *,
    work: Path,
    progress: Progress,
) -> DownstreamBuild:
    """Run the command of ``table`` against ``core``; ``work``: a folder of ours.

    Raises:
        EnvironmentFault: the sources cannot be written.
    """
    from tracker.git.worktree import sync

    progress.stage(f"build {table.name}")
    progress.step(0, None, "writing the sources")
    source = work / "downstream-source"
    sync(repository, core.tree, source)
    home = work / "home"
    home.mkdir(parents=True, exist_ok=True)
    handed = {
        "LLOYAL_TRACK_REVISION": revision,
        "LLOYAL_TRACK_TREE": core.tree,
        "LLOYAL_TRACK_VARIANT": core.variant,
        "LLOYAL_TRACK_SOURCE": str(source),
        "LLOYAL_TRACK_INCLUDE": os.pathsep.join(map(str, core.include_dirs)),
        "LLOYAL_TRACK_LIBRARIES": str(core.build_dir),
        "CC": str(core.compiler.c),
        "CXX": str(core.compiler.cxx),
    }
    handed |= {name: os.environ[name] for name in table.env if name in os.environ}
    log_path = work / f"downstream-{table.name}.log"
    last: deque[str] = deque(maxlen=_LAST_LINES)
    count = 0

    def follow(line: str) -> None:
        nonlocal count
        count += 1
        last.append(plain(line))
        progress.step(count, None, "lines of its log")

    try:
        with log_path.open("wb") as log:
            ended = children.run(
                table.command,
                cwd=Path(table.dir),
                environment=children.clean_environment(home, handed),
                log=log,
                timeout_s=table.timeout_s,
                on_line=follow,
            )
    except EnvironmentFault as fault:
        return DownstreamBuild(
            name=table.name,
            verdict=Verdict.FAIL,
            why=f"{fault.what} ({fault.where})",
            command=table.command,
            code=None,
            seconds=0.0,
            log=str(log_path),
            last_lines=(),
        )
    if ended.timed_out:
        verdict, why = Verdict.UNKNOWN, f"it did not end within {table.timeout_s} s"
    elif ended.code:
        verdict, why = Verdict.FAIL, f"it ended with status {ended.code}"
    else:
        verdict, why = Verdict.OK, ""
    return DownstreamBuild(
        name=table.name,
        verdict=verdict,
        why=why,
        command=table.command,
        code=None if ended.timed_out else ended.code,
        seconds=round(ended.seconds, 3),
        log=str(log_path),
        last_lines=() if verdict is Verdict.OK else tuple(last),
    )
