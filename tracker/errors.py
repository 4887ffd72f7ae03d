"""The one tree of errors that stop a command; imports nothing.

An expected result (a conflict, a failed check, nothing new) is a value in a report, never an
error. A ``TrackError`` means: this command cannot go on. It says what failed, on what, and what to
do next; only ``tracker.cli`` turns it into text and an exit status. A bug is any other exception.
"""

from __future__ import annotations


class TrackError(Exception):
    """Something outside stopped the command.

    ``what``: the failure in one sentence. ``where``: the file, key, URL or command concerned, or
    "". ``next_step``: what the reader can do about it, or "". ``exit_code``: the process status.
    """

    exit_code = 70

    def __init__(self, what: str, *, where: str = "", next_step: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.next_step = next_step


class UsageError(TrackError):
    """The command line asked for something that does not exist or contradicts itself."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration, series or pin file cannot be used; ``where`` is ``file:line key``."""


class EnvironmentFault(TrackError):
    """A tool is missing, the network or a token refused, the disk is full or read-only."""

    exit_code = 4


class OperationOpen(UsageError):
    """An unfinished operation, or another run, holds the state_dir."""
