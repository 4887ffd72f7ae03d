"""One upstream revision as the watch sees it: files by path, searched by word.

The only file of this room that asks the repository for content. Reads; never writes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tracker.git.repository import Repository
from tracker.source import is_cpp


@dataclass(slots=True)
class Snapshot:
    """``treeish``: a commit or tree id. Files are read once and kept for the snapshot's life.

    ``other``: the revision it is compared with; narrows a search where reading is expensive.
    """

    repository: Repository
    treeish: str
    other: str | None = None
    _files: dict[str, bytes | None] = field(default_factory=dict)

    def read(self, path: str) -> bytes | None:
        """The file's content, None if there is no such file."""
        if path not in self._files:
            self._files[path] = self.repository.read_path(self.treeish, path)
        return self._files[path]

    def files_with(self, word: str) -> list[str]:
        """The C++ files that hold ``word`` as a word, in git's order.

        In a blob-filtered clone only files that differ from ``other`` are read: moved code is in
        one of those, and reading the others would fetch them all.
        """
        if self.other is not None and self.repository.is_partial:
            whole = re.compile(rb"\b%b\b" % re.escape(word.encode()))
            return [path for path in self._differing() if whole.search(self.read(path) or b"")]
        found = self.repository.git(
            ["grep", "-l", "-z", "-w", "-F", "--full-name", "-e", word, self.treeish], check=False
        )
        names = found.stdout.decode("utf-8", "surrogateescape").split("\0")
        prefix = f"{self.treeish}:"
        return [path for name in names if name and is_cpp(path := name.removeprefix(prefix))]

    def _differing(self) -> list[str]:
        listed = self.repository.git(
            ["diff-tree", "-r", "-z", "--name-only", "--no-renames", str(self.other), self.treeish]
        )
        names = listed.stdout.decode("utf-8", "surrogateescape").split("\0")
        return [name for name in names if is_cpp(name)]
