"""Every git child process starts here, in a sealed environment.

The answer must not depend on who asks: no system or user configuration, no inherited ``GIT_*``
variable, no hook, prompt, pager, editor, signature or replace ref reaches a child. Never parse
git's prose; callers use plumbing, ``-z`` and exit statuses. Needs git 2.39 or newer.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from tracker.errors import EnvironmentFault

# Handed over through the environment (git-config(1), GIT_CONFIG_COUNT): it outranks the files of
# every repository and counts as protected configuration, which safe.* need.
_CONFIG: Mapping[str, str] = {
    "safe.directory": "*",
    "safe.bareRepository": "all",
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.autocrlf": "false",
    "core.quotePath": "true",
    "core.sshCommand": "ssh -oBatchMode=yes",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "log.showSignature": "false",
    "log.follow": "false",
    "credential.helper": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.ext.allow": "never",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "diff.algorithm": "myers",
    "diff.renames": "true",
    "diff.ignoreSubmodules": "none",
    "diff.submodule": "short",
    "diff.indentHeuristic": "true",
    "diff.suppressBlankEmpty": "false",
    "merge.conflictStyle": "merge",
    "merge.renames": "true",
    "merge.directoryRenames": "conflict",
    "merge.renormalize": "false",
    "apply.whitespace": "nowarn",
    "apply.ignoreWhitespace": "no",
}

_FIXED: Mapping[str, str] = {
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
}

# Language and pagers aside, the rest of the environment stays: PATH, proxies, certificates, HOME.
_DROPPED = ("LANGUAGE", "LANG", "PAGER", "EDITOR", "VISUAL", "SSH_ASKPASS_REQUIRE")
_ENVIRON_LOCK = Lock()


@dataclass(frozen=True, slots=True)
class GitResult:
    """A finished git child. ``code``: exit status, negative: killed by that signal."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def complaint(self) -> str:
        """The last line that git wrote to stderr, for a human; "" if it was silent."""
        lines = self.stderr.decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""


def sealed_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The whole environment for a git child; ``extra`` (``GIT_DIR``, a token, ...) wins."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GIT_", "LC_")) and name not in _DROPPED
    }
    config = {"GIT_CONFIG_COUNT": str(len(_CONFIG))}
    for index, (key, value) in enumerate(_CONFIG.items()):
        config[f"GIT_CONFIG_KEY_{index}"] = key
        config[f"GIT_CONFIG_VALUE_{index}"] = value
    return {**kept, **_FIXED, **config, **(extra or {})}


@contextmanager
def without_inherited_git() -> Iterator[None]:
    """``os.environ`` holds no ``GIT_*`` inside.

    For GitPython alone: it copies ``os.environ`` into its children, where a variable can be
    overridden but not taken out.
    """
    with _ENVIRON_LOCK:
        hidden = {
            name: os.environ.pop(name) for name in list(os.environ) if name.startswith("GIT_")
        }
        try:
            yield
        finally:
            os.environ.update(hidden)


def run_git(
    args: Sequence[str],
    *,
    git_dir: Path | None = None,
    cwd: Path | None = None,
    stdin: bytes | None = None,
    extra_env: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
    check: bool = True,
) -> GitResult:
    """Run ``git ARGS`` to its end.

    ``git_dir``: becomes ``GIT_DIR``; without it git looks in ``cwd``. ``stdin`` None: empty, never
    the terminal. ``check``: a status other than 0 raises.

    Raises:
        EnvironmentFault: git is missing, ran longer than ``timeout_s``, or failed under ``check``.
    """
    named = {"GIT_DIR": str(git_dir)} if git_dir is not None else {}
    command = ["git", *args]
    shown = " ".join(command[:6])
    try:
        child = subprocess.Popen(
            command,
            cwd=cwd,
            env=sealed_environment({**named, **(extra_env or {})}),
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a time-out must also reach git's own children
        )
    except FileNotFoundError:
        if cwd is not None and not cwd.is_dir():
            raise EnvironmentFault("no such folder", where=str(cwd)) from None
        raise EnvironmentFault(
            "git is not installed, or not on PATH",
            where="git",
            next_step="install git 2.39 or newer",
        ) from None
    except OSError as fault:
        raise EnvironmentFault(f"cannot start git: {fault}", where=shown) from None
    try:
        stdout, stderr = child.communicate(stdin, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _kill(child)
        raise EnvironmentFault(
            f"git did not finish within {timeout_s:g} s",
            where=shown,
            next_step="check the network or the disk, then run the command again",
        ) from None
    except BaseException:
        _kill(child)
        raise
    result = GitResult(child.returncode, stdout, stderr)
    if check and result.code != 0:
        raise EnvironmentFault(
            f"git {args[0]} failed (status {result.code}): {result.complaint or 'no message'}",
            where=shown,
        )
    return result


def _kill(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
