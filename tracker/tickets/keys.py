"""``owner/repo#number``: how a thread is named everywhere in this project."""

from __future__ import annotations

import re
from dataclasses import dataclass

_KEY = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)#([1-9][0-9]*)")
_API = re.compile(r"/repos/([^/]+/[^/]+)(?:/(?:issues|pulls)/([1-9][0-9]*))?$")


@dataclass(frozen=True, slots=True)
class Key:
    """``repository``: ``owner/repo``; GitHub takes its letters in either case."""

    repository: str
    number: int

    def __str__(self) -> str:
        return f"{self.repository}#{self.number}"

    def same(self, other: Key) -> bool:
        """Both name one thread."""
        return self.number == other.number and self.same_repository(other.repository)

    def same_repository(self, other: str) -> bool:
        return self.repository.casefold() == other.casefold()


def parse(text: str) -> Key:
    """The key in ``text``.

    Raises:
        ValueError: it is none.
    """
    found = _KEY.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return Key(found.group(1), int(found.group(2)))


def of_api_url(url: str) -> str:
    """``owner/repo`` of an API URL of a repository, issue or pull request.

    Raises:
        ValueError: it is none.
    """
    found = _API.search(url)
    if found is None:
        raise ValueError(url)
    return found.group(1)
