"""rebase, sweep, bisect, resume and abort as a user types them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.documents import REPOSITORY
from tests.support.patches import diff, numbered, series_of
from tests.support.repos import File, Step, build, git, state
from tracker.bundled import bundled

_CONFIG = """
state_dir = "state"
[upstream]
url = "https://example.org/upstream"
[series]
dir = "p"
"""
_PIN: dict[str, File] = {"a.c": numbered(1, 40), "b.c": numbered(1, 40)}
_FIRST = diff(_PIN, {"a.c": numbered(1, 40, L20="mine")}, subject="first")
_SECOND = diff(_PIN, {"b.c": numbered(1, 40, L20="mine")}, subject="second")


def run(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tracker", "-q", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONIOENCODING": "utf-8", **env},
        capture_output=True,
        text=True,
        check=False,
    )


def document(result: subprocess.CompletedProcess[str], name: str) -> dict[str, Any]:
    """The one JSON document on stdout, valid by its schema."""
    found: dict[str, Any] = json.loads(result.stdout)
    schema = json.loads((bundled("schemas") / f"{name}-1.json").read_text())
    jsonschema.validate(found, schema)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration with a fetched upstream: the first patch breaks at the tag ``new``."""
    (tmp_path / "lloyal-track.toml").write_text(_CONFIG)
    series_of(tmp_path / "p", _FIRST, _SECOND)
    build(
        tmp_path / "state/upstream.git",
        [
            Step(_PIN, tags=("pin",)),
            Step({"b.c": "top\n" + numbered(1, 40)}, subject="move (#1)", tags=("good",)),
            Step(
                {"a.c": numbered(1, 40, L20="theirs")}, subject="break \x1b[31m(#2)", tags=("new",)
            ),
        ],
    )
    return tmp_path


def test_rebase_exits_by_its_verdict(folder: Path) -> None:
    """0 if all is well, 3 at a conflict, 2 for an unknown revision."""
    assert run(folder, "rebase", "--from", "pin", "--onto", "good").returncode == 0
    assert run(folder, "rebase", "--from", "pin", "--onto", "new").returncode == 3
    unknown = run(folder, "rebase", "--from", "pin", "--onto", "nonsense")
    assert unknown.returncode == 2
    assert "unknown revision" in unknown.stderr
    assert "Traceback" not in unknown.stderr


def test_rebase_prints_one_document_that_its_schema_accepts(folder: Path) -> None:
    """In success and in failure."""
    good = run(folder, "rebase", "--from", "pin", "--onto", "good", "--json")
    found = document(good, "rebase")
    assert [p["outcome"] for p in found["patches"]] == ["unchanged", "offset"]
    bad = run(folder, "rebase", "--from", "pin", "--onto", "nonsense", "--json")
    assert json.loads(bad.stdout)["schema"] == "lloyal-track/error/1"


def test_a_conflict_card_is_for_people(folder: Path) -> None:
    """Both sides, who did it, what to type; and nothing that could steer a terminal."""
    shown = run(folder, "rebase", "--from", "pin", "--onto", "new").stdout
    for part in ("a.c:20", "-line 20", "+theirs", "+mine", "(#2)", "resume"):
        assert part in shown
    assert "\x1b" not in shown


def test_the_printed_commands_finish_a_conflict(folder: Path) -> None:
    """As they are; the patches before and behind it are kept (G27)."""
    shown = run(folder, "rebase", "--from", "pin", "--onto", "new", "--json")
    (first, second) = document(shown, "rebase")["patches"][0]["conflict"]["commands"]
    opened = run(folder, *shlex.split(first)[1:])
    assert opened.returncode == 3
    assert "state/conflict/a.c" in opened.stdout
    assert run(folder, *shlex.split(second)[1:]).returncode == 2
    file = folder / "state/conflict/a.c"
    start, _, rest = file.read_text().partition("<<<<<<< upstream\n")
    file.write_text(start + "both\n" + rest.partition(">>>>>>> patch\n")[2])
    finished = run(folder, *shlex.split(second)[1:])
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "resolution-used" in finished.stdout
    assert b"+both" in (folder / "p/0001.patch").read_bytes()
    assert list((folder / "p/resolutions").iterdir())
    assert run(folder, "rebase", "--from", "new", "--onto", "new").returncode == 0


def _settle(file: Path, text: str) -> None:
    """Put ``text`` for the marked place of ``file``, as a person does in an editor."""
    start, _, rest = file.read_text().partition("<<<<<<< upstream\n")
    file.write_text(start + text + rest.partition(">>>>>>> patch\n")[2])


def test_a_conflict_is_finished_without_a_configuration(folder: Path) -> None:
    """What is open lies in the working directory, and is gone when it is finished (G27)."""
    (folder / "lloyal-track.toml").unlink()
    here = folder / "an empty one"
    here.mkdir()
    upstream = folder / "state/upstream.git"
    before = state(upstream), state(folder / "p")
    named = ("--series", str(folder / "p"), "--upstream", str(upstream))
    shown = run(here, "rebase", "--from", "pin", "--onto", "new", "--json", *named)
    (first, second) = document(shown, "rebase")["patches"][0]["conflict"]["commands"]
    assert run(here, *shlex.split(first)[1:]).returncode == 3
    document(run(here, "abort", "--json"), "abort")
    assert (list(here.iterdir()), state(upstream), state(folder / "p")) == ([], *before)
    assert run(here, *shlex.split(first)[1:]).returncode == 3
    _settle(here / ".lloyal-track/conflict/a.c", "both\n")
    finished = run(here, *shlex.split(second)[1:])
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert b"+both" in (folder / "p/0001.patch").read_bytes()
    assert (list(here.iterdir()), state(upstream)) == ([], before[0])
    nothing = run(here, "resume")
    assert (nothing.returncode, "Traceback" in nothing.stderr) == (2, False)


def test_a_state_folder_of_others_is_not_tidied_away(folder: Path) -> None:
    """A configuration elsewhere may keep its clone and its pin in a folder of the same name."""
    (folder / "lloyal-track.toml").unlink()
    other = folder / ".lloyal-track"
    (other / "upstream.git").mkdir(parents=True)
    (other / "pin.toml").write_text("commit\n")
    named = ("--series", str(folder / "p"), "--upstream", str(folder / "state/upstream.git"))
    done = run(folder, "rebase", "--from", "pin", "--onto", "good", "--write", *named)
    assert done.returncode == 0, done.stderr
    assert (other / "upstream.git").is_dir()
    assert (other / "pin.toml").read_text() == "commit\n"


def test_every_printed_command_names_the_configuration_in_use(folder: Path) -> None:
    """Also one in a folder with a space, from another working directory."""
    other = folder / "a place/of ours.toml"
    other.parent.mkdir()
    other.write_text(_CONFIG.replace('"state"', '"../state"').replace('"p"', '"../p"'))
    (folder / "elsewhere").mkdir()
    (folder / "lloyal-track.toml").unlink()
    words = ("--config", str(other), "rebase", "--from", "pin", "--onto", "new")
    card = run(folder / "elsewhere", *words).stdout
    printed = [line.strip() for line in card.splitlines() if line.strip().startswith("lloyal-")]
    assert len(printed) == 2
    opened = run(folder / "elsewhere", *shlex.split(printed[0])[1:])
    assert f"`lloyal-track --config '{other}' resume`" in opened.stdout
    assert f"`lloyal-track --config '{other}' abort`" in opened.stdout
    _settle(folder / "state/conflict/a.c", "both\n")
    assert run(folder / "elsewhere", *shlex.split(printed[1])[1:]).returncode == 0


def test_a_conflict_that_no_text_settles_prints_no_command(folder: Path) -> None:
    """The file is gone; the one behind it can be settled, and is opened."""
    (folder / "p/0000.patch").write_bytes(
        diff({"gone.c": "1\n"}, {"gone.c": "2\n"}, subject="of a file that is gone")
    )
    first, second, third = document(
        run(folder, "rebase", "--from", "pin", "--onto", "new", "--json"), "rebase"
    )["patches"]
    assert (first["outcome"], first["conflict"]["commands"]) == ("conflict", [])
    assert second["conflict"]["commands"]
    opened = run(folder, "rebase", "--from", "pin", "--onto", "new", "--write")
    assert "no text can settle it" in opened.stdout
    assert "0001.patch is in conflict" in opened.stdout
    assert "judged without the 2 that do not apply" in opened.stdout
    assert f"1 {third['outcome']}, 2 conflict" in opened.stdout
    _settle(folder / "state/conflict/a.c", "both\n")
    left = run(folder, "resume")
    assert left.returncode == 3
    assert "not written: 0000.patch" in left.stdout
    assert not (folder / "state/operation.json").exists()


def test_abort_leaves_everything_as_before(folder: Path) -> None:
    """Patches, upstream, and no open operation."""
    before = state(folder / "p"), state(folder / "state/upstream.git")
    run(folder, "rebase", "--from", "pin", "--onto", "new", "--write")
    again = run(folder, "rebase", "--from", "pin", "--onto", "new", "--write")
    assert again.returncode == 2
    assert "abort" in again.stderr
    given_up = document(run(folder, "abort", "--json"), "abort")
    assert (given_up["kind"], given_up["places"]) == ("rebase", [str(folder / "p")])
    assert (state(folder / "p"), state(folder / "state/upstream.git")) == before
    nothing = run(folder, "abort")
    assert nothing.returncode == 2
    assert "no operation is open" in nothing.stderr


def test_sweep_and_bisect_name_the_break(folder: Path) -> None:
    """And the furthest clean revision; a text that is no range is refused."""
    swept = document(run(folder, "sweep", "pin..new", "--json"), "sweep")
    assert swept["furthest"]["index"] == 1
    assert swept["breaks"][-1]["commit"]["pr"] == 2
    found = document(run(folder, "bisect", "pin..new", "--json"), "bisect")
    assert found["first"] == swept["breaks"][-1]["to"]
    text = run(folder, "sweep", "pin..new")
    assert text.returncode == 3
    assert "furthest clean pin" in text.stdout
    every = document(run(folder, "sweep", "pin..new", "--merges", "--json"), "sweep")
    assert (every["first_parent"], every["breaks"]) == (False, swept["breaks"])
    assert "merged branches" in run(folder, "sweep", "pin..new", "--merges").stdout
    assert run(folder, "sweep", "pin").returncode == 2
    assert run(folder, "sweep", "pin...new").returncode == 2


def test_without_a_configuration_all_can_be_named(folder: Path) -> None:
    """A foreign repository is read, never written."""
    upstream = folder / "state/upstream.git"
    before = state(upstream)
    (folder / "empty").mkdir()
    (folder / "lloyal-track.toml").unlink()
    words = ("--series", str(folder / "p"), "--upstream", str(upstream))
    done = run(folder / "empty", "rebase", "--from", "pin", "--onto", "good", *words)
    assert done.returncode == 0, done.stderr
    assert run(folder / "empty", "rebase", "--onto", "good", *words).returncode == 2
    assert run(folder / "empty", "rebase", "--from", "pin", "--onto", "good").returncode == 2
    assert state(upstream) == before


def test_the_users_surroundings_do_not_matter(folder: Path) -> None:
    """Configuration, attributes, hooks, GIT_*, locale, another repository around: same bytes
    (G01, G02, G06, G09, G11, G13).
    """
    words = ("rebase", "--from", "pin", "--onto", "new", "--json")
    plain = run(folder, *words).stdout
    home = folder / "home"
    (home / ".config/git").mkdir(parents=True)
    (home / ".gitconfig").write_text(
        "[diff]\n\tnoprefix = true\n\tmnemonicPrefix = true\n\talgorithm = patience\n"
        "\texternal = false\n\tcontext = 0\n[merge]\n\tconflictStyle = zdiff3\n\trenames = false\n"
        "[core]\n\tautocrlf = true\n\thooksPath = /nonexistent\n\tquotePath = false\n"
        "[apply]\n\twhitespace = fix\n[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true\n"
    )
    (home / ".config/git/attributes").write_text("* merge=union diff=none -text\n")
    git(folder, "init", "-q")
    git(folder, "config", "diff.noprefix", "true")
    bare = folder / "state/upstream.git"
    git(bare, "config", "merge.conflictStyle", "diff3")
    git(bare, "config", "diff.algorithm", "patience")
    (bare / "info").mkdir(exist_ok=True)
    (bare / "info/attributes").write_text("* merge=union -diff\n")
    victim = state(folder / ".git")
    odd = run(
        folder,
        *words,
        HOME=str(home),
        XDG_CONFIG_HOME=str(home / ".config"),
        GIT_DIR=str(folder / ".git"),
        GIT_WORK_TREE=str(folder),
        GIT_INDEX_FILE=str(folder / ".git/index"),
        GIT_OBJECT_DIRECTORY=str(folder / "nowhere"),
        GIT_CONFIG_PARAMETERS="'diff.context'='0'",
        GIT_DIFF_OPTS="-u0",
        GIT_EXTERNAL_DIFF="false",
        LC_ALL="de_DE.UTF-8",
        LANGUAGE="de",
        TZ="Pacific/Auckland",
    )
    assert odd.stdout == plain
    assert state(folder / ".git") == victim


def test_bisect_finds_the_first_change_of_a_region(folder: Path) -> None:
    """From the watch; a build is not tried, and that is said."""
    watched = "[[watch.regions]]\nname = 'b'\nselector = 'b.c'\n"
    (folder / "lloyal-track.toml").write_text(_CONFIG + watched)
    swept = document(run(folder, "sweep", "pin..good", "--json"), "sweep")
    found = document(run(folder, "bisect", "pin..new", "--until", "region", "--json"), "bisect")
    assert found["items"] == ["region:b"]
    assert found["first"] == swept["to"]
    assert found["commit"]["pr"] == 1
    assert run(folder, "bisect", "pin..new", "--until", "build").returncode == 2


def test_a_broken_configuration_is_not_taken_for_none(folder: Path) -> None:
    """Even where everything is named on the command line."""
    (folder / "lloyal-track.toml").write_text("[upstream]\n")
    words = ("--series", str(folder / "p"), "--upstream", str(folder / "state/upstream.git"))
    done = run(folder, "rebase", "--from", "pin", "--onto", "good", *words)
    assert done.returncode == 2
    assert "url" in done.stderr
