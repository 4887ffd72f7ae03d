"""From what the check program said to rows with a verdict. Pure, but for reading the logits' files.

A pass must be proven: the run ended, the core that was built is the one that was loaded, image rows
were decoded, no return code but 0. What is not proven is unknown. On the baseline, wrong results
are what the patches are for: they are counted, and their absence is what needs attention.
"""

from __future__ import annotations

import hashlib
import re
import signal
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from tracker.evidence.build import Variant
from tracker.evidence.check import CheckRow, Warned
from tracker.evidence.verdict import Verdict
from tracker.native.core import BuiltCore
from tracker.native.plan import Run
from tracker.native.probe import Counted, Ran, Said
from tracker.native.reports import place_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BASELINE = "baseline"
# Debug builds verify the tails of the cells, but only log what they find.
_INCONSISTENT = re.compile(r"wrong tail for seq_id|duplicate tail for seq_id")


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and the sentence for it ("" if there is nothing to add)."""

    verdict: Verdict
    why: str = ""


@dataclass(slots=True)
class Digests:
    """sha256 of files, each read once."""

    _known: dict[Path, str]

    def of(self, path: Path) -> str | None:
        """None if it cannot be read."""
        if path not in self._known:
            try:
                self._known[path] = hashlib.sha256(path.read_bytes()).hexdigest()
            except OSError:
                return None
        return self._known[path]


def row_of(
    run: Run,
    ran: Ran,
    baseline: Ran | None,
    *,
    arch: str,
    variant: Variant,
    revision: str,
    core: BuiltCore,
    digests: Digests,
    known: Collection[str] = (),
) -> CheckRow:
    """The row of one run; ``baseline``: the same run without the patches, for the comparison.

    ``known``: where a sanitizer reports something without the patches too, in any run.
    """
    said = ran.said
    library = loaded_library(said, digests)
    without = baseline.said if baseline else None
    difference: tuple[float, str] | None = None
    if said is not None:
        difference = _difference(run, said, without)
    doubts = tuple(doubts_about(said, library, core)) if said else ()
    judged = _judged(run, ran, variant, difference, doubts, known, without)
    return CheckRow(
        scenario=run.name,
        arch=arch,
        variant=variant,
        revision=revision,
        geometry=run.geometry,
        n_ubatch=run.n_ubatch,
        rc=ran.code,
        warnings=tuple(
            Warned(position=position, after=after, sequence=sequence, n_tokens=n_tokens)
            for position, after, sequence, n_tokens in (said.warnings if said else ())
        ),
        memory_class=(said.memory_class or None) if said else None,
        logits_digest=said.logits.digest if said and said.logits.count else None,
        max_abs_diff=difference[0] if difference else None,
        compared_with=difference[1] if difference else None,
        library=library,
        verdict=judged.verdict,
        why=judged.why,
        facts=len(said.facts) if said else 0,
        right=_right(run, said, doubts),
        reports=ran.reports,
        broken=tuple(sentence(fact) for fact in _broken(said)) if said else (),
        seconds=round(said.seconds, 3) if said else 0.0,
    )


def sentence(fact: Counted) -> str:
    """A fact that does not hold, for a reader."""
    parts = []
    if fact.returned is not None and fact.returned != fact.expected:
        parts.append(f"answered {_word(fact.returned)}, right is {_word(fact.expected)}")
    if fact.diff is not None:
        size = fact.diff if isinstance(fact.diff, str) else f"{fact.diff:.3g}"
        parts.append(f"logits off by {size}")
    if fact.count is not None:
        parts.append(f"{fact.count} instead of {fact.expected_count}")
    if fact.note:
        parts.append(fact.note)
    return f"{fact.name}: {', '.join(parts)}" if parts else fact.name


def ending(ran: Ran) -> str:
    """How a run that did not come to its end ended: signal by name, status, or the time limit."""
    words = f": {ran.last_words}" if ran.last_words else ""
    if ran.code is None:
        return f"did not end in time{words}"
    if ran.code < 0:
        try:
            name = signal.Signals(-ran.code).name
        except ValueError:
            name = f"signal {-ran.code}"
        return f"ended by {name}{words}"
    return f"ended with status {ran.code} and no result{words}"


def _word(answer: bool | None) -> str:
    return {True: "true", False: "false", None: "either"}[answer]


def loaded_library(said: Said | None, digests: Digests) -> tuple[str, str] | None:
    if said is None or not said.library:
        return None
    found = digests.of(Path(said.library))
    return (said.library, found) if found else None


def _judged(
    run: Run,
    ran: Ran,
    variant: Variant,
    difference: tuple[float, str] | None,
    doubts: Sequence[Judged],
    known: Collection[str],
    baseline: Said | None,
) -> Judged:
    """The first reason against a pass, in the order of how much it matters; else a pass."""
    said = ran.said
    if said is None:
        return Judged(Verdict.FAIL, ending(ran))
    reasons: Iterable[Judged] = doubts
    if variant == "patched":
        new = [report for report in ran.reports if place_of(report) not in known]
        said_new = _reported(new, Verdict.FAIL, "only with the patches, a sanitizer reports")
        absent = _absent(said, baseline)
        reasons = chain(reasons, said_new, _with_patches(run, said, difference), absent)
    elif run.geometry == "none":
        reasons = chain(reasons, _control(run, said))
    said_all = _reported(ran.reports, Verdict.ATTENTION, "a sanitizer reports of upstream's own")
    reasons = chain(reasons, said_all)
    if variant == "baseline" and run.geometry != "none":
        reasons = chain(reasons, _without_patches(run, said))
    return next(iter(reasons), Judged(Verdict.OK))


def _right(run: Run, said: Said | None, doubts: Sequence[Judged]) -> bool | None:
    """Whether the run did what a right memory does; None if nothing is proven."""
    if said is None or doubts:
        return None
    return not _broken(said) and (run.break_lines or not said.warnings)


def doubts_about(said: Said, library: tuple[str, str] | None, core: BuiltCore) -> Iterator[Judged]:
    """What keeps the run from proving anything, whatever else it says."""
    if said.error:
        yield Judged(Verdict.UNKNOWN, said.error)
    built = {item.sha256: item.path.resolve() for item in core.libraries}
    if library is None:
        yield Judged(Verdict.UNKNOWN, "nothing proves which core was loaded")
    elif built.get(library[1]) != Path(library[0]).resolve():
        yield Judged(Verdict.FAIL, f"another core was loaded: {library[0]}")
    for line in said.others:
        if _INCONSISTENT.search(line):
            yield Judged(Verdict.FAIL, f"the core says: {line.strip()}")
    for code in said.codes:
        if code != 0:
            yield Judged(Verdict.FAIL, f"llama_decode returned {code}")
    if said.with_image and said.image_rows == 0:
        yield Judged(Verdict.UNKNOWN, "no image row was decoded, so this proves nothing")
    if not said.memory_class:
        yield Judged(Verdict.UNKNOWN, "the memory object was not told")
    if said.logits.count:
        yield from _logit_doubts(said)
    elif not said.facts:
        yield Judged(Verdict.UNKNOWN, "neither logits nor facts, so this proves nothing")


def _logit_doubts(said: Said) -> Iterator[Judged]:
    """Equal bits prove nothing if they are the bits of no number."""
    import numpy as np

    logits = _logits(said)
    if logits is None:
        yield Judged(Verdict.UNKNOWN, "the logits cannot be read")
    elif not np.isfinite(logits).all():
        yield Judged(Verdict.FAIL, "some logits are no finite numbers")


def _absent(said: Said, baseline: Said | None) -> Iterator[Judged]:
    """Leaving facts out is no way to be right. Their names may differ with what was answered."""
    absent = (len(baseline.facts) if baseline else 0) - len(said.facts)
    if absent > 0:
        yield Judged(Verdict.UNKNOWN, f"states {absent} facts less than without the patches")


def _reported(reports: Sequence[str], verdict: Verdict, words: str) -> Iterator[Judged]:
    if reports:
        more = f" (and {len(reports) - 1} more)" if len(reports) > 1 else ""
        yield Judged(verdict, f"{words}: {reports[0]}{more}")


def _control(run: Run, said: Said) -> Iterator[Judged]:
    broken = _broken(said)
    if broken:
        yield Judged(Verdict.FAIL, _worst(broken))
    if said.warnings and not run.break_lines:
        yield Judged(Verdict.FAIL, f"warns {len(said.warnings)} times without any image")


def _without_patches(run: Run, said: Said) -> Iterator[Judged]:
    broken = _broken(said)
    quiet = run.break_lines or not said.warnings
    if run.warns is not None and said.warnings and len(said.warnings) != run.warns:
        yield Judged(
            Verdict.ATTENTION,
            f"warns {len(said.warnings)} times without the patch, {run.warns} were known",
        )
    if run.proves and quiet and not broken:
        if run.scenario.startswith("rollback") and said.snapshots == 0:
            yield Judged(Verdict.OK, "this revision has no snapshots to roll back to")
        yield Judged(Verdict.ATTENTION, "right without the patches: they may be unneeded here")
    if broken:
        yield Judged(
            Verdict.OK,
            f"{len(broken)} of {len(said.facts)} facts wrong without the patches: still needed",
        )


def _with_patches(run: Run, said: Said, difference: tuple[float, str] | None) -> Iterator[Judged]:
    broken = _broken(said)
    if broken:
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        yield Judged(Verdict.FAIL, _worst(broken) + more)
    if said.warnings and not run.break_lines:
        yield Judged(Verdict.FAIL, f"warns {len(said.warnings)} times with the patches")
    if run.comparable and said.logits.count:
        if difference is None or difference[1] != _BASELINE:
            yield Judged(Verdict.UNKNOWN, "no baseline to compare the logits with")
        elif difference[0] != 0.0:
            size = f"{difference[0]:.3g}"
            yield Judged(Verdict.FAIL, f"logits differ from the baseline's by up to {size}")


def _broken(said: Said) -> list[Counted]:
    return [fact for fact in said.facts if not _holds(fact)]


def _holds(fact: Counted) -> bool:
    """The program's own word, and that its numbers say the same."""
    return (
        fact.holds
        and (fact.expected is None or fact.returned is fact.expected)
        and (fact.limit is None or (fact.diff is not None and _size(fact.diff) <= fact.limit))
        and (fact.expected_count is None or fact.count == fact.expected_count)
    )


def _worst(broken: list[Counted]) -> str:
    wrong = [fact for fact in broken if fact.diff is not None]
    return sentence(max(wrong, key=lambda fact: _size(fact.diff)) if wrong else broken[0])


def _size(diff: float | str | None) -> float:
    return float("inf") if isinstance(diff, str) else diff or 0.0


def _difference(run: Run, said: Said, baseline: Said | None) -> tuple[float, str] | None:
    """Against the baseline where the logits must be equal, else the worst of its own facts."""
    if run.comparable and baseline is not None and said.logits.count:
        return _max_abs_diff(said, baseline), _BASELINE
    own = [_size(fact.diff) for fact in said.facts if fact.diff is not None]
    # JSON has no infinity; a difference that is no number stands in ``broken``.
    finite = [size for size in own if size != float("inf")]
    return (max(finite), "a replay of the rows that are left") if finite else None


def _max_abs_diff(said: Said, baseline: Said) -> float:
    import numpy as np

    if said.logits.digest == baseline.logits.digest and said.logits.count == baseline.logits.count:
        return 0.0
    ours, theirs = _logits(said), _logits(baseline)
    most = float(np.finfo(np.float32).max)
    if ours is None or theirs is None or ours.size != theirs.size:
        return most
    worst = float(np.max(np.abs(ours.astype(np.float64) - theirs.astype(np.float64))))
    return worst if np.isfinite(worst) else most


def _logits(said: Said) -> NDArray[np.float32] | None:
    """None if the file does not hold what the run said of it."""
    import numpy as np

    try:
        found = np.fromfile(said.logits.file, dtype=np.float32)
    except OSError:
        return None
    return found if found.size == said.logits.count else None


def pairs(ran: Mapping[Variant, tuple[Ran, ...]], variant: Variant) -> list[tuple[Ran, Ran | None]]:
    """Each run of ``variant`` with the baseline's, None where there is none."""
    mine = ran.get(variant, ())
    theirs: tuple[Ran, ...] | list[None] = ran.get("baseline", [None] * len(mine))
    if variant == "baseline":
        theirs = [None] * len(mine)
    return list(zip(mine, theirs, strict=True))
