"""Compiles the check program against one core, runs it as a child, and reads what it says.

The child runs upstream code on made-up input. It gets a clean environment, limits on memory and on
the time of each run, and a process group of its own. However it ends (signal, time limit, nonsense
on stdout), the answer is a value: ``Ran`` says how each run ended. Nothing here judges.
"""

from __future__ import annotations

import hashlib
import os
import queue
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import msgspec

from tracker.bundled import bundled
from tracker.errors import EnvironmentFault
from tracker.evidence.base import digest
from tracker.evidence.fuzz import FuzzKind
from tracker.native.children import clean_environment
from tracker.native.core import BuiltCore
from tracker.native.plan import Subject
from tracker.native.reports import reports_by_run, words_of
from tracker.native.store import Store, default_folder, key_of

# What the program can use only where the revision's headers have it: macro -> (header, word in it).
_FEATURES = {
    "PROBE_MTMD": ("tools/mtmd/mtmd-helper.h", "mtmd_helper_eval_chunk_single"),
    "PROBE_DECODER_POS": ("tools/mtmd/mtmd-helper.h", "mtmd_helper_image_get_decoder_pos"),
}
_COMPILE_TIMEOUT_S = 600.0
_TAIL_BYTES = 4000
_MOST_LINES = 20
_GRACE_S = 5.0
_PROGRAM = "probe"
_STORE_GIB = 0.25  # some 60 programs
_LATE = b"late"


class Counted(msgspec.Struct, frozen=True):
    """One thing that a run looked at; see ``Fact`` in build/probe/scenario.hpp."""

    name: str
    holds: bool
    returned: bool | None = None
    expected: bool | None = None
    diff: float | str | None = None
    limit: float | None = None
    count: int | None = None
    expected_count: int | None = None
    note: str = ""


class Dumped(msgspec.Struct, frozen=True):
    """The logits of a run, in the order of the calls: float32 values in ``file``."""

    digest: str
    count: int
    file: str


class FuzzFailed(msgspec.Struct, frozen=True):
    """A sequence of moves that failed, see build/probe/fuzz.cpp. ``diff``: of logits, else 0."""

    kind: FuzzKind
    text: str
    diff: float | str
    moves: str
    index: int = 0
    story: tuple[str, ...] = ()
    shortest: FuzzFailed | None = None


class Fuzzed(msgspec.Struct, frozen=True):
    """What a run of the fuzz counted; see ``FuzzRow`` for what the counts mean."""

    sequences: int
    cpu_seconds: float
    failures: tuple[FuzzFailed, ...]
    tried: dict[str, int]
    done: dict[str, int]
    compared: int
    open: int
    lucky: int
    rounding: float
    tolerance: float


class Said(msgspec.Struct, frozen=True):
    """The program's result of one run. ``warnings``: position, after, sequence, n_tokens."""

    job: int
    scenario: str
    error: str
    codes: tuple[int, ...]
    warnings: tuple[tuple[int, int, int, int], ...]
    others: tuple[str, ...]
    facts: tuple[Counted, ...]
    with_image: bool
    image_rows: int
    memory_class: str
    snapshots: int
    logits: Dumped
    library: str
    vision_library: str
    seconds: float
    fuzz: Fuzzed | None = None


class _Other(msgspec.Struct, frozen=True):
    """Any other line of the program."""

    begin: int | None = None
    end: bool | None = None
    fatal: str | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """How one run ended.

    ``said``: None unless it came to its end. ``code``: status of the child that ran it, negative
    for a signal, None if the time limit ended it. ``last_words``: what stderr ended with.
    ``reports``: of a sanitizer, those that no earlier run of the same child gave.
    """

    said: Said | None
    code: int | None
    last_words: str = ""
    reports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """The compiled check program. ``has_mtmd``: it can take the mtmd path."""

    path: Path
    core: BuiltCore
    has_mtmd: bool


@dataclass(frozen=True, slots=True)
class NotCompiled:
    """The check program does not compile against this core. ``lines``: the first errors."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """``timeout_s`` per run; ``memory_mib`` of address space, 0 for none (sanitizers need all)."""

    timeout_s: float = 120.0
    memory_mib: int = 8192


def program_store() -> Store:
    """Where compiled programs are kept, beside the cores that they are linked to."""
    return Store(default_folder().with_name("programs"), limit_gib=_STORE_GIB)


def compile_probe(core: BuiltCore, store: Store) -> Program | NotCompiled:
    """The check program for ``core``: out of ``store``, or compiled and stored there.

    Raises:
        EnvironmentFault: the compiler cannot be started.
        OSError: the store cannot be written.
    """
    source = bundled("build/probe")
    files = sorted(source.glob("*.?pp"))
    has_vision = any(library.name == "mtmd" for library in core.libraries)
    defines = [f"-D{name}" for name in core.defines]
    for macro, (header, word) in _FEATURES.items():
        path = core.source_dir / header
        if has_vision and path.is_file() and word in path.read_text(errors="replace"):
            defines.append(f"-D{macro}")
    # -O1 of the program itself costs more to compile than it saves; the core keeps its own flags.
    flags = ["-std=c++17", "-O0", *core.cxx_flags, *defines]
    flags += [f"-I{folder}" for folder in core.include_dirs]
    parts = {
        "core": f"{core.key} {core.digest}",
        # Compiled in: where the program finds the core's libraries.
        "place": str(core.build_dir),
        "compiler": core.compiler.digest,
        "flags": " ".join(flags),
        "sources": digest([hashlib.sha256(file.read_bytes()).hexdigest() for file in files]),
    }
    key = key_of(parts)
    with store.making(key), TemporaryDirectory(prefix="lloyal-track-probe-") as folder:
        entry = store.get(key)
        if entry is None:
            beside = Path(folder)
            errors = _compile(core, files, flags, beside)
            if errors:
                return NotCompiled(errors)
            made = beside / _PROGRAM
            entry = store.put(key, parts, {}, lambda place: _copied(made, place))
    return Program(entry.folder / _PROGRAM, core, "-DPROBE_MTMD" in defines)


def _copied(made: Path, folder: Path) -> None:
    shutil.copy2(made, folder / made.name)


def _compile(
    core: BuiltCore, files: Sequence[Path], flags: list[str], out: Path
) -> tuple[str, ...]:
    compiler = str(core.compiler.cxx)
    sources = [file for file in files if file.suffix == ".cpp"]
    objects = [out / f"{file.stem}.o" for file in sources]
    commands = [
        [compiler, *flags, "-c", str(file), "-o", str(made)]
        for file, made in zip(sources, objects, strict=True)
    ]
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        outputs = list(pool.map(lambda command: _called(command, out), commands))
    errors = [line for output in outputs if output is not None for line in output]
    if errors:
        return tuple(errors[:_MOST_LINES])
    linked = _called(
        [
            compiler,
            *core.cxx_flags,
            *(str(made) for made in objects),
            *(str(library.path) for library in core.libraries),
            f"-Wl,-rpath,{core.build_dir}",
            *(["-ldl"] if os.uname().sysname == "Linux" else []),
            "-o",
            str(out / _PROGRAM),
        ],
        out,
    )
    return tuple((linked or ())[:_MOST_LINES])


def _called(command: list[str], home: Path) -> list[str] | None:
    """None if the compiler succeeded, else its lines, errors first (at least one)."""
    try:
        done = subprocess.run(
            command,
            cwd=home,
            env=clean_environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_COMPILE_TIMEOUT_S,
            check=False,
        )
    except OSError as fault:
        raise EnvironmentFault(
            f"cannot start the compiler: {fault.strerror}",
            where=command[0],
            next_step="run `lloyal-track doctor`",
        ) from None
    except subprocess.TimeoutExpired:
        return [f"the compiler did not end in {_COMPILE_TIMEOUT_S:g} s"]
    if done.returncode == 0:
        return None
    lines = done.stdout.decode(errors="replace").splitlines()
    told = [line for line in lines if "error" in line or "undefined" in line]
    return told or lines or [f"the compiler ended with status {done.returncode}"]


def run_probe(
    program: Program,
    subject: Subject,
    out_dir: Path,
    limits: Limits,
    on_run: Callable[[], None] = lambda: None,
) -> tuple[Ran, ...]:
    """Every run of ``subject``, in order. A child that dies is followed by one for the runs behind.

    ``out_dir``: an empty folder of ours for logits and stderr. ``on_run`` is called as each ends.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    jobs = out_dir / "jobs"
    jobs.write_text("".join(f"{run.line}\n" for run in subject.runs))
    command = [str(program.path), "--model", str(subject.model)]
    if subject.projector is not None and program.has_mtmd:
        command += ["--mmproj", str(subject.projector)]
    if subject.picture is not None:
        command += ["--picture", str(subject.picture)]
    if limits.memory_mib:
        command += ["--memory-mib", str(limits.memory_mib)]
    command += ["--jobs", str(jobs), "--out", str(out_dir)]
    results: list[Ran] = []
    while len(results) < len(subject.runs):
        before = len(results)
        life = _Life(command, before, out_dir, limits, program.core)
        for ran in life.runs():
            results.append(ran)
            on_run()
        for number, reports in life.reports().items():
            if number < len(results):
                results[number] = replace(results[number], reports=reports)
        if len(results) == before:
            # It died before its first run: so it would for every other.
            end = life.ended()
            results += [end] * (len(subject.runs) - before)
    return tuple(results[: len(subject.runs)])


@dataclass(slots=True)
class _Life:
    """One child, from its start to its end."""

    command: list[str]
    skip: int
    out_dir: Path
    limits: Limits
    core: BuiltCore
    _code: int | None = None
    _fatal: str = ""
    _errors: Path = field(init=False)

    def runs(self) -> Iterator[Ran]:
        """Runs as they end; the last one may be the run that the child died in."""
        self._errors = self.out_dir / f"stderr.{self.skip}"
        environment = clean_environment(
            self.out_dir,
            {
                "GGML_NO_BACKTRACE": "1",
                "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:detect_odr_violation=0",
                "UBSAN_OPTIONS": "print_stacktrace=1",
            },
        )
        with self._errors.open("wb") as errors:
            child = subprocess.Popen(
                [*self.command, "--skip", str(self.skip)],
                cwd=self.out_dir,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        assert child.stdout is not None  # noqa: S101  (opened as a pipe above)
        try:
            yield from self._follow(child, child.stdout)
        finally:
            _kill(child)
            child.stdout.close()

    def ended(self) -> Ran:
        """How the child ended, for a run that it never began."""
        return Ran(None, self._code, self._last_words())

    def _follow(self, child: subprocess.Popen[bytes], pipe: IO[bytes]) -> Iterator[Ran]:
        lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        reader = threading.Thread(target=_read_lines, args=(pipe, lines), daemon=True)
        reader.start()
        expected, running = self.skip, False
        deadline = time.monotonic() + self.limits.timeout_s
        while True:
            left = deadline - time.monotonic()
            try:
                # Also for a child that never stops talking: then there is always a line to get.
                line = lines.get(timeout=left) if left > 0 else _LATE
            except queue.Empty:
                line = _LATE
            if line is _LATE:
                self._late()
                # Before its first run it would be late for every other too: told once, for all.
                if running or expected > self.skip:
                    yield Ran(None, None, self._fatal)
                return
            if line is None:
                break
            told = _decoded(line)
            if told is None:
                continue
            deadline = time.monotonic() + self.limits.timeout_s
            if isinstance(told, Said):
                if running and told.job == expected:
                    yield Ran(told, 0)
                    expected, running = expected + 1, False
                continue
            self._fatal = told.fatal or self._fatal
            if told.begin is not None:
                if running:
                    yield Ran(None, 0, "its result cannot be read")
                    expected += 1
                running = True
        try:
            self._code = child.wait(self.limits.timeout_s)
        except subprocess.TimeoutExpired:
            self._late()
        if running:
            yield Ran(None, self._code, self._last_words())

    def _late(self) -> None:
        self._code = None
        self._fatal = f"ended by us after {self.limits.timeout_s:g} s"

    def reports(self) -> dict[int, tuple[str, ...]]:
        """What a sanitizer said, by run; complete once the child has ended."""
        return reports_by_run(self._errors.read_text(errors="replace"))

    def _last_words(self) -> str:
        with self._errors.open("rb") as file:
            file.seek(max(0, self._errors.stat().st_size - _TAIL_BYTES))
            return self._fatal or " | ".join(words_of(file.read().decode(errors="replace")))


def _read_lines(pipe: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    with suppress(OSError, ValueError):  # closed by us when the child was ended
        for line in pipe:
            lines.put(line)
    lines.put(None)


def _decoded(line: bytes) -> Said | _Other | None:
    """None for a line that is not the program's: the core may print too."""
    if not line.startswith(b"{"):
        return None
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.json.decode(line, type=Said)
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.json.decode(line, type=_Other)
    return None


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End the child and whatever it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        child.wait(_GRACE_S)
