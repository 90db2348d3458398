"""The matrices that are installed with netlab, by name."""

from __future__ import annotations

from pathlib import Path

from netlab.errors import UsageError

PACKAGE = Path(__file__).resolve().parent.parent
FOLDERS = (PACKAGE / "matrices", PACKAGE.parent / "matrices")
"""The folder in an installed netlab, and the folder in a checkout."""


def names() -> tuple[str, ...]:
    """The names of all shipped matrices, sorted."""
    return tuple(sorted(path.stem for path in _folder().glob("*.yaml")))


def matrix_file(path: Path) -> Path:
    """``path`` if it is a file or looks like a path; otherwise the shipped matrix of that name.

    Raises UsageError for a plain name that is neither a file nor a shipped matrix.
    """
    if path.exists() or path.suffix or path.name != str(path):
        return path
    file = _folder() / f"{path}.yaml"
    if file.is_file():
        return file
    raise UsageError(
        f"there is no file {path}, and no shipped matrix of that name: "
        f"there are {', '.join(names())}"
    )


def _folder() -> Path:
    installed, checkout = FOLDERS
    return installed if installed.is_dir() else checkout
