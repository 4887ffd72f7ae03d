"""A pin keeps its form: tag stays tag, full id stays full id, nothing is abbreviated."""

from __future__ import annotations

import pytest

from tracker.errors import ConfigError
from tracker.evidence.revision import Revision, Source
from tracker.pins.forms import Form, form_of, in_same_form

ID = "0123456789abcdef0123456789abcdef01234567"
TO = Revision(
    commit=ID,
    source=Source.GIT,
    upstream_commit=ID,
    date="2026-10-01T00:00:00Z",
    name="b10525",
    nightly="b10525",
    release=None,
)


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("b9581", Form.NIGHTLY),
        ("b10525", Form.NIGHTLY),
        ("v0.1.2", Form.RELEASE),
        (ID, Form.FULL_ID),
        ("d6d0ce821", Form.SHORT_ID),
        ("master", Form.OTHER),
        ("", Form.OTHER),
    ],
)
def test_the_form_is_told_from_the_value(value: str, form: Form) -> None:
    """b9581 is a tag although its characters could stand in an id."""
    assert form_of(value) is form


def test_a_tag_stays_a_tag_and_an_id_an_id() -> None:
    """The consumer may rely on the form (B05)."""
    assert in_same_form("b9581", TO, "f") == "b10525"
    assert in_same_form("f" * 40, TO, "f") == ID


@pytest.mark.parametrize("value", ["v0.1.2", "d6d0ce821", "master"])
def test_what_has_no_such_form_is_refused(value: str) -> None:
    """No release tag at the target, an abbreviation, a branch: an error with the next step."""
    with pytest.raises(ConfigError) as caught:
        in_same_form(value, TO, "f")
    assert caught.value.next_step


def test_a_mirrors_own_id_never_enters_a_downstream_pin() -> None:
    """It means nothing to anybody else."""
    mirror = Revision(
        commit=ID, source=Source.ARCHIVE, upstream_commit="0c1e57098", date="", name="0.3.36"
    )
    with pytest.raises(ConfigError, match="downstream"):
        in_same_form("f" * 40, mirror, "f")
