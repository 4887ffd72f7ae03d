"""Looks at this machine and says what is missing for the main job, with the step that mends it.

Only looks: changes nothing, contacts nobody.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tracker import pins
from tracker.config import Config
from tracker.evidence.doctor import DoctorDocument, Finding
from tracker.evidence.verdict import Status, Verdict
from tracker.publish import workflow

_MINIMUM_GIT = (2, 38)
_NEEDED_GIB = 4
_OTHER_MACHINE = re.compile(r"[^/]+:")  # host:path, as ssh takes it


def examine(config: Config | None, config_fault: str = "") -> DoctorDocument:
    """All findings: the pins, then what the main job would meet, in its order.

    ``config`` None: there is none, or it cannot be used, for the reason ``config_fault``.
    """
    findings = [
        *(_pins(config) if config is not None else ()),
        _python(),
        _git(),
        _compiler(config),
        _build_tools(),
        _configuration(config, config_fault),
    ]
    if config is not None:
        findings += [_state_dir(config.state_dir), _disk(config.state_dir), _upstream(config)]
        findings += _workflows(config)
    findings.append(_token())
    failed = any(finding.status is Status.FAIL for finding in findings)
    return DoctorDocument(verdict=Verdict.FAIL if failed else Verdict.OK, findings=tuple(findings))


def _pins(config: Config) -> Iterator[Finding]:
    """One finding for each pin that needs an eye; else one that says what they agree on."""
    reads = pins.read_pins_offline(config)
    bad = [read for read in reads if read.trouble]
    for read in bad:
        unreadable = read.value is None
        yield Finding(
            name="pin",
            status=Status.FAIL if unreadable else Status.ATTENTION,
            found=read.trouble,
            mend="correct the file, or its entry under [[pins]]"
            if unreadable
            else "correct what is wrong; the next bump that moves the pin brings all together",
        )
    if not reads:
        yield Finding(
            name="pins",
            status=Status.FAIL,
            found="none is configured",
            mend="add [[pins]], or let `lloyal-track init` find yours",
        )
    elif not bad:
        said = sorted({str(read.value) for read in reads if not read.fixed})
        compared = len(said) == 1 or all(read.commit for read in reads if not read.fixed)
        yield Finding(
            name="pins",
            status=Status.PASS if compared else Status.UNKNOWN,
            found=f"{len(reads)} read: {', '.join(said)}",
            mend=""
            if compared
            else "whether they agree is not known before `lloyal-track upstream fetch`",
        )


def _python() -> Finding:
    return Finding(
        name="python", status=Status.PASS, found=".".join(map(str, sys.version_info[:3]))
    )


def _first_line(command: list[str]) -> str | None:
    """What ``command`` prints first, or None if it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.decode(errors="replace").splitlines()
    return lines[0].strip() if lines else ""


def _git() -> Finding:
    said = _first_line(["git", "--version"])
    if said is None:
        return Finding(
            name="git",
            status=Status.FAIL,
            found="not found",
            mend=f"install git >= {_dotted(_MINIMUM_GIT)} (Debian: apt-get install git)",
        )
    version = tuple(int(part) for part in re.findall(r"\d+", said)[:2])
    if version < _MINIMUM_GIT:
        return Finding(
            name="git",
            status=Status.FAIL,
            found=said,
            mend=f"install git >= {_dotted(_MINIMUM_GIT)}: merges in memory need it",
        )
    return Finding(name="git", status=Status.PASS, found=said)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _compiler(config: Config | None) -> Finding:
    wanted = [os.environ["CXX"]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    for name in wanted:
        said = _first_line([*name.split(), "--version"])
        if said is not None:
            return Finding(name="C++ compiler", status=Status.PASS, found=said)
    needed = config is None or bool(config.build.recipes)
    return Finding(
        name="C++ compiler",
        status=Status.FAIL if needed else Status.ATTENTION,
        found=f"not found ({', '.join(wanted)})",
        mend="install one with C++17 (Debian: apt-get install g++; macOS: xcode-select --install)",
    )


def _build_tools() -> Finding:
    missing = [name for name in ("cmake", "ninja") if _tool(name) is None]
    if missing:
        return Finding(
            name="cmake, ninja",
            status=Status.FAIL,
            found=f"{' and '.join(missing)} not found",
            mend=f"reinstall lloyal-track, or: {sys.executable} -m pip install cmake ninja",
        )
    return Finding(name="cmake, ninja", status=Status.PASS, found="from this environment")


def _tool(name: str) -> str | None:
    beside = Path(sys.executable).parent
    return shutil.which(name, path=f"{beside}{os.pathsep}{os.environ.get('PATH', '')}")


def _configuration(config: Config | None, fault: str) -> Finding:
    if config is None:
        return Finding(
            name="configuration",
            status=Status.FAIL,
            found=fault,
            mend="write one with `lloyal-track init`, or mend the one that is there",
        )
    return Finding(name="configuration", status=Status.PASS, found=str(config.file))


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder


def _state_dir(folder: Path) -> Finding:
    if not os.access(_existing(folder), os.W_OK):
        return Finding(
            name="state_dir",
            status=Status.FAIL,
            found=f"{folder} cannot be written",
            mend="change `state_dir` in the configuration, or the folder's permissions",
        )
    return Finding(name="state_dir", status=Status.PASS, found=str(folder))


def _disk(folder: Path) -> Finding:
    free_gib = shutil.disk_usage(_existing(folder)).free / 2**30
    enough = free_gib >= _NEEDED_GIB
    return Finding(
        name="free disk",
        status=Status.PASS if enough else Status.ATTENTION,
        found=f"{free_gib:.0f} GiB",
        mend="" if enough else f"a clone and two builds take about {_NEEDED_GIB} GiB",
    )


def _upstream(config: Config) -> Finding:
    from_archives = config.upstream.source == "registry"
    known = config.upstream.package if from_archives else config.upstream.url
    here = any(config.state_dir.glob("upstream*"))
    if not from_archives and (why := _local_fault(config.upstream.url)):
        return Finding(
            name="upstream",
            status=Status.FAIL,
            found=f"{known}: {why}",
            mend="correct `upstream.url`; a clone on this machine is named by its whole path",
        )
    return Finding(
        name="upstream",
        status=Status.PASS,
        found=f"{known} ({'here' if here else 'not fetched yet: the first run does'})",
    )


def _local_fault(url: str) -> str:
    """What is wrong with an address of this machine; "" if nothing, or it is of another one."""
    scheme = urlsplit(url).scheme
    if scheme != "file" and (scheme or _OTHER_MACHINE.match(url)):
        return ""
    place = Path(unquote(urlsplit(url).path) if scheme else url)
    if not place.is_absolute():
        return "a path must be a whole one"
    return "" if place.is_dir() else "there is no such folder"


def _workflows(config: Config) -> Iterator[Finding]:
    """One finding for each workflow that publishes; none if there is no such workflow."""
    for file in workflow.publishing_files(config.base.resolve()):
        bad = workflow.unfilled(file)
        yield Finding(
            name="workflow",
            status=Status.ATTENTION if bad else Status.PASS,
            found=f"{file} names no commit of the action" if bad else str(file),
            mend=workflow.FILL_IN if bad else "",
        )


def _token() -> Finding:
    if os.environ.get("GITHUB_TOKEN"):
        return Finding(name="GitHub token", status=Status.PASS, found="GITHUB_TOKEN is set")
    if shutil.which("gh"):
        return Finding(name="GitHub token", status=Status.PASS, found="`gh auth token` is asked")
    return Finding(
        name="GitHub token",
        status=Status.ATTENTION,
        found="none: tickets are polled anonymously (60 requests an hour)",
        mend="export GITHUB_TOKEN=... (read access to public repositories is enough)",
    )
