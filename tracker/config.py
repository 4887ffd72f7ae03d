"""lloyal-track.toml -> a frozen ``Config``; every error names file, line and key.

Reads files only; never writes, never runs anything. Relative paths are relative to the folder of
the configuration file. A file may name another with ``extends``: tables are merged key by key, the
nearer file wins, arrays replace. A name that ships with the tool (``archives.toml``) is used from
there when no such file exists, with the working directory as its folder.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from tracker.bundled import bundled
from tracker.errors import ConfigError

FILE_NAME = "lloyal-track.toml"
SHIPPED = ("archives.toml", FILE_NAME)
SHIPPED_UPSTREAM = "ggml-org/llama.cpp"
SHIPPED_PARENT = "shipped:llama.cpp"
_OWN_TABLES = ("state_dir", "series", "pins")


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Archive(_Table, frozen=True, kw_only=True):
    """One package archive that carries the upstream tree.

    ``date``: committer date of the mirror's commit, ISO 8601 with zone. ``sha256``: of the file.
    """

    version: str
    upstream_commit: str
    date: str
    sha256: str


class Upstream(_Table, frozen=True, kw_only=True):
    """Where upstream lives. ``archives``: oldest first; the first is the mirror's initial pin."""

    url: str
    branch: str = "master"
    repository: str | None = None
    source: Literal["git", "registry"] = "git"
    package: str | None = None
    prefix: str = ""
    archives: tuple[Archive, ...] = ()


class SeriesTable(_Table, frozen=True, kw_only=True):
    """``dir``: folder of the patches. None: ``patches``; for llama.cpp the shipped patch set."""

    dir: str | None = None


class PinTable(_Table, frozen=True, kw_only=True):
    """One place that names the pinned revision.

    ``kind``: track = our pin.toml; version-file = one value among comment lines; submodule = a
    gitlink; pattern = ``pattern`` with one group, found exactly ``matches`` times; key = dotted
    ``key`` in a JSON, TOML or YAML file or .gitmodules, a part with dots in double quotes
    (``submodule."llama.cpp".branch``). ``repository``: folder of the repository that holds it.
    """

    name: str
    kind: Literal["track", "version-file", "submodule", "pattern", "key"]
    path: str
    repository: str = "."
    pattern: str | None = None
    matches: Annotated[int, msgspec.Meta(ge=1)] = 1
    key: str | None = None


class RegionTable(_Table, frozen=True, kw_only=True):
    """``selector``: ``path::Qualified::name`` and its kin, see docs/selectors.md."""

    name: str
    selector: str
    blocking: bool = False


class RoutingTable(_Table, frozen=True, kw_only=True):
    """A routing question: which class does the routing function construct for ``arch``.

    ``when``: a situation of ``watch.situations``; ``assume``: more source expressions that are
    taken as true or false. ``may_be_absent``: that no revision has it yet is no finding.
    """

    name: str
    arch: str
    when: str = "default"
    assume: dict[str, bool] = {}
    blocking: bool = True
    may_be_absent: bool = False


class WatchTable(_Table, frozen=True, kw_only=True):
    """``routing_function``: selector of the function that chooses the memory class.

    ``routing_subject``: the member that holds the architecture. ``situations``: by name, the source
    expressions that are true or false in it. ``called``: also watch what the patches' changed lines
    call.
    """

    regions: tuple[RegionTable, ...] = ()
    routing_function: str | None = None
    routing_subject: str = "arch"
    situations: dict[str, dict[str, bool]] = {}
    routing: tuple[RoutingTable, ...] = ()
    called: bool = True


class TicketTable(_Table, frozen=True, kw_only=True):
    """``key``: ``owner/repo#number``; ``why``: what it means for us, shown in the checklist.

    ``until``: what the tracker waits for: somebody upstream acknowledges it, or it is resolved
    (merged, or closed as completed with a fix linked). None: only news matter.
    """

    key: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*/[\w.-]+#[1-9][0-9]*$")]
    why: str
    until: Literal["acknowledged", "resolved"] | None = None


class RecipeTable(_Table, frozen=True, kw_only=True):
    """How the native core is built. ``options``: CMake cache entries (``-DKEY=VALUE``).

    ``target_flags``: further compiler flags, by target. ``backends``: those that the result must
    contain. ``unity``: several sources may be compiled as
    one, where the revision allows it.
    """

    targets: tuple[str, ...]
    options: dict[str, str] = {}
    cxx_flags: str = ""
    c_flags: str = ""
    target_flags: dict[str, str] = {}
    backends: tuple[Literal["cpu", "metal", "cuda", "vulkan"], ...] = ("cpu",)
    unity: bool = True
    timeout_s: int = 3600


class DownstreamTable(_Table, frozen=True, kw_only=True):
    """A core of ours on top of upstream's, built after it.

    ``command``: run in ``dir`` without a shell. It finds in its environment where sources, headers
    and libraries lie, and which revision they are: docs/downstream.md. ``recipe``: the one after
    which it runs. ``env``: names of variables that it may see besides.
    """

    name: str
    command: tuple[str, ...]
    dir: str = "."
    recipe: str = "check"
    env: tuple[str, ...] = ()
    timeout_s: int = 3600


class BuildTable(_Table, frozen=True, kw_only=True):
    """``recipes``: by name; the check builds ``check``. ``jobs`` 0: as many as cores."""

    recipes: dict[str, RecipeTable] = {}
    downstream: tuple[DownstreamTable, ...] = ()
    jobs: int = 0
    store_gib: float = 10.0


class CheckTable(_Table, frozen=True, kw_only=True):
    """The image-prefill check. ``models``: the tiny models to synthesise. Limits are per run."""

    enabled: bool = True
    models: tuple[str, ...] = ("qwen35", "qwen35moe")
    n_ubatch: tuple[int, ...] = (128, 512, 1024)
    timeout_s: int = 120
    memory_mib: int = 8192


class HumanTable(_Table, frozen=True, kw_only=True):
    """A line of the checklist that only a person can tick.

    ``every_bump``: a decision holds for one target revision only.
    """

    name: str
    title: str
    why: str = ""
    every_bump: bool = False


class LineTable(_Table, frozen=True, kw_only=True):
    """A line of the tracker's own list. ``items``: item ids or ``PREFIX*`` that answer it."""

    title: str
    items: tuple[str, ...]


class ChecklistTable(_Table, frozen=True, kw_only=True):
    """``blocking`` and ``advisory``: item ids or ``PREFIX*``; they override the defaults.

    The longest match wins; an exact id in ``blocking`` that nothing judged counts as unknown.
    ``lines``: the tracker's own list, in its order.
    """

    lines: tuple[LineTable, ...] = ()
    human: tuple[HumanTable, ...] = ()
    blocking: tuple[str, ...] = ()
    advisory: tuple[str, ...] = ()


class Document(_Table, frozen=True, kw_only=True):
    """The whole file.

    ``extends``: another configuration, whose tables this one refines; ``shipped:llama.cpp`` is the
    one that comes with the tool, without its folders and pins. ``state_dir``: the one folder
    for the clone, builds and evidence; ignore it in version control, or keep the pin in it.
    """

    extends: str | None = None
    state_dir: str = "vendor"
    upstream: Upstream
    series: SeriesTable = SeriesTable()
    pins: tuple[PinTable, ...] = ()
    watch: WatchTable = WatchTable()
    tickets: tuple[TicketTable, ...] = ()
    build: BuildTable = BuildTable()
    check: CheckTable = CheckTable(enabled=False)
    checklist: ChecklistTable = ChecklistTable()


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration that was read and checked.

    ``file``: where it was read. ``base``: the folder its relative paths refer to. ``decisions``:
    the file of people's decisions, beside the patches if those are the user's own.
    ``digest_input``: the merged tables, for provenance.
    """

    file: Path
    base: Path
    state_dir: Path
    upstream: Upstream
    series_dir: Path
    decisions: Path
    pins: tuple[PinTable, ...]
    watch: WatchTable
    tickets: tuple[TicketTable, ...]
    build: BuildTable
    check: CheckTable
    checklist: ChecklistTable
    digest_input: dict[str, Any]


def find(start: Path) -> Path:
    """The nearest lloyal-track.toml in ``start`` or a folder above.

    Raises:
        ConfigError: there is none.
    """
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
    raise ConfigError(
        f"no {FILE_NAME} here or in any folder above",
        where=str(start),
        next_step="write one with `lloyal-track init`, or try the built-in example: "
        "`lloyal-track --config archives.toml bump --to master`",
    )


def load(file: Path) -> Config:
    """Read, merge and check the configuration.

    Raises:
        ConfigError: unreadable, not TOML, an unknown or missing key, a wrong type.
    """
    shipped = not file.exists() and file.name in SHIPPED and file.parent == Path()
    origin = bundled(file.name) if shipped else file
    base = Path.cwd() if shipped else file.resolve().parent
    tables, sources = _merged(origin, seen=())
    try:
        document = msgspec.convert(tables, Document)
    except msgspec.ValidationError as fault:
        raise _located(fault, sources) from None
    _refuse_same_names(document.pins, sources)
    state_dir = base / document.state_dir
    own = _own_series(document, base, shipped=shipped)
    return Config(
        file=file if shipped else file.resolve(),
        base=base,
        state_dir=state_dir,
        upstream=document.upstream,
        series_dir=own or bundled("patchset"),
        decisions=(own or state_dir) / "decisions.toml",
        pins=document.pins,
        watch=document.watch,
        tickets=document.tickets,
        build=_placed(document.build, base),
        check=document.check,
        checklist=document.checklist,
        digest_input=tables,
    )


def _refuse_same_names(pins: tuple[PinTable, ...], sources: list[tuple[Path, str]]) -> None:
    """An item of the checklist is known by its pin's name."""
    seen: set[str] = set()
    for number, pin in enumerate(pins):
        if pin.name in seen:
            fault = f"a second pin of the name `{pin.name}` - at `$.pins[{number}].name`"
            raise _located(msgspec.ValidationError(fault), sources)
        seen.add(pin.name)


def _placed(table: BuildTable, base: Path) -> BuildTable:
    """``table`` with the downstream folders made absolute."""
    downstream = tuple(
        msgspec.structs.replace(one, dir=str(base / one.dir)) for one in table.downstream
    )
    return msgspec.structs.replace(table, downstream=downstream)


def _own_series(document: Document, base: Path, *, shipped: bool) -> Path | None:
    """The user's own folder of patches; None for the patch set that ships with the tool.

    That one is for one upstream only, and it is not the user's to write into.
    """
    if shipped:
        return None
    if document.series.dir is not None:
        return base / document.series.dir
    fits = document.upstream.repository == SHIPPED_UPSTREAM
    return None if fits else base / "patches"


def _merged(file: Path, seen: tuple[Path, ...]) -> tuple[dict[str, Any], list[tuple[Path, str]]]:
    """The tables of ``file`` over those it extends, and the sources, nearest first."""
    if file.resolve() in seen:
        raise ConfigError("`extends` goes in a circle", where=f"{file}: extends")
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(
            "no such configuration file",
            where=str(file),
            next_step="name an existing file with --config, or write one with `lloyal-track init`",
        ) from None
    except (OSError, UnicodeDecodeError) as fault:
        raise ConfigError(f"cannot read the configuration: {fault}", where=str(file)) from None
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        line = re.search(r"line (\d+)", str(fault))
        where = f"{file}:{line.group(1)}" if line else str(file)
        raise ConfigError(f"not valid TOML: {fault}", where=where) from None
    parent = tables.get("extends")
    if not isinstance(parent, str):
        return tables, [(file, text)]
    if parent == SHIPPED_PARENT:
        below, sources = _merged(bundled(FILE_NAME), (*seen, file.resolve()))
        # What is about that project's own folders is not the heir's.
        below = {key: table for key, table in below.items() if key not in _OWN_TABLES}
    else:
        below, sources = _merged(file.parent / parent, (*seen, file.resolve()))
    return _over(tables, below), [(file, text), *sources]


def _over(near: dict[str, Any], far: dict[str, Any]) -> dict[str, Any]:
    merged = dict(far)
    for key, value in near.items():
        old = merged.get(key)
        both = isinstance(value, dict) and isinstance(old, dict)
        merged[key] = _over(value, old) if both else value  # type: ignore[arg-type]
    return merged


def _located(fault: msgspec.ValidationError, sources: list[tuple[Path, str]]) -> ConfigError:
    """Turn msgspec's message (``... - at `$.a.b[1].c` ``) into one with file, line and key."""
    message, _, tail = str(fault).partition(" - at `$")
    key = tail.rstrip("`").lstrip(".")
    named = re.search(r"field `([^`]+)`", message)
    unknown = "unknown field" in message
    if unknown and named:
        key = f"{key}.{named.group(1)}" if key else named.group(1)
        message = "unknown key"
    elif "missing required field" in message and named:
        message = f"the key `{named.group(1)}` is missing"
    for file, text in sources:
        line = line_of(text, key)
        if line is not None:
            where = f"{file}:{line}" + (f" {key}" if key else "")
            return ConfigError(
                message, where=where, next_step="correct it, see docs/configuration.md"
            )
    where = f"{sources[0][0]}" + (f" {key}" if key else "")
    return ConfigError(message, where=where, next_step="correct it, see docs/configuration.md")


def line_of(text: str, key: str) -> int | None:
    """The 1-based line where the dotted ``key`` (``a.b[1].c``) or its nearest table stands.

    None if not even the first part is in ``text``. tomllib keeps no positions; this reads table
    headers and ``key =`` lines only, which is all that an error message needs.
    """
    parts = re.findall(r"[^.\[\]]+|\[\d+\]", key)
    header = ""
    counts: dict[str, int] = {}
    best: tuple[int, int] | None = None
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        table = re.match(r"(\[\[?)\s*([^\]#]+?)\s*\]", line)
        entry = re.match(r"([A-Za-z0-9_\-\"'.]+)\s*=", line)
        if table:
            header = table.group(2)
            if table.group(1) == "[[":
                counts[header] = counts.get(header, -1) + 1
                header = f"{header}[{counts[header]}]"
            here = header
        elif entry:
            here = f"{header}.{entry.group(1)}" if header else entry.group(1)
        else:
            continue
        here_parts = re.findall(r"[^.\[\]]+|\[\d+\]", here)
        depth = len(here_parts)
        if here_parts == parts[:depth] and (best is None or depth > best[0]):
            best = (depth, number)
    return best[1] if best else None
