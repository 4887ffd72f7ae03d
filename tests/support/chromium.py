"""A headless Chromium, driven over its debugging pipe: no driver, no download, no open port.

For tests of the report and for the screenshots in the docs. The page is loaded from a file; every
request that leaves it, and every complaint of its content policy, is recorded.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "google-chrome")
_WAIT_S = 60.0


def executable() -> str | None:
    """The browser on this machine; None if there is none."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


class Page:
    """One tab. ``requests``: URLs asked for since it was made; ``complaints``: its log entries."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out = to_browser
        self._in = from_browser
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._loaded = False
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime", "Accessibility"):
            self._call(f"{domain}.enable")

    def view(self, width: int, height: int = 900, *, dark: bool = False, media: str = "") -> None:
        """Set the viewport in CSS pixels, the colour scheme, and ``print`` or screen."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self._call("Emulation.setEmulatedMedia", media=media, features=[scheme, still])

    def open(self, file: Path) -> None:
        """Load ``file`` and wait until it has loaded."""
        self._loaded = False
        self._call("Page.navigate", url=file.resolve().as_uri())
        while not self._loaded:
            self._read()

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press and release a key, e.g. ``("Tab", 9)`` or ``("Enter", 13, "\\r")``."""
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self._call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self._call("Input.dispatchKeyEvent", type="keyUp", **common)

    def tree(self) -> list[tuple[str, str]]:
        """(role, name) of what a screen reader is given, in reading order."""
        nodes = self._call("Accessibility.getFullAXTree")["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in nodes
            if not node.get("ignored") and "role" in node
        ]

    def picture(self, selector: str = "") -> bytes:
        """PNG of the whole page, or of the first element that ``selector`` matches."""
        box = (
            f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
            if selector
            else "({x:0,y:0,width:innerWidth,height:document.documentElement.scrollHeight})"
        )
        found = self.run(f"(b => [b.x + scrollX, b.y + scrollY, b.width, b.height])({box})")
        clip = dict(zip(("x", "y", "width", "height"), found, strict=True))
        taken = self._call(
            "Page.captureScreenshot", captureBeyondViewport=True, clip={**clip, "scale": 1}
        )
        return base64.b64decode(taken["data"])

    def screen(self) -> bytes:
        """PNG of what the viewport shows."""
        return base64.b64decode(self._call("Page.captureScreenshot")["data"])

    def pdf(self) -> bytes:
        """The page as printed."""
        return base64.b64decode(self._call("Page.printToPDF", printBackground=True)["data"])

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _read(self) -> dict[str, Any]:
        """The next message; events are noted on the way."""
        deadline = time.monotonic() + _WAIT_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(deadline - time.monotonic(), 0))
            chunk = os.read(self._in, 1 << 16) if ready else b""
            if not chunk:
                raise AssertionError("the browser went away or does not answer")
            self._buffer += chunk
        raw, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
            case "Log.entryAdded":
                self.complaints.append(message["params"]["entry"]["text"])
            case "Page.loadEventFired":
                self._loaded = True
        return message


@contextlib.contextmanager
def page() -> Iterator[Page]:
    """A tab of a browser of its own, with an empty profile; both are gone afterwards."""
    found = executable()
    if found is None:
        raise AssertionError("no Chromium here: `make test-browser` installs it")
    to_browser_read, to_browser = os.pipe()
    from_browser, from_browser_write = os.pipe()
    # The browser speaks on descriptors 3 and 4; away from there first, so that neither is lost.
    reads, writes = (
        fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser_read, from_browser_write)
    )
    os.close(to_browser_read)
    os.close(from_browser_write)
    launch = (
        f"import os, sys; os.dup2({reads}, 3); os.dup2({writes}, 4);"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                launch,
                found,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--no-first-run",
                "--remote-debugging-pipe",
                f"--user-data-dir={profile}",
            ],
            pass_fds=(reads, writes),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(reads)
        os.close(writes)
        try:
            yield Page(to_browser, from_browser)
        finally:
            os.close(to_browser)
            os.close(from_browser)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
