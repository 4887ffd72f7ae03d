"""What counts as found upstream, and what only looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.series.rebases import judge_one
from tests.support.patches import diff
from tracker.evidence.rebase import Outcome

_FUNCTION = "int f(int n) {\n    int t = 0;\n    // the first\n    t += n;\n    return t;\n}\n"
_SCRIPT = "def f(a):\n    x = 1\n    if a:\n        g(x)\n    return x\n"
_BUILD = "project(x)\nfetch(NAME dep VERSION 1 URL https://a.org/1.tgz)\nset(B 2)\n"


def _outcome(tmp_path: Path, name: str, pin: str, mine: str, theirs: str) -> Outcome:
    patch = diff({name: pin}, {name: mine})
    return judge_one(tmp_path, {name: pin}, {name: theirs}, patch).outcome


def _with(line: str) -> str:
    return _FUNCTION.replace("    t += n;\n", f"    t += n;\n    {line}\n")


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("// the first row of the image, counted from 0", "// the second one, as anybody knows"),
        ("// the first\n    // and a word of ours on that", "// the first\n    // something else"),
        ("", "// the third\n    // one"),
    ],
)
def test_another_comment_is_not_our_comment(tmp_path: Path, mine: str, theirs: str) -> None:
    """Both changed the same comment; the compiler sees neither, and still one would be lost."""
    one, other = (_FUNCTION.replace("// the first", text) for text in (mine, theirs))
    assert _outcome(tmp_path, "a.cpp", _FUNCTION, one, other) is Outcome.CONFLICT


def test_a_comment_that_upstream_wrote_too_is_upstreamed(tmp_path: Path) -> None:
    """Word for word, beside another change of the same place."""
    told = "// the first row of the image, counted from 0 as in the file"
    mine = _FUNCTION.replace("// the first", told)
    theirs = mine.replace("int t = 0", "int t = 10").replace("t += n;", "t += 2 * n;")
    assert _outcome(tmp_path, "a.cpp", _FUNCTION, mine, theirs) is Outcome.UPSTREAMED


@pytest.mark.parametrize(
    ("name", "pin", "mine", "theirs"),
    [
        (
            "f.py",
            _SCRIPT,
            _SCRIPT.replace("g(x)\n", "g(x)\n        call(x, a, 1, 2)\n"),
            _SCRIPT.replace("g(x)\n", "g(x)\n    call(x, a, 1, 2)\n"),
        ),
        (
            "CMakeLists.txt",
            _BUILD,
            _BUILD.replace("1 URL https://a.org/1.tgz", "2 URL https://ours.org/2.tgz"),
            _BUILD.replace("1 URL https://a.org/1.tgz", "2 URL https://theirs.org/3.tgz"),
        ),
        (
            "run.yml",
            "a:\n  b: 1\nc: 2\n",
            "a:\n  b: 1\n  key: [alpha, beta, gamma, delta]\nc: 2\n",
            "a:\n  b: 1\nkey: [alpha, beta, gamma, delta]\nc: 2\n",
        ),
    ],
)
def test_other_languages_are_not_read_as_cpp(
    tmp_path: Path, name: str, pin: str, mine: str, theirs: str
) -> None:
    """Indentation has a meaning there, and ``//`` begins no comment."""
    assert _outcome(tmp_path, name, pin, mine, theirs) is Outcome.CONFLICT


def test_the_same_lines_of_another_language_are_upstreamed(tmp_path: Path) -> None:
    """Upstream wrote more beside them."""
    line = "        call(x, a, 1, 2)\n"
    mine = _SCRIPT.replace("g(x)\n", f"g(x)\n{line}")
    theirs = _SCRIPT.replace("g(x)\n", f"g(x)\n{line}        more(x)\n").replace("x = 1", "x = 2")
    assert _outcome(tmp_path, "f.py", _SCRIPT, mine, theirs) is Outcome.UPSTREAMED


@pytest.mark.parametrize(
    ("mine", "theirs", "outcome"),
    [
        ("const int lim = most(n); if (n > lim) { return -1; }", ("lim", "top"), "upstreamed"),
        ("for (auto & it : all(n)) { use(it, n, 1); }", ("it", "cell"), "upstreamed"),
        ("const int lim = most(n); if (n > lim) { return -1; }", ("most", "least"), "conflict"),
        ("const int lim = s.a + n; if (n > lim) { return s.a; }", ("s.a", "s.b"), "conflict"),
        ("log_warn(n, t, 1); give_up(n, t);", ("log_warn", "log_info"), "conflict"),
        ("n = t * LOW; give_up(n, t * LOW, 1);", ("LOW", "HIGH"), "conflict"),
    ],
)
def test_only_a_local_may_have_another_name(
    tmp_path: Path, mine: str, theirs: tuple[str, str], outcome: str
) -> None:
    """A call of another function, or the use of another member, is another change."""
    one, other = _with(mine), _with(mine.replace(*theirs))
    assert _outcome(tmp_path, "a.cpp", _FUNCTION, one, other).value == outcome
