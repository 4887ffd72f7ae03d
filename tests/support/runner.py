"""Runs the jobs of a workflow here as GitHub's runner would: steps, files, outputs, exit statuses.

It knows what this project's workflows use: ``needs``, ``if``, ``env``, outputs, composite actions,
and stand-ins for the actions of GitHub (check out, artifacts, caches). A job's token is worth what
the job's ``permissions`` say. Installing the tool is replaced by a wrapper that notes the
environment of every call.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.support.github_fake import FakeGitHub
from tracker.publish.workflow import ACTION

PROJECT = Path(__file__).resolve().parents[2]
_TOKENS = re.compile(r"'[^']*'|&&|\|\||==|!=|[!()]|[A-Za-z_][\w.-]*")
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_AS_THEY_ARE = ("==", "!=", "(", ")", "fromJSON")
_STATUS_FUNCTIONS = ("always", "cancelled", "success", "failure")


def evaluate(expression: str, context: dict[str, Any], *, success: bool = True) -> Any:
    """A GitHub expression: strings, names, functions of status, and the logical operators."""
    python = []
    for token in _TOKENS.findall(expression):
        if token in ("&&", "||", "!"):
            python.append({"&&": " and ", "||": " or ", "!": " not "}[token])
        elif token in _AS_THEY_ARE or token.startswith("'"):
            python.append(token)
        elif token in _STATUS_FUNCTIONS:
            python.append(f"status_{token}")
        else:
            python.append(f"look({token!r})")

    def look(name: str) -> Any:
        value: Any = context
        for part in name.split("."):
            value = value.get(part, "") if isinstance(value, dict) else ""
        return value

    functions = {
        "look": look,
        "fromJSON": json.loads,
        "status_always": lambda: True,
        "status_cancelled": lambda: False,
        "status_success": lambda: success,
        "status_failure": lambda: not success,
    }
    return eval("".join(python), {"__builtins__": {}}, functions)  # noqa: S307


def expanded(text: Any, context: dict[str, Any]) -> str:
    """``text`` with its expressions replaced."""
    return _EXPRESSION.sub(lambda found: str(evaluate(found.group(1), context)), str(text))


def commands(log: str) -> list[str]:
    """The workflow commands that the runner obeys in a step's output: name and what follows.

    It looks for the newer form at the start of a line, blanks aside, and for the older form
    anywhere in it, as its ``ActionCommand.cs`` does.
    """
    obeyed: list[str] = []
    resume = ""
    for line in log.splitlines():
        found = _COMMAND.match(line) or _OLD_COMMAND.search(line)
        if found is None:
            continue
        if resume:
            resume = "" if found.group(1) == resume else resume
            continue
        obeyed.append(f"{found.group(1)} {found.group(2)}")
        if found.group(1) == "stop-commands":
            resume = found.group(2)
    assert not resume, "commands were stopped and never resumed"
    return [command for command in obeyed if not command.startswith("stop-commands ")]


_COMMAND = re.compile(r"\s*::([\w-]+)(?: .*?)?::(.*)")
_OLD_COMMAND = re.compile(r"##\[([\w-]+)[^\]]*\](.*)")


@dataclass
class JobResult:
    """``outputs``: of all steps; ``declared``: of the job, which is what other jobs see.

    ``calls``: the environment of every call of the tool. ``commands``: what the log made the
    runner do.
    """

    result: str
    log: str = ""
    summary: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    calls: list[dict[str, str]] = field(default_factory=list)
    declared: dict[str, str] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)


@dataclass
class Runner:
    """``checkout``: the repository of the workflow. ``folder``: for everything else.

    ``sabotage``: shell that the tool runs first, by job. ``caches``: keys of what was saved.
    """

    checkout: Path
    folder: Path
    github: FakeGitHub
    repository: str
    number: int = 0
    secrets: dict[str, str] = field(default_factory=dict)
    sabotage: dict[str, str] = field(default_factory=dict)
    caches: list[str] = field(default_factory=list)

    def run(self, workflow: Path, inputs: dict[str, str] | None = None) -> dict[str, JobResult]:
        """All jobs, in the order in which they stand."""
        self.number += 1
        tree = YAML(typ="safe").load(workflow.read_text())
        results: dict[str, JobResult] = {}
        for name, job in tree["jobs"].items():
            needs = job.get("needs", [])
            wanted = [needs] if isinstance(needs, str) else needs
            context = {
                "needs": {
                    n: {"result": results[n].result, "outputs": results[n].declared} for n in wanted
                },
                "inputs": inputs or {},
                "secrets": self.secrets,
                "github": {"token": self._token(name, job), "run_id": str(self.number)},
                "runner": {"os": "Linux", "arch": "X64"},
            }
            good = all(results[n].result == "success" for n in wanted)
            if not self._wanted(job.get("if"), context, success=good):
                results[name] = JobResult("skipped")
                continue
            matrix = job.get("strategy", {}).get("matrix")
            if matrix is None:
                results[name] = _Job(self, name, workflow, context).run(job["steps"])
                results[name].declared = {
                    key: expanded(value, context) for key, value in job.get("outputs", {}).items()
                }
                continue
            choices = evaluate(str(matrix).strip()[3:-2], context)["include"]
            done = [
                _Job(self, f"{name} {n}", workflow, {**context, "matrix": choice}).run(job["steps"])
                for n, choice in enumerate(choices)
            ]
            good = all(each.result == "success" for each in done)
            log = "".join(each.log for each in done)
            results[name] = JobResult("success" if good else "failure", log)
        return results

    def _token(self, name: str, job: dict[str, Any]) -> str:
        """A token that may write only if the job's permissions say so."""
        token = f"ghs_{name}_{self.number}"
        self.github.tokens.add(token)
        permissions = job.get("permissions") or {}
        if permissions.get("contents") != "write":
            self.github.read_only.add(token)
        return token

    @staticmethod
    def _wanted(condition: Any, context: dict[str, Any], *, success: bool) -> bool:
        if condition is None:
            return success
        text = str(condition).strip()
        text = text[3:-2] if text.startswith("${{") else text
        if not any(f"{name}(" in text for name in _STATUS_FUNCTIONS) and not success:
            return False
        return bool(evaluate(text, context, success=success))


class _Job:
    """One job on a fresh machine."""

    def __init__(self, runner: Runner, name: str, workflow: Path, context: dict[str, Any]) -> None:
        self.runner = runner
        self.context = context
        self.name = name
        self.home = runner.folder / f"run{runner.number}" / name
        self.workspace = self.home / "workspace"
        self.temp = self.home / "temp"
        self.temp.mkdir(parents=True)
        self.calls = self.home / "calls"
        self.calls.mkdir()
        self.summary = self.home / "summary.md"
        self.workflow = workflow
        self.log = ""
        self.commands: list[str] = []

    def run(self, steps: list[dict[str, Any]]) -> JobResult:
        good = self._steps(steps, self.context)
        summary = self.summary.read_text() if self.summary.exists() else ""
        outputs = {
            key: value
            for step in self.context.get("steps", {}).values()
            for key, value in step["outputs"].items()
        }
        calls = [
            dict(line.split("=", 1) for line in file.read_text().split("\0") if "=" in line)
            for file in sorted(self.calls.iterdir())
        ]
        result = "success" if good else "failure"
        return JobResult(result, self.log, summary, outputs, calls, commands=self.commands)

    def _steps(self, steps: list[dict[str, Any]], context: dict[str, Any]) -> bool:
        good = True
        context.setdefault("steps", {})
        for step in steps:
            if not Runner._wanted(step.get("if"), context, success=good):
                continue
            passed, outputs = self._step(step, context)
            if "id" in step:
                context["steps"][step["id"]] = {"outputs": outputs}
            good = good and (passed or bool(step.get("continue-on-error")))
        return good

    def _step(self, step: dict[str, Any], context: dict[str, Any]) -> tuple[bool, dict[str, str]]:
        given = {key: expanded(value, context) for key, value in step.get("with", {}).items()}
        if "run" in step:
            env = {key: expanded(value, context) for key, value in step.get("env", {}).items()}
            return self._script(step, env)
        uses, _, revision = step["uses"].partition(" ")[0].partition("@")
        if uses == ACTION and not re.fullmatch(r"[0-9a-f]{40}", revision):
            self.log += f"Unable to resolve action `{uses}@{revision}`, unable to find version\n"
            return False, {}
        if uses in ("./", ACTION):
            return self._composite(given)
        return self._stand_in(uses, given), {}

    def _composite(self, given: dict[str, str]) -> tuple[bool, dict[str, str]]:
        action = YAML(typ="safe").load((PROJECT / "action.yml").read_text())
        unknown = set(given) - set(action["inputs"])
        assert not unknown, f"the action has no input {unknown}"
        defaults = {key: str(value.get("default", "")) for key, value in action["inputs"].items()}
        github = {**self.context["github"], "action_path": str(PROJECT)}
        inner: dict[str, Any] = {
            "inputs": {**defaults, **given},
            "github": github,
            "runner": {"temp": str(self.temp)},
        }
        good = self._steps(action["runs"]["steps"], inner)
        outputs = {key: expanded(value["value"], inner) for key, value in action["outputs"].items()}
        return good, outputs

    def _stand_in(self, uses: str, given: dict[str, str]) -> bool:
        artifacts = self.runner.folder / "artifacts"
        match uses:
            case "actions/checkout":
                assert given["persist-credentials"].lower() == "false"
                command = ["git", "clone", "-q", str(self.runner.checkout), str(self.workspace)]
                subprocess.run(command, check=True)
            case "actions/upload-artifact":
                source = self.workspace / given["path"]
                if not source.exists():
                    return given.get("if-no-files-found") != "error"
                target = artifacts / given["name"]
                shutil.rmtree(target, ignore_errors=True)
                if source.is_dir():
                    shutil.copytree(source, target)
                else:
                    target.mkdir(parents=True)
                    shutil.copy(source, target)
            case "actions/download-artifact" if "pattern" in given:
                for found in artifacts.glob(given["pattern"]):
                    target = self.workspace / given["path"] / found.name
                    shutil.copytree(found, target)
            case "actions/download-artifact":
                if not (artifacts / given["name"]).is_dir():
                    return False
                target = self.workspace / given.get("path", ".")
                shutil.copytree(artifacts / given["name"], target, dirs_exist_ok=True)
            case "actions/cache/save":
                assert self.runner.caches.count(given["key"]) == 0, "GitHub keeps the first"
                self.runner.caches.append(given["key"])
            case "actions/cache" | "actions/cache/restore" | "actions/setup-python":
                pass
            case _:
                raise AssertionError(f"no stand-in for {uses}")
        return True

    def _script(self, step: dict[str, Any], env: dict[str, str]) -> tuple[bool, dict[str, str]]:
        """Run a script as ``shell: bash`` does."""
        if step.get("id") == "install":
            return True, {"tool": str(self._wrapper()), "resume": "0123456789abcdef"}
        output = self.temp / "output"
        output.write_text("")
        script = self.temp / "script.sh"
        script.write_text(step["run"])
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={**self._machine(), "GITHUB_OUTPUT": str(output), **env},
        )
        self.log += done.stdout
        self.commands += commands(done.stdout)
        pairs = [line.split("=", 1) for line in output.read_text().splitlines()]
        return done.returncode == 0, dict(pairs)

    def _machine(self) -> dict[str, str]:
        runner = self.runner
        tools = runner.folder / "tools"
        return {
            "PATH": f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "NO_PROXY": "127.0.0.1",
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": runner.github.url,
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": runner.repository,
            "GITHUB_RUN_ID": str(runner.number),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_WORKFLOW_REF": f"{runner.repository}/.github/workflows/"
            f"{self.workflow.name}@refs/heads/main",
            "RUNNER_TEMP": str(self.temp),
            "ARTIFACTS": str(runner.folder / "artifacts"),
        }

    def _wrapper(self) -> Path:
        """The tool, noting its environment; ``sabotage`` runs first in the job of that name."""
        wrapper = self.temp / "lloyal-track"
        wrapper.write_text(
            "#!/bin/bash\n"
            f"env -0 > {self.calls}/$(date +%s%N)\n"
            f"{self.runner.sabotage.get(self.name, '')}\n"
            f'PYTHONPATH={PROJECT} exec {sys.executable} -m tracker "$@"\n'
        )
        wrapper.chmod(0o755)
        return wrapper


def install_gh(folder: Path) -> None:
    """A ``gh`` that knows the artifacts of the last run."""
    folder.mkdir(parents=True)
    gh = folder / "gh"
    gh.write_text(
        "#!/bin/bash\n"
        'case "$1 $2" in\n'
        '  "run list") if [ -d "$ARTIFACTS" ]; then echo 1; fi ;;\n'
        '  "run download") mkdir -p "$7" && cp "$ARTIFACTS/$5"/* "$7" ;;\n'
        "  *) exit 1 ;;\n"
        "esac\n"
    )
    gh.chmod(0o755)
