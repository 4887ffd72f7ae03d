"""The one file of this room that asks and changes GitHub.

Reads what is there as ``Seen``, does the steps that were decided. Every branch update is a fast
forward: if a person pushed in between, GitHub refuses it and their commits stay.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, assert_never
from urllib.parse import quote

from tracker.errors import EnvironmentFault
from tracker.evidence.base import digest
from tracker.evidence.publish import Done, PublishStep
from tracker.evidence.tickets import FaultKind
from tracker.forge.answers import Answer, Fault
from tracker.forge.client import Forge
from tracker.publish.body import Marker, fitted, marker_of
from tracker.publish.decision import (
    NEW,
    Branch,
    Close,
    Edit,
    LeaveAlone,
    Nothing,
    OpenIssue,
    OpenPull,
    Push,
    Say,
    Seen,
    Step,
    Thread,
    told_mark,
)
from tracker.publish.proposal import FileChange, Proposal

LABEL = "lloyal-track"
WORKFLOW_BOT = "github-actions[bot]"
_BRANCH = "lloyal-track/bump"
_WEB = "web-flow"  # GitHub itself, as the committer of a commit made through the API
_TRAILER = re.compile(r"^Lloyal-Track-(Key|Base|Files): (\S+)$", re.MULTILINE)

_NO_PULLS = "not permitted to create or approve pull requests"
_NEXT_STEP = {
    FaultKind.NO_NETWORK: "try again when the network is back",
    FaultKind.TOKEN_REFUSED: "renew the token in GITHUB_TOKEN",
    FaultKind.FORBIDDEN: "give the job `contents: write`, `pull-requests: write` and "
    "`issues: write`",
    FaultKind.ISSUES_DISABLED: "enable issues in Settings > General > Features: what needs "
    "a person is said there",
    FaultKind.NOT_FOUND: "is GITHUB_REPOSITORY right, and may the token see it?",
    FaultKind.RATE_LIMITED: "run it again later",
    FaultKind.SECONDARY_LIMIT: "run it again later",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where to publish. ``base``: the branch to merge into; ``head``: its newest commit.

    ``me``: the login that the token belongs to. ``required``: checks that ``base`` demands.
    """

    repository: str
    base: str
    head: str
    me: str
    pushed_at: str
    required: tuple[str, ...]


class Hub:
    """One repository, one key."""

    def __init__(self, forge: Forge, repository: str, *, run_url: str = "") -> None:
        self._forge = forge
        self._at = f"/repos/{repository}"
        self._repository = repository
        self._run_url = run_url

    # ---- what is there --------------------------------------------------------------------------

    def place(self) -> Place:
        """The repository as the token sees it.

        Raises:
            EnvironmentFault: it cannot be asked.
        """
        if not self._forge.access.token:
            raise EnvironmentFault(
                "publishing needs a token",
                where=self._repository,
                next_step="export GITHUB_TOKEN=..., or sign in with `gh auth login`",
            )
        viewer = self._forge.graphql("query { viewer { login } }", {})
        if isinstance(viewer, Fault):
            self._stop(viewer, "who the token belongs to")
        about = self._got(self._at)
        base = str(about["default_branch"])
        branch = self._got(f"{self._at}/branches/{quote(base, safe='')}")
        checks = (branch.get("protection") or {}).get("required_status_checks") or {}
        return Place(
            repository=self._repository,
            base=base,
            head=str(branch["commit"]["sha"]),
            me=str(viewer.body["viewer"]["login"]),
            pushed_at=str(about.get("pushed_at") or ""),
            required=tuple(checks.get("contexts") or ()),
        )

    def schedule(self, workflow: str) -> tuple[str, str]:
        """When ``workflow`` last ended well (ISO 8601), and its state; "" if it can't be seen."""
        if not workflow:
            return "", ""
        path = f"{self._at}/actions/workflows/{quote(workflow)}"
        about = self._forge.get(path)
        runs = self._forge.get(f"{path}/runs", {"status": "success", "per_page": "1"})
        state = about.body.get("state", "") if isinstance(about, Answer) else ""
        newest = runs.body.get("workflow_runs") if isinstance(runs, Answer) else None
        return (str(newest[0]["updated_at"]) if newest else ""), str(state)

    def seen(self, place: Place, proposal: Proposal) -> Seen:
        """What there is of the proposal's key.

        Raises:
            EnvironmentFault: it cannot be asked.
        """
        names = self._branch_names(proposal.key)
        pulls = self._pulls(place, proposal.key, names)
        living = next((pull for pull in reversed(pulls) if pull.is_open), None)
        branch = self._branch(place, proposal, living.branch if living else names[-1])
        conflicting = False
        told: frozenset[str] = frozenset()
        if living:
            details = self._got(f"{self._at}/pulls/{living.number}")
            conflicting = details.get("mergeable") is False
            if branch and branch.foreign:
                told = self._told(living.number, place.me)
        return Seen(
            pulls=pulls,
            issues=self._issues(place, proposal.key),
            branch=branch,
            base_has_files=bool(proposal.files)
            and all(self._has(place.base, change) for change in proposal.files),
            conflicting=conflicting,
            told=told,
        )

    def _branch_names(self, key: str) -> list[str]:
        """The branch of the key, and numbered ones that took its place, oldest first."""
        first = branch_name(key)
        found = self._all(f"{self._at}/git/matching-refs/heads/{first}")
        taken = {str(ref["ref"]).removeprefix("refs/heads/") for ref in found}
        numbered = re.compile(rf"{re.escape(first)}\.(\d+)")
        numbers = sorted(int(m.group(1)) for name in taken if (m := numbered.fullmatch(name)))
        return [first, *(f"{first}.{number}" for number in numbers)]

    def _pulls(self, place: Place, key: str, names: list[str]) -> tuple[Thread, ...]:
        owner = self._repository.partition("/")[0]
        found = [
            pull
            for name in names
            for pull in self._all(f"{self._at}/pulls", {"state": "all", "head": f"{owner}:{name}"})
        ]
        threads = [self._thread(pull, place.me, key) for pull in found]
        ours = [thread for thread in threads if thread is not None]
        return tuple(sorted(ours, key=lambda thread: -thread.number))

    def _issues(self, place: Place, key: str) -> tuple[Thread, ...]:
        found = self._forge.all_pages(f"{self._at}/issues", {"state": "all", "labels": LABEL})
        if isinstance(found, Fault):
            if found.kind is FaultKind.ISSUES_DISABLED:
                # Then there are none; only opening one is refused, and names the reason.
                return ()
            self._stop(found, "the issues")
        threads = [
            self._thread(issue, place.me, key) for issue in found if "pull_request" not in issue
        ]
        ours = [thread for thread in threads if thread is not None]
        return tuple(sorted(ours, key=lambda thread: -thread.number))

    def _thread(self, body: Any, me: str, key: str) -> Thread | None:
        """A thread of ours with that key; what others opened is not ours, whatever it says."""
        marker = marker_of(body.get("body"))
        if marker is None or marker.key != key or _login(body) != me:
            return None
        return Thread(
            number=int(body["number"]),
            url=str(body["html_url"]),
            title=str(body["title"]),
            marker=marker,
            is_open=body["state"] == "open",
            merged=bool(body.get("merged_at")),
            draft=bool(body.get("draft")),
            node=str(body.get("node_id") or ""),
            branch=str((body.get("head") or {}).get("ref") or ""),
        )

    def _branch(self, place: Place, proposal: Proposal, name: str) -> Branch | None:
        ref = self._maybe(f"{self._at}/git/ref/heads/{name}")
        if ref is None:
            return None
        head = str(ref["object"]["sha"])
        newest = self._got(f"{self._at}/commits/{head}")
        trailers = self._trailers(newest, place.me, proposal.key)
        if trailers is None:
            commits = self._between(place.base, head)
            foreign = [c for c in commits if self._trailers(c, place.me, proposal.key) is None]
            # The newest commit is not ours, even if a page did not reach it.
            oids = [str(commit["sha"]) for commit in foreign if commit["sha"] != head]
            return Branch(name, head, (*oids, head), has_files=False)
        base = trailers.get("Base", "")
        commits = self._between(base, head)
        foreign = [c for c in commits if self._trailers(c, place.me, proposal.key) is None]
        compared = self._maybe(f"{self._at}/compare/{quote(place.base, safe='')}...{base}")
        return Branch(
            name=name,
            head=head,
            foreign=tuple(str(commit["sha"]) for commit in foreign),
            has_files=trailers.get("Files") == files_digest(proposal.files),
            on_base=compared is not None and compared["status"] in ("identical", "behind"),
        )

    def _trailers(self, commit: Any, me: str, key: str) -> dict[str, str] | None:
        """What we noted in a commit of ours; None if it is a person's, or was amended by one."""
        author = (commit.get("author") or {}).get("login")
        committer = (commit.get("committer") or {}).get("login")
        found = dict(_TRAILER.findall(commit["commit"]["message"]))
        ours = author == me and committer in (me, _WEB) and found.get("Key") == _word(key)
        return found if ours else None

    def _between(self, base: str, head: str) -> list[Any]:
        compared = self._got(f"{self._at}/compare/{quote(base, safe='')}...{head}")
        return list(compared["commits"])

    def _told(self, number: int, me: str) -> frozenset[str]:
        comments = self._all(f"{self._at}/issues/{number}/comments")
        mark = re.compile(told_mark("([0-9a-f]{40})"))
        return frozenset(
            head
            for comment in comments
            if _login(comment) == me
            for head in mark.findall(comment["body"])
        )

    def _has(self, branch: str, change: FileChange) -> bool:
        found = self._maybe(f"{self._at}/contents/{quote(change.path)}", {"ref": branch})
        if not isinstance(found, dict):
            return False
        wanted = change.gitlink or blob_id(change.content)
        return found.get("sha") == wanted

    # ---- what is done ---------------------------------------------------------------------------

    def do(self, place: Place, proposal: Proposal, steps: Sequence[Step]) -> list[PublishStep]:
        """Do the steps, in order.

        Raises:
            EnvironmentFault: a step was refused; the ones before it are done.
        """
        done: list[PublishStep] = []
        branch = branch_name(proposal.key)
        new = ""
        for step in steps:
            match step:
                case Push():
                    branch = self._push(place, proposal, step)
                    why = f"{len(step.files)} files on {branch}"
                    done.append(PublishStep(done=Done.BRANCH, number=None, url="", why=why))
                case OpenPull():
                    done.append(self._open_pull(place, step, branch))
                    new = str(done[-1].number)
                case OpenIssue():
                    done.append(self._open_issue(step))
                    new = str(done[-1].number)
                case Edit():
                    done.append(self._edit(step))
                case Say():
                    done.append(self._say(step.thread, step.text))
                case Close():
                    done.append(self._close(step, new))
                case LeaveAlone():
                    done.append(_left(step, Done.LEFT_ALONE))
                case Nothing():
                    done.append(_left(step, Done.UNCHANGED if step.thread else Done.NOTHING))
                case _:
                    assert_never(step)
        return done

    def _push(self, place: Place, proposal: Proposal, step: Push) -> str:
        onto = step.onto
        base_tree = self._got(f"{self._at}/git/commits/{place.head}")["tree"]["sha"]
        entries = [self._entry(change) for change in step.files]
        tree = self._sent(
            "POST", f"{self._at}/git/trees", {"base_tree": base_tree, "tree": entries}
        )
        parents = [place.head]
        if onto:
            compared = self._got(f"{self._at}/compare/{onto.head}...{place.head}")
            newer = compared["status"] not in ("identical", "behind")
            parents = [onto.head, *([place.head] if newer else [])]
        message = (
            f"{proposal.title}\n\n"
            f"Lloyal-Track-Key: {_word(proposal.key)}\n"
            f"Lloyal-Track-Base: {place.head}\n"
            f"Lloyal-Track-Files: {files_digest(step.files)}\n"
        )
        commit = self._sent(
            "POST",
            f"{self._at}/git/commits",
            {"message": message, "tree": tree["sha"], "parents": parents},
        )
        if onto:
            path = f"{self._at}/git/refs/heads/{onto.name}"
            self._sent("PATCH", path, {"sha": commit["sha"], "force": False})
            return onto.name
        name = self._free_name(proposal.key)
        body = {"ref": f"refs/heads/{name}", "sha": commit["sha"]}
        self._sent("POST", f"{self._at}/git/refs", body)
        return name

    def _entry(self, change: FileChange) -> dict[str, str]:
        entry = {"path": change.path, "mode": change.mode}
        if change.gitlink is not None:
            return {**entry, "type": "commit", "sha": change.gitlink}
        content = base64.b64encode(change.content).decode()
        blob = self._sent(
            "POST", f"{self._at}/git/blobs", {"content": content, "encoding": "base64"}
        )
        return {**entry, "type": "blob", "sha": blob["sha"]}

    def _free_name(self, key: str) -> str:
        names = self._branch_names(key)
        if len(names) == 1 and self._maybe(f"{self._at}/git/ref/heads/{names[0]}") is None:
            return names[0]
        number = int(names[-1].rpartition(".")[2]) if len(names) > 1 else 1
        return f"{names[0]}.{number + 1}"

    def _open_pull(self, place: Place, step: OpenPull, branch: str) -> PublishStep:
        body = {
            "title": step.title,
            "body": self._body(step.body, step.marker),
            "head": branch,
            "base": place.base,
            "draft": step.draft,
        }
        answer = self._forge.send("POST", f"{self._at}/pulls", body)
        no_drafts = isinstance(answer, Fault) and "raft" in answer.why
        if step.draft and no_drafts:
            # Private repositories of the free plan have none.
            answer = self._forge.send("POST", f"{self._at}/pulls", {**body, "draft": False})
        if isinstance(answer, Fault):
            self._stop(answer, "opening the pull request")
        return _step(Done.PULL_OPENED, answer.body)

    def _open_issue(self, step: OpenIssue) -> PublishStep:
        body = {"title": step.title, "body": self._body(step.body, step.marker), "labels": [LABEL]}
        return _step(Done.ISSUE_OPENED, self._sent("POST", f"{self._at}/issues", body))

    def _edit(self, step: Edit) -> PublishStep:
        kind = "pulls" if step.is_pull else "issues"
        body = {"title": step.title, "body": self._body(step.body, step.marker)}
        made = self._sent("PATCH", f"{self._at}/{kind}/{step.thread.number}", body)
        if step.draft is not None and step.draft is not step.thread.draft:
            name = "convertPullRequestToDraft" if step.draft else "markPullRequestReadyForReview"
            mutation = (
                f"mutation($id: ID!) {{ {name}(input: {{pullRequestId: $id}}) "
                "{ pullRequest { isDraft } } }"
            )
            # Not worth a failure: the body says what is red.
            self._forge.graphql(mutation, {"id": step.thread.node})
        return _step(Done.PULL_UPDATED if step.is_pull else Done.ISSUE_UPDATED, made)

    def _say(self, thread: Thread, text: str) -> PublishStep:
        self._sent("POST", f"{self._at}/issues/{thread.number}/comments", {"body": text})
        return PublishStep(done=Done.COMMENTED, number=thread.number, url=thread.url)

    def _close(self, step: Close, new: str) -> PublishStep:
        number = step.thread.number
        self._say(step.thread, step.text.replace(f"#{NEW}", f"#{new}" if new else "the new one"))
        current = self._got(f"{self._at}/issues/{number}")
        body = re.sub(r"\s*<!-- lloyal-track \{[^<>]*\} -->\s*\Z", "", current.get("body") or "")
        kind = "pulls" if step.is_pull else "issues"
        change = {"state": "closed", "body": self._body(body, step.marker)}
        made = self._sent("PATCH", f"{self._at}/{kind}/{number}", change)
        return _step(Done.PULL_CLOSED if step.is_pull else Done.ISSUE_CLOSED, made)

    def _body(self, body: str, marker: Marker) -> str:
        return fitted(body, marker, run_url=self._run_url)

    # ---- asking ---------------------------------------------------------------------------------

    def _got(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        answer = self._forge.get(path, query)
        if isinstance(answer, Fault):
            self._stop(answer, path)
        return answer.body

    def _maybe(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """The resource, None if there is none."""
        answer = self._forge.get(path, query)
        if isinstance(answer, Fault):
            if answer.kind is FaultKind.NOT_FOUND:
                return None
            self._stop(answer, path)
        return answer.body

    def _all(self, path: str, query: Mapping[str, str] | None = None) -> list[Any]:
        items = self._forge.all_pages(path, query)
        if isinstance(items, Fault):
            self._stop(items, path)
        return items

    def _sent(self, verb: str, path: str, body: Mapping[str, Any]) -> Any:
        answer: Answer | Fault = self._forge.send(verb, path, body)
        if isinstance(answer, Fault):
            self._stop(answer, f"{verb} {path}")
        return answer.body

    def _stop(self, fault: Fault, doing: str) -> NoReturn:
        next_step = _NEXT_STEP.get(fault.kind, "see the message, and run it again")
        if _NO_PULLS in fault.why:
            next_step = (
                "allow it in Settings > Actions > General > Workflow permissions, or use a "
                "token of an app or a person; the branch is pushed"
            )
        raise EnvironmentFault(
            f"cannot publish: {fault.why}",
            where=f"{self._repository}: {doing}",
            next_step=next_step,
        )


def _login(body: Any) -> str:
    """Who wrote it; "" for an account that was deleted."""
    return str((body.get("user") or {}).get("login") or "")


def _word(key: str) -> str:
    """A key as one word of a commit's trailer."""
    return re.sub(r"\s+", "-", key)


def branch_name(key: str) -> str:
    """The living branch of a key; keys of other configurations get a suffix."""
    suffix = re.sub(r"[^A-Za-z0-9]+", "-", key).strip("-").lower()
    return _BRANCH if suffix in ("", "default") else f"{_BRANCH}-{suffix}"


def files_digest(files: Sequence[FileChange]) -> str:
    """Of what a branch shall change."""
    return digest([change.meaning for change in files])


def blob_id(content: bytes) -> str:
    """The id that git gives a file with that content."""
    import hashlib

    head = b"blob %d\0" % len(content)
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()


def _step(done: Done, body: Any) -> PublishStep:
    return PublishStep(done=done, number=int(body["number"]), url=str(body["html_url"]))


def _left(step: LeaveAlone | Nothing, done: Done) -> PublishStep:
    thread = step.thread
    return PublishStep(
        done=done,
        number=thread.number if thread else None,
        url=thread.url if thread else "",
        why=step.why,
    )
