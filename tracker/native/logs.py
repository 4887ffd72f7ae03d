"""Reads anyone's log in one pass: warnings, the images behind them, crashes, failures, a verdict.

Memory is bounded whatever the log holds: a block, a few numbers per sequence, the first of each
kind of finding. Nothing is proven by silence: without a line that proves that an image was
processed, no warning means nothing.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from msgspec.structs import replace

from tracker.evidence.log import Crash, Failure, LogDocument, Sample, SequenceWarnings
from tracker.evidence.verdict import Verdict
from tracker.markup import plain
from tracker.native.signatures import COARSE_MARKS, Sighting, sightings
from tracker.native.storm import SequenceReader
from tracker.progress import SILENT, Progress

PHRASE = b"non-consecutive token position"
_WARNING = re.compile(
    re.escape(PHRASE) + rb" (-?\d+) after (-?\d+) for sequence (\d+)(?: with (\d+) new tokens)?"
)
_CUT_AFTER = re.compile(rb" -?\d")
_UNREAD = re.compile(rb"find_slot: (?!non-consecutive token position).{0,200}\bpositions?\b")
_COLOUR = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]|\\x1b\[[0-9;]*m")
_HEAD = re.compile(
    rb"the tokens of sequence (\d+) in the input batch have inconsistent sequence positions"
)
_STORED = re.compile(rb"for sequence \d+ is X = (-?\d+)")
_BATCH = re.compile(rb"starting position of Y = (-?\d+)")
_RULE = re.compile(rb"(for M-RoPE.*X <=? Y|remain consecutive: Y = X \+ 1)")
_BUILD_ONE = re.compile(r"(?:version|build): 1 \(")

_BLOCK = 1 << 20
_LONGEST_LINE = 4 << 20
_LONGEST_MESSAGE = 512
_BLOCK_REACH = 12
_MOST_SEQUENCES = 4096
_MOST_CRASHES = 16
_MOST_FRAMES = 12
_MOST_VERSIONS = 8
_MOST_SAMPLES = 12
_FRAME_REACH = 64
_SAME_CRASH_REACH = 8


@dataclass(slots=True)
class _Positions:
    """The block of lines by which upstream refuses a batch, as far as it was read."""

    sequence: int
    line: int
    stored: int | None = None
    batch: int | None = None

    def told(self, rule: str) -> str:
        x = "?" if self.stored is None else self.stored
        y = "?" if self.batch is None else self.batch
        return f"inconsistent positions of sequence {self.sequence}: X = {x}, Y = {y} ({rule})"


@dataclass(slots=True)
class _Reader:
    lines: int = 0
    warnings: int = 0
    cut: int = 0
    unread: int = 0
    started: int = 0
    processed: int = 0
    crashes_left_out: int = 0
    sequences_left_out: int = 0
    sequences: dict[int, SequenceReader] = field(default_factory=dict)
    crashes: list[Crash] = field(default_factory=list)
    failures: dict[str, tuple[str, int]] = field(default_factory=dict)
    failure_counts: Counter[str] = field(default_factory=Counter)
    versions: dict[str, None] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    _groups: tuple[bytes, ...] = ()
    _numbers: tuple[int, ...] = ()
    _shown: set[tuple[int, str]] = field(default_factory=set)
    _positions: _Positions | None = None

    def block(self, block: bytes, *, last: bool) -> None:
        """Take whole lines; ``last``: the log ends here, maybe in the middle of a line."""
        if b"\x1b[" in block or b"\\x1b[" in block:
            block = _COLOUR.sub(b"", block)
        others = _other_lines(block)
        others.reverse()
        counted, line, whole = 0, self.lines + 1, 0
        for found in _WARNING.finditer(block):
            at = found.start()
            while others and others[-1] < at:
                line += block.count(b"\n", counted, others[-1])
                counted = others[-1]
                self._line(_line_at(block, counted), line)
                others.pop()
            line += block.count(b"\n", counted, at)
            counted = at
            if last and found[4] is None and found.end() == len(block):
                break  # cut: its last number may lack digits
            whole += 1
            self._warning(block, found, line)
        for at in reversed(others):
            line += block.count(b"\n", counted, at)
            counted = at
            self._line(_line_at(block, at), line)
        if block.count(PHRASE) != whole:
            self.cut += _cut_warnings(block, last=last)
        self.lines += block.count(b"\n") + (1 if last and block and block[-1:] != b"\n" else 0)

    def _warning(self, block: bytes, found: re.Match[bytes], line: int) -> None:
        self.warnings += 1
        groups = found.groups()
        if groups != self._groups:  # mostly equal: every ubatch is looked at twice
            self._groups = groups
            self._numbers = tuple(-1 if group is None else int(group) for group in groups)
        position, after, sequence, n = self._numbers
        reader = self.sequences.get(sequence) or self._sequence(sequence)
        if reader is None:
            return
        shape = reader.add(position, after, None if n < 0 else n, line)
        if len(self.samples) < _MOST_SAMPLES and (reader.sequence, shape) not in self._shown:
            self._shown.add((reader.sequence, shape))
            start = block.rfind(b"\n", 0, found.start()) + 1
            self.samples.append(Sample(line=line, text=plain(_text(block[start : found.end()]))))

    def _sequence(self, sequence: int) -> SequenceReader | None:
        """A reader for a sequence that has none yet; None if there are too many."""
        if len(self.sequences) >= _MOST_SEQUENCES:
            self.sequences_left_out += 1
            return None
        return self.sequences.setdefault(sequence, SequenceReader(sequence))

    def _line(self, line: bytes, number: int) -> None:
        if _UNREAD.search(line):
            self.unread += 1
            if len(self.samples) < _MOST_SAMPLES:
                self.samples.append(Sample(line=number, text=plain(_text(line))))
        if self._positions_block(line, number):
            return
        for sighting in sightings(line):
            match sighting.role:
                case "crash":
                    self._crash(sighting, number)
                case "failure":
                    self._failure(sighting.kind, sighting.what, number)
                case "frame":
                    self._frame(sighting.what, number)
                case "started":
                    self.started += 1
                case "processed":
                    self.processed += 1
                case "version":
                    if len(self.versions) < _MOST_VERSIONS:
                        self.versions.setdefault(plain(sighting.what))

    def _positions_block(self, line: bytes, number: int) -> bool:
        """Follow upstream's refusal of a batch over its four lines."""
        head = _HEAD.search(line)
        if head:
            self._positions = _Positions(int(head[1]), number)
            self._failure("inconsistent-positions", self._positions.told("rule not told"), number)
            return True
        refused = self._positions
        if refused is None or number - refused.line > _BLOCK_REACH:
            return False
        stored, batch, rule = _STORED.search(line), _BATCH.search(line), _RULE.search(line)
        if stored:
            refused.stored = int(stored[1])
        if batch:
            refused.batch = int(batch[1])
        if rule:
            self._positions = None
        if stored or batch or rule:
            what = refused.told(plain(_text(rule[1])) if rule else "rule not told")
            first = self.failures["inconsistent-positions"]
            if first[1] == refused.line:
                self.failures["inconsistent-positions"] = (what, refused.line)
        return bool(stored or batch or rule)

    def _failure(self, kind: str, what: str, line: int) -> None:
        self.failures.setdefault(kind, (plain(what), line))
        self.failure_counts[kind] += 1

    def _crash(self, seen: Sighting, line: int) -> None:
        if self.crashes and _one_crash(self.crashes[-1], seen, line):
            self.crashes[-1] = _together(self.crashes[-1], seen)
            return
        if len(self.crashes) >= _MOST_CRASHES:
            self.crashes_left_out += 1
            return
        self.crashes.append(
            Crash(
                kind=seen.kind,
                what=plain(seen.what),
                file=plain(seen.file) if seen.file else None,
                source_line=seen.at,
                frames=(),
                line=line,
            )
        )

    def _frame(self, frame: str, line: int) -> None:
        if not self.crashes:
            return
        last = self.crashes[-1]
        if line - last.line > _FRAME_REACH or len(last.frames) >= _MOST_FRAMES:
            return
        self.crashes[-1] = replace(last, frames=(*last.frames, plain(frame)))


def read_log(
    stream: io.BufferedReader,
    source: str,
    *,
    in_source: bool | None = None,
    progress: Progress = SILENT,
) -> LogDocument:
    """Read ``stream`` to its end. ``source``: what the document calls it.

    ``in_source``: whether the revision that wrote it still prints the warning; None: not known.
    Text in UTF-8, UTF-16 with a mark, or either compressed by gzip.

    Raises:
        OSError, EOFError: the stream cannot be read, or its compression is damaged.
    """
    reader = _Reader()
    size = 0
    rest = b""
    for block in _blocks(stream):
        size += len(block)
        progress.step(size >> 20, None, "MiB read")
        text = rest + block
        end = text.rfind(b"\n") + 1
        if not end and len(text) > _LONGEST_LINE:
            # A line without end: cut it where no warning is cut.
            end = text.rfind(b"find_slot", len(text) - _LONGEST_MESSAGE)
            end = len(text) - _LONGEST_MESSAGE if end < 0 else end
        reader.block(text[:end], last=False)
        rest = text[end:]
    reader.block(rest, last=True)
    return _document(reader, source, size, in_source)


def _blocks(stream: io.BufferedReader) -> Iterator[bytes]:
    """The log as UTF-8, in blocks."""
    head = stream.peek(2)[:2]
    if head == b"\x1f\x8b":
        try:
            with gzip.GzipFile(fileobj=stream) as unpacked:
                yield from _blocks(io.BufferedReader(unpacked))
        except zlib.error as fault:
            raise OSError(f"its compression is damaged: {fault}") from None
        return
    utf16 = head in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace") if utf16 else None
    while block := stream.read1(_BLOCK):
        yield decoder.decode(block).encode() if decoder else block


def _document(reader: _Reader, source: str, size: int, in_source: bool | None) -> LogDocument:
    sequences = tuple(found.result() for _, found in sorted(reader.sequences.items()))
    unexplained = sum(found.unexplained for found in sequences) + reader.sequences_left_out
    storm: Literal["none", "benign", "unexplained"] = "none"
    if reader.warnings:
        storm = "unexplained" if unexplained else "benign"
    verdict, why = _judged(reader, sequences, unexplained, in_source)
    failures = [
        Failure(kind=kind, what=what, count=reader.failure_counts[kind], line=line)
        for kind, (what, line) in reader.failures.items()
    ]
    return LogDocument(
        verdict=verdict,
        why=why,
        source=source,
        size=size,
        lines=reader.lines,
        warnings=reader.warnings,
        storm=storm,
        cut=reader.cut,
        unread=reader.unread,
        sequences=sequences,
        crashes=tuple(reader.crashes),
        crashes_left_out=reader.crashes_left_out,
        failures=tuple(failures),
        images_started=reader.started,
        images_processed=reader.processed,
        versions=tuple(reader.versions),
        in_source=in_source,
        samples=tuple(reader.samples),
        notes=tuple(_notes(reader, in_source)),
    )


def _judged(
    reader: _Reader,
    sequences: tuple[SequenceWarnings, ...],
    unexplained: int,
    in_source: bool | None,
) -> tuple[Verdict, str]:
    """The verdict and its one reason; what ends a process outranks what it printed before."""
    after = f", after {reader.warnings} warnings" if reader.warnings else ""
    if reader.crashes:
        crash = reader.crashes[0]
        where = f" at {crash.file}:{crash.source_line}" if crash.file else ""
        return Verdict.FAIL, f"crash ({crash.kind}): {crash.what}{where}{after}"
    worse = [kind for kind in reader.failures if kind != "memory-slot"]
    if worse:
        return Verdict.FAIL, f"failure ({worse[0]}): {reader.failures[worse[0]][0]}{after}"
    if unexplained:
        back = sum(found.back for found in sequences)
        backwards = f", {back} of them go back" if back else ""
        return (
            Verdict.UNKNOWN,
            f"{unexplained} of {reader.warnings} warnings belong to no image prefill in this log"
            f"{backwards}: real breaks, or their beginning is missing",
        )
    if reader.warnings:
        images = sum(image.count for found in sequences for image in found.images)
        return (
            Verdict.ATTENTION,
            f"{reader.warnings} warnings, explained by {images} image prefills: the benign storm",
        )
    return _silent(reader, in_source)


def _silent(reader: _Reader, in_source: bool | None) -> tuple[Verdict, str]:
    """What a log without a whole warning proves."""
    if reader.cut:
        return Verdict.ATTENTION, "a warning that was cut, and no whole one"
    if reader.failures:
        return Verdict.ATTENTION, f"no warning, but: {reader.failures['memory-slot'][0]}"
    if reader.unread:
        why = "find_slot tells of positions in words that this version cannot read"
    elif in_source is False:
        why = "that revision's source has no such warning: silence proves nothing"
    elif not reader.processed:
        why = "no warning, but no proof that an image was processed either"
    else:
        return Verdict.OK, f"no warning, and {reader.processed} images were processed"
    return Verdict.UNKNOWN, why


def _notes(reader: _Reader, in_source: bool | None) -> Iterator[str]:
    if reader.cut:
        yield f"{reader.cut} warnings are cut in the middle and in no other count"
    if reader.unread:
        yield f"{reader.unread} lines of find_slot about positions in unknown words: see samples"
    if reader.sequences_left_out:
        yield f"{reader.sequences_left_out} warnings of further sequences are only counted"
    if in_source is False and reader.warnings:
        yield "that revision's source has no such warning: the log is from another one"
    if any(_BUILD_ONE.match(version) for version in reader.versions):
        yield "build number 1 comes from a clone of depth 1: only the commit id tells the revision"
    if reader.started > reader.processed:
        yield f"{reader.started} images were begun, {reader.processed} finished"


def _other_lines(block: bytes) -> list[int]:
    """Where the lines begin that may say something besides the warning, in order."""
    places = set()
    for mark in COARSE_MARKS:
        at = block.find(mark)
        while at >= 0:
            places.add(block.rfind(b"\n", 0, at) + 1)
            at = block.find(b"\n", at)
            at = block.find(mark, at) if at >= 0 else -1
    if block.count(b"find_slot: ") != block.count(b"find_slot: " + PHRASE):
        places |= {block.rfind(b"\n", 0, found.start()) + 1 for found in _UNREAD.finditer(block)}
    return sorted(places)


def _line_at(block: bytes, start: int) -> bytes:
    end = block.find(b"\n", start)
    return block[start:] if end < 0 else block[start:end]


def _cut_warnings(block: bytes, *, last: bool) -> int:
    """How many warnings end before their numbers do.

    Other places that hold the words quote them: prose, a filter, upstream's own format string.
    """
    cut = 0
    at = block.find(PHRASE)
    while at >= 0:
        found = _WARNING.match(block, at)
        rest = at + len(PHRASE)
        if found is not None:
            cut += bool(last and found[4] is None and found.end() == len(block))
        elif _CUT_AFTER.match(block, rest):
            cut += 1
        elif block[rest : rest + 1] in (b"", b"\n", b"\r"):
            cut += block[:at].endswith(b"find_slot: ")
        at = block.find(PHRASE, rest)
    return cut


def _one_crash(last: Crash, seen: Sighting, line: int) -> bool:
    """Upstream prints a backend's error twice, and the shell or the parent adds the signal."""
    near = line - last.line <= _SAME_CRASH_REACH + len(last.frames)
    return near and (seen.kind == last.kind == "cuda" or (seen.kind == "signal" != last.kind))


def _together(last: Crash, seen: Sighting) -> Crash:
    """``last`` with what its second line adds; a signal is its consequence, not its cause."""
    if seen.kind == "signal":
        return replace(last, what=plain(f"{last.what}; {seen.what}"))
    longer = max(last.what, plain(seen.what), key=len)
    return replace(
        last, what=longer, file=last.file or seen.file, source_line=last.source_line or seen.at
    )


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")
