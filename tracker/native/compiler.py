"""Finds the machine's C and C++ compilers and says what makes their output differ.

Only asks them for their version and target; compiles nothing.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from tracker.errors import EnvironmentFault
from tracker.native.core import Compiler

_PAIRS = (("cc", "c++"), ("gcc", "g++"), ("clang", "clang++"))
_ASK_S = 20


def find_compiler() -> Compiler:
    """The compilers that CC and CXX name, else the system's own pair.

    Raises:
        EnvironmentFault: none is there, or it does not answer.
    """
    named_c, named_cxx = os.environ.get("CC"), os.environ.get("CXX")
    if named_c or named_cxx:
        pairs: tuple[tuple[str, str], ...] = ((named_c or "cc", named_cxx or "c++"),)
    else:
        pairs = _PAIRS
    for c_name, cxx_name in pairs:
        c, cxx = shutil.which(c_name), shutil.which(cxx_name)
        if c and cxx:
            return _asked(Path(c), Path(cxx))
    tried = ", ".join(f"{c} with {cxx}" for c, cxx in pairs)
    raise EnvironmentFault(
        f"no C++ compiler: tried {tried}",
        where="CC, CXX" if named_c or named_cxx else "PATH",
        next_step="xcode-select --install"
        if sys.platform == "darwin"
        else "install one (Debian: apt-get install g++), or name one with CC and CXX",
    )


def instruction_set(compiler: Compiler) -> str:
    """A digest of what ``-march=native`` means here: such a core runs only on its like."""
    said = _answer(compiler.cxx, "-march=native", "-E", "-v", "-x", "c++", os.devnull)
    machine = [word for line in said.splitlines() for word in line.split() if word[:2] == "-m"]
    words = " ".join(machine) or f"{platform.machine()} {platform.processor()}"
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def _asked(c: Path, cxx: Path) -> Compiler:
    parts = []
    for program in (c, cxx):
        version = _answer(program, "--version")
        details = _answer(program, "-v")
        target = _answer(program, "-dumpmachine").strip()
        parts += [version, details, target]
    first_line = parts[3].partition("\n")[0].strip()
    libc = " ".join(platform.libc_ver())
    content = "\0".join([*parts, libc, os.environ.get("SDKROOT", "")])
    return Compiler(
        c=c,
        cxx=cxx,
        identity=f"{first_line} {parts[5]}",
        digest=hashlib.sha256(content.encode()).hexdigest()[:16],
    )


def _answer(program: Path, *arguments: str) -> str:
    """What ``program`` says on both streams.

    Raises:
        EnvironmentFault: it cannot be run, or fails: a stub without the real compiler behind it.
    """
    try:
        done = subprocess.run(
            [program, *arguments],
            capture_output=True,
            timeout=_ASK_S,
            check=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except (OSError, subprocess.SubprocessError) as fault:
        said = getattr(fault, "stderr", b"") or b""
        reason = said.decode(errors="replace").strip().partition("\n")[0] or str(fault)
        raise EnvironmentFault(
            f"the compiler does not work: {reason}",
            where=str(program),
            next_step="repair it, or name another with CC and CXX",
        ) from None
    return (done.stdout + done.stderr).decode(errors="replace")
