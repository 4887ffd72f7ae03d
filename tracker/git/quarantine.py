"""An object store of our own that reads through to the user's, and never writes there.

It is a bare git directory of ours whose alternates name the user's objects, so the user's
configuration, attributes, grafts, hooks and refs do not exist for what happens inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tracker.errors import EnvironmentFault, TrackError
from tracker.git.calls import GitResult, run_git
from tracker.git.objects import ObjectReader, write_loose
from tracker.git.partial import fetch_objects, filter_of, missing
from tracker.git.repository import Repository, TreeEntry, parse_tree_listing

_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfilemode = true\n"
_IDENTITY = "lloyal-track <lloyal-track@localhost> 0 +0000"
_FOLDER = "40000"


class Quarantine:
    """``folder`` is made if need be, and kept: objects are found again by content."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        """Raises EnvironmentFault if ``folder`` cannot be written."""
        self.repository = repository
        if repository.promisor is not None:
            kept = filter_of(repository.git_dir, repository.promisor)
            if kept.startswith(("tree:", "combine:")):
                raise EnvironmentFault(
                    f"the clone is filtered by {kept}: it lacks trees, which we need all",
                    where=str(repository.git_dir),
                    next_step="clone with --filter=blob:none or without a filter",
                )
        self.git_dir = folder.resolve()
        self.objects = self.git_dir / "objects"
        try:
            for part in ("refs/heads", "objects/info", "objects/pack"):
                (self.git_dir / part).mkdir(parents=True, exist_ok=True)
            _write_if_other(self.git_dir / "HEAD", "ref: refs/heads/none\n")
            _write_if_other(self.git_dir / "config", _CONFIG)
            _write_if_other(self.objects / "info/alternates", _quoted(repository.objects) + "\n")
        except OSError as fault:
            raise EnvironmentFault(
                f"cannot write our object store: {fault}",
                where=str(folder),
                next_step="check free space and permissions",
            ) from None
        self._reader = ObjectReader({"GIT_DIR": str(self.git_dir)}, str(self.git_dir))

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
        """Run a git command whose new objects stay here."""
        return run_git(args, git_dir=self.git_dir, stdin=stdin, extra_env=extra_env, check=check)

    def ensure(self, oids: Iterable[str]) -> None:
        """Have these objects at hand: what a filtered clone lacks is fetched into our store.

        Raises:
            EnvironmentFault: they cannot be fetched.
        """
        remote = self.repository.promisor
        if remote is None:
            return
        lacking = missing({"GIT_DIR": str(self.git_dir)}, oids)
        if lacking:
            fetch_objects(self.repository.git_dir, remote, lacking, self.objects)

    def ensure_tree(self, treeish: str) -> None:
        """Have every file of a tree at hand."""
        if self.repository.promisor is not None:
            entries = self.list_tree(treeish)
            self.ensure(entry.oid for entry in entries if entry.type == "blob")

    def read(self, oid: str) -> bytes:
        """The content of an object of either store.

        Raises:
            UsageError: it is missing in both.
        """
        found = self._reader.find(oid)
        if found is None:
            self.ensure([oid])
            return self._reader.read(oid)
        return found[2]

    def blob_id(self, treeish: str, path: str) -> str | None:
        """The id of the file at ``path`` of a tree or commit id, None if there is none."""
        if self.repository.promisor is not None:
            # A blob that the clone lacks is no missing file: ask the tree, not the object.
            listed = self.entries(treeish, [path])
            return listed[path][1] if path in listed else None
        found = self._reader.find_path(treeish, path)
        return found[0] if found is not None and found[1] == "blob" else None

    def read_path(self, treeish: str, path: str) -> bytes | None:
        """The content of the file at ``path``, None if there is none."""
        oid = self.blob_id(treeish, path)
        return self.read(oid) if oid is not None else None

    def entry(self, treeish: str, path: str) -> tuple[str, str] | None:
        """``(mode, id)`` of the file, link or submodule at ``path``; a folder is none."""
        listed = self.git(["ls-tree", "-z", treeish, "--", path]).stdout
        entries = parse_tree_listing(listed)
        found = entries[0] if entries and entries[0].path == path else None
        return (found.mode, found.oid) if found is not None and found.type != "tree" else None

    def entries(self, treeish: str, paths: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Like :meth:`entry` for many paths in one call; those that are no file are left out."""
        listed = self.listing(treeish, paths)
        return {e.path: (e.mode, e.oid) for e in listed if e.type != "tree"}

    def listing(self, treeish: str, paths: Sequence[str]) -> list[TreeEntry]:
        """What stands at ``paths`` of a tree or commit id, and the folders above; in one call."""
        if not paths:
            return []
        return parse_tree_listing(self.git(["ls-tree", "-t", "-z", treeish, "--", *paths]).stdout)

    def find_blob(self, name: str, path: str) -> tuple[str, bytes] | None:
        """Full id and content of a blob by full or abbreviated id, None if missing or ambiguous.

        ``path``: where it stood once; a filtered clone expands an abbreviated id by the history of
        that file.
        """
        found = self._reader.find(name)
        if found is not None:
            return (found[0], found[2]) if found[1] == "blob" else None
        if self.repository.promisor is None:
            return None
        args = ["log", "--all", "--raw", "--no-abbrev", "--no-renames", "--format=", "--", path]
        listed = self.repository.git(args).stdout.decode("ascii", "replace").splitlines()
        ids = {oid for line in listed for oid in line.split(" ")[2:4] if oid.startswith(name)}
        if len(ids) != 1:
            return None
        (oid,) = ids
        return oid, self.read(oid)

    def tree(self, treeish: str) -> str:
        """The tree id of a commit or tree id."""
        asked = self.git(["rev-parse", "--verify", "--end-of-options", f"{treeish}^{{tree}}"])
        return asked.stdout.decode("ascii").strip()

    def list_tree(self, treeish: str) -> list[TreeEntry]:
        """Every file of the tree, recursively, in git's order."""
        return parse_tree_listing(self.git(["ls-tree", "-r", "-z", treeish]).stdout)

    def write_blob(self, content: bytes) -> str:
        return write_loose(self.objects, "blob", content)

    def write_tree(
        self, changes: Mapping[str, tuple[str, str] | None], base: str | None = None
    ) -> str:
        """A tree: ``base`` (None: empty) with ``changes`` made; returns its id.

        ``changes``: path to ``(mode, blob id)``, or None to remove it. A file that must become a
        folder is replaced; a folder left empty is dropped. Only folders on the changed paths are
        read and written.
        """
        entries = self._read_folder(base) if base is not None else {}
        inside: dict[str, dict[str, tuple[str, str] | None]] = {}
        for path, change in changes.items():
            first, slash, rest = path.partition("/")
            if slash:
                inside.setdefault(first, {})[rest] = change
            elif change is None:
                entries.pop(first, None)
            else:
                entries[first] = change
        for name, below in inside.items():
            old = entries.get(name)
            old_id = old[1] if old is not None and old[0] == _FOLDER else None
            if old_id is None and all(change is None for change in below.values()):
                continue
            new_id = self.write_tree(below, old_id)
            if self._read_folder(new_id):
                entries[name] = (_FOLDER, new_id)
            else:
                entries.pop(name, None)
        return write_loose(self.objects, "tree", _tree_content(entries.items()))

    def write_commit(self, tree: str, parents: Sequence[str] = (), message: str = "") -> str:
        """A commit by a fixed author at time 0, so the same arguments give the same id."""
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"author {_IDENTITY}", f"committer {_IDENTITY}", "", message]
        return write_loose(self.objects, "commit", "\n".join(lines).encode() + b"\n")

    def _read_folder(self, oid: str) -> dict[str, tuple[str, str]]:
        """Name to ``(mode, id)`` of one folder, not recursive."""
        content = self.read(oid)
        entries = {}
        position = 0
        while position < len(content):
            space = content.index(b" ", position)
            end = content.index(b"\0", space)
            name = content[space + 1 : end].decode("utf-8", "surrogateescape")
            mode = content[position:space].decode("ascii")
            entries[name] = (mode, content[end + 1 : end + 21].hex())
            position = end + 21
        return entries


def _tree_content(entries: Iterable[tuple[str, tuple[str, str]]]) -> bytes:
    def order(entry: tuple[str, tuple[str, str]]) -> bytes:
        name, (mode, _oid) = entry
        return name.encode("utf-8", "surrogateescape") + (b"/" if mode == _FOLDER else b"")

    parts = []
    for name, (mode, oid) in sorted(entries, key=order):
        encoded = name.encode("utf-8", "surrogateescape")
        parts.append(mode.lstrip("0").encode() + b" " + encoded + b"\0" + bytes.fromhex(oid))
    return b"".join(parts)


def _quoted(path: Path) -> str:
    """A line of ``objects/info/alternates``; git unquotes one that begins with a quote."""
    text = str(path)
    if "\n" in text:
        raise TrackError("a repository path holds a line break", where=repr(text))
    if text.startswith(('"', "#")):
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return text


def _write_if_other(file: Path, text: str) -> None:
    if not file.exists() or file.read_text() != text:
        file.write_text(text)
