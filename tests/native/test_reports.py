"""What the sanitizers say, read from a child's stderr."""

from __future__ import annotations

from tracker.native.reports import place_of, reports_by_run, reports_in, words_of

UNDEFINED = "src/llama-batch.cpp:41:17: runtime error: signed integer overflow: 1 + 2147483647"
ADDRESS = """\
==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000014 at pc 0x55
READ of size 4 at 0x602000000014 thread T0
    #0 0x55 in seq_rm src/llama-memory-recurrent.cpp:170
SUMMARY: AddressSanitizer: heap-buffer-overflow src/llama-memory-recurrent.cpp:170 in seq_rm
Shadow bytes around the buggy address:
==7==ABORTING
"""


def test_each_report_is_read_once() -> None:
    """Stack lines and shadow bytes are none; a report that comes again is the same one."""
    text = f"{UNDEFINED}\n    #0 0x1 in f a.cpp:1\n{UNDEFINED}\n{ADDRESS}"
    assert reports_in(text) == (
        UNDEFINED,
        "AddressSanitizer: heap-buffer-overflow src/llama-memory-recurrent.cpp:170 in seq_rm",
    )
    assert reports_in("llama_context: runtime error\n") == ()


def test_a_report_belongs_to_the_run_that_began_before_it() -> None:
    """What comes before the first run, while the model loads, is nobody's."""
    text = f"{UNDEFINED}\nprobe: run 4\nprobe: run 5\n{ADDRESS}"
    assert reports_by_run(text) == {5: reports_in(ADDRESS)}


def test_a_patch_that_only_moves_lines_makes_no_new_report() -> None:
    """Line, column and address may change; the file and the fault may not."""
    moved = UNDEFINED.replace(":41:17:", ":52:9:")
    assert place_of(moved) == place_of(UNDEFINED)
    assert place_of(UNDEFINED.replace("batch", "graph")) != place_of(UNDEFINED)
    assert place_of(UNDEFINED.replace("overflow", "shift")) != place_of(UNDEFINED)
    at = "a.cpp:1:2: runtime error: load of misaligned address {} for type 'int'"
    assert place_of(at.format("0x7f01")) == place_of(at.format("0x55aa"))


def test_last_words_are_the_report_else_the_end() -> None:
    """A summary stands far above the last line; the marks of runs are no words."""
    assert words_of(ADDRESS) == [*reports_in(ADDRESS)]
    assert words_of("a\n\nb\nprobe: run 3\nc\nd\n") == ["b", "c", "d"]
