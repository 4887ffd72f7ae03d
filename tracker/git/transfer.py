"""Talks to a remote: is it there, and bring what it has. The only place that opens a connection.

Never prompts, asks no credential helper, and never hangs: the first contact has a hard limit, and
after it a connection that carries nothing is dropped. Messages name the address without secrets.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from tracker.errors import EnvironmentFault
from tracker.git.calls import run_git, sealed_environment
from tracker.progress import Progress

_CONTACT_S = 15.0
_SILENCE_S = 30
_STEP = re.compile(r"(?P<what>[A-Z][a-z ]+): +\d+% \((?P<done>\d+)/(?P<total>\d+)\)")
# A connection below this rate for this long is given up (git-config(1), http.lowSpeedLimit).
_LIMITS = ("-c", "http.lowSpeedLimit=100", "-c", f"http.lowSpeedTime={_SILENCE_S}")
_QUIET_SSH = {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=10 -oServerAliveInterval=10"}


def public(url: str) -> str:
    """``url`` without user name and password."""
    return re.sub(r"//[^/\s@]+@", "//", url)


def refs_of(url: str, *patterns: str) -> dict[str, str]:
    """What the remote's references name, peeled where they are annotated tags; by full name.

    Raises:
        EnvironmentFault: it cannot be reached or refuses, within 15 s.
    """
    try:
        asked = run_git(
            [*_LIMITS, "ls-remote", "--quiet", "--", url, *patterns],
            cwd=Path("/"),
            extra_env=_QUIET_SSH,
            timeout_s=_CONTACT_S,
            check=False,
        )
    except EnvironmentFault as fault:
        if "did not finish" not in fault.what:
            raise
        raise _unreachable(url, f"no answer within {_CONTACT_S:g} s") from None
    if asked.code != 0:
        raise _unreachable(url, _reason(asked.stderr.decode("utf-8", "replace")))
    found: dict[str, str] = {}
    for line in asked.stdout.decode("utf-8", "replace").splitlines():
        oid, _, name = line.partition("\t")
        found[name.removesuffix("^{}")] = oid  # the peeled line follows its tag's
    return found


def fetch(git_dir: Path, *options: str, progress: Progress) -> None:
    """``git fetch OPTIONS`` in ``git_dir``, with git's own progress told on.

    Raises:
        EnvironmentFault: the connection broke or stood still; what arrived whole is kept.
    """
    command = ["git", *_LIMITS, "fetch", "--progress", *options]
    url = run_git(["config", "--get", "remote.origin.url"], git_dir=git_dir).stdout.decode().strip()
    try:
        child = subprocess.Popen(
            command,
            env=sealed_environment({"GIT_DIR": str(git_dir), **_QUIET_SSH}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as fault:
        raise EnvironmentFault(f"cannot start git: {fault}", where="git fetch") from None
    said: list[str] = []
    try:
        assert child.stderr is not None  # noqa: S101  (opened as a pipe)
        for line in _lines(child.stderr):
            step = _STEP.search(line)
            if step:
                progress.step(int(step["done"]), int(step["total"]), step["what"].lower())
            elif line.strip():
                said = [*said, line.strip()][-20:]
        child.wait()
    finally:
        if child.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        if child.stderr is not None:
            child.stderr.close()
    if child.returncode != 0:
        raise _unreachable(url, _reason("\n".join(said)))


def _lines(stream: IO[bytes]) -> Iterator[str]:
    """Lines that end in CR or LF, as they come: git redraws its progress with CR."""
    rest = b""
    while block := os.read(stream.fileno(), 1 << 14):
        *whole, rest = re.split(rb"[\r\n]", rest + block)
        for line in whole:
            yield line.decode("utf-8", "replace")
    if rest:
        yield rest.decode("utf-8", "replace")


def _reason(stderr: str) -> str:
    """The line that a human needs; the prose is shown, never judged."""
    lines = [public(line.strip()) for line in stderr.splitlines() if line.strip()]
    for start in ("ssh:", "fatal:", "error:"):
        for line in lines:
            if line.startswith(start):
                return line
    return lines[-1] if lines else "no message"


def _unreachable(url: str, why: str) -> EnvironmentFault:
    other = ""
    if "llama.cpp" in url:
        other = (
            "; a machine that reaches only a package index can use "
            "`lloyal-track --config archives.toml upstream fetch`"
        )
    return EnvironmentFault(
        f"cannot fetch from upstream: {why}",
        where=public(url),
        next_step="check the address (`upstream.url`) and the network" + other,
    )
