"""What a workflow job says of itself: outputs, annotations, the head of its summary. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tracker.evidence.bump import BumpDocument
from tracker.evidence.publish import PublishDocument
from tracker.evidence.verdict import Status
from tracker.markup import annotation, code

_ADDRESS = re.compile(r"https://[\w./-]+")
# GitHub shows ten annotations of a kind for a step.
_MOST_ANNOTATIONS = 10
# A step's summary may have 1 MiB.
MOST_SUMMARY_BYTES = 1_000_000


def outputs(document: BumpDocument) -> dict[str, str]:
    """For the steps and jobs after this one. Every value is one line of harmless characters."""
    return {
        "verdict": document.verdict.value,
        "outcome": document.pin.outcome,
        "from": _word(document.from_.name),
        "to": _word(document.to.name),
        "target": _word(document.to.upstream_commit or document.to.commit),
        "forbidden-by": " ".join(_word(item) for item in document.pin.forbidden_by),
    }


def output_lines(values: Mapping[str, str]) -> str:
    """The lines for ``$GITHUB_OUTPUT``.

    Raises:
        ValueError: a value has more than one line; it could set another output.
    """
    for name, value in values.items():
        if len(f"{name}={value}x".splitlines()) > 1:
            raise ValueError(name)
    return "".join(f"{name}={value}\n" for name, value in values.items())


def _word(text: str) -> str:
    kept = (
        character if character.isalnum() or character in "._-:/#" else "-" for character in text
    )
    return "".join(kept)[:200]


def remarks(document: BumpDocument) -> list[str]:
    """Workflow commands: what forbids the move as warnings, else the outcome as a notice."""
    forbidding = [item for item in document.items if item.id in document.pin.forbidden_by]
    if not forbidding:
        return [annotation("notice", "pin bump", document.summary)]
    shown = [
        annotation("error" if item.status is Status.FAIL else "warning", item.id, item.summary)
        for item in forbidding[: _MOST_ANNOTATIONS - 1]
    ]
    rest = len(forbidding) - len(shown)
    more = [annotation("warning", "pin bump", f"{rest} more items forbid the move")] if rest else []
    return shown + more


def said(document: PublishDocument) -> str:
    """What was published, in Markdown, for the job's summary."""
    lines = ["", "## Published", ""]
    for step in document.steps:
        thread = f" [`#{step.number}`]({step.url})" if _ADDRESS.fullmatch(step.url) else ""
        why = f": {code(step.why)}" if step.why else ""
        lines.append(f"- {step.done.value.replace('-', ' ')}{thread}{why}")
    lines += [f"- ⚠️ {code(note, 400)}" for note in document.notes]
    known = code(document.last_success) if document.last_success else "none yet, or not to be seen"
    lines.append(f"- last successful run before this one: {known}")
    return "\n".join(lines) + "\n"


def cut(summary: str) -> str:
    """A summary that GitHub takes; the whole checklist is in the artifact."""
    encoded = summary.encode()
    if len(encoded) <= MOST_SUMMARY_BYTES:
        return summary
    kept = encoded[:MOST_SUMMARY_BYTES].decode(errors="ignore").rpartition("\n")[0]
    return f"{kept}\n\n_Cut here: the whole checklist is in the artifact._\n"
