"""``lloyal-track init``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.session import finish
from tracker.errors import UsageError

if TYPE_CHECKING:
    from tracker.config import PinTable
    from tracker.evidence.init import InitDocument

EPILOG = """Examples:

`lloyal-track init`: in the project that pins llama.cpp.

`lloyal-track init --upstream https://github.com/OWNER/NAME --workflow`: another upstream, and the
weekly workflow too.
"""

LLAMA_CPP = "https://github.com/ggml-org/llama.cpp"
WORKFLOW = Path(".github/workflows/lloyal-track.yml")
STATE_DIR = ".lloyal-track"
NO_PATCHES = {
    True: "# No *.patch file was found: the patch set that ships with the tool is used. Or yours:",
    False: "# No *.patch file was found: name the folder of yours.",
}


def init(
    upstream: Annotated[
        str | None,
        typer.Option(
            "--upstream",
            metavar="URL",
            help="Which project is pinned. [default: the submodule's, else llama.cpp]",
        ),
    ] = None,
    branch: Annotated[
        str | None,
        typer.Option(
            "--branch", help="Upstream's branch to follow. [default: upstream's own, else master]"
        ),
    ] = None,
    workflow: Annotated[
        bool, typer.Option("--workflow", help="Write the weekly GitHub workflow too.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Write the configuration from the pins and patches found here."""
    from tracker.config import FILE_NAME
    from tracker.pins import discovery
    from tracker.statedir import write_whole

    folder = Path.cwd()
    chosen, notes = _chosen(folder, upstream)
    branch = branch or _branch(folder, chosen)
    files = {Path(FILE_NAME): ""}
    if workflow:
        from tracker.publish.workflow import workflow as workflow_text

        files[WORKFLOW] = workflow_text(state_dir=STATE_DIR, to=branch)
    for file in files:
        if file.exists():
            raise UsageError(
                "the file is there already: nothing was written",
                where=str(file),
                next_step="edit it, or move it away and run this again",
            )
    tables = discovery.discover(folder, chosen)
    patches = discovery.patch_folder(folder)
    files[Path(FILE_NAME)] = configuration(chosen, branch, tables, patches)
    for file, text in files.items():
        write_whole(file, text.encode())
    passed_over = (*notes, *discovery.passed_over(folder, tables))
    document = _document(patches, tuple(str(file) for file in files), passed_over)
    finish(document, json=json, show=lambda: _text(document))


def _chosen(folder: Path, given: str | None) -> tuple[str, tuple[str, ...]]:
    """Upstream's address, and what is to be told of the submodules that were not taken."""
    from tracker.pins.discovery import discover
    from tracker.pins.upstreams import last_part, submodules

    if given is not None:
        here = Path(given)
        return (here.resolve().as_uri() if here.is_dir() else given), ()
    known = [one for one in submodules(folder) if not one.url.startswith(".")]
    named = [one.url for one in known if one.is_named(last_part(LLAMA_CPP))]
    if named:
        return named[0], ()
    if len({one.url for one in known}) == 1 and not discover(folder, LLAMA_CPP):
        return known[0].url, ()
    others = ", ".join(f"{one.path} ({one.url})" for one in known)
    told = f"no submodule was taken: {others}; `--upstream URL` names the one you carry patches on"
    return LLAMA_CPP, (told,) if known else ()


def _branch(folder: Path, upstream: str) -> str:
    from urllib.parse import unquote, urlsplit

    from tracker.pins.upstreams import default_branch, submodules

    ours = [one for one in submodules(folder) if one.url == upstream]
    written = [one.branch for one in ours if one.branch not in ("", ".")]
    places = [folder / one.path for one in ours if (folder / one.path / ".git").exists()]
    if urlsplit(upstream).scheme == "file":
        places.append(Path(unquote(urlsplit(upstream).path)))
    found = [name for place in places if place.is_dir() for name in [default_branch(place)] if name]
    return next(iter([*written, *found]), "master")


def configuration(
    upstream: str, branch: str, tables: tuple[PinTable, ...], patches: str | None
) -> str:
    """The text of the configuration; it says what each part is for."""
    from tracker.config import SHIPPED_PARENT
    from tracker.pins.discovery import as_toml
    from tracker.pins.upstreams import last_part

    head = [
        "# What lloyal-track knows of this project. Every key: docs/configuration.md there.",
    ]
    is_llama_cpp = last_part(upstream) == last_part(LLAMA_CPP)
    if is_llama_cpp:
        head += [
            "# Watched code, tickets, the build and the check come from here; refine them below.",
            f'extends = "{SHIPPED_PARENT}"',
        ]
    head += [
        "",
        "# The one folder for the clone, builds and evidence: add it to .gitignore.",
        f'state_dir = "{STATE_DIR}"',
        "",
        "[upstream]",
        f'url = "{upstream}"',
        f'branch = "{branch}"',
        "",
        "[series]",
    ]
    if patches is not None:
        head += [
            "# Where your patches are, in the order of their names or of series.toml.",
            f'dir = "{patches}"',
        ]
    else:
        head += [
            NO_PATCHES[is_llama_cpp],
            '# dir = "patches"',
        ]
    head += ["", "# Every place that names the pinned revision; they move together or not at all."]
    pins = [as_toml(table) for table in tables] or [
        "# No pin was found: write the revision you build on into this file, as\n"
        '# commit = "<40 hex digits>"\n'
        '[[pins]]\nname = "default"\nkind = "track"\npath = "pin.toml"\n'
    ]
    return "\n".join(head) + "\n" + "\n".join(pins)


def _document(
    patches: str | None, written: tuple[str, ...], passed_over: tuple[str, ...]
) -> InitDocument:
    from tracker import config, pins
    from tracker.evidence.init import InitDocument
    from tracker.evidence.verdict import Verdict

    read = config.load(Path(config.FILE_NAME))
    reads = pins.read_pins(read) if read.pins else ()
    notes = [pin.trouble for pin in reads if pin.trouble]
    if not reads:
        notes.append("no pin was found: see the end of the configuration")
    if patches is None:
        notes.append("no patches were found: see [series] in the configuration")
    if str(WORKFLOW) in written:
        from tracker.publish.workflow import FILL_IN

        notes.append(f"{WORKFLOW}: {FILL_IN}")
    return InitDocument(
        verdict=Verdict.ATTENTION if notes else Verdict.OK,
        written=written,
        pins=reads,
        patches=patches,
        notes=(*notes, *passed_over),
    )


def _text(document: InitDocument) -> str:
    lines = [f"wrote {file}" for file in document.written]
    for pin in document.pins:
        lines.append(f"pin   {pin.place}: {pin.value or 'not read'} ({pin.kind})")
    if document.patches is not None:
        lines.append(f"patches in {document.patches}/")
    lines += [f"note  {note}" for note in document.notes]
    lines += ["", "Next: read the configuration, then `lloyal-track doctor`."]
    return "\n".join(lines)
