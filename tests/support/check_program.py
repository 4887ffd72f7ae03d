"""A stand-in for the check program, that ends its runs in every way that a real core may."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

from tracker.native.core import BuiltCore, Compiler, Library
from tracker.native.plan import Run, Subject
from tracker.native.probe import Program

# Each scenario is one way to end; all others give a good result. What a run prints before its
# result, and that it is flushed, is as in the real program.
_SCRIPT = """\
#!{python}
import json, os, resource, signal, sys, time
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
def say(text):
    print(text, flush=True)
def result(number, scenario, **changes):
    logits = dict(digest="d", count=0, file="")
    return dict(dict(job=number, scenario=scenario, error="", codes=[0], warnings=[], others=[],
        facts=[], with_image=False, image_rows=0, memory_class="m", snapshots=0, logits=logits,
        library=str(given), vision_library="", seconds=0.0), **changes)
jobs = [line.split()[0] for line in open(given["--jobs"])]
with open(os.path.join(os.path.dirname(sys.argv[0]), "pids"), "a") as pids:
    pids.write(str(os.getpid()) + "\\n")
if "dead-on-arrival" in jobs:
    say(json.dumps(dict(fatal="cannot load the model")))
    sys.exit(9)
if "hangs-on-arrival" in jobs:
    time.sleep(600)
for number in range(int(given["--skip"]), len(jobs)):
    scenario = jobs[number]
    print(f"\\nprobe: run {number}", file=sys.stderr, flush=True)
    say(json.dumps(dict(begin=number)))
    if scenario == "signal":
        print("GGML_ASSERT(cell.pos >= 0) failed", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    elif scenario == "status":
        sys.exit(3)
    elif scenario == "leaves":
        sys.exit(0)
    elif scenario == "hang":
        time.sleep(600)
    elif scenario == "flood":
        while True:
            say("llama_context: a line of the core")
    elif scenario == "deaf":
        os.close(1)
        time.sleep(600)
    elif scenario == "malformed":
        say(json.dumps(result(number, scenario))[:-9])
        continue
    elif scenario == "without-facts":
        said = result(number, scenario)
        del said["facts"]
        say(json.dumps(said))
        continue
    elif scenario == "other-number":
        say(json.dumps(result(number + 1, scenario)))
        continue
    elif scenario == "undefined":
        print("a.cpp:7:9: runtime error: shift exponent 40", file=sys.stderr, flush=True)
    elif scenario == "address":
        print("==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\\n"
              "SUMMARY: AddressSanitizer: heap-use-after-free b.cpp:3 in seq_rm\\n"
              + "shadow bytes\\n" * 9 + "==1==ABORTING", file=sys.stderr, flush=True)
        os.abort()
    elif scenario == "chatty":
        say("a line of the core, and half a {")
        say("[1, 2]")
    say(json.dumps(result(number, scenario)))
say(json.dumps(dict(end=True)))
"""


def program(folder: Path) -> Program:
    """The stand-in, below ``folder``, which must be there."""
    path = folder / "probe"
    path.write_text(_SCRIPT.replace("{python}", sys.executable))
    path.chmod(0o755)
    return Program(path, core(folder), has_mtmd=False)


def pids(folder: Path) -> list[int]:
    """The processes that the stand-in ran as, in order."""
    return [int(line) for line in (folder / "pids").read_text().split()]


def subject(folder: Path, *scenarios: str) -> Subject:
    """A model of no content with one run for each scenario."""
    model = folder / "model.gguf"
    model.touch()
    return Subject("qwen35", model, tuple(Run(name, name, "rows") for name in scenarios))


def core(folder: Path, content: bytes = b"the core", **changes: Any) -> BuiltCore:
    """A core of one library, whose file lies in ``folder``."""
    path = folder / "libllama.so"
    path.write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    fields: dict[str, Any] = {
        "variant": "baseline",
        "tree": "5eed" * 10,
        "key": "k",
        "source_dir": folder,
        "build_dir": folder,
        "libraries": (Library("llama", path, sha256),),
        "programs": (),
        "include_dirs": (),
        "digest": sha256,
        "compiler": Compiler(Path("cc"), Path("c++"), "none", "none"),
        "cxx_flags": (),
        "defines": (),
    }
    return BuiltCore(**(fields | changes))
