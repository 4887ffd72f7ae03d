"""A package index on this machine that counts what it is asked, and can break a download."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

PACKAGE = "small-upstream"


def member(
    name: str,
    content: bytes = b"",
    *,
    mode: int = 0o644,
    kind: bytes = tarfile.REGTYPE,
    link: str = "",
) -> tuple[tarfile.TarInfo, bytes]:
    """One member of a tar archive."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.type, entry.linkname = len(content), mode, kind, link
    return entry, content


def archive(members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """A .tar.gz, the same bytes for the same members."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for entry, content in members:
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), mtime=0)


@dataclass
class PackageIndex:
    """``files``: by name, e.g. ``small-upstream-1.0.tar.gz``; served with their sha256.

    ``cut_after``: the next download ends, without an error, after so many bytes. ``ranges``: the
    Range header of every download, "" if there was none. ``announce``: tell hashes on the page.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    cut_after: int | None = None
    announce: bool = True
    ranges: list[str] = field(default_factory=list)
    url: str = ""

    def add(self, version: str, content: bytes) -> str:
        """Publish ``content``; returns its sha256."""
        self.files[f"{PACKAGE}-{version}.tar.gz"] = content
        return hashlib.sha256(content).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    index: ClassVar[PackageIndex]
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        name = self.path.rsplit("/", 1)[-1]
        if self.path == f"/simple/{PACKAGE}/":
            self._answer(200, self._page(), {"Content-Type": "text/html"})
        elif name in self.index.files:
            self._file(self.index.files[name])
        else:
            self._answer(404, b"", {})

    def _page(self) -> bytes:
        lines = []
        for name, content in self.index.files.items():
            mark = f"#sha256={hashlib.sha256(content).hexdigest()}" if self.index.announce else ""
            lines.append(f'<a href="/files/{name}{mark}">{name}</a>')
        return "\n".join(lines).encode()

    def _file(self, content: bytes) -> None:
        asked = self.headers.get("Range", "")
        self.index.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        facts = {"Content-Length": str(len(content) - start)}
        if start >= len(content):
            self._answer(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            return
        if asked:
            facts["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        body = content[start:]
        if self.index.cut_after is not None:
            body, self.index.cut_after = body[: self.index.cut_after], None
        self._answer(206 if asked else 200, body, facts)

    def _answer(self, status: int, body: bytes, facts: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in facts.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def package_index() -> Iterator[PackageIndex]:
    """A running index; its ``url`` is what pip gets as index address."""
    index = PackageIndex()
    handler = type("Handler", (_Handler,), {"index": index})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        index.url = f"http://127.0.0.1:{server.server_address[1]}/simple"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield index
        finally:
            server.shutdown()
            thread.join()
