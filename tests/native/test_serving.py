"""The session through a server: a stand-in that speaks the same HTTP and breaks on demand."""
# ruff: noqa: E501  (a program in a string)

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from tracker.evidence.soak import Hypothesis, SoakRun
from tracker.evidence.verdict import Verdict
from tracker.native.core import BuiltCore, Compiler
from tracker.native.soak import Plan, soak

_STAND_IN = '''\
#!{python}
"""Answers /health and /v1/chat/completions. MODE: what goes wrong, and at which turn."""
import json, os, signal, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

MODE, AT = {mode!r}, {at}
port = int(sys.argv[sys.argv.index("--port") + 1])
n_ubatch = int(sys.argv[sys.argv.index("--ubatch-size") + 1])
turns = 0
assert "GITHUB_TOKEN" not in os.environ

class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer(200, {{"status": "ok"}})

    def do_POST(self):
        global turns
        turns += 1
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = asked["messages"][-1]["content"]
        with_image = any(part["type"] == "image_url" for part in content)
        if with_image:
            base = turns * 100
            for position, after, n in ((base, base - 1, 25), (base + 12, base, 8)):
                line = f"W find_slot: non-consecutive token position {{position}} after {{after}}"
                for _ in range(2):
                    print(f"{{line}} for sequence 0 with {{n}} new tokens", file=sys.stderr, flush=True)
            print("I srv  process_chun: image processed in 5 ms", file=sys.stderr, flush=True)
        if turns == AT and MODE == "crash":
            print("/x/ops.cpp:4745: GGML_ASSERT(i01 < ne01) failed", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGABRT)
        if turns >= AT and MODE == "sticky":
            print("g: backend is in error state from a previous command buffer failure", file=sys.stderr)
            print("llama_decode: failed to decode, ret = -3", file=sys.stderr, flush=True)
            return self.answer(500, {{"error": "Compute error."}})
        if MODE == "nonsense":
            return self.answer(200, {{"choices": []}})
        history = sum(len(json.dumps(m)) for m in asked["messages"])
        self.answer(200, {{"choices": [{{"message": {{"content": "x"}}}}],
                           "usage": {{"total_tokens": min(history, 4000)}}}})

    def answer(self, status, body):
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

if MODE == "dead":
    print("error: unknown argument: --no-warmup", file=sys.stderr)
    sys.exit(1)
HTTPServer(("127.0.0.1", port), Handler).serve_forever()
'''


def session(folder: Path, mode: str = "well", at: int = 0, turns: int = 16) -> SoakRun:
    program = folder / "llama-server"
    program.write_text(_STAND_IN.format(python=sys.executable, mode=mode, at=at))
    program.chmod(0o755)
    core = BuiltCore(
        variant="baseline",
        tree="t",
        key="k",
        source_dir=folder,
        build_dir=folder,
        libraries=(),
        programs=(program,),
        include_dirs=(),
        digest="d",
        compiler=Compiler(folder, folder, "none", "none"),
        cxx_flags=(),
        defines=(),
    )
    plan = Plan(model=folder / "m", projector=folder / "p", turns=turns, way="server", image_px=32)
    (run,) = soak({"baseline": core}, plan, revision="r", work=folder / "w").runs
    assert [c.name() for c in psutil.Process().children(recursive=True)] == []
    return run


def test_turns_alternate_and_the_log_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every second turn sends a picture; the server's warnings are in the evidence; no token is."""
    monkeypatch.setenv("GITHUB_TOKEN", "s3cret")
    run = session(tmp_path)
    assert (run.turns, run.images, run.code) == (16, 8, None)
    assert (run.warnings, run.storm) == (4 * 8, "benign")
    assert run.crash is None
    # The first may show a process that has not even loaded its program yet.
    assert run.samples[-1].rss > 1


def test_a_server_that_dies_is_a_crash(tmp_path: Path) -> None:
    """The assert, the signal, and the warnings before it."""
    run = session(tmp_path, "crash", at=6)
    assert (run.turns, run.code, run.signal) == (5, -6, "SIGABRT")
    assert run.crash is not None
    assert (run.crash.kind, run.crash.what) == ("assert", "i01 < ne01")
    assert run.hypothesis in (Hypothesis.CRASHES_IDLE, Hypothesis.PRESSURE)
    assert "position 612 after 600" in run.last_warnings[-1]


def test_the_sticky_error_state_ends_the_session(tmp_path: Path) -> None:
    """Every later decode fails with -3: three are enough, and the reason is told."""
    run = session(tmp_path, "sticky", at=4)
    assert (run.turns, run.verdict) == (3, Verdict.FAIL)
    assert run.hypothesis is Hypothesis.STICKY
    assert {failure.kind for failure in run.failures} == {"backend-error-state", "decode"}


def test_nonsense_is_a_failed_turn(tmp_path: Path) -> None:
    """HTTP 200 without an answer in it is no success."""
    run = session(tmp_path, "nonsense")
    assert (run.turns, run.hypothesis, run.verdict) == (0, Hypothesis.FAILS, Verdict.FAIL)
    assert "an answer without its parts" in run.why


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    """An option that this revision does not know, for instance."""
    run = session(tmp_path, "dead")
    assert run.turns == 0
    assert run.verdict is not Verdict.OK
    assert "did not come up" in run.why or "unknown argument" in run.why
