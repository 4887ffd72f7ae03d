"""A git repository that we only read: revisions, trees, blobs, commits, tags.

Never writes to it and never trusts its configuration; only what a filtered clone lacks is fetched
into it, unless ``fetch_into`` names another store. ``Repository.open`` takes exactly the folder
named, never one above it: a dependency's folder inside another checkout is not that checkout.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from tracker.errors import EnvironmentFault, UsageError
from tracker.git.calls import GitResult, run_git
from tracker.git.objects import ObjectReader
from tracker.git.partial import fetch_objects, promisor_of

FULL_ID = re.compile(r"[0-9a-f]{40}")
_LOG_FIELDS = "%H%x00%ct%x00%s%x00%b"


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a tree. ``mode``: six octal digits. ``type``: blob, or commit for a submodule.

    ``path``: from the tree's top, bytes that are not UTF-8 as surrogate escapes.
    """

    mode: str
    type: str
    oid: str
    path: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit. ``date``: committer date, ISO 8601, UTC. ``body``: message after the subject."""

    oid: str
    subject: str
    body: str
    date: str


class Repository:
    """An existing repository, bare or not; use as a context manager."""

    def __init__(self, git_dir: Path, common_dir: Path, objects: Path, *, shallow: bool) -> None:
        """Use :meth:`open`."""
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.objects = objects
        self.is_shallow = shallow
        self._fetched: Path | None = None
        self._reader = ObjectReader(self.environment, str(git_dir))

    @classmethod
    def open(cls, path: Path) -> Self:
        """The repository at ``path``: a checkout, a linked worktree, or a git directory.

        Raises:
            UsageError: ``path`` itself is no repository; one in a folder above does not count.
        """
        folder = path.resolve()
        if not folder.is_dir():
            raise UsageError("no such folder", where=str(path))
        asked = run_git(
            [
                "rev-parse",
                "--path-format=absolute",
                "--git-dir",
                "--git-common-dir",
                "--git-path",
                "objects",
                "--is-shallow-repository",
                "--show-object-format",
            ],
            cwd=folder,
            extra_env={"GIT_CEILING_DIRECTORIES": str(folder.parent)},
            check=False,
        )
        lines = asked.stdout.decode("utf-8", "surrogateescape").splitlines()
        if asked.code != 0 or len(lines) != 5:  # noqa: PLR2004
            said = " ".join(asked.stderr.decode("utf-8", "replace").split())
            if said and "not a git repository" not in said:
                raise UsageError(
                    f"git cannot read this repository: {said.removeprefix('fatal: ')}",
                    where=str(path),
                    next_step="a newer git may be able to, or clone it anew",
                )
            raise UsageError(
                "not a git repository",
                where=str(path),
                next_step="name the repository's own folder, or get one with "
                "`lloyal-track upstream fetch`",
            )
        if lines[4] != "sha1":
            raise EnvironmentFault(f"object format {lines[4]} is not supported", where=str(path))
        git_dir, common, objects = (Path(line) for line in lines[:3])
        return cls(git_dir, common, objects, shallow=lines[3] == "true")

    @property
    def environment(self) -> dict[str, str]:
        """What a git child needs to read this repository."""
        return {"GIT_DIR": str(self.git_dir), **self._store}

    @property
    def _store(self) -> dict[str, str]:
        """Where a git child puts an object, also one that git fetches by itself to read it."""
        return {"GIT_OBJECT_DIRECTORY": str(self._fetched)} if self._fetched is not None else {}

    def fetch_into(self, objects: Path) -> None:
        """From now on what a filtered clone lacks is fetched there, and the clone stays as it is.

        ``objects``: of a store that reads through to the clone's own, as a quarantine's does.
        """
        self.close()
        self._fetched = objects
        self._reader = ObjectReader(self.environment, str(self.git_dir))

    def close(self) -> None:
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def git(
        self,
        args: Sequence[str],
        *,
        stdin: bytes | None = None,
        extra_env: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> GitResult:
        """Run a reading git command on this repository."""
        env = {**self._store, **(extra_env or {})}
        return run_git(args, git_dir=self.git_dir, stdin=stdin, extra_env=env, check=check)

    @property
    def is_snapshot(self) -> bool:
        """The history was made from package archives: its commits are not upstream's commits."""
        asked = self.git(["config", "--get", "lloyal-track.source"], check=False)
        return asked.stdout.strip() == b"archive"

    @cached_property
    def promisor(self) -> str | None:
        """The remote that holds what a filtered clone left out, None if the clone is whole."""
        return promisor_of(self.git_dir)

    @property
    def is_partial(self) -> bool:
        """The clone was filtered: objects may be missing until somebody asks the remote."""
        return self.promisor is not None

    def ensure_tree(self, treeish: str) -> None:
        """Have every file of a tree at hand: a filtered clone fetches what it lacks in one call.

        Raises:
            EnvironmentFault: they cannot be fetched.
        """
        if self.promisor is None:
            return
        args = ["rev-list", "--objects", "--no-object-names", "--missing=print", "--no-walk"]
        listed = self.git([*args, treeish]).stdout.decode("ascii").split()
        lacking = [line[1:] for line in listed if line.startswith("?")]
        fetch_objects(self.git_dir, self.promisor, lacking, self._fetched or self.objects)

    def ensure_range(self, from_: str, to: str, folders: Sequence[str]) -> None:
        """Have what lies in ``folders`` at hand, at both commits and everywhere between: a filtered
        clone fetches what it lacks in one call.

        Raises:
            EnvironmentFault: they cannot be fetched.
        """
        if self.promisor is None:
            return
        args = ["rev-list", "--objects", "--no-object-names", "--missing=print"]
        listed = self.git([*args, f"{from_}..{to}", "--", *folders]).stdout.decode("ascii").split()
        for end in (from_, to):
            trees = self.git(["ls-tree", "-d", "-r", "-z", end, "--", *folders]).stdout
            inside = [entry.oid for entry in parse_tree_listing(trees) if entry.path in folders]
            if inside:
                more = self.git([*args, "--no-walk", *inside]).stdout.decode("ascii").split()
                listed += more
        lacking = {line[1:] for line in listed if line.startswith("?")}
        fetch_objects(self.git_dir, self.promisor, lacking, self._fetched or self.objects)

    def resolve(self, rev: str) -> str:
        """The full id of the commit that ``rev`` names; annotated tags are peeled.

        Raises:
            UsageError: no such revision, an ambiguous short id, or not a commit.
        """
        # --end-of-options: a name that begins with a dash is a name.
        asked = self.git(
            ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}"],
            check=False,
        )
        oid = asked.stdout.decode("ascii", "replace").strip()
        if asked.code != 0 or not FULL_ID.fullmatch(oid):
            raise UsageError(
                f"unknown revision {rev!r}",
                where=str(self.git_dir),
                next_step="use a branch, tag or commit id of that repository; "
                "`lloyal-track upstream fetch` brings it up to date",
            )
        return oid

    def tree(self, commit: str) -> str:
        """The tree id of a commit (or of a tree, which is itself).

        Raises:
            UsageError: no such commit.
        """
        asked = self.git(
            ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{tree}}"],
            check=False,
        )
        oid = asked.stdout.decode("ascii", "replace").strip()
        if asked.code != 0 or not FULL_ID.fullmatch(oid):
            raise UsageError(f"unknown revision {commit!r}", where=str(self.git_dir))
        return oid

    def blob_id(self, treeish: str, path: str) -> str | None:
        """The id of the file at ``path``, None if there is no file (a folder is none)."""
        found = self._reader.find_path(treeish, path)
        return found[0] if found is not None and found[1] == "blob" else None

    def read(self, oid: str) -> bytes:
        """The content of an object.

        Raises:
            UsageError: it is missing.
        """
        return self._reader.read(oid)

    def find_blob(self, name: str) -> tuple[str, bytes] | None:
        """Full id and content of a blob by full or abbreviated id, None if missing or ambiguous."""
        found = self._reader.find(name)
        return (found[0], found[2]) if found is not None and found[1] == "blob" else None

    def read_path(self, treeish: str, path: str) -> bytes | None:
        """The content of the file at ``path``, None if there is no file."""
        found = self._reader.find_path(treeish, path)
        return found[2] if found is not None and found[1] == "blob" else None

    def list_tree(self, treeish: str) -> list[TreeEntry]:
        """Every file of the tree, recursively, in git's order."""
        return parse_tree_listing(self.git(["ls-tree", "-r", "-z", treeish]).stdout)

    def commits(
        self, from_: str, to: str, paths: Sequence[str] = (), *, first_parent: bool = False
    ) -> list[Commit]:
        """The commits of ``from_..to`` that touch ``paths`` (all, if none), newest first."""
        walk = ["--first-parent", "--diff-merges=first-parent"] if first_parent else []
        asked = self.git(
            [
                "log",
                "-z",
                "--encoding=UTF-8",
                f"--format={_LOG_FIELDS}",
                *walk,
                f"{from_}..{to}",
                "--",
                *paths,
            ]
        )
        fields = asked.stdout.decode("utf-8", "replace").split("\0")
        found = []
        for start in range(0, len(fields) - 3, 4):
            oid, stamp, subject, body = fields[start : start + 4]
            date = datetime.fromtimestamp(int(stamp), UTC).isoformat().replace("+00:00", "Z")
            found.append(Commit(oid, subject, body.strip("\n"), date))
        return found

    def tags_at(self, commit: str) -> list[str]:
        """The names of the tags, light or annotated, that mean ``commit``."""
        asked = self.git(
            ["for-each-ref", f"--points-at={commit}", "--format=%(refname:strip=2)", "refs/tags"]
        )
        return asked.stdout.decode("utf-8", "replace").splitlines()


def parse_tree_listing(listing: bytes) -> list[TreeEntry]:
    """The entries of ``ls-tree -z`` output."""
    entries = []
    for record in listing.split(b"\0"):
        if not record:
            continue
        facts, _, path = record.partition(b"\t")
        mode, kind, oid = facts.decode("ascii").split(" ")
        entries.append(TreeEntry(mode, kind, oid, path.decode("utf-8", "surrogateescape")))
    return entries
