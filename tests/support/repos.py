"""Small real repositories, built and grown by ``git fast-import``."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracker.git.calls import run_git, sealed_environment

File = bytes | str | tuple[str, bytes] | None


@dataclass(frozen=True)
class Step:
    """One commit: ``files`` to write (mode 100644, or ``(mode, content)``) or remove (None)."""

    files: Mapping[str, File]
    subject: str = "change"
    tags: tuple[str, ...] = ()
    renames: Mapping[str, str] = field(default_factory=dict)


def git(folder: Path, *args: str, stdin: bytes | None = None) -> str:
    """Run git in ``folder`` and return its stdout, stripped; fails the test on any other status."""
    return run_git(args, cwd=folder, stdin=stdin).stdout.decode("utf-8", "replace").strip()


def build(
    folder: Path,
    steps: Sequence[Step | Mapping[str, File]] = (),
    *,
    bare: bool = True,
    branch: str = "master",
) -> list[str]:
    """Make a repository with one commit per step on ``branch``; returns their ids, oldest first."""
    folder.mkdir(parents=True, exist_ok=True)
    run_git(["init", "-q", "-b", branch, *(["--bare"] if bare else [])], cwd=folder)
    return add(folder, steps) if steps else []


def commit(folder: Path, files: Mapping[str, File], subject: str = "change", tag: str = "") -> str:
    """One more commit on the branch of ``folder``; returns its id."""
    return add(folder, [Step(files, subject, (tag,) if tag else ())])[0]


def add(folder: Path, steps: Sequence[Step | Mapping[str, File]]) -> list[str]:
    """One more commit per step, on the branch of ``folder``; a work tree is brought up to it.

    Dates count up from the start of the history, so ids are always the same.
    """
    branch = git(folder, "symbolic-ref", "HEAD")
    tip = run_git(["rev-parse", "-q", "--verify", "HEAD"], cwd=folder, check=False)
    before = int(git(folder, "rev-list", "--count", "HEAD")) if tip.code == 0 else 0
    stream = bytearray()
    for number, item in enumerate(steps, start=1):
        step = item if isinstance(item, Step) else Step(item)
        message = step.subject.encode()
        date = 1_700_000_000 + 60 * (before + number)
        stream += b"commit %s\nmark :%d\n" % (branch.encode(), number)
        stream += b"committer Up Stream <up@example.org> %d +0000\n" % date
        stream += b"data %d\n%s\n" % (len(message), message)
        if number > 1:
            stream += b"from :%d\n" % (number - 1)
        elif before:
            stream += b"from %s\n" % tip.stdout.strip()
        for old, new in step.renames.items():
            stream += f"R {_quoted(old)} {_quoted(new)}\n".encode()
        for path, content in step.files.items():
            stream += _change(path, content)
        stream += b"\n"
        for tag in step.tags:
            stream += f"reset refs/tags/{tag}\nfrom :{number}\n\n".encode()
    marks = folder.resolve() / "marks"
    subprocess.run(
        ["git", "fast-import", "--quiet", f"--export-marks={marks}"],
        cwd=folder,
        env=sealed_environment(),
        input=bytes(stream),
        check=True,
    )
    ids = dict(line.split(" ") for line in marks.read_text().splitlines())
    marks.unlink()
    if git(folder, "rev-parse", "--is-bare-repository") == "false":
        git(folder, "reset", "-q", "--hard")
    return [ids[f":{number}"] for number in range(1, len(steps) + 1)]


def state(folder: Path) -> dict[str, bytes]:
    """Every file of a repository folder with its content, to prove that nothing was written."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def _change(path: str, content: File) -> bytes:
    if content is None:
        return f"D {_quoted(path)}\n".encode()
    mode = "100644"
    if isinstance(content, tuple):
        mode, content = content
    raw = content.encode() if isinstance(content, str) else content
    return f"M {mode} inline {_quoted(path)}\n".encode() + b"data %d\n%s\n" % (len(raw), raw)


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
