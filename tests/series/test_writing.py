"""Refreshing patch files, and finishing a conflict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.patches import diff, numbered, series_of
from tests.support.repos import File, Step, build, git, state
from tracker.errors import OperationOpen, UsageError
from tracker.evidence.rebase import Note, Outcome
from tracker.evidence.verdict import Verdict
from tracker.git.quarantine import Quarantine
from tracker.git.repository import Repository
from tracker.progress import SILENT
from tracker.series import read_series, refreshing
from tracker.series.merging import Merger
from tracker.series.rebasing import Rebased, rebase_with_engine
from tracker.series.writing import Written, close, keep_resolutions, read_operation, write
from tracker.statedir import StateDir


@dataclass(frozen=True)
class Place:
    """A repository, a series and a state folder."""

    folder: Path

    @property
    def patches(self) -> Path:
        return self.folder / "p"

    @property
    def state(self) -> StateDir:
        return StateDir(self.folder / "state")

    def rebase(self, from_: str, onto: str, *, writing: bool = True) -> tuple[Rebased, Written]:
        series = read_series(self.patches)
        with Repository.open(self.folder / "up") as repository:
            with Quarantine(repository, self.state.quarantine) as store:
                rebased = rebase_with_engine(
                    repository,
                    series,
                    from_=from_,
                    onto=onto,
                    quarantine=store,
                    progress=SILENT,
                )
                if not writing:
                    return rebased, Written((), (), (), None)
                return rebased, write(rebased, series, self.state, self.folder / "up")

    def resume(self) -> list[Path]:
        with Repository.open(self.folder / "up") as repository:
            with Quarantine(repository, self.state.quarantine) as store:
                return keep_resolutions(read_operation(self.state), Merger(store), self.state)


_PIN: dict[str, File] = {"a.c": numbered(1, 40), "b.c": numbered(1, 40)}


def _place(tmp_path: Path, target: dict[str, File], *patches: bytes) -> Place:
    build(tmp_path / "up", [Step(_PIN, tags=("pin",)), Step(target, tags=("new",))])
    series_of(tmp_path / "p", *patches)
    return Place(tmp_path)


_MAIL = diff(
    {"a.c": numbered(1, 40)},
    {"a.c": numbered(1, 40, L20="mine")},
    "--signature=2.39.5",
    subject="[x] keep me",
)


def test_an_untouched_patch_is_not_written(tmp_path: Path) -> None:
    """Import and export change no byte: headers, notes, stat, signature (P23, P24, P25)."""
    odd = _MAIL.replace(b"\n---\n", b"\nDate-Note: J\xfcrgen\n---\nnotes for me\n\n", 1)
    quilt = (
        b"From: me\nSubject: no date\n\n--- a/b.c\n+++ b/b.c\n"
        b"@@ -9,3 +9,3 @@ any label\n line 9\n-line 10\n+ten\n line 11\n"
    )
    place = _place(tmp_path, {"c": ""}, odd, quilt)
    before = state(place.patches)
    _rebased, written = place.rebase("pin", "new")
    assert written == Written((), (), (), None)
    assert state(place.patches) == before


def test_a_refreshed_patch_applies_strictly_and_keeps_the_rest(tmp_path: Path) -> None:
    """Only the diff changes; a second refresh changes nothing."""
    target: dict[str, File] = {"a.c": "top\n" + numbered(1, 40, L18="  line 18")}
    place = _place(tmp_path, target, _MAIL)
    rebased, written = place.rebase("pin", "new")
    assert rebased.document.patches[0].outcome is Outcome.MERGED
    assert written.files == ("0001.patch",)
    content = (place.patches / "0001.patch").read_bytes()
    head, _, _rest = _MAIL.partition(b"diff --git")
    assert content.startswith(head)
    assert content.endswith(b"-- \n2.39.5\n\n")
    assert b"@@ -18,7 +18,7 @@ line 16\n" in content  # the label that it had
    work = tmp_path / "w"
    git(tmp_path, "clone", "-q", str(tmp_path / "up"), str(work))
    git(work, "apply", "--check", str(place.patches / "0001.patch"))
    rebased, written = place.rebase("new", "new")
    assert rebased.document.patches[0].outcome is Outcome.UNCHANGED
    assert written.files == ()


def test_a_refreshed_stack_is_clean_from_the_old_pin_too(tmp_path: Path) -> None:
    """The files are refreshed before the pin moves; their index lines tell what they are for."""
    second = diff(
        {"a.c": numbered(1, 40, L20="mine")}, {"a.c": numbered(1, 40, L20="mine", L22="too")}
    )
    place = _place(tmp_path, {"a.c": "top\n" + numbered(1, 40, L17="x")}, _MAIL, second)
    place.rebase("pin", "new")
    rebased, _written = place.rebase("pin", "new", writing=False)
    assert [p.outcome for p in rebased.document.patches] == [Outcome.UNCHANGED] * 2
    assert [p.flags for p in rebased.document.patches] == [(), ()]
    assert rebased.document.verdict is Verdict.OK


def test_a_conflict_writes_no_patch_and_opens_one_operation(tmp_path: Path) -> None:
    """Also the patches that are clean stay as they are; abort leaves everything as before."""
    clean = diff(_PIN, {"b.c": numbered(1, 40, L20="mine")})
    target: dict[str, File] = {
        "a.c": numbered(1, 40, L20="theirs"),
        "b.c": "top\n" + numbered(1, 40),
    }
    place = _place(tmp_path, target, _MAIL, clean)
    before, upstream = state(place.patches), state(tmp_path / "up")
    _rebased, written = place.rebase("pin", "new")
    assert written.files == ()
    assert written.operation is not None
    text = (place.state.folder / "conflict/a.c").read_text()
    assert "<<<<<<< upstream\ntheirs\n||||||| pin\nline 20\n=======\nmine\n>>>>>>> patch\n" in text
    with pytest.raises(OperationOpen):
        place.rebase("pin", "new")
    close(place.state)
    assert state(place.patches) == before
    assert state(tmp_path / "up") == upstream
    assert not place.state.operation.exists()
    assert not (place.state.folder / "conflict").exists()


def test_a_resolution_is_kept_and_used_again(tmp_path: Path) -> None:
    """By content: also on a later revision that changed other lines; and it is shown."""
    place = _place(tmp_path, {"a.c": numbered(1, 40, L20="theirs")}, _MAIL)
    place.rebase("pin", "new")
    file = place.state.folder / "conflict/a.c"
    with pytest.raises(UsageError, match="not resolved yet"):
        place.resume()
    start, _, rest = file.read_text().partition("<<<<<<< upstream\n")
    file.write_text(start + "mine and theirs\n" + rest.partition(">>>>>>> patch\n")[2])
    (kept,) = place.resume()
    assert kept.parent == place.patches / "resolutions"
    assert not place.state.operation.exists()
    rebased, _written = place.rebase("pin", "new", writing=False)
    (result,) = rebased.document.patches
    assert result.outcome is Outcome.MERGED
    assert Note.RESOLUTION_USED in result.notes
    assert "+mine and theirs" in result.diff
    later = numbered(1, 40, L20="theirs", L3="something else")
    build(tmp_path / "2/up", [Step(_PIN, tags=("pin",)), Step({"a.c": later}, tags=("new",))])
    (tmp_path / "2/p").symlink_to(place.patches)
    rebased, written = Place(tmp_path / "2").rebase("pin", "new")
    assert rebased.document.patches[0].notes == (Note.REFRESH_NEEDED, Note.RESOLUTION_USED)
    assert written.files == ("0001.patch",)
    rebased, _written = Place(tmp_path / "2").rebase("new", "new", writing=False)
    assert rebased.document.patches[0].outcome is Outcome.UNCHANGED


def test_the_rest_of_a_partly_upstreamed_patch_is_offered(tmp_path: Path) -> None:
    """In a file for a human; the patch itself is not dropped and not changed."""
    both = diff(_PIN, {"a.c": numbered(1, 40, L20="mine"), "b.c": numbered(1, 40, L20="too")})
    place = _place(tmp_path, {"a.c": numbered(1, 40, L20="mine")}, both)
    before = state(place.patches)
    rebased, written = place.rebase("pin", "new")
    assert rebased.document.patches[0].outcome is Outcome.PARTLY_UPSTREAMED
    assert state(place.patches) == before
    (reduced,) = written.reduced
    text = Path(reduced).read_text()
    assert "b/b.c" in text
    assert "b/a.c" not in text.partition("diff --git")[2]
    assert written.not_written[0][0] == "0001.patch"


def test_a_crlf_patch_file_stays_one(tmp_path: Path) -> None:
    """Its line ends are its owner's choice."""
    place = _place(tmp_path, {"a.c": "top\n" + numbered(1, 40)}, _MAIL.replace(b"\n", b"\r\n"))
    _rebased, written = place.rebase("pin", "new")
    assert written.files == ("0001.patch",)
    content = (place.patches / "0001.patch").read_bytes()
    assert content.count(b"\n") == content.count(b"\r\n")


def test_a_conflict_without_text_opens_nothing(tmp_path: Path) -> None:
    """The file is gone upstream: no marker can settle that, and it is said."""
    place = _place(tmp_path, {"a.c": None}, _MAIL)
    _rebased, written = place.rebase("pin", "new")
    assert written.operation is None
    assert "not there any more" in written.not_written[0][1]
    assert not place.state.operation.exists()


def test_a_refreshed_patch_that_would_not_apply_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the reason: it is applied strictly before it reaches the file."""
    place = _place(tmp_path, {"a.c": "top\n" + numbered(1, 40)}, _MAIL)
    section = refreshing._section

    def spoiled(*args: Any) -> bytes:
        return section(*args).replace(b"+mine", b"+other")

    monkeypatch.setattr(refreshing, "_section", spoiled)
    before = state(place.patches)
    _rebased, written = place.rebase("pin", "new")
    assert written.files == ()
    assert "another result" in written.not_written[0][1]
    assert state(place.patches) == before


@pytest.mark.parametrize("options", [(), ("-C", "--find-copies-harder")])
def test_a_patch_of_a_file_that_upstream_moved_is_refreshed(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    """Its lines stand where they stood, and still the file as it is applies to nothing (P47)."""
    text = numbered(1, 40)
    mine = {"copy.c" if options else "a.c": numbered(1, 40, L20="mine")}
    place = _place(
        tmp_path, {"a.c": None, "src/a.c": text + "more\n"}, diff({"a.c": text}, mine, *options)
    )
    rebased, written = place.rebase("pin", "new")
    (result,) = rebased.document.patches
    assert result.notes == (Note.REFRESH_NEEDED,)
    assert written.files == ("0001.patch",)
    work = tmp_path / "w"
    git(tmp_path, "clone", "-q", str(tmp_path / "up"), str(work))
    git(work, "apply", "--check", str(place.patches / "0001.patch"))
    content = (place.patches / "0001.patch").read_bytes()
    assert (b"copy from src/a.c" in content) == bool(options)
    rebased, written = place.rebase("new", "new")
    assert rebased.document.patches[0].notes == ()
    assert written.files == ()


def _settled(place: Place, path: str, text: str) -> None:
    file = place.state.folder / "conflict" / path
    start, _, rest = file.read_text().partition("<<<<<<< upstream\n")
    file.write_text(start + text + rest.partition(">>>>>>> patch\n")[2])
    place.resume()


def test_a_file_that_both_added_is_settled_for_good(tmp_path: Path) -> None:
    """The text that a person made of the two is used, and does not ask again."""
    patch = diff(_PIN, {"n.c": "int a;\nint mine;\n"})
    place = _place(tmp_path, {"n.c": "int a;\nint theirs;\n"}, patch)
    place.rebase("pin", "new")
    _settled(place, "n.c", "int a;\nint theirs;\nint mine;\n")
    rebased, written = place.rebase("pin", "new")
    (result,) = rebased.document.patches
    assert result.outcome is Outcome.MERGED
    assert result.notes == (Note.REFRESH_NEEDED, Note.RESOLUTION_USED)
    assert written.files == ("0001.patch",)
    work = tmp_path / "w"
    git(tmp_path, "clone", "-q", str(tmp_path / "up"), str(work))
    git(work, "apply", str(place.patches / "0001.patch"))
    assert (work / "n.c").read_text() == "int a;\nint theirs;\nint mine;\n"


@pytest.mark.parametrize("path", ["a.c", "n.c"])
def test_a_resolution_that_takes_upstreams_side_leaves_no_patch(tmp_path: Path, path: str) -> None:
    """It stands in no result, so it is not told to be merged, and no pin moves by it."""
    theirs: dict[str, File] = {"a.c": numbered(1, 40, L20="theirs"), "n.c": "theirs\n"}
    mine: dict[str, File] = {"a.c": numbered(1, 40, L20="mine"), "n.c": "mine\n"}
    place = _place(tmp_path, {path: theirs[path]}, diff(_PIN, {path: mine[path]}))
    place.rebase("pin", "new")
    _settled(place, path, "theirs\n")
    rebased, written = place.rebase("pin", "new")
    (result,) = rebased.document.patches
    assert result.outcome is Outcome.UPSTREAMED
    assert result.verdict is Verdict.ATTENTION
    assert "keeps upstream's own lines" in result.why
    assert written.files == ()


def test_a_resolution_that_drops_one_of_two_hunks_is_told(tmp_path: Path) -> None:
    """Only what is left is carried."""
    patch = diff(_PIN, {"a.c": numbered(1, 40, L10="mine", L30="mine")})
    place = _place(tmp_path, {"a.c": numbered(1, 40, L10="theirs", L30="theirs")}, patch)
    place.rebase("pin", "new")
    file = place.state.folder / "conflict/a.c"
    start, _, rest = file.read_text().partition("<<<<<<< upstream\n")
    file.write_text(start + "theirs\n" + rest.partition(">>>>>>> patch\n")[2])
    _settled(place, "a.c", "both\n")
    rebased, _written = place.rebase("pin", "new", writing=False)
    (result,) = rebased.document.patches
    assert result.outcome is Outcome.PARTLY_UPSTREAMED
    assert [h.outcome for h in result.files[0].hunks] == [Outcome.UPSTREAMED, Outcome.MERGED]
