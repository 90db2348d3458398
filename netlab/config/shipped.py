"""The matrices that netlab brings along: by name, wherever it is installed."""

from __future__ import annotations

from pathlib import Path

from netlab.errors import UsageError

PACKAGE = Path(__file__).resolve().parent.parent
FOLDERS = (PACKAGE / "matrices", PACKAGE.parent / "matrices")
"""Of an installed netlab, and of a checkout."""


def names() -> tuple[str, ...]:
    """Of all of them, in order."""
    return tuple(sorted(path.stem for path in _folder().glob("*.yaml")))


def matrix_file(given: Path) -> Path:
    """``given`` where it is a file or names one; else the matrix of that name that netlab brings
    along. UsageError where a plain name is neither.
    """
    if given.exists() or given.suffix or given.name != str(given):
        return given
    found = _folder() / f"{given}.yaml"
    if found.is_file():
        return found
    raise UsageError(
        f"there is no file {given}, and netlab brings no matrix of that name: "
        f"there are {', '.join(names())}"
    )


def _folder() -> Path:
    installed, checkout = FOLDERS
    return installed if installed.is_dir() else checkout
