"""``owner/repo#number``: how a thread is named everywhere in this project."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Some logins have a "_": those that a company manages.
_REPOSITORY = r"[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9._-]+"
_KEY = re.compile(rf"({_REPOSITORY})#([1-9][0-9]*)")
_API = re.compile(rf"/repos/({_REPOSITORY})(?:/(?:issues|pulls)/[1-9][0-9]*)?\Z")


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
        raise ValueError(f"{text[:80]!r} is no owner/repo#number")
    return Key(found.group(1), int(found.group(2)))


def of_api_url(url: str) -> str:
    """``owner/repo`` of an API URL of a repository, issue or pull request.

    Raises:
        ValueError: it is none.
    """
    found = _API.search(url)
    if found is None:
        raise ValueError("not the address of a repository or of a thread")
    return found.group(1)
