"""Drives CMake and ninja: configure, compile, and ask what was made.

The only file that knows their command lines and output. CMake's file API (cmake-file-api(7), object
kind codemodel, version 2) says which files belong to a target; a build folder that served several
revisions holds libraries of older ones too, so its listing says nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tracker.errors import EnvironmentFault
from tracker.native import children
from tracker.native.core import Compiler
from tracker.progress import Progress

_QUERY = Path(".cmake/api/v1/query/codemodel-v2")
_REPLY = Path(".cmake/api/v1/reply")
_STATUS = re.compile(r"^\[(\d+)/(\d+)\] (.*)$")
_UNUSED_HEAD = "Manually-specified variables were not used by the project:"
_DEPRECATED = re.compile(r"\b([A-Z][A-Z0-9_]{3,}) is deprecated[^\n]*")
_ERROR_LINE = re.compile(
    r"(\berror:|^CMake Error|undefined reference to|^ninja: error|ld: |collect2: error)"
)
_LINES_AFTER_ERROR = 2
_MOST_ERROR_LINES = 40
# Not the revision's fault: what the machine does to a compiler.
_MACHINE = re.compile(r"No space left on device|Disk quota exceeded|Read-only file system")
_KILLED = re.compile(r"Killed signal terminated program|internal compiler error: Killed|: Killed$")


@dataclass(frozen=True, slots=True)
class Configured:
    """``unused`` and ``deprecated``: option names that this revision does not know or discourages.

    ``errors``: CMake's own lines; empty if it configured.
    """

    unused: tuple[str, ...]
    deprecated: tuple[str, ...]
    errors: tuple[str, ...]
    timed_out: bool


@dataclass(frozen=True, slots=True)
class Compiled:
    """``steps``: ninja's edges that ran. ``errors``: the compiler's own lines, first ones first.

    ``output``: all lines but ninja's status. ``killed``: the machine ended a compiler (memory), so
    nothing is said about the revision.
    """

    ok: bool
    steps: int
    errors: tuple[str, ...]
    output: str
    timed_out: bool
    killed: bool


@dataclass(frozen=True, slots=True)
class Product:
    """A library or program that a target makes. ``kind``: CMake's word, e.g. ``SHARED_LIBRARY``."""

    target: str
    kind: str
    path: Path


@dataclass(frozen=True, slots=True)
class Tools:
    """Absolute paths of the programs that the Python packages ``cmake`` and ``ninja`` bring."""

    cmake: Path
    ninja: Path


def tools() -> Tools:
    """The build tools.

    Raises:
        EnvironmentFault: the packages are damaged or absent.
    """
    try:
        import cmake
        import ninja
    except ImportError as fault:
        raise EnvironmentFault(
            f"the Python package {fault.name} is missing",
            next_step="install lloyal-track again",
        ) from None
    found = Tools(Path(cmake.CMAKE_BIN_DIR) / "cmake", Path(ninja.BIN_DIR) / "ninja")
    for program in (found.cmake, found.ninja):
        if not program.is_file():
            raise EnvironmentFault(
                f"{program.name} is missing from its Python package",
                where=str(program),
                next_step="install lloyal-track again",
            )
    return found


def configure(
    source: Path,
    folder: Path,
    definitions: Mapping[str, str],
    compiler: Compiler,
    *,
    fresh: bool,
    environment: Mapping[str, str],
    log: IO[bytes],
    timeout_s: float,
) -> Configured:
    """Configure ``source`` into ``folder``; ``fresh`` forgets the cache, not the objects."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _QUERY).parent.mkdir(parents=True, exist_ok=True)
    (folder / _QUERY).touch()
    found = tools()
    command: list[str | Path] = [found.cmake, "-G", "Ninja", "-S", source, "-B", folder]
    if fresh:
        command.append("--fresh")
    placed = {
        "CMAKE_MAKE_PROGRAM": str(found.ninja),
        "CMAKE_C_COMPILER": str(compiler.c),
        "CMAKE_CXX_COMPILER": str(compiler.cxx),
    }
    command += [f"-D{name}={value}" for name, value in ({**placed, **definitions}).items()]
    lines: list[str] = []
    ended = children.run(
        command,
        cwd=folder,
        environment=environment,
        log=log,
        timeout_s=timeout_s,
        on_line=lines.append,
    )
    text = "\n".join(lines)
    if ended.code:
        _check_machine(text, folder)
    errors = tuple(_error_lines(lines, source)) if ended.code or ended.timed_out else ()
    if ended.code and not errors:
        errors = (f"cmake ended with status {ended.code}", *lines[-3:])
    return Configured(
        unused=tuple(_unused(lines)),
        deprecated=tuple(dict.fromkeys(_DEPRECATED.findall(text))),
        errors=errors,
        timed_out=ended.timed_out,
    )


def compile_targets(
    source: Path,
    folder: Path,
    targets: tuple[str, ...],
    *,
    jobs: int,
    most_failures: int,
    environment: Mapping[str, str],
    log: IO[bytes],
    timeout_s: float,
    progress: Progress,
) -> Compiled:
    """Bring ``targets`` up to date; it goes on until ``most_failures`` steps failed."""
    command: list[str | Path] = [tools().ninja, "-C", folder, "-k", str(most_failures)]
    if jobs:
        command += ["-j", str(jobs)]
    lines: list[str] = []
    ran = 0

    def follow(line: str) -> None:
        nonlocal ran
        status = _STATUS.match(line)
        if status is None:
            lines.append(line)
            return
        ran = int(status[1])
        progress.step(ran, int(status[2]), Path(status[3].split(" ")[-1]).name)

    ended = children.run(
        [*command, *targets],
        cwd=folder,
        environment={**environment, "NINJA_STATUS": "[%f/%t] "},
        log=log,
        timeout_s=timeout_s,
        on_line=follow,
    )
    text = "\n".join(lines)
    if ended.code:
        _check_machine(text, folder)
    errors: tuple[str, ...] = ()
    if ended.code or ended.timed_out:
        errors = tuple(_error_lines(lines, source)) or tuple(lines[-5:])
    return Compiled(
        ok=ended.code == 0 and not ended.timed_out,
        steps=ran,
        errors=errors,
        output=text,
        timed_out=ended.timed_out,
        killed=bool(ended.code and _KILLED.search(text)),
    )


def target_names(folder: Path) -> frozenset[str]:
    """All targets of a configured folder."""
    return frozenset(target["name"] for target in _targets(folder).values())


def products(folder: Path, targets: tuple[str, ...]) -> tuple[Product, ...]:
    """What ``targets`` and all they depend on make, as files that stand alone, by target name."""
    known = _targets(folder)
    by_name = {target["name"]: key for key, target in known.items()}
    waiting = [by_name[name] for name in targets]
    seen: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key not in seen:
            seen.add(key)
            waiting += [link["id"] for link in known[key].get("dependencies", ())]
    made = []
    for key in seen:
        target = known[key]
        if target["type"] in ("SHARED_LIBRARY", "MODULE_LIBRARY", "EXECUTABLE"):
            # A versioned library is listed with the symbolic link that leads to it.
            files = {(folder / item["path"]).resolve() for item in target.get("artifacts", ())}
            made += [Product(target["name"], target["type"], path) for path in sorted(files)]
    return tuple(sorted(made, key=lambda product: (product.target, product.path)))


def _targets(folder: Path) -> dict[str, dict[str, Any]]:
    """The codemodel's target objects by id; the newest reply has the greatest file name."""
    reply = folder / _REPLY
    index = json.loads(max(reply.glob("index-*.json")).read_bytes())
    model = json.loads((reply / index["reply"]["codemodel-v2"]["jsonFile"]).read_bytes())
    listed = model["configurations"][0]["targets"]
    return {item["id"]: json.loads((reply / item["jsonFile"]).read_bytes()) for item in listed}


def _unused(lines: list[str]) -> list[str]:
    """The names below CMake's heading: an indented block, blank lines around it."""
    names: list[str] = []
    inside = False
    for line in lines:
        if _UNUSED_HEAD in line:
            inside = True
        elif inside and line.startswith("    "):
            names.append(line.strip())
        elif inside and line.strip():
            inside = False
    return names


def _error_lines(lines: list[str], source: Path) -> list[str]:
    """The lines that say what is wrong, each with what the compiler shows below it."""
    found: list[str] = []
    follow = 0
    for line in lines:
        if _ERROR_LINE.search(line):
            follow = _LINES_AFTER_ERROR
        elif follow:
            follow -= 1
        else:
            continue
        found.append(line.replace(f"{source}/", ""))
        if len(found) == _MOST_ERROR_LINES:
            break
    return found


def _check_machine(text: str, folder: Path) -> None:
    machine = _MACHINE.search(text)
    if machine:
        raise EnvironmentFault(
            f"the build stopped: {machine[0]}",
            where=str(folder),
            next_step="free some space there, or use another state_dir, and run it again",
        )
