"""Child process: downloads one source archive the way this user's pip would.

The only file that touches pip's internals. It runs alone (``python pip_index.py PACKAGE VERSION
SHA256 PART``), imports nothing of ours, and writes one JSON object a line on stdout. What the user
told pip holds here too: index, mirrors, proxy, certificates, credentials. ``pip download`` itself
would run the package's build to read its metadata; this takes the file and nothing else.

PART may hold the beginning of the file: the rest is asked for. It is not verified here.
"""

import errno
import json
import logging
import re
import sys
from pathlib import Path
from typing import Any

_TRIES = 5
_BLOCK = 1 << 16
_REPORT_EVERY = 1 << 21
_PARTIAL, _BAD_RANGE = 206, 416


class _Reasons(logging.Handler):
    """Keeps what pip says of pages it could not read; it only logs that, and goes on."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "Could not fetch" in text or "Skipping page" in text or "is ignored" in text:
            self.found.append(_public(text))


def _public(text: str) -> str:
    """``text`` without user names and passwords in its addresses."""
    return re.sub(r"//[^/\s@]+@", "//", text)


def _tell(event: str, **facts: object) -> None:
    sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
    sys.stdout.flush()


def _find(package: str, version: str, sha256: str) -> tuple[Any, Any]:
    """pip's session and the link of the archive; among several, the one with our hash."""
    from pip._internal.commands import create_command

    reasons = _Reasons()
    logger = logging.getLogger("pip._internal.index")
    logger.addHandler(reasons)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False

    command: Any = create_command("download")
    options, _ = command.parse_args(
        ["--no-deps", "--no-binary", ":all:", "--no-input", "--no-cache-dir", "--quiet"]
    )
    session = command._build_session(options)
    finder = command._build_package_finder(options, session, ignore_requires_python=True)
    links = [
        found.link
        for found in finder.find_all_candidates(package)
        if str(found.version) == version and found.link.filename.endswith((".tar.gz", ".tgz"))
    ]
    if not links:
        # A page that failed may be the one that has it: only a complete search may say "absent".
        fetches = [text for text in reasons.found if "Could not fetch" in text]
        _tell("error", kind="network" if fetches else "absent", why=" ".join(fetches[:1]))
        raise SystemExit(1)
    advertised = [link.hash for link in links if link.hash_name == "sha256"]
    if len(advertised) == len(links) and sha256 not in advertised:
        _tell("error", kind="mismatch", why=advertised[0], file=links[0].filename)
        raise SystemExit(1)
    best = next((link for link in links if link.hash == sha256), links[0])
    return session, best


def _download(session: Any, link: Any, part: Path) -> None:
    """Fill ``part``; broken connections are taken up where they broke."""
    from pip._vendor.requests.exceptions import RequestException
    from pip._vendor.urllib3.exceptions import HTTPError

    why = ""
    for _ in range(_TRIES):
        try:
            if _stream(session, link, part):
                return
            why = "the connection ended early"
        except (RequestException, HTTPError, ConnectionError, TimeoutError) as fault:
            response = getattr(fault, "response", None)
            why = _public(str(fault))
            if response is not None and response.status_code in (401, 403, 404, 407, 410):
                break
    _tell("error", kind="network", why=why)
    raise SystemExit(1)


def _stream(session: Any, link: Any, part: Path) -> bool:
    """One request; True if the file is complete as far as the server's announced size tells."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with session.get(link.url_without_fragment, headers=headers, stream=True) as response:
        if response.status_code == _BAD_RANGE:
            if response.headers.get("Content-Range") == f"bytes */{have}":
                return True
            part.unlink()
            return False
        response.raise_for_status()
        goes_on = response.status_code == _PARTIAL and response.headers.get(
            "Content-Range", ""
        ).startswith(f"bytes {have}-")
        done = have if goes_on else 0
        size = response.headers.get("Content-Length")
        total = done + int(size) if size is not None else None
        told = done
        with part.open("ab" if goes_on else "wb") as out:
            for block in response.iter_content(_BLOCK):
                out.write(block)
                done += len(block)
                if done - told >= _REPORT_EVERY:
                    told = done
                    _tell("progress", done=done, total=total)
    return total is None or done >= total


def main(package: str, version: str, sha256: str, part: str) -> None:
    try:
        session, link = _find(package, version, sha256)
        _tell("found", file=link.filename)
        _download(session, link, Path(part))
    except (ImportError, AttributeError, TypeError) as fault:
        _tell("error", kind="internals", why=f"{type(fault).__name__}: {fault}")
        raise SystemExit(1) from None
    except OSError as fault:
        kind = "disk" if fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS) else "network"
        _tell("error", kind=kind, why=_public(str(fault)))
        raise SystemExit(1) from None
    except Exception as fault:  # pip's own errors have no base that all its versions share
        _tell("error", kind="network", why=_public(f"{type(fault).__name__}: {fault}"))
        raise SystemExit(1) from None
    _tell("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
