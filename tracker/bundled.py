"""Finds the files that travel with the tool: templates, patch set, check program, schemas.

In a checkout they stand at the top level for people to read and edit; in a wheel hatchling puts a
copy under ``tracker/_bundled``. Nothing else may know which of the two holds.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_WHEEL = _PACKAGE / "_bundled"
_IN_CHECKOUT = {"schemas": "docs/schemas"}


def bundled(name: str) -> Path:
    """The file or folder ``name`` (``templates``, ``patchset``, ``build/probe``, ``schemas``, ...).

    Raises:
        FileNotFoundError: the installation is damaged; ``name`` always ships.
    """
    inside = _WHEEL / name
    path = inside if _WHEEL.is_dir() else _PACKAGE.parent / _IN_CHECKOUT.get(name, name)
    if not path.exists():
        raise FileNotFoundError(path)
    return path
