"""The lines of a log that are not the warning: crashes, failures, proof of an image, versions.

Pure tables and patterns over bytes. Every kind names a few literal marks; a block of a log that
holds none of them is passed over without looking at its lines, so reading stays as fast as looking
for words. Each pattern is searched for anywhere in a line: prefixes (clock, port, journal, level)
have no end of shapes.

Source of the shapes: upstream's own format strings (ggml_abort in ggml.c, llama-batch.cpp,
llama-context.cpp, ggml-metal-context.m, mtmd-helper.cpp, the server) of 2024 to 2026, and public
logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Role = Literal["crash", "failure", "frame", "started", "processed", "version"]

# A path of a source file. A colon may stand in it only behind a drive letter, so that the line
# number is the line number.
_SOURCE = (
    rb"(?P<file>(?:\b[A-Za-z]:)?[^\s:\"'=()]*\.(?:cpp|cc|c|cuh|cu|hpp|h|mm|m|comp|metal))"
    rb":(?P<at>\d+): "
)


@dataclass(frozen=True, slots=True)
class Signature:
    """``marks``: a line of this kind holds at least one of them.

    ``pattern``: its group ``what`` is what is told; ``file`` and ``at`` name upstream's source.
    """

    kind: str
    role: Role
    marks: tuple[bytes, ...]
    pattern: re.Pattern[bytes]


@dataclass(frozen=True, slots=True)
class Sighting:
    """A line that means something. ``file`` and ``at`` None: it names no source line."""

    kind: str
    role: Role
    what: str
    file: str | None
    at: int | None


def _table(*rows: tuple[str, Role, tuple[bytes, ...], bytes]) -> tuple[Signature, ...]:
    return tuple(
        Signature(kind, role, marks, re.compile(pattern.replace(b"SOURCE", _SOURCE)))
        for kind, role, marks, pattern in rows
    )


# In order of precedence: a line is what the first of them says.
SIGNATURES = _table(
    (
        "assert",
        "crash",
        (b"GGML_ASSERT(",),
        rb"(?:SOURCE)?GGML_ASSERT\((?P<what>.*)\) failed",
    ),
    (
        "abort",
        "crash",
        (b": fatal error", b": unsupported op", b": not implemented", b": NaN", b"missing blas"),
        rb"SOURCE(?P<what>(?:fatal error|unsupported op|not implemented|NaN\b|missing blas).*)",
    ),
    ("cuda", "crash", (b": CUDA error",), rb"SOURCE(?P<what>CUDA error.*)"),
    ("cuda", "crash", (b"CUDA error:",), rb"(?P<what>CUDA error: .+)"),
    ("vulkan", "crash", (b"ErrorDeviceLost",), rb"(?P<what>.*ErrorDeviceLost.*)"),
    (
        "exception",
        "crash",
        (b"terminate called", b"libc++abi"),
        rb"(?P<what>terminate called (?:after|without).*|libc\+\+abi: terminating.*)",
    ),
    (
        "sanitizer",
        "crash",
        (b"Sanitizer: ", b"runtime error: "),
        rb"(?P<what>ERROR: \w+Sanitizer: .*|SOURCE\d+: runtime error: .*)",
    ),
    (
        "signal",
        "crash",
        (
            b"egmentation fault",
            b"core dumped",
            b"SIGSEGV",
            b"SIGABRT",
            b"SIGBUS",
            b"SIGILL",
            b"STACK_OVERFLOW",
            b"ACCESS_VIOLATION",
            b"status 0x",
            b"llegal instruction",
        ),
        rb"(?P<what>[Ss]egmentation fault.*|Aborted\b.*core dumped.*|\bcore dumped\b.*"
        rb"|\bSIG(?:SEGV|ABRT|BUS|ILL)\b.*|\b(?:EXCEPTION_|STATUS_)?(?:STACK_OVERFLOW"
        rb"|ACCESS_VIOLATION)\b.*|exit status 0x[cC][0-9a-fA-F]{7}|[Ii]llegal instruction.*)",
    ),
    (
        "memory-killer",
        "crash",
        (b"Out of memory: Kill", b"oom-kill", b"OOMKilled"),
        rb"(?P<what>Out of memory: Kill.*|oom-kill.*|OOMKilled.*)",
    ),
    (
        "frame",
        "frame",
        (b"+0x",),
        rb"(?:^|[\s/])(?P<what>[\w.+-]+\([^()\s]*\+0x[0-9a-f]+\))",
    ),
    (
        "backend-error-state",
        "failure",
        (b"in error state",),
        rb"(?P<what>backend is in error state from a previous command buffer failure.*)",
    ),
    (
        "metal-command-buffer",
        "failure",
        (b"command buffer", b"kIOGPUCommandBufferCallbackError"),
        rb"(?P<what>command buffer \d+ failed with status \d+.*"
        rb"|.*kIOGPUCommandBufferCallbackError\w+.*)",
    ),
    (
        "memory-slot",
        "failure",
        (b"failed to find a memory slot", b"failed to find free space in the KV cache"),
        rb"(?P<what>failed to find (?:a memory slot|free space in the KV cache).*)",
    ),
    (
        "media",
        "failure",
        (
            b"Media evaluation failed",
            b"ailed to load image",
            b"Unable to open file",
            b"Failed to read entire file",
            b"Failed to get file size",
            b"buffer as either image",
            b"Unable to decode media chunk",
            b"Failed to encode mtmd batch",
            b"failed to encode image slice",
            b"failed to decode image",
            b"failed to decode mtmd chunk",
            b"error: number of bitmaps",
            b"does not match number of loaded media",
            b"no image tokens produced",
            b"error: invalid bitmap dimensions",
            b"ailed to process image",
        ),
        rb"(?P<what>(?:Media evaluation failed|[Ff]ailed to load image|Unable to open file"
        rb"|Failed to read entire file|Failed to get file size|failed to decode buffer as either"
        rb"|Unable to decode media chunk|Failed to encode mtmd batch|failed to encode image slice"
        rb"|failed to decode image|failed to decode mtmd chunk|error: number of bitmaps"
        rb"|Number of media markers|no image tokens produced|error: invalid bitmap dimensions"
        rb"|[Ff]ailed to process image).*)",
    ),
    (
        "decode",
        "failure",
        (b"failed to decode", b"llama_decode failed", b"failed to initialize batch"),
        rb"(?P<what>failed to decode(?: the batch)?,.*\bret = -?\d+.*|llama_decode failed.*"
        rb"|failed to initialize batch.*)",
    ),
    (
        "started",
        "started",
        (b"processing image", b"encoding image"),
        rb"(?P<what>processing image\.\.\.|encoding image slice)",
    ),
    (
        "processed",
        "processed",
        (b"image processed in", b"image decoded", b"image/audio decoded"),
        rb"(?P<what>image processed in \d+ ms|image(?:/audio)? decoded \(batch \d+/\d+\) in)",
    ),
    (
        "version",
        "version",
        (b"version: ", b"build: "),
        rb"\b(?P<what>version: \d+ \([0-9a-f]{7,40}\)"
        rb"|version: [\w.+-]+ \(build \d+, commit [0-9a-f]{7,40}\)"
        rb"|build: \d+ \([0-9a-f]{7,40}\))",
    ),
)
# Every mark above holds one of these: fewer words to look for in every block. The last four are of
# the four lines by which upstream refuses a batch (``positions`` below).
COARSE_MARKS = (
    b"ailed",
    b"rror",
    b"ASSERT",
    b" image",
    b"+0x",
    b"version: ",
    b"build: ",
    b"unsupported op",
    b"not implemented",
    b": NaN",
    b"missing blas",
    b"terminat",
    b"libc++abi",
    b"Sanitizer",
    b"egmentation fault",
    b"core dumped",
    b"SIG",
    b"OVERFLOW",
    b"VIOLATION",
    b"status 0x",
    b"llegal",
    b"Out of memory",
    b"oom-kill",
    b"OOMKilled",
    b"command buffer",
    b"Unable to",
    b"number of",
    b"buffer as either",
    b"image decoded",
    b"image/audio decoded",
    b"image processed",
    b"sequence position",
    b" is X = ",
    b" of Y = ",
    b"satisfies: X",
)


def sightings(line: bytes) -> Iterator[Sighting]:
    """What ``line`` says; at most one crash or failure, and whatever proof stands beside it."""
    decided = False
    for signature in SIGNATURES:
        if not any(mark in line for mark in signature.marks):
            continue
        judging = signature.role in ("crash", "failure")
        if judging and decided:
            continue
        found = signature.pattern.search(line)
        if found is None:
            continue
        decided = decided or judging
        groups = found.groupdict()
        file, at = groups.get("file"), groups.get("at")
        yield Sighting(
            kind=signature.kind,
            role=signature.role,
            what=_text(found["what"]),
            file=_text(file) if file else None,
            at=int(at) if at else None,
        )


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace").strip()
