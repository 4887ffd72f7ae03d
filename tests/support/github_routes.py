"""The routes of the fake API."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from tests.support.github_fake import FakeGitHub, Reply, Repository, Request

_NOT_FOUND = Reply(404, {"message": "Not Found"})


def route(
    fake: FakeGitHub, repository: Repository, request: Request, path: str, query: dict[str, str]
) -> Reply:
    """The response for ``path`` below ``/repos/OWNER/NAME``; lists are cut into pages later."""
    path = unquote(path)
    if request.method != "GET" and not repository.may_write:
        return Reply(403, {"message": "Resource not accessible by integration"})
    for method, pattern, handler in _ROUTES:
        found = re.fullmatch(pattern, path)
        if found and method == request.method:
            return handler(fake, repository, found.groups(), query, request.body)
    return Reply(501, {"message": f"the fake does not know {request.method} {path}"})


def _about(
    _fake: FakeGitHub, repository: Repository, _groups: Any, _query: Any, _body: Any
) -> Reply:
    return Reply(
        200,
        {
            "id": repository.number,
            "full_name": repository.name,
            "has_issues": repository.has_issues,
            "default_branch": repository.default_branch,
            "pushed_at": repository.pushed_at,
        },
    )


def _thread(
    _fake: FakeGitHub, repository: Repository, groups: Any, _query: Any, _body: Any
) -> Reply:
    number = int(groups[0])
    if not repository.has_issues and number not in repository.pulls:
        return Reply(410, {"message": "Issues are disabled for this repo"})
    thread = repository.threads.get(number)
    if thread is None:
        return _NOT_FOUND
    return Reply(200, {key: value for key, value in thread.items() if key != "comments_list"})


def _timeline(
    _fake: FakeGitHub, repository: Repository, groups: Any, _query: Any, _body: Any
) -> Reply:
    found = repository.timelines.get(int(groups[0]))
    return _NOT_FOUND if found is None else Reply(200, list(found))


def _pull(_fake: FakeGitHub, repository: Repository, groups: Any, _query: Any, _body: Any) -> Reply:
    found = repository.pulls.get(int(groups[0]))
    return _NOT_FOUND if found is None else Reply(200, found)


def _files(
    _fake: FakeGitHub, repository: Repository, groups: Any, _query: Any, _body: Any
) -> Reply:
    found = repository.files.get(int(groups[0]))
    return _NOT_FOUND if found is None else Reply(200, list(found))


def _branch(
    _fake: FakeGitHub, repository: Repository, groups: Any, _query: Any, _body: Any
) -> Reply:
    head = repository.git.refs.get(f"refs/heads/{groups[0]}")
    if head is None:
        return _NOT_FOUND
    checks = {"required_status_checks": {"contexts": repository.required_checks}}
    return Reply(200, {"name": groups[0], "commit": {"sha": head}, "protection": checks})


def _rules(
    _fake: FakeGitHub, repository: Repository, _groups: Any, _query: Any, _body: Any
) -> Reply:
    checks = [{"context": name} for name in repository.ruleset_checks]
    return Reply(
        200,
        [
            {"type": "deletion"},
            {"type": "pull_request", "parameters": {"required_approving_review_count": 1}},
            {"type": "required_status_checks", "parameters": {"required_status_checks": checks}},
        ],
    )


def _ref(_fake: FakeGitHub, repository: Repository, groups: Any, _query: Any, _body: Any) -> Reply:
    name = f"refs/{groups[0]}"
    head = repository.git.refs.get(name)
    if head is None:
        return _NOT_FOUND
    return Reply(200, {"ref": name, "object": {"sha": head}})


def _matching(
    _fake: FakeGitHub, repository: Repository, groups: Any, _query: Any, _body: Any
) -> Reply:
    return Reply(
        200,
        [
            {"ref": name, "object": {"sha": head}}
            for name, head in sorted(repository.git.refs.items())
            if name.startswith(f"refs/{groups[0]}")
        ],
    )


def _new_ref(
    _fake: FakeGitHub, repository: Repository, _groups: Any, _query: Any, body: Any
) -> Reply:
    if body["ref"] in repository.git.refs:
        return Reply(422, {"message": "Reference already exists"})
    repository.git.refs[body["ref"]] = body["sha"]
    return Reply(201, {"ref": body["ref"], "object": {"sha": body["sha"]}})


def _move_ref(
    _fake: FakeGitHub, repository: Repository, groups: Any, _query: Any, body: Any
) -> Reply:
    name = f"refs/{groups[0]}"
    git = repository.git
    if body.get("force"):
        raise AssertionError("the tool never forces a branch")
    if git.refs[name] not in git.ancestors(body["sha"]):
        return Reply(422, {"message": "Update is not a fast forward"})
    git.refs[name] = body["sha"]
    return Reply(200, {"ref": name, "object": {"sha": body["sha"]}})


def _commit_body(repository: Repository, oid: str) -> dict[str, Any]:
    commit = repository.git.commits[oid]
    return {
        "sha": oid,
        "author": {"login": commit["author"]},
        "committer": {"login": commit["committer"]},
        "commit": {"message": commit["message"], "tree": {"sha": commit["tree"]}},
        "parents": [{"sha": parent} for parent in commit["parents"]],
    }


def _resolved(repository: Repository, name: str) -> str | None:
    found = repository.git.refs.get(f"refs/heads/{name}", name)
    return found if found in repository.git.commits else None


def _commit(
    _fake: FakeGitHub, repository: Repository, groups: Any, _query: Any, _body: Any
) -> Reply:
    oid = _resolved(repository, groups[0])
    return _NOT_FOUND if oid is None else Reply(200, _commit_body(repository, oid))


def _git_commit(
    _fake: FakeGitHub, repository: Repository, groups: Any, _query: Any, _body: Any
) -> Reply:
    commit = repository.git.commits.get(groups[0])
    if commit is None:
        return _NOT_FOUND
    return Reply(200, {"sha": groups[0], "tree": {"sha": commit["tree"]}})


def _compare(
    _fake: FakeGitHub, repository: Repository, groups: Any, _query: Any, _body: Any
) -> Reply:
    base, head = (_resolved(repository, name) for name in groups)
    if base is None or head is None:
        return _NOT_FOUND
    ahead = repository.git.between(base, head)
    behind = repository.git.between(head, base)
    status = {
        (False, False): "identical",
        (True, False): "ahead",
        (False, True): "behind",
        (True, True): "diverged",
    }[(bool(ahead), bool(behind))]
    commits = [_commit_body(repository, oid) for oid in ahead]
    return Reply(200, {"status": status, "commits": commits})


def _contents(
    _fake: FakeGitHub, repository: Repository, groups: Any, query: dict[str, str], _body: Any
) -> Reply:
    commit = _resolved(repository, query["ref"])
    if commit is None:
        return _NOT_FOUND
    entry = repository.git.trees[repository.git.commits[commit]["tree"]].get(groups[0])
    return _NOT_FOUND if entry is None else Reply(200, {"path": groups[0], "sha": entry[1]})


def _new_blob(
    _fake: FakeGitHub, repository: Repository, _groups: Any, _query: Any, body: Any
) -> Reply:
    return Reply(201, {"sha": repository.git.blob(base64.b64decode(body["content"]))})


def _new_tree(
    _fake: FakeGitHub, repository: Repository, _groups: Any, _query: Any, body: Any
) -> Reply:
    entries = dict(repository.git.trees[body["base_tree"]])
    entries |= {entry["path"]: (entry["mode"], entry["sha"]) for entry in body["tree"]}
    return Reply(201, {"sha": repository.git.tree(entries)})


def _thread_list(
    _fake: FakeGitHub, repository: Repository, _groups: Any, query: dict[str, str], _body: Any
) -> Reply:
    if not repository.has_issues:
        return Reply(410, {"message": "Issues are disabled for this repo"})
    wanted = query.get("labels")
    return Reply(
        200,
        [
            _shown(thread)
            for _, thread in sorted(repository.threads.items(), reverse=True)
            if query.get("state") in ("all", thread["state"])
            and (wanted is None or wanted in [label["name"] for label in thread["labels"]])
        ],
    )


def _pull_list(
    _fake: FakeGitHub, repository: Repository, _groups: Any, query: dict[str, str], _body: Any
) -> Reply:
    owner = repository.name.partition("/")[0]
    return Reply(
        200,
        [
            pull
            for _, pull in sorted(repository.pulls.items(), reverse=True)
            if query.get("state") in ("all", pull["state"])
            and query.get("head") == f"{owner}:{pull['head']['ref']}"
        ],
    )


def _shown(thread: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in thread.items() if key != "comments_list"}


def _comments(
    _fake: FakeGitHub, repository: Repository, groups: Any, _query: Any, _body: Any
) -> Reply:
    return Reply(200, list(repository.comments.get(int(groups[0]), [])))


def _workflow(_fake: FakeGitHub, repository: Repository, _groups: Any, _q: Any, _b: Any) -> Reply:
    return Reply(200, {"state": repository.workflow_state})


def _runs(_fake: FakeGitHub, repository: Repository, _groups: Any, _q: Any, _b: Any) -> Reply:
    runs = [{"updated_at": date} for date in repository.successful_runs]
    return Reply(200, {"total_count": len(runs), "workflow_runs": runs[:1]})


def _new_issue(
    fake: FakeGitHub, repository: Repository, _groups: Any, _query: Any, body: Any
) -> Reply:
    if not repository.has_issues:
        return Reply(410, {"message": "Issues are disabled for this repo"})
    made = fake.issue(
        f"{repository.name}#{repository.next_number}",
        body["title"],
        body=body["body"],
        labels=[{"name": name} for name in body.get("labels", [])],
        user={"login": fake.me, "type": "Bot"},
    )
    return Reply(201, _shown(made))


def _new_pull(
    fake: FakeGitHub, repository: Repository, _groups: Any, _query: Any, body: Any
) -> Reply:
    if not repository.actions_may_open_pulls:
        message = "GitHub Actions is not permitted to create or approve pull requests."
        return Reply(403, {"message": message})
    if f"refs/heads/{body['head']}" not in repository.git.refs:
        return Reply(422, {"message": "Validation Failed"})
    for other in repository.pulls.values():
        if (other["head"]["ref"], other["state"]) == (body["head"], "open"):
            return Reply(422, {"message": "A pull request already exists for that branch."})
    made = fake.pull(
        f"{repository.name}#{repository.next_number}",
        body["title"],
        body=body["body"],
        user={"login": fake.me, "type": "Bot"},
    )
    made |= {"draft": body.get("draft", False), "head": {"ref": body["head"]}}
    return Reply(201, made)


def _change_thread(
    _fake: FakeGitHub, repository: Repository, groups: Any, _query: Any, body: Any
) -> Reply:
    number = int(groups[1])
    for kept in (repository.threads, repository.pulls):
        if number in kept:
            kept[number] |= body
    kept = repository.threads if groups[0] == "issues" else repository.pulls
    return Reply(200, _shown(kept[number]))


def _new_comment(
    fake: FakeGitHub, repository: Repository, groups: Any, _query: Any, body: Any
) -> Reply:
    comment = {"body": body["body"], "user": {"login": fake.me}}
    repository.comments.setdefault(int(groups[0]), []).append(comment)
    return Reply(201, comment)


def _new_commit(
    fake: FakeGitHub, repository: Repository, _groups: Any, _query: Any, body: Any
) -> Reply:
    message = body["message"]
    oid = repository.git.commit(body["tree"], body["parents"], message, fake.me, "web-flow")
    return Reply(201, {"sha": oid})


def graphql(fake: FakeGitHub, body: Any) -> Reply:
    """The three things that REST cannot do."""
    query, variables = body["query"], body["variables"]
    if "viewer" in query:
        return Reply(200, {"data": {"viewer": {"login": fake.me}}})
    _, repository_number, number = variables["id"].split("_")
    for repository in fake.repositories.values():
        if repository.number == int(repository_number):
            repository.pulls[int(number)]["draft"] = "convertPullRequestToDraft" in query
    return Reply(200, {"data": {"done": True}})


_ROUTES: list[
    tuple[str, str, Callable[[FakeGitHub, Repository, Any, dict[str, str], Any], Reply]]
] = [
    ("GET", "", _about),
    ("GET", r"/issues/(\d+)", _thread),
    ("GET", r"/issues/(\d+)/timeline", _timeline),
    ("GET", r"/pulls/(\d+)", _pull),
    ("GET", r"/pulls/(\d+)/files", _files),
    ("GET", r"/branches/(.+)", _branch),
    ("GET", r"/rules/branches/(.+)", _rules),
    ("GET", r"/git/ref/(.+)", _ref),
    ("GET", r"/git/matching-refs/(.+)", _matching),
    ("POST", r"/git/refs", _new_ref),
    ("PATCH", r"/git/refs/(.+)", _move_ref),
    ("GET", r"/commits/(.+)", _commit),
    ("GET", r"/git/commits/(.+)", _git_commit),
    ("GET", r"/compare/(.+)\.\.\.(.+)", _compare),
    ("GET", r"/contents/(.+)", _contents),
    ("POST", r"/git/blobs", _new_blob),
    ("POST", r"/git/trees", _new_tree),
    ("POST", r"/git/commits", _new_commit),
    ("POST", r"/issues", _new_issue),
    ("POST", r"/pulls", _new_pull),
    ("PATCH", r"/(issues|pulls)/(\d+)", _change_thread),
    ("POST", r"/issues/(\d+)/comments", _new_comment),
    ("GET", r"/issues", _thread_list),
    ("GET", r"/actions/workflows/[^/]+", _workflow),
    ("GET", r"/actions/workflows/[^/]+/runs", _runs),
    ("GET", r"/pulls", _pull_list),
    ("GET", r"/issues/(\d+)/comments", _comments),
]
