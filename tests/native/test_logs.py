"""Anyone's log: every shape seen in the wild, in one pass, and a verdict that proves no more."""
# ruff: noqa: E501  (a line of a log is as long as it is)

from __future__ import annotations

import gzip
import io
import tracemalloc
from collections.abc import Iterator

import pytest

from tracker.evidence.log import LogDocument
from tracker.evidence.verdict import Verdict
from tracker.native.logs import read_log
from tracker.native.signatures import COARSE_MARKS, SIGNATURES

STORM = """\
find_slot: non-consecutive token position 9 after 8 for sequence 0 with 512 new tokens
find_slot: non-consecutive token position 9 after 8 for sequence 0 with 512 new tokens
find_slot: non-consecutive token position 9 after 9 for sequence 0 with 512 new tokens
find_slot: non-consecutive token position 9 after 9 for sequence 0 with 512 new tokens
find_slot: non-consecutive token position 48 after 9 for sequence 0 with 8 new tokens
find_slot: non-consecutive token position 48 after 9 for sequence 0 with 8 new tokens
"""
PROOF = "srv  process_chun: image processed in 762 ms\n"
ASSERT = "/x/ggml/src/ggml-cpu/ops.cpp:4745: GGML_ASSERT(i01 >= 0 && i01 < ne01) failed\n"


def read(text: str | bytes, *, in_source: bool | None = None) -> LogDocument:
    raw = text.encode() if isinstance(text, str) else text
    return read_log(io.BufferedReader(io.BytesIO(raw)), "test.log", in_source=in_source)


def one(line: str) -> tuple[int, int, int, int]:
    """Sequence, and the counts of the shapes, of the only warning in ``line``."""
    document = read(line + "\n")
    assert document.warnings == 1
    (found,) = document.sequences
    return found.sequence, found.step, found.repeat, found.jump


@pytest.mark.parametrize(
    ("line", "sequence", "shape"),
    [
        ("find_slot: MESSAGE", 0, "step"),
        ("W find_slot: MESSAGE", 0, "step"),
        ("E find_slot: MESSAGE", 0, "step"),
        ("[59197] 267.14.905.722 W find_slot: MESSAGE", 0, "step"),
        ("Feb 25 23:33:24 host llama-server[3855557]: [43189] 0.57.309.308 W find_slot: MESSAGE", 0, "step"),
        (" 84.44.951.560 W find_slot: MESSAGE", 0, "step"),
        ("assuming pure content parser.find_slot: MESSAGE", 0, "step"),
        ("llama_kv_cache_find_slot: MESSAGE", 0, "step"),
        ("\x1b[34m0.57.309.308\x1b[0m \x1b[35mW\x1b[0m find_slot: MESSAGE\x1b[0m", 0, "step"),
        (r"\x1b[35mW\x1b[0m find_slot: MESSAGE\x1b[0m", 0, "step"),
        ('{"log":"find_slot: MESSAGE\\n","stream":"stderr"}', 0, "step"),
        ("find_slot: MESSAGE\r", 0, "step"),
    ],
)  # fmt: skip
def test_prefixes_and_levels_do_not_matter(line: str, sequence: int, shape: str) -> None:
    """Clocks, ports, journals, levels, colours, older names, glued or wrapped lines."""
    message = "non-consecutive token position 9 after 8 for sequence 0 with 512 new tokens"
    counts = dict(zip(("sequence", "step", "repeat", "jump"), one(line.replace("MESSAGE", message)), strict=True))  # fmt: skip
    assert counts["sequence"] == sequence
    assert counts[shape] == 1


@pytest.mark.parametrize(
    ("numbers", "sequence", "shape"),
    [
        ("1882 after 1881 for sequence 1 with 2048 new tokens", 1, "step"),
        ("1882 after 1882 for sequence 1 with 24 new tokens", 1, "repeat"),
        ("79 after 7 for sequence 7 with 7 new tokens", 7, "jump"),
        ("287 after 237 for sequence 0", 0, "jump"),
        ("-1 after 0 for sequence 0 with 1 new tokens", 0, "back"),
    ],
)
def test_the_numbers_are_taken_apart(numbers: str, sequence: int, shape: str) -> None:
    """Position, last position, sequence and length, each of them right."""
    document = read(f"find_slot: non-consecutive token position {numbers}\n")
    (found,) = document.sequences
    assert found.sequence == sequence
    assert getattr(found, shape) == found.warnings == document.warnings == 1


@pytest.mark.parametrize(
    "line",
    [
        "The `W find_slot: non-consecutive token position` lines occur on every image request.\n",
        'LLAMA_LOG_WARN("%s: non-consecutive token position %d after %d for sequence %d\\n",\n',
        "grep -v 'non-consecutive token position' server.log\n",
    ],
)
def test_prose_that_quotes_the_words_is_no_warning(line: str) -> None:
    """Neither counted nor called cut."""
    document = read(line)
    assert (document.warnings, document.cut, document.unread) == (0, 0, 0)


@pytest.mark.parametrize(
    ("text", "whole", "cut"),
    [
        ("find_slot: non-consecutive token position 18", 0, 1),
        ("find_slot: non-consecutive token position 18 after", 0, 1),
        ("find_slot: non-consecutive token position", 0, 1),
        ("find_slot: non-consecutive token position 18 after 17 for sequence 1", 0, 1),
        ("find_slot: non-consecutive token position 18 after 17 for sequence 1\n", 1, 0),
        ("find_slot: non-consecutive token position 18 after 17 for sequence 1 with 51", 1, 0),
        ("find_slot: non-consecutive token position 18" + STORM, 6, 1),
    ],
)
def test_a_line_cut_in_the_middle_is_not_read_as_a_number(text: str, whole: int, cut: int) -> None:
    """A killed writer leaves half a number, which is another number."""
    document = read(text)
    assert (document.warnings, document.cut) == (whole, cut)


def test_a_cut_length_is_not_used() -> None:
    """512 cut to 51 would make another image."""
    text = "find_slot: non-consecutive token position 18 after 17 for sequence 1 with 51"
    assert read(text).sequences[0].images[0].rows is None


def test_two_warnings_on_one_line_are_two() -> None:
    """A lost line end loses no warning."""
    line = STORM.splitlines()[0]
    assert read(f"{line} {line}\n").warnings == 2


def test_the_reports_log_is_the_benign_storm() -> None:
    """1,024 rows, a 32 x 32 grid, text resumes at 41; nothing is left unexplained."""
    document = read(STORM)
    (image,) = document.sequences[0].images
    assert (document.verdict, document.storm) == (Verdict.ATTENTION, "benign")
    assert (image.rows, image.grids, image.resume) == (1024, ((32, 32),), 41)


def test_sequences_are_read_apart() -> None:
    """Interleaved slots: no shape is computed across them."""
    lines = STORM.splitlines()
    mixed = [text for line in lines for text in (line, line.replace("sequence 0", "sequence 3"))]
    mixed.insert(3, "find_slot: non-consecutive token position 79 after 7 for sequence 7 with 7 new tokens")  # fmt: skip
    document = read("\n".join(mixed) + "\n")
    shapes = [(s.sequence, s.step, s.repeat, s.jump, s.unexplained) for s in document.sequences]
    assert shapes == [(0, 2, 2, 2, 0), (3, 2, 2, 2, 0), (7, 0, 0, 1, 1)]
    assert document.storm == "unexplained"
    assert document.verdict is Verdict.UNKNOWN


def test_a_crash_outranks_the_warnings_before_it() -> None:
    """The assert's place and expression, and the frames behind it."""
    frames = "/x/bin/libggml-base.so.0(ggml_abort+0x15b)[0x76fe53f5843b]\n"
    document = read(STORM + ASSERT + frames)
    (crash,) = document.crashes
    assert document.verdict is Verdict.FAIL
    assert document.why.startswith("crash (assert): i01 >= 0 && i01 < ne01 at /x/ggml")
    assert document.why.endswith("after 6 warnings")
    assert (crash.file, crash.source_line) == ("/x/ggml/src/ggml-cpu/ops.cpp", 4745)
    assert crash.frames == ("libggml-base.so.0(ggml_abort+0x15b)",)
    assert crash.line == 7


@pytest.mark.parametrize(
    ("line", "kind", "what", "file", "at"),
    [
        (
            '/src/llama-kv-cache.cpp:100: GGML_ASSERT(hparams.n_pos_per_embd() == 1 && "only (1)") failed',
            "assert", 'hparams.n_pos_per_embd() == 1 && "only (1)"', "/src/llama-kv-cache.cpp", 100,
        ),
        (
            "[59197] /src/llama.cpp/ggml/src/ggml-cpu/ops.cpp:4745: GGML_ASSERT(i01 >= 0) failed",
            "assert", "i01 >= 0", "/src/llama.cpp/ggml/src/ggml-cpu/ops.cpp", 4745,
        ),
        (
            r"C:\a\ggml\src\ggml-cuda\ggml-cuda.cu:2641: GGML_ASSERT(stat == cudaSuccess) failed",
            "assert", "stat == cudaSuccess", r"C:\a\ggml\src\ggml-cuda\ggml-cuda.cu", 2641,
        ),
        ("server.cpp:100: GGML_ASSERT(!x) failed", "assert", "!x", "server.cpp", 100),
        ("/src/ggml-metal-ops.cpp:203: unsupported op", "abort", "unsupported op", "/src/ggml-metal-ops.cpp", 203),
        ("[56285] 0.54.236.075 E CUDA error: an illegal memory access", "cuda", "CUDA error: an illegal memory access", None, None),
        ('msg="llama runner terminated" error="exit status 0xc0000409"', "signal", "exit status 0xc0000409", None, None),
        ("run.sh: line 3: 4242 Segmentation fault      (core dumped) ./x", "signal", "Segmentation fault (core dumped) ./x", None, None),
        ("Exception: STACK_OVERFLOW in ggml-base.dll", "signal", "STACK_OVERFLOW in ggml-base.dll", None, None),
        ("kernel: Out of memory: Killed process 77 (llama-server)", "memory-killer", "Out of memory: Killed process 77 (llama-server)", None, None),
        ("==1==ERROR: AddressSanitizer: heap-use-after-free", "sanitizer", "ERROR: AddressSanitizer: heap-use-after-free", None, None),
    ],
)  # fmt: skip
def test_crashes(line: str, kind: str, what: str, file: str | None, at: int | None) -> None:
    """What failed and where, also behind a drive letter, a port or in an older tree."""
    document = read(line + "\n")
    (crash,) = document.crashes
    assert (crash.kind, crash.what, crash.file, crash.source_line) == (kind, what, file, at)
    assert document.verdict is Verdict.FAIL


def test_one_crash_that_is_told_twice_is_one() -> None:
    """The backend's two lines; the parent's status behind an assert."""
    cuda = "/s/ggml-cuda.cu:107: CUDA error\n0.41.568.358 E CUDA error: an illegal memory access\n"
    (crash,) = read(cuda).crashes
    assert (crash.what, crash.source_line) == ("CUDA error: an illegal memory access", 107)
    (crash,) = read(ASSERT + 'error="exit status 0xc0000409"\n').crashes
    assert (crash.kind, crash.what) == ("assert", "i01 >= 0 && i01 < ne01; exit status 0xc0000409")


_REFUSED = """\
init: the tokens of sequence 0 in the input batch have inconsistent sequence positions:
 - the last position stored in the memory module of the context (i.e. the KV cache) for sequence 0 is X = {x}
 - the tokens for sequence 0 in the input batch have a starting position of Y = {y}
 {rule}
decode: failed to initialize batch
llama_decode: failed to decode, ret = -1
"""


@pytest.mark.parametrize(
    ("x", "y", "rule", "told"),
    [
        (85, 85, "for M-RoPE, it is required that the position satisfies: X < Y", "X < Y"),
        (587, 689, "it is required that the sequence positions remain consecutive: Y = X + 1", "Y = X + 1"),
    ],
)  # fmt: skip
def test_inconsistent_positions_are_a_failure(x: int, y: int, rule: str, told: str) -> None:
    """Upstream's four lines and a return code, no abort: never a pass."""
    document = read(_REFUSED.format(x=x, y=y, rule=rule) + PROOF)
    failure = document.failures[0]
    assert (document.verdict, failure.kind) == (Verdict.FAIL, "inconsistent-positions")
    assert f"X = {x}, Y = {y}" in failure.what
    assert told in failure.what
    assert [(f.kind, f.count) for f in document.failures[1:]] == [("decode", 2)]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("mtmd_helper_eval_chunk_single: Media evaluation failed with error code -1", "media"),
        ("llama_decode failed (code -1): Invalid input batch", "decode"),
        ("[1708534343] update_slots : failed to decode the batch, n_batch = 1, ret = 1", "decode"),
        ("ggml_metal_graph_compute: command buffer 1 failed with status 5", "metal-command-buffer"),
        ("x: backend is in error state from a previous command buffer failure - recreate the backend", "backend-error-state"),
        ("Unable to open file /x/cat.png: No such file or directory", "media"),
        ("from_buf: failed to decode buffer as either image/audio/video", "media"),
    ],
)  # fmt: skip
def test_failures_that_do_not_abort(line: str, kind: str) -> None:
    """The process goes on, and its exit status may be 0."""
    document = read(line + "\n" + PROOF)
    assert (document.failures[0].kind, document.verdict) == (kind, Verdict.FAIL)


def test_the_sticky_metal_error_is_counted() -> None:
    """Every later decode fails with -3 until the backend is made anew."""
    sticky = "f: backend is in error state from a previous command buffer failure\n"
    document = read(sticky + "llama_decode: failed to decode, ret = -3\n" * 5)
    assert [(f.kind, f.count) for f in document.failures] == [
        ("backend-error-state", 1),
        ("decode", 5),
    ]


def test_silence_is_no_proof() -> None:
    """No warning counts only where an image was certainly processed."""
    assert read("").verdict is Verdict.UNKNOWN
    assert read("srv process_chun: processing image...\n").verdict is Verdict.UNKNOWN
    assert read(PROOF).verdict is Verdict.OK


def test_a_revision_without_the_warning_makes_silence_worthless() -> None:
    """Upstream changed the words: not '0 warnings' but 'cannot tell'."""
    document = read(PROOF, in_source=False)
    assert document.verdict is Verdict.UNKNOWN
    assert "no such warning" in document.why
    assert read(PROOF, in_source=True).verdict is Verdict.OK


def test_words_that_upstream_changed_are_not_passed_over() -> None:
    """find_slot still speaks of positions, only otherwise: unknown, and the line is shown."""
    document = read("W find_slot: gap in token positions 5..9 of sequence 0\n" + PROOF)
    assert (document.verdict, document.unread) == (Verdict.UNKNOWN, 1)
    assert "gap in token positions" in document.samples[0].text


def test_versions_and_a_shallow_clone() -> None:
    """Both banners; build number 1 is a shallow clone's and says so."""
    text = "version: 9491 (9e58d4d69)\nversion: 0.1.2-dev (build 10525, commit 2cfdb5fc0)\n"
    assert read(text).versions == (
        "version: 9491 (9e58d4d69)",
        "version: 0.1.2-dev (build 10525, commit 2cfdb5fc0)",
    )
    assert any("depth 1" in note for note in read("version: 1 (9e58d4d69)\n").notes)


@pytest.mark.parametrize("encoding", ["utf-16", "gzip", "gzip-utf-16"])
def test_other_encodings(encoding: str) -> None:
    """A redirected log of PowerShell, a rotated log."""
    raw = (STORM * 50).encode("utf-16" if "utf-16" in encoding else "utf-8")
    document = read(gzip.compress(raw) if "gzip" in encoding else raw)
    assert document.warnings == 300


def test_no_escape_sequence_or_control_character_reaches_the_document() -> None:
    """What is shown of a log is harmless."""
    dirty = "\x1b[31mW\x1b[0m \x07find_slot: non-consecutive token position 9 after 8 for sequence 0 with 5 new tokens\x1b[0m\n"  # fmt: skip
    document = read(dirty + ASSERT.replace("i01 >= 0", "\x1b]0;title\x07i01"))
    shown = [*(sample.text for sample in document.samples), *(c.what for c in document.crashes)]
    assert all(character.isprintable() for text in shown for character in text)


class _Generated(io.RawIOBase):
    """A log that is made while it is read, so that the test holds none of it."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, target: object) -> int:
        view = memoryview(target)  # type: ignore[arg-type]
        while len(self._rest) < len(view):
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._rest += piece
        given, self._rest = self._rest[: len(view)], self._rest[len(view) :]
        view[: len(given)] = given
        return len(given)


def test_memory_is_bounded_and_counts_are_exact() -> None:
    """120,000 warnings in blocks that cut lines anywhere: none lost, none twice."""
    images = 20_000
    warning = (
        "find_slot: non-consecutive token position {} after {} for sequence 0 with {} new tokens\n"
    )

    def pieces() -> Iterator[bytes]:
        for base in range(9, 9 + images):
            for numbers in ((base, base - 1, 512), (base, base, 512), (base + 39, base, 8)):
                yield (warning.format(*numbers) * 2).encode()
            yield b"x" * 37 + b"\n"

    tracemalloc.start()
    document = read_log(io.BufferedReader(_Generated(pieces())), "generated")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert document.warnings == 6 * images
    assert document.sequences[0].images[0].count == images
    assert document.lines == 7 * images
    assert peak < 32 << 20


def test_a_line_without_end_is_bounded_too() -> None:
    """Carriage returns instead of line ends, megabytes of them: counts stay exact."""
    piece = STORM.replace("\n", "\r").encode()
    count = 30_000

    document = read_log(io.BufferedReader(_Generated(piece for _ in range(count))), "generated")
    assert document.warnings == 6 * count


def test_any_bytes_are_read() -> None:
    """Noise, with warnings in it, never stops the reader."""
    noise = bytes(number * number % 251 for number in range(300_000))
    assert read(noise + b"\n" + STORM.encode()).warnings == 6


def test_every_mark_holds_a_coarse_one() -> None:
    """A block is searched for the coarse marks only."""
    for signature in SIGNATURES:
        for mark in signature.marks:
            assert any(coarse in mark for coarse in COARSE_MARKS), mark
