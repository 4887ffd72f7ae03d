"""llama-server of a built core, and a client that talks to it as any chat program does.

Over loopback HTTP only. The server runs upstream code: a clean environment, a port of 127.0.0.1.
"""

from __future__ import annotations

import base64
import http.client
import json
import socket
import struct
import subprocess
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path

_START_S = 60.0
_REPLY_TOKENS = 8
_BLOCK_PX = 16
# Begin a new conversation before the context is full, as a chat program does.
_FULL = 0.6


# The server keeps old prompts in memory, up to 8 GiB by default: growth by design, which would hide
# growth by mistake. As variables these ask older revisions for nothing, as options they would.
ENVIRONMENT = {"LLAMA_ARG_CACHE_RAM": "0", "LLAMA_ARG_CACHE_IDLE_SLOTS": "0"}


@dataclass(frozen=True, slots=True)
class Reply:
    """``ok`` False: ``why`` says what the server answered; ``silent``: or that it did not."""

    ok: bool
    why: str = ""
    silent: bool = False


def free_port() -> int:
    """A port of 127.0.0.1 that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        assert isinstance(port, int)  # noqa: S101  (AF_INET)
        return port


def server_command(
    program: Path, model: Path, projector: Path, *, port: int, n_ubatch: int, n_ctx: int
) -> list[str]:
    """Options that every revision since 2025 knows."""
    return [
        str(program),
        *("--model", str(model), "--mmproj", str(projector), "--no-mmproj-offload"),
        *("--host", "127.0.0.1", "--port", str(port)),
        *("--ctx-size", str(n_ctx), "--batch-size", "2048", "--ubatch-size", str(n_ubatch)),
        *("--parallel", "1", "--threads", "1", "--threads-batch", "1"),
        *("--n-gpu-layers", "0", "--temp", "0", "--no-warmup"),
    ]


@dataclass(slots=True)
class Client:
    """One chat: its history is sent with every turn, as the API wants it."""

    port: int
    n_ctx: int
    image_px: int
    timeout_s: float
    history: list[dict[str, object]] = field(default_factory=list)

    def wait_until_ready(self, server: subprocess.Popen[bytes]) -> bool:
        """True once the model is loaded; False if the server ended or takes too long."""
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline and server.poll() is None:
            try:
                if self._request("GET", "/health", None)[0] == http.client.OK:
                    return True
            except OSError:
                pass
            time.sleep(0.1)
        return False

    def turn(self, number: int, *, with_image: bool) -> Reply:
        """Ask once more, with a picture that no other turn has."""
        parts: list[dict[str, object]] = [
            {"type": "text", "text": f"what do you see in turn {number}?"}
        ]
        if with_image:
            data = base64.b64encode(picture(self.image_px, number)).decode()
            parts.insert(
                0, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
            )
        self.history.append({"role": "user", "content": parts})
        body = {
            "messages": self.history,
            "max_tokens": _REPLY_TOKENS,
            "temperature": 0,
            "cache_prompt": True,
        }
        try:
            status, answer = self._request("POST", "/v1/chat/completions", body)
        except (OSError, http.client.HTTPException) as fault:
            return Reply(False, f"no answer: {fault or type(fault).__name__}", silent=True)
        if status != http.client.OK:
            self.history.clear()
            return Reply(False, f"HTTP {status}: {answer[:200].decode(errors='replace')}")
        return self._take(answer)

    def _take(self, answer: bytes) -> Reply:
        try:
            document = json.loads(answer)
            said = document["choices"][0]["message"].get("content") or "."
            total = int(document["usage"]["total_tokens"])
        except (ValueError, KeyError, IndexError, TypeError) as fault:
            return Reply(False, f"an answer without its parts: {fault!r}")
        self.history.append({"role": "assistant", "content": said})
        if total > _FULL * self.n_ctx:
            self.history.clear()
        return Reply(True)

    def _request(self, method: str, path: str, body: dict[str, object] | None) -> tuple[int, bytes]:
        # One connection per request: a server that dies must not leave a half-read one behind.
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout_s)
        try:
            content = json.dumps(body).encode() if body is not None else None
            headers = {"Content-Type": "application/json"} if content else {}
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


def picture(size: int, number: int) -> bytes:
    """A PNG of ``size`` by ``size`` pixels in coloured blocks, other ones for every ``number``."""
    blocks = -(-size // _BLOCK_PX)
    rows = []
    state = 2463534242 + number * 2654435761
    for _ in range(blocks):
        row = bytearray()
        for _ in range(blocks):
            state = (state * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
            row += (state >> 40).to_bytes(3, "big") * _BLOCK_PX
        rows.append(b"\0" + bytes(row[: size * 3]))
    pixels = b"".join(row * _BLOCK_PX for row in rows)[: size * (size * 3 + 1)]
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(pixels, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )
