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

import msgspec

from tracker.errors import EnvironmentFault
from tracker.evidence.publish import Done, PublishStep
from tracker.evidence.tickets import FaultKind
from tracker.forge.answers import Answer, Fault
from tracker.forge.client import Forge
from tracker.publish.body import Marker, fitted, marker_of, unmarked
from tracker.publish.branch import (
    blob_id,
    branch_name,
    commit_message,
    files_digest,
    trailers_of,
)
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
from tracker.publish.resources import (
    About,
    BranchHead,
    Comment,
    Commit,
    Compared,
    Object,
    Posted,
    R,
    Ref,
    Rule,
    Runs,
    Tree,
    Viewer,
    Workflow,
    read,
)

LABEL = "lloyal-track"
WORKFLOW_BOT = "github-actions[bot]"
_NO_PULLS = "not permitted to create or approve pull requests"
_OVERTAKEN = ("not a fast forward", "Reference already exists")
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

    @property
    def ours(self) -> tuple[str, ...]:
        """Whose threads and commits are ours. The workflow's own token came before that of an app:
        what was published with it is carried on, not published a second time."""
        return (self.me, WORKFLOW_BOT)


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
        asked = self._forge.graphql("query { viewer { login } }", {})
        viewer = self._read(Viewer, asked, "who the token belongs to")
        about = self._got(About, self._at)
        base = quote(about.default_branch, safe="")
        branch = self._got(BranchHead, f"{self._at}/branches/{base}")
        return Place(
            repository=self._repository,
            base=about.default_branch,
            head=branch.commit.sha,
            me=viewer.viewer.login,
            pushed_at=about.pushed_at or "",
            required=self._required(branch, base),
        )

    def _required(self, branch: BranchHead, base: str) -> tuple[str, ...]:
        """The checks that a protection or a ruleset of the branch demands, as far as one sees."""
        checks = branch.protection.required_status_checks if branch.protection else None
        names = list(checks.contexts if checks else ())
        for rule in self._visible(list[Rule], f"{self._at}/rules/branches/{base}") or ():
            names += [check.context for check in rule.parameters.required_status_checks]
        return tuple(dict.fromkeys(names))

    def schedule(self, workflow: str) -> tuple[str, str]:
        """When ``workflow`` last ended well (ISO 8601), and its state; "" if it can't be seen."""
        if not workflow:
            return "", ""
        path = f"{self._at}/actions/workflows/{quote(workflow)}"
        about = self._visible(Workflow, path)
        runs = self._visible(Runs, f"{path}/runs", {"status": "success", "per_page": "1"})
        newest = runs.workflow_runs[0].updated_at if runs and runs.workflow_runs else ""
        return newest, about.state if about else ""

    def seen(self, place: Place, proposal: Proposal) -> Seen:
        """What there is of the proposal's key.

        Raises:
            EnvironmentFault: it cannot be asked.
        """
        names, free = self._branch_names(proposal.key)
        pulls = self._pulls(place, proposal.key, names)
        living = next((pull for pull in reversed(pulls) if pull.is_open), None)
        branch = self._branch(place, proposal, living.branch if living else names[-1])
        conflicting = False
        told: frozenset[str] = frozenset()
        if living:
            details = self._got(Posted, f"{self._at}/pulls/{living.number}")
            conflicting = details.mergeable is False
            if branch and branch.foreign:
                told = self._told(living.number, place)
        return Seen(
            pulls=pulls,
            issues=self._issues(place, proposal.key),
            branch=branch,
            free=free,
            base_has_files=bool(proposal.files)
            and all(self._has(place.base, change) for change in proposal.files),
            conflicting=conflicting,
            told=told,
        )

    def _branch_names(self, key: str) -> tuple[list[str], str]:
        """The branch of the key and numbered ones that took its place, oldest first; a free one."""
        first = branch_name(key)
        found = self._all(Ref, f"{self._at}/git/matching-refs/heads/{first}")
        taken = {ref.ref.removeprefix("refs/heads/") for ref in found}
        numbered = re.compile(rf"{re.escape(first)}\.(\d+)")
        numbers = sorted(int(m.group(1)) for name in taken if (m := numbered.fullmatch(name)))
        free = f"{first}.{max(numbers, default=1) + 1}" if numbers or first in taken else first
        return [first, *(f"{first}.{number}" for number in numbers)], free

    def _pulls(self, place: Place, key: str, names: list[str]) -> tuple[Thread, ...]:
        owner = self._repository.partition("/")[0]
        found = [
            pull
            for name in names
            for pull in self._all(
                Posted, f"{self._at}/pulls", {"state": "all", "head": f"{owner}:{name}"}
            )
        ]
        # The branch says which key it is, even if a person wrote the whole body anew.
        threads = [self._thread(pull, place, key, Marker(key, "", "")) for pull in found]
        ours = [thread for thread in threads if thread is not None]
        return tuple(sorted(ours, key=lambda thread: -thread.number))

    def _issues(self, place: Place, key: str) -> tuple[Thread, ...]:
        found = self._forge.all_pages(f"{self._at}/issues", {"state": "all", "labels": LABEL})
        if isinstance(found, Fault) and found.kind is FaultKind.ISSUES_DISABLED:
            # Then there are none; only opening one is refused, and names the reason.
            return ()
        threads = [
            self._thread(issue, place, key)
            for issue in self._read(list[Posted], found, "the issues")
            if issue.pull_request is None
        ]
        ours = [thread for thread in threads if thread is not None]
        return tuple(sorted(ours, key=lambda thread: -thread.number))

    def _thread(
        self, posted: Posted, place: Place, key: str, unmarked: Marker | None = None
    ) -> Thread | None:
        """A thread of ours with that key; what others opened is not ours, whatever it says."""
        marker = marker_of(posted.body) or unmarked
        if marker is None or marker.key != key or posted.login not in place.ours:
            return None
        return Thread(
            number=posted.number,
            url=posted.html_url,
            title=posted.title,
            marker=marker,
            is_open=posted.state == "open",
            merged=bool(posted.merged_at),
            draft=bool(posted.draft),
            node=posted.node_id,
            branch=posted.head.ref,
        )

    def _branch(self, place: Place, proposal: Proposal, name: str) -> Branch | None:
        ref = self._maybe(Ref, f"{self._at}/git/ref/heads/{name}")
        if ref is None:
            return None
        head = ref.object.sha
        newest = self._got(Commit, f"{self._at}/commits/{head}")
        trailers = trailers_of(newest, place.ours, proposal.key)
        # The newest commit is not ours: whatever of its branch is not in the base, counts.
        base = place.base if trailers is None else trailers.get("Base", "")
        commits = self._compared(base, head).commits
        foreign = [c.sha for c in commits if trailers_of(c, place.ours, proposal.key) is None]
        if trailers is None:
            # Named last, even if a page did not reach it.
            foreign = [*(oid for oid in foreign if oid != head), head]
            return Branch(name, head, tuple(foreign), has_files=False)
        path = f"{self._at}/compare/{quote(place.base, safe='')}...{base}"
        compared = self._maybe(Compared, path)
        return Branch(
            name=name,
            head=head,
            foreign=tuple(foreign),
            has_files=trailers.get("Files") == files_digest(proposal.files),
            on_base=compared is not None and compared.status in ("identical", "behind"),
        )

    def _compared(self, base: str, head: str) -> Compared:
        return self._got(Compared, f"{self._at}/compare/{quote(base, safe='')}...{head}")

    def _told(self, number: int, place: Place) -> frozenset[str]:
        comments = self._all(Comment, f"{self._at}/issues/{number}/comments")
        mark = re.compile(told_mark("([0-9a-f]{40})"))
        return frozenset(
            head
            for comment in comments
            if comment.user and comment.user.login in place.ours
            for head in mark.findall(comment.body or "")
        )

    def _has(self, branch: str, change: FileChange) -> bool:
        path = f"{self._at}/contents/{quote(change.path)}"
        answer = self._forge.get(path, {"ref": branch})
        if isinstance(answer, Fault) and answer.kind is FaultKind.NOT_FOUND:
            return False
        if isinstance(answer, Answer) and isinstance(answer.body, list):
            return False  # a folder
        wanted = change.gitlink or blob_id(change.content)
        return self._read(Object, answer, path).sha == wanted

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
        base_tree = self._got(Tree, f"{self._at}/git/commits/{place.head}").tree.sha
        entries = [self._entry(change) for change in step.files]
        tree = self._sent(
            Object, "POST", f"{self._at}/git/trees", {"base_tree": base_tree, "tree": entries}
        ).sha
        parents = [place.head]
        if onto:
            newer = self._compared(onto.head, place.head).status not in ("identical", "behind")
            parents = [onto.head, *([place.head] if newer else [])]
        message = commit_message(proposal, step.files, base=place.head, tree=tree)
        commit = self._sent(
            Object,
            "POST",
            f"{self._at}/git/commits",
            {"message": message, "tree": tree, "parents": parents},
        ).sha
        if onto:
            path = f"{self._at}/git/refs/heads/{onto.name}"
            self._sent(Ref, "PATCH", path, {"sha": commit, "force": False})
            return onto.name
        body = {"ref": f"refs/heads/{step.free}", "sha": commit}
        self._sent(Ref, "POST", f"{self._at}/git/refs", body)
        return step.free

    def _entry(self, change: FileChange) -> dict[str, str]:
        entry = {"path": change.path, "mode": change.mode}
        if change.gitlink is not None:
            return {**entry, "type": "commit", "sha": change.gitlink}
        content = base64.b64encode(change.content).decode()
        blob = self._sent(
            Object, "POST", f"{self._at}/git/blobs", {"content": content, "encoding": "base64"}
        )
        return {**entry, "type": "blob", "sha": blob.sha}

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
        return _step(Done.PULL_OPENED, self._read(Posted, answer, "opening the pull request"))

    def _open_issue(self, step: OpenIssue) -> PublishStep:
        body = {"title": step.title, "body": self._body(step.body, step.marker), "labels": [LABEL]}
        return _step(Done.ISSUE_OPENED, self._sent(Posted, "POST", f"{self._at}/issues", body))

    def _edit(self, step: Edit) -> PublishStep:
        kind = "pulls" if step.is_pull else "issues"
        body = {"title": step.title, "body": self._body(step.body, step.marker)}
        made = self._sent(Posted, "PATCH", f"{self._at}/{kind}/{step.thread.number}", body)
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
        path = f"{self._at}/issues/{thread.number}/comments"
        self._sent(Comment, "POST", path, {"body": text})
        return PublishStep(done=Done.COMMENTED, number=thread.number, url=thread.url)

    def _close(self, step: Close, new: str) -> PublishStep:
        number = step.thread.number
        self._say(step.thread, step.text.replace(f"#{NEW}", f"#{new}" if new else "the new one"))
        current = self._got(Posted, f"{self._at}/issues/{number}")
        body = unmarked(current.body)
        kind = "pulls" if step.is_pull else "issues"
        change = {"state": "closed", "body": self._body(body, step.marker)}
        made = self._sent(Posted, "PATCH", f"{self._at}/{kind}/{number}", change)
        return _step(Done.PULL_CLOSED if step.is_pull else Done.ISSUE_CLOSED, made)

    def _body(self, body: str, marker: Marker) -> str:
        return fitted(body, marker, run_url=self._run_url)

    # ---- asking ---------------------------------------------------------------------------------

    def _read(self, kind: type[R], answer: Answer | list[Any] | Fault, doing: str) -> R:
        """What came, of the documented shape."""
        if isinstance(answer, Fault):
            self._stop(answer, doing)
        try:
            return read(kind, answer.body if isinstance(answer, Answer) else answer)
        except msgspec.ValidationError as fault:
            why = f"the answer is not what GitHub documents ({fault})"
            self._stop(Fault(FaultKind.MALFORMED, why), doing)

    def _got(self, kind: type[R], path: str) -> R:
        return self._read(kind, self._forge.get(path), path)

    def _maybe(self, kind: type[R], path: str) -> R | None:
        """The resource, None if there is none."""
        answer = self._forge.get(path)
        if isinstance(answer, Fault) and answer.kind is FaultKind.NOT_FOUND:
            return None
        return self._read(kind, answer, path)

    def _visible(
        self, kind: type[R], path: str, query: Mapping[str, str] | None = None
    ) -> R | None:
        """The resource, None if it cannot be seen: not worth a failure."""
        answer = self._forge.get(path, query)
        try:
            return read(kind, answer.body) if isinstance(answer, Answer) else None
        except msgspec.ValidationError:
            return None

    def _all(self, kind: type[R], path: str, query: Mapping[str, str] | None = None) -> list[R]:
        return self._read(list[kind], self._forge.all_pages(path, query), path)  # type: ignore[valid-type]

    def _sent(self, kind: type[R], verb: str, path: str, body: Mapping[str, Any]) -> R:
        return self._read(kind, self._forge.send(verb, path, body), f"{verb} {path}")

    def _stop(self, fault: Fault, doing: str) -> NoReturn:
        next_step = _NEXT_STEP.get(fault.kind, "see the message, and run it again")
        if _NO_PULLS in fault.why:
            next_step = (
                "allow it in Settings > Actions > General > Workflow permissions, or use a "
                "token of an app or a person; the branch is pushed"
            )
        if any(said in fault.why for said in _OVERTAKEN):
            next_step = "somebody was there first, and what they pushed stays: run it again"
        raise EnvironmentFault(
            f"cannot publish: {fault.why}",
            where=f"{self._repository}: {doing}",
            next_step=next_step,
        )


def _step(done: Done, posted: Posted) -> PublishStep:
    return PublishStep(done=done, number=posted.number, url=posted.html_url)


def _left(step: LeaveAlone | Nothing, done: Done) -> PublishStep:
    thread = step.thread
    return PublishStep(
        done=done,
        number=thread.number if thread else None,
        url=thread.url if thread else "",
        why=step.why,
    )
