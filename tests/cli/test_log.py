"""``lloyal-track log``: from a file or stdin, for people or as JSON."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tracker.evidence.log import LogDocument

STORM = "".join(
    f"find_slot: non-consecutive token position {position} after {after} "
    f"for sequence 0 with {n} new tokens\n" * 2
    for position, after, n in ((9, 8, 512), (9, 9, 512), (48, 9, 8))
)


def log(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "tracker", "log", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
    )


def test_the_reports_log_is_explained(tmp_path: Path) -> None:
    """Needs no configuration; the grid and where text resumes stand in the text."""
    file = tmp_path / "server.log"
    file.write_text(STORM)
    done = log(str(file))
    text = done.stdout.decode()
    assert done.returncode == 1
    assert "the benign storm" in text
    assert "1 x 1024 rows" in text
    assert "text resumes at 41, so max(nx, ny) = 32, grid 32x32" in text


def test_stdin_as_json() -> None:
    """One document of its schema, whatever the log holds."""
    done = log("-", "--json", stdin=STORM.encode())
    document = msgspec.json.decode(done.stdout, type=LogDocument)
    assert (document.source, document.warnings) == ("-", 6)
    assert json.loads(done.stdout)["schema"] == "lloyal-track/log/1"


def test_an_empty_log_is_not_a_pass() -> None:
    """Exit 0 with nothing captured would read as fixed."""
    done = log("-")
    assert done.returncode == 1
    assert b"no proof that an image was processed" in done.stdout


@pytest.mark.parametrize(("name", "code"), [("missing.log", 2), (".", 2)])
def test_a_log_that_is_none(tmp_path: Path, name: str, code: int) -> None:
    """A wrong name is the reader's mistake: no traceback."""
    done = log(str(tmp_path / name))
    assert done.returncode == code
    assert b"no such log" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_truncated_gzip_says_so(tmp_path: Path) -> None:
    """A half copied log is not read as a whole one."""
    file = tmp_path / "server.log.gz"
    file.write_bytes(gzip.compress(STORM.encode() * 500)[:-20])
    done = log(str(file))
    assert done.returncode == 2
    assert b"ends too early" in done.stderr


def test_a_broken_gzip_says_so(tmp_path: Path) -> None:
    """Bits that are no gzip behind its mark."""
    file = tmp_path / "server.log.gz"
    whole = bytearray(gzip.compress(STORM.encode()))
    for content in (b"\x1f\x8b" + b"nonsense" * 20, bytes(whole[:12] + b"\xff" * 40 + whole[52:])):
        file.write_bytes(content)
        done = log(str(file))
        assert done.returncode == 4
        assert b"cannot read the log" in done.stderr
        assert b"Traceback" not in done.stderr
