"""A downstream project with the weekly workflow, a small upstream, and GitHub."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import github_fake, patches, repos
from tests.support.github_fake import FakeGitHub, Repository
from tests.support.runner import PROJECT, JobResult, Runner, install_gh

OURS = "our/node"
WEEKLY = PROJECT / ".github" / "workflows" / "weekly.yml"
SLOTS = """\
int slots_find(const struct slots *s, int want) {
    for (int i = 0; i < s->count; ++i) {
        if (s->used[i] == 0) {
            return i;
        }
    }
    return -1;
}

int slots_count(const struct slots *s) {
    return s->count;
}
"""
PATCHED = SLOTS.replace("    return -1;\n", "    return slots_grow(s, want);\n")
CONFLICTING = SLOTS.replace("    return -1;", "    return want < 0 ? -2 : -1;")
_CONFIG = """\
[upstream]
url = "{url}"
repository = "up/core"
[series]
dir = "queue"
[[pins]]
name = "default"
kind = "track"
path = "vendor/pin.toml"
[[watch.regions]]
name = "find"
selector = "slots.c::slots_find"
blocking = true
[[tickets]]
key = "up/core#1"
why = "the warning"
"""


@dataclass
class Weekly:
    """The project as it is run week after week."""

    runner: Runner
    github: FakeGitHub
    upstream: Path
    downstream: Path

    @property
    def ours(self) -> Repository:
        return self.github.repository(OURS)

    def week(self) -> dict[str, JobResult]:
        """One scheduled run."""
        return self.runner.run(WEEKLY)

    def results(self) -> list[str]:
        """One scheduled run: the result of each job."""
        return [job.result for job in self.week().values()]

    def opened(self) -> tuple[list[int], list[int]]:
        """Open pull requests and open issues of ours."""
        threads = self.ours.threads
        opened = {number for number, thread in threads.items() if thread["state"] == "open"}
        return sorted(opened & set(self.ours.pulls)), sorted(opened - set(self.ours.pulls))

    def upstream_moves(self, content: str, message: str, *, tag: str = "") -> str:
        return repos.commit(self.upstream, {"slots.c": content}, message, tag)


@pytest.fixture
def weekly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Weekly]:
    """The pin is at b100, upstream is one harmless commit ahead."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    upstream, downstream = tmp_path / "upstream", tmp_path / "downstream"
    ahead = {"slots.c": f"#include <stddef.h>\n{SLOTS}"}
    pinned, _ = repos.build(
        upstream,
        [
            repos.Step({"slots.c": SLOTS}, "start", ("b100",)),
            repos.Step(ahead, "include (#7)", ("b101",)),
        ],
    )
    queue = patches.series_of(
        tmp_path / "queue", patches.diff({"slots.c": SLOTS}, {"slots.c": PATCHED}, subject="grow")
    )
    pin = f'commit = "{pinned}"\n'
    files: dict[str, repos.File] = {
        "lloyal-track.toml": _CONFIG.format(url=upstream.as_uri()),
        "vendor/pin.toml": pin,
        "queue/0001.patch": (queue / "0001.patch").read_bytes(),
        ".gitignore": "vendor/*\n!vendor/pin.toml\n",
    }
    repos.build(downstream, [files], bare=False, branch="main")
    install_gh(tmp_path / "tools")
    with github_fake.serving() as github:
        github.issue("up/core#1", "a warning")
        github.repository(OURS).git.push(
            "refs/heads/main", {"vendor/pin.toml": pin}, "start", "maintainer"
        )
        yield Weekly(Runner(downstream, tmp_path, github, OURS), github, upstream, downstream)
