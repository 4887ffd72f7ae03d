"""Long sessions of text and image turns on built cores: in one process, or through llama-server.

Sessions run one after another: two at once would be each other's load. Whatever a session does
(crash, hang, refuse), it is a value; the process and everything below it ends with the session.
"""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from tracker.bundled import bundled
from tracker.errors import EnvironmentFault
from tracker.evidence.base import digest
from tracker.evidence.build import Variant
from tracker.evidence.soak import Hypothesis, SoakDocument, SoakRun
from tracker.evidence.verdict import worst
from tracker.markup import plain
from tracker.native import children
from tracker.native.core import BuiltCore
from tracker.native.hypothesis import Ending, growth_of, judge
from tracker.native.logs import PHRASE, read_log
from tracker.native.sampling import Sampler
from tracker.native.serving import ENVIRONMENT, Client, free_port, server_command
from tracker.progress import SILENT, Progress

Way = Literal["process", "server"]

_SAMPLE_EVERY_S = 0.02  # doubled whenever there are hundreds: short sessions need many
_TURN_TIMEOUT_S = 300.0
_COMPILE_TIMEOUT_S = 300.0
_MOST_FAILED = 3
_GONE_S = 10.0
_LAST_WARNINGS = 6
_TAIL = 1 << 16
_N_CTX = 4096
_IMAGE_PX = 640
_SERVER = "llama-server"


@dataclass(frozen=True, slots=True)
class Plan:
    """What each session does. ``turns`` or ``seconds``, whichever comes first, ends it.

    ``leak_kib`` and ``crash_at``: faults on purpose, to see that they are told apart; only in one
    process.
    """

    model: Path
    projector: Path
    turns: int | None = None
    seconds: float | None = None
    n_ubatch: tuple[int, ...] = (512,)
    way: Way = "process"
    image_px: int = _IMAGE_PX
    n_ctx: int = _N_CTX
    leak_kib: int = 0
    crash_at: int = 0


@dataclass(slots=True)
class _Count:
    """What the session did so far; read by the sampling thread."""

    turn: int = 0
    done: int = 0
    images: int = 0
    failed: int = 0
    last_failure: str = ""

    def take(self, *, ok: bool, image: bool, why: str = "") -> None:
        self.turn += 1
        if ok:
            self.done += 1
            self.images += image
        else:
            self.failed += 1
            self.last_failure = why


def soak(
    cores: Mapping[Variant, BuiltCore],
    plan: Plan,
    *,
    revision: str,
    work: Path,
    progress: Progress = SILENT,
) -> SoakDocument:
    """Every core at every n_ubatch of the plan, one after another; logs are kept in ``work``.

    Raises:
        EnvironmentFault: the session program does not compile, or nothing can be started.
    """
    runs = []
    for variant, core in cores.items():
        for n_ubatch in plan.n_ubatch:
            progress.stage(f"soak {variant}, n_ubatch {n_ubatch}")
            runs.append(_run(core, variant, plan, n_ubatch, work, progress))
    return SoakDocument(
        verdict=worst(run.verdict for run in runs),
        revision=revision,
        summary=_summary(runs),
        runs=tuple(runs),
    )


def _run(
    core: BuiltCore, variant: Variant, plan: Plan, n_ubatch: int, work: Path, progress: Progress
) -> SoakRun:
    work.mkdir(parents=True, exist_ok=True)
    log = work / f"{plan.way}-{variant}-{n_ubatch}.log"
    program = compile_session(core, work) if plan.way == "process" else _server_of(core)
    count = _Count()
    started = time.monotonic()
    with log.open("wb") as out:
        if plan.way == "process":
            code, sampler = _in_process(program, plan, n_ubatch, out, count, progress)
        else:
            code, sampler = _through_server(program, plan, n_ubatch, out, count, progress)
    seconds = round(time.monotonic() - started, 3)
    with log.open("rb") as stream:
        read = read_log(stream, log.name)
    crash = read.crashes[0] if read.crashes else None
    kinds = {failure.kind for failure in read.failures}
    ending = Ending(
        code=code,
        crash=crash.what if crash else "",
        reached=_reached(plan, count, seconds),
        failed_turns=count.failed,
        sticky="backend-error-state" in kinds,
        memory_killed=code == -signal.SIGKILL
        or (crash is not None and crash.kind == "memory-killer"),
    )
    hypothesis, verdict, why = judge(ending, sampler.samples, count.images)
    if hypothesis is Hypothesis.FAILS and count.last_failure:
        why = plain(f"{why}; the last: {count.last_failure}")
    if hypothesis is Hypothesis.INCONCLUSIVE and code:
        why = plain(f"it ended early with status {code}: {_last_line(log)}")
    return SoakRun(
        variant=variant,
        way=plan.way,
        n_ubatch=n_ubatch,
        verdict=verdict,
        hypothesis=hypothesis,
        why=why,
        turns=count.done,
        turns_wanted=plan.turns,
        images=count.images,
        seconds=seconds,
        code=code,
        signal=_signal_name(code),
        warnings=read.warnings,
        storm=read.storm,
        crash=crash,
        failures=read.failures,
        growth_kib=growth_of(sampler.samples),
        log=str(log),
        last_warnings=_last_warnings(log),
        samples=sampler.samples,
    )


def compile_session(core: BuiltCore, work: Path) -> Path:
    """The session program, compiled against ``core`` unless it is there already.

    Raises:
        EnvironmentFault: it does not compile against this core's public headers.
    """
    source = bundled("build/soak") / "soak.cpp"
    key = digest(core.key, core.digest, str(core.build_dir), source.read_text())
    program = work / f"session-{key}"
    if program.is_file():
        return program
    home = work / "home"
    home.mkdir(parents=True, exist_ok=True)
    beside = program.with_suffix(".new")
    command: list[str | Path] = [
        core.compiler.cxx,
        *("-std=c++17", "-O1", "-rdynamic"),
        *core.cxx_flags,
        *(f"-D{name}" for name in core.defines),
        *(f"-I{folder}" for folder in core.include_dirs),
        source,
        *(library.path for library in core.libraries),
        f"-Wl,-rpath,{core.build_dir}",
        *("-o", beside),
    ]
    lines: list[str] = []
    with (work / "session.log").open("wb") as log:
        ended = children.run(
            command,
            cwd=work,
            environment=children.clean_environment(home),
            log=log,
            timeout_s=_COMPILE_TIMEOUT_S,
            on_line=lines.append,
        )
    if ended.code:
        errors = [line for line in lines if "error" in line or "undefined" in line] or lines
        raise EnvironmentFault(
            f"the session program does not compile against this core: {plain(errors[0])}"
            if errors
            else "the session program does not compile against this core",
            where=str(work / "session.log"),
            next_step="this revision's public interface changed: look at build/soak/soak.cpp",
        )
    beside.replace(program)
    return program


def _server_of(core: BuiltCore) -> Path:
    for program in core.programs:
        if program.stem == _SERVER:
            return program
    raise EnvironmentFault(
        f"this core was built without {_SERVER}",
        next_step="use a recipe that names it as a target, as `server` of the example does",
    )


def _in_process(
    program: Path, plan: Plan, n_ubatch: int, log: IO[bytes], count: _Count, progress: Progress
) -> tuple[int | None, Sampler]:
    command = [
        str(program),
        *("--model", str(plan.model), "--mmproj", str(plan.projector)),
        *("--turns", str(plan.turns or 0), "--seconds", str(plan.seconds or 0)),
        *("--n-ubatch", str(n_ubatch), "--n-ctx", str(plan.n_ctx)),
        *("--image-size", str(plan.image_px)),
        *("--leak-kib", str(plan.leak_kib), "--crash-at", str(plan.crash_at)),
    ]
    with _child(command, program.parent, log, subprocess.PIPE) as child:
        assert child.stdout is not None  # noqa: S101  (opened as a pipe)
        # A turn that hangs says nothing: whoever waits for its line needs somebody who watches.
        with _watched(child, count) as (sampler, hung):
            for line in child.stdout:
                _take_line(line, count)
                progress.step(count.turn, plan.turns, "turns")
            code = child.wait()
        return (None if hung.is_set() else code), sampler


def _take_line(line: bytes, count: _Count) -> None:
    try:
        said = json.loads(line)
        ok, image = said["rc"] == 0, bool(said["image"])
    except (ValueError, KeyError, TypeError):
        return  # the core itself prints on stdout at times
    count.take(ok=ok, image=image, why="" if ok else f"return code {said['rc']}")


def _through_server(
    program: Path, plan: Plan, n_ubatch: int, log: IO[bytes], count: _Count, progress: Progress
) -> tuple[int | None, Sampler]:
    port = free_port()
    command = server_command(
        program, plan.model, plan.projector, port=port, n_ubatch=n_ubatch, n_ctx=plan.n_ctx
    )
    client = Client(port, plan.n_ctx, plan.image_px, _TURN_TIMEOUT_S)
    with (
        _child(command, program.parent, log, log) as server,
        _watched(server, count) as (sampler, _),
    ):
        if not client.wait_until_ready(server):
            count.take(ok=False, image=False, why="the server did not come up")
            return server.poll(), sampler
        started = time.monotonic()
        failed = 0
        while server.poll() is None and failed < _MOST_FAILED:
            if plan.turns is not None and count.turn >= plan.turns:
                break
            if plan.seconds is not None and time.monotonic() - started >= plan.seconds:
                break
            number = count.turn + 1
            reply = client.turn(number, with_image=number % 2 == 0)
            count.take(ok=reply.ok, image=number % 2 == 0, why=reply.why)
            failed = 0 if reply.ok else failed + 1
            progress.step(count.turn, plan.turns, "turns")
            if reply.silent:
                # A server that dies while it answers may take a moment to be gone.
                with suppress(subprocess.TimeoutExpired):
                    server.wait(_GONE_S)
        return server.poll(), sampler


@contextmanager
def _child(
    command: Sequence[str], cwd: Path, log: IO[bytes], stdout: int | IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    """A session's process, ended with everything below it however the session ends."""
    home = Path(log.name).parent / "home"
    home.mkdir(parents=True, exist_ok=True)
    try:
        child = subprocess.Popen(
            command,
            cwd=cwd,
            env=children.clean_environment(home, ENVIRONMENT),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=log,
            start_new_session=True,
        )
    except OSError as fault:
        raise EnvironmentFault(
            f"cannot start the session: {fault.strerror}", where=command[0]
        ) from None
    try:
        yield child
    finally:
        if child.poll() is None:
            children.end(child)
        if child.stdout is not None:
            child.stdout.close()


@contextmanager
def _watched(
    child: subprocess.Popen[bytes], count: _Count
) -> Iterator[tuple[Sampler, threading.Event]]:
    """Sample the child until the end of the block, and end it if a turn takes far too long."""
    over, hung = threading.Event(), threading.Event()
    sampler = Sampler(child.pid, time.monotonic(), every_s=_SAMPLE_EVERY_S)
    # At once: on a busy machine a short session may be over before the watcher gets its turn.
    sampler.look(time.monotonic(), 0)

    def watch() -> None:
        seen, since = -1, time.monotonic()
        while not over.wait(_SAMPLE_EVERY_S):
            now = time.monotonic()
            sampler.look(now, count.turn)
            if count.turn != seen:
                seen, since = count.turn, now
            elif now - since > _TURN_TIMEOUT_S:
                hung.set()
                why = f"a turn did not end in {_TURN_TIMEOUT_S:.0f} s"
                count.take(ok=False, image=False, why=why)
                children.end(child)
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield sampler, hung
    finally:
        over.set()
        thread.join()
        # A server still stands here; its last turn must not depend on the watcher's luck.
        sampler.look(time.monotonic(), count.turn)


def _reached(plan: Plan, count: _Count, seconds: float) -> bool:
    """All the turns, or all the time, that was asked for."""
    if plan.turns is not None and count.turn >= plan.turns:
        return True
    return plan.seconds is not None and seconds >= plan.seconds


def _signal_name(code: int | None) -> str | None:
    if code is None or code >= 0:
        return None
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _last_line(log: Path) -> str:
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - _TAIL))
        lines = [line for line in stream.read().splitlines() if line.strip()]
    return lines[-1].decode(errors="replace") if lines else "nothing was said"


def _last_warnings(log: Path) -> tuple[str, ...]:
    """The last warnings before the end, oldest first."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - _TAIL))
        lines = [line for line in stream.read().splitlines() if PHRASE in line]
    return tuple(plain(line.decode(errors="replace")) for line in lines[-_LAST_WARNINGS:])


def _summary(runs: Sequence[SoakRun]) -> str:
    """One phrase a session, baseline and patched side by side."""
    phrases = []
    for n_ubatch in dict.fromkeys(run.n_ubatch for run in runs):
        told = " / ".join(
            f"{run.variant} {run.hypothesis} after {run.turns} turns, {run.warnings} warnings"
            for run in runs
            if run.n_ubatch == n_ubatch
        )
        phrases.append(f"n_ubatch {n_ubatch}: {told}")
    return "; ".join(phrases)
