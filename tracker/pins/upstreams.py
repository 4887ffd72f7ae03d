"""Which upstream a project follows, for ``init``: read from its submodules. Contacts nobody."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tracker.errors import TrackError
from tracker.git.calls import run_git
from tracker.pins import kinds
from tracker.pins.submodule import GITMODULES


@dataclass(frozen=True, slots=True)
class Submodule:
    """``path``: of its folder, from the project's. ``branch``: as .gitmodules names it, or ""."""

    path: str
    url: str
    branch: str

    def is_named(self, name: str) -> bool:
        """Its address or its folder ends in ``name``."""
        return name in (last_part(self.url), last_part(self.path))


def last_part(address: str) -> str:
    """``llama.cpp`` of any address that a clone of it has."""
    return address.rstrip("/").removesuffix(".git").replace(":", "/").rpartition("/")[2]


def submodules(folder: Path) -> tuple[Submodule, ...]:
    """Those that .gitmodules names; none if it cannot be read."""
    try:
        text = (folder / GITMODULES).read_text(encoding="utf-8")
        known = kinds.git_config(text).get("submodule", {}).values()
    except (OSError, UnicodeDecodeError, TrackError):
        return ()
    return tuple(
        Submodule(facts["path"], facts["url"], facts.get("branch", ""))
        for facts in known
        if facts.get("path") and facts.get("url")
    )


def default_branch(repository: Path) -> str:
    """The branch that a clone of upstream, or a repository of upstream's itself, starts with; ""
    if that is not known here.
    """
    for name in ("refs/remotes/origin/HEAD", "HEAD"):
        try:
            asked = run_git(["symbolic-ref", "-q", name], cwd=repository, check=False)
        except (OSError, TrackError):
            return ""
        if asked.code == 0:
            full = asked.stdout.decode("utf-8", "replace").strip()
            return full.removeprefix("refs/heads/").removeprefix("refs/remotes/origin/")
    return ""
