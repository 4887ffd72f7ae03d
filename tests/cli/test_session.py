"""Every end of a command is one exit status and, for failures, what, where and what next."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from typing import Any

import pytest
import typer

from tracker.cli import session
from tracker.errors import ConfigError, EnvironmentFault


def app_that(does: Callable[[], None]) -> typer.Typer:
    app = typer.Typer()

    @app.callback()
    def _root(_config: str = typer.Option("", "--config")) -> None:
        pass

    @app.command()
    def go(_number: int = 0, _json: bool = typer.Option(False, "--json")) -> None:
        does()

    return app


def outcome(
    monkeypatch: pytest.MonkeyPatch, does: Callable[[], None], *arguments: str
) -> int | str | None:
    monkeypatch.setattr("sys.argv", ["lloyal-track", "go", *arguments])
    with pytest.raises(SystemExit) as caught:
        session.run_app(app_that(does))
    return caught.value.code


def raising(fault: BaseException) -> Callable[[], None]:
    def does() -> None:
        raise fault

    return does


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (ConfigError("bad", where="f:1", next_step="mend it"), 2),
        (EnvironmentFault("gone", next_step="install it"), 4),
        (OSError(errno.ENOSPC, "No space left on device", "/x/pin"), 4),
        (PermissionError(errno.EACCES, "Permission denied", "/x/pin"), 4),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("oops"), 70),
        (typer.Exit(3), 3),
    ],
)
def test_each_end_has_its_exit_status(
    monkeypatch: pytest.MonkeyPatch, fault: BaseException, status: int
) -> None:
    """Usage 2, environment 4, bug 70, interrupted 130; a verdict's own status passes through."""
    assert outcome(monkeypatch, raising(fault)) == status


def test_an_error_says_what_where_and_next_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """People get three lines on stderr, and nothing on stdout."""
    outcome(monkeypatch, raising(ConfigError("bad key", where="f.toml:3 a.b", next_step="mend it")))
    shown = capsys.readouterr()
    assert shown.out == ""
    for part in ("bad key", "f.toml:3 a.b", "mend it"):
        assert part in shown.err
    assert "Traceback" not in shown.err


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ((), "run `lloyal-track go`, or install lloyal-track again"),
        (
            ("--config", "a b.toml"),
            "run `lloyal-track --config 'a b.toml' go`, or install lloyal-track again",
        ),
        (
            ("--config=own.toml",),
            "run `lloyal-track --config own.toml go`, or install lloyal-track again",
        ),
    ],
)
def test_the_next_step_works_with_the_configuration_that_was_given(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: tuple[str, ...],
    shown: str,
) -> None:
    """A command that an error names can be typed as it stands; other words stay as they are."""

    def does() -> None:
        raise ConfigError("gone", next_step="run `lloyal-track go`, or install lloyal-track again")

    monkeypatch.setattr("sys.argv", ["lloyal-track", *given, "go"])
    with pytest.raises(SystemExit):
        session.run_app(app_that(does))
    assert f"next:  {shown}\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fault", "arguments", "status"),
    [
        (EnvironmentFault("gone", where="here", next_step="install it"), (), 4),
        (ZeroDivisionError("oops"), (), 70),
        (KeyboardInterrupt(), (), 130),
        (None, ("--nonsense",), 2),
    ],
)
def test_with_json_every_failure_is_one_document(
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
    fault: BaseException | None,
    arguments: tuple[str, ...],
    status: int,
) -> None:
    """``--json`` prints exactly one error document, whatever went wrong."""
    does = raising(fault) if fault is not None else (lambda: None)
    assert outcome(monkeypatch, does, "--json", *arguments) == status
    document: dict[str, Any] = json.loads(capsysbinary.readouterr().out)
    assert document["schema"] == "lloyal-track/error/1"
    assert document["verdict"] == "error"
    assert document["exit"] == status
