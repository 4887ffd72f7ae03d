"""A content that resembles one that was cut is cut the same as if it resembled none."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker.source import cutting
from tracker.source.cutting import cut, like, whole

CASES = b"switch (a) { case 1: { x; } break; case 2: { if (y) { z; } } break; }\n"
PARTS = [
    b"void f() { a; }\n",
    b"void g() {\n    for (;;) { b; }\n    " + CASES + b"}\n",
    b"struct s { int x; } one, two;\n",
    b"namespace n { void f() { c; } void g() { } }\n",
    b"#define q(x) { x \\\n } \n",
    b"#if A\n",
    b"#else\n",
    b"#endif\n",
    b"#if A\nvoid h() {\n#else\nvoid h(int) {\n#endif\n    d;\n}\n",
    b"// it's } \\\n {\n",
    b"/* { */",
    b'const char * t = R"x(} " )x";\n',
    b"int n = 1'000; char c = '{', d = '\"';\n",
    CASES,
]
EDITS = [
    b"",
    b"{",
    b"}",
    b'"',
    b"'",
    b"R",
    b'R"(',
    b"\n",
    b"\\\n",
    b";",
    b" x",
    b"/*",
    b"[1],",
    b"#",
]


@pytest.mark.parametrize("alike", [cutting._ALIKE, 4])
@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=12), st.integers(min_value=0))
def test_a_like_content_is_cut_as_any(alike: int, parts: list[bytes], seed: int) -> None:
    """After a few edits anywhere, also ones that open a literal, a comment or a branch."""
    known = b"".join(parts)
    model = whole(known)
    if model is None:
        return
    random_ = random.Random(seed)  # noqa: S311
    source = known
    for _ in range(random_.randrange(1, 4)):
        at = random_.randrange(len(source) + 1)
        put = random_.choice(EDITS) if random_.random() < 0.6 else random_.choice(PARTS)
        source = source[:at] + put + source[at + random_.choice((0, 0, 1, 40)) :]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "_ALIKE", alike)  # so that small contents have false resemblances
        assert like(model, source) == whole(source)


def test_pieces_of_like_contents_are_shared() -> None:
    """Only the piece that differs is a new one."""
    source = b"".join(b"void f%d() { %d; }\n" % (number, number) for number in range(9))
    one = whole(source)
    assert one is not None
    other = like(one, source.replace(b"{ 4; }", b"{ 4; 5; }"))
    assert other is not None
    assert [old is new for old, new in zip(one.pieces, other.pieces, strict=True)].count(False) == 1


@pytest.mark.parametrize(
    "source",
    [b"void f() {", b"}", b"#endif\n", b"#if A\n", b'a "\n', b"it's\n", b'xR"(a)"', b'R"('],
)
def test_what_does_not_add_up_is_not_cut(source: bytes) -> None:
    """Braces, branches or quotes without their partners."""
    assert cut(source) is None
