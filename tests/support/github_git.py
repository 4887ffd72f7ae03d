"""The git data half of the fake: objects by content, refs, ancestry."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class GitObjects:
    """Trees are flat here: path -> (mode, blob). Ids are digests of the content."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    trees: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    commits: dict[str, dict[str, Any]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)

    def blob(self, content: bytes) -> str:
        head = b"blob %d\0" % len(content)
        oid = hashlib.sha1(head + content, usedforsecurity=False).hexdigest()
        self.blobs[oid] = content
        return oid

    def tree(self, entries: dict[str, tuple[str, str]]) -> str:
        oid = _digest(sorted(entries.items()))
        self.trees[oid] = entries
        return oid

    def commit(
        self, tree: str, parents: list[str], message: str, author: str, committer: str = ""
    ) -> str:
        oid = _digest([tree, parents, message, author, len(self.commits)])
        self.commits[oid] = {
            "sha": oid,
            "tree": tree,
            "parents": parents,
            "message": message,
            "author": author,
            "committer": committer or author,
        }
        return oid

    def push(self, ref: str, files: dict[str, str], message: str, author: str) -> str:
        """A commit on ``ref`` that adds or changes ``files``, as a person's push makes it."""
        parent = self.refs.get(ref)
        entries = dict(self.trees[self.commits[parent]["tree"]]) if parent else {}
        entries |= {path: ("100644", self.blob(text.encode())) for path, text in files.items()}
        self.refs[ref] = self.commit(
            self.tree(entries), [parent] if parent else [], message, author
        )
        return self.refs[ref]

    def ancestors(self, commit: str) -> list[str]:
        """``commit`` and all before it, newest first."""
        seen: list[str] = []
        waiting = [commit]
        while waiting:
            oid = waiting.pop()
            if oid not in seen:
                seen.append(oid)
                waiting += self.commits[oid]["parents"]
        return seen

    def between(self, base: str, head: str) -> list[str]:
        """Commits of ``head`` that ``base`` lacks, oldest first."""
        known = set(self.ancestors(base))
        return [oid for oid in reversed(self.ancestors(head)) if oid not in known]

    def files(self, commit: str) -> dict[str, str]:
        """Path -> text at ``commit``."""
        tree = self.trees[self.commits[commit]["tree"]]
        return {path: self.blobs[oid].decode() for path, (_, oid) in tree.items()}


def _digest(value: Any) -> str:
    return hashlib.sha1(json.dumps(value).encode(), usedforsecurity=False).hexdigest()
