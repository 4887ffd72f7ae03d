"""Which API is asked, and with which token."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

PUBLIC_API = "https://api.github.com"
_GH_TIMEOUT_S = 5


@dataclass(frozen=True, slots=True)
class Access:
    """``source``: where the token came from, or "anonymous". The token is in no ``repr``."""

    api_url: str = PUBLIC_API
    token: str = field(default="", repr=False)
    source: str = "anonymous"


def from_environment(environ: Mapping[str, str] = os.environ) -> Access:
    """``GITHUB_API_URL``; ``GITHUB_TOKEN`` or ``GH_TOKEN``, else what ``gh auth token`` says.

    A token that is no single line of ASCII is not used: it would end up in a header.
    """
    api_url = environ.get("GITHUB_API_URL", "").strip().rstrip("/") or PUBLIC_API
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        token = environ.get(name, "").strip()
        if _usable(token):
            return _unless_exposed(Access(api_url, token, name))
    token = _asked_of_gh(api_url)
    if _usable(token):
        return _unless_exposed(Access(api_url, token, "gh auth token"))
    return Access(api_url)


def _usable(token: str) -> bool:
    return bool(token) and token.isascii() and token.isprintable() and " " not in token


def _unless_exposed(access: Access) -> Access:
    """Anonymous if the token would travel unencrypted to another machine."""
    url = urlsplit(access.api_url)
    local = url.hostname in ("127.0.0.1", "localhost", "::1")
    if url.scheme == "https" or local:
        return access
    return Access(access.api_url, source=f"anonymous: {access.source} is not sent over plain HTTP")


def _asked_of_gh(api_url: str) -> str:
    gh = shutil.which("gh")
    if gh is None:
        return ""
    command = [gh, "auth", "token"]
    host = urlsplit(api_url).hostname or ""
    if host != "api.github.com":
        command += ["--hostname", host.removeprefix("api.")]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=_GH_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""
