"""Cost and truth of the watch on a real history: ``UPSTREAM=GITDIR`` (llama.cpp), ``RANGE=A..B``
(default: the last 1,160 first-parent revisions of HEAD). Without one it measures nothing.

Truth is judged by a differ that shares nothing with the tool: a function is the lines from its
unindented head to the next lone brace in column 0, as ``git log -L`` would take it, and two texts
are equal if Pygments' C++ lexer gives the same tokens without comments and white space. Each break
point of a region must be such a difference, and each such difference a break point.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from pygments.lexers import CppLexer
from pygments.token import Comment, Whitespace

from tracker.bundled import bundled
from tracker.config import Config, RegionTable, WatchTable, load
from tracker.evidence.history import BreakPoint
from tracker.git.quarantine import Quarantine
from tracker.git.range_log import Logged, range_log
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.series import read_series, sweep
from tracker.watch import watch, watch_range

_REVISIONS = 1160
_LEXER = CppLexer()


def main() -> None:
    upstream = os.environ.get("UPSTREAM")
    if not upstream:
        print("set UPSTREAM (a clone of llama.cpp) to measure the watch on a real history")
        return
    config = load(bundled("lloyal-track.toml"))
    with Repository.open(Path(upstream)) as repository:
        start, _, end = os.environ.get("RANGE", f"HEAD~{_REVISIONS}..HEAD").partition("..")
        from_, to = repository.resolve(start), repository.resolve(end)
        log = range_log(repository, from_, to)
        print(f"{len(log)} first-parent revisions\n")
        _cost(repository, config, from_, to)
        _truth(repository, config.watch, log, from_, to)


def _cost(repository: Repository, config: Config, from_: str, to: str) -> None:
    swept = _timed(lambda: _sweep(repository, config, from_, to))
    table = config.watch
    walked = _timed(lambda: watch_range(repository, table, from_=from_, to=to, progress=SILENT))
    main_job = msgspec.structs.replace(table, regions=table.regions[:4])
    four = _timed(lambda: watch_range(repository, main_job, from_=from_, to=to, progress=SILENT))
    pair = _timed(lambda: watch(repository, table, from_=from_, to=to, progress=SILENT))
    print("| what | seconds | against the sweep |\n|---|---|---|")
    print(f"| rebase sweep | {swept:.2f} | 1.0 |")
    print(f"| {len(table.regions)} regions, {len(table.routing)} routing rows over the range "
          f"| {walked:.2f} | {walked / swept:.1f} |")  # fmt: skip
    print(f"| 4 regions, the same rows | {four:.2f} | {four / swept:.1f} |")
    print(f"| one pair of revisions, its ends | {pair:.2f} | {pair / swept:.1f} |\n")


def _timed(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _sweep(repository: Repository, config: Config, from_: str, to: str) -> None:
    with TemporaryDirectory() as folder, Quarantine(repository, Path(folder)) as quarantine:
        series = read_series(config.series_dir)
        sweep(repository, series, from_=from_, to=to, quarantine=quarantine, progress=SILENT)


def _truth(
    repository: Repository, table: WatchTable, log: list[Logged], from_: str, to: str
) -> None:
    document = watch_range(repository, table, from_=from_, to=to, progress=SILENT)
    told = {(point.item, point.to): point for point in document.breaks}
    alarms = missed = compared = confirmed = 0
    for region in table.regions:
        if "@" in region.selector:
            continue
        for commit, differs in _differences(repository, region, log):
            compared += 1
            point = told.get((f"region:{region.name}", commit))
            alarm = _is_change(point)
            confirmed += alarm and differs
            if alarm and not differs:
                alarms += 1
                print(f"false alarm: {region.name} {commit[:12]} {point and point.why}")
            elif differs and point is None:
                missed += 1
                print(f"missed: {region.name} {commit[:12]}")
    print(
        f"{compared} commits touched the file of a region; {confirmed} changes told and confirmed,"
    )
    print(f"{alarms} false alarms, {missed} missed; {len(told)} break points in all:\n")
    for point in document.breaks:
        commit = point.commit if isinstance(point.commit, str) else point.commit.subject
        print(f"{point.date[:10]} {point.to[:9]} {point.item:<28} {point.status:<18} {commit[:60]}")
    print("".join(f"unknown: {reason}\n" for reason in document.unknown))


def _is_change(point: BreakPoint | None) -> bool:
    return point is not None and point.status in ("changed", "moved-and-changed")


def _differences(
    repository: Repository, region: RegionTable, log: list[Logged]
) -> Iterator[tuple[str, bool]]:
    """Per commit that touches the region's file and keeps it: whether the function differs."""
    path, _, name = region.selector.partition("::")
    for commit in log:
        for change in commit.changes:
            if change.path != path or change.old is None or change.new is None:
                continue
            old, new = (_function(repository.read(o), name) for o in (change.old, change.new))
            if old is not None and new is not None:
                yield commit.oid, _tokens(old) != _tokens(new)


def _function(source: bytes, name: str) -> str | None:
    """From the unindented line that names the function before a ``(`` to the next lone ``}``."""
    text = source.decode("utf-8", "replace")
    head = re.search(rf"^(?![\s/#*}}]).*{re.escape(name)}\([^;]*?\{{$", text, re.MULTILINE)
    if head is None:
        return None
    stop = text.find("\n}\n", head.start())
    return text[head.start() : stop + 2] if stop >= 0 else None


def _tokens(text: str) -> list[str]:
    quiet = (Comment.Single, Comment.Multiline, Whitespace)
    stream = [(kind, value) for kind, value in _LEXER.get_tokens(text) if kind not in quiet]
    return "".join(value if value.strip() else " " for _, value in stream).split()
