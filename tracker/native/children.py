"""Runs the build's child processes: in a clean environment, with their output kept and followed.

The only file of this room that starts compilers and build tools. A build runs upstream code, so a
child sees no token, no proxy, no credential file of the user's home, and no git repository. A child
never outlives the call: every way out of it (time limit, Ctrl-C, an error of ours) ends the whole
process tree.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tracker.errors import EnvironmentFault

# What a compiler, CMake and a GPU toolkit legitimately need. Everything else stays with us: tokens
# have too many names to be listed, so the list names what may pass.
_PASSED = (
    "PATH",
    "TMPDIR",
    "SDKROOT",
    "DEVELOPER_DIR",
    "MACOSX_DEPLOYMENT_TARGET",
    "CUDA_PATH",
    "CUDA_HOME",
    "VULKAN_SDK",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
)
_GRACE_S = 10.0
_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended. ``code``: negative for a signal. ``timed_out``: we ended it."""

    code: int
    timed_out: bool
    seconds: float


def clean_environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The whole environment of a child; ``home`` is an empty folder of ours.

    ``GIT_DIR`` names nothing, so the revision stamp of a build is the same wherever it happens:
    upstream's CMake asks git for HEAD and ``-dirty``, and compiles the answer in.
    """
    found = {name: os.environ[name] for name in _PASSED if name in os.environ}
    found |= {
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "GIT_DIR": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "NO_COLOR": "1",
    }
    return found | dict(extra or {})


def run(
    command: Iterable[str | Path],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    log: IO[bytes],
    timeout_s: float,
    on_line: Callable[[str], None],
) -> Ended:
    """Run ``command`` to its end; its stdout and stderr go to ``log`` and, by line, to ``on_line``.

    Raises:
        EnvironmentFault: it cannot be started.
    """
    words = [str(word) for word in command]
    started = time.monotonic()
    try:
        child = subprocess.Popen(
            words,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Ctrl-C on a terminal reaches the whole group; a group of its own lets us end the
            # child in order instead of racing with it.
            start_new_session=True,
        )
    except OSError as fault:
        raise EnvironmentFault(
            f"cannot start {Path(words[0]).name}: {fault.strerror}",
            where=words[0],
            next_step="run `lloyal-track doctor`",
        ) from None
    try:
        timed_out = _follow(child, log, started + timeout_s, on_line)
        if timed_out:
            end(child)
        code = child.wait()
    except BaseException:
        end(child)
        raise
    finally:
        if child.stdout is not None:
            child.stdout.close()
    return Ended(code, timed_out, time.monotonic() - started)


def _follow(
    child: subprocess.Popen[bytes],
    log: IO[bytes],
    deadline: float,
    on_line: Callable[[str], None],
) -> bool:
    """Read until the child closes its output; True if the deadline came first."""
    assert child.stdout is not None  # noqa: S101  (opened as a pipe above)
    pipe = child.stdout.fileno()
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            if time.monotonic() > deadline:
                return True
            if not selector.select(_POLL_S):
                if child.poll() is not None and not selector.select(0):
                    # A grandchild may hold the pipe open; the child itself is done.
                    break
                continue
            block = os.read(pipe, 1 << 16)
            if not block:
                break
            log.write(block)
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                on_line(line.decode(errors="replace").rstrip("\r"))
    if rest:
        on_line(rest.decode(errors="replace"))
    log.flush()
    return False


def end(child: subprocess.Popen[bytes]) -> None:
    """End the child and everything below it: asked first, so that ninja removes half a file."""
    import psutil

    try:
        root = psutil.Process(child.pid)
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    child.terminate()
    _, alive = psutil.wait_procs(family, timeout=_GRACE_S)
    for process in alive:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(alive, timeout=_GRACE_S)
