"""In which form a pin names a revision, and how it names another one in the same form. Pure.

A consumer relies on the form: a shallow fetch cannot resolve an abbreviation, a script compares
tags. So a tag stays a tag, a full id stays a full id, and what has no such form is refused.
"""

from __future__ import annotations

import re
from enum import StrEnum

from tracker.errors import ConfigError
from tracker.evidence.revision import Revision, Source


class Form(StrEnum):
    """How a value names a revision."""

    FULL_ID = "full id"
    SHORT_ID = "abbreviated id"
    NIGHTLY = "nightly tag"
    RELEASE = "release tag"
    OTHER = "other"


_FORMS = (
    (Form.FULL_ID, re.compile(r"[0-9a-f]{40}")),
    (Form.NIGHTLY, re.compile(r"b[0-9]{1,6}")),
    (Form.RELEASE, re.compile(r"v[0-9]+(\.[0-9]+)+")),
    (Form.SHORT_ID, re.compile(r"[0-9a-f]{7,39}")),
)


def form_of(value: str) -> Form:
    """A value of digits and a ``b`` is a tag: ``b9581`` would be too short for an id."""
    return next((form for form, shape in _FORMS if shape.fullmatch(value)), Form.OTHER)


def in_same_form(value: str, to: Revision, where: str) -> str:
    """``to``, named the way ``value`` names the old revision.

    Raises:
        ConfigError: ``to`` has no such tag, ``value`` is abbreviated, or ``to`` is a mirror's own.
    """
    if to.source is Source.ARCHIVE:
        raise ConfigError(
            "a revision of a mirror made from archives must not enter a downstream pin",
            where=where,
            next_step='use a clone of upstream (`upstream.source = "git"`) to move this pin',
        )
    form = form_of(value)
    match form:
        case Form.FULL_ID:
            return to.commit
        case Form.NIGHTLY if to.nightly:
            return to.nightly
        case Form.RELEASE if to.release:
            return to.release
        case Form.NIGHTLY | Form.RELEASE:
            raise ConfigError(
                f"the pin names a {form} ({value}), but {to.commit[:12]} has none",
                where=where,
                next_step="move to a revision that has one (`--to nightly`, `--to stable`), or "
                "write the full commit id into the pin first",
            )
        case Form.SHORT_ID:
            raise ConfigError(
                f"the pin is abbreviated ({value}); that can become ambiguous",
                where=where,
                next_step="write the full commit id (40 hex digits) or a tag into it once",
            )
        case Form.OTHER:
            raise ConfigError(
                f"the pin says {value!r}, which is neither a commit id nor a known kind of tag",
                where=where,
                next_step="correct the pin, or its entry under [[pins]]",
            )
