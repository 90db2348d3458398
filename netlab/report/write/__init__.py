"""Writes the files of a report, in an order in which an interrupted report does no harm."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from netlab.report import CELLS, CHARTS, COLUMN, FIGURES, PAGE, TABLES
from netlab.report.draw.plot import Picture
from netlab.store.files import disk_error, folder_inside, write_inside

_PICTURES = (".png", ".svg", ".pdf")
_SOMETIMES = frozenset({CELLS, FIGURES, TABLES})
"""Files that not every report has."""


def write_files(
    folder: Path, files: Mapping[str, bytes], pictures: Sequence[Picture], html: str
) -> Path:
    """Write the files of a report, its pictures and its page ``html``; returns the page's path.

    Raises StoreError if a file cannot be written.
    """
    drawn = {f"{CHARTS}/{name}": data for p in pictures for name, data in p.files().items()}
    files = {**files, **drawn}
    _clear(folder, keep=frozenset(files))
    for name, data in files.items():
        write_inside(folder, name, data, mode=0o644)
    # The page is written last: once it exists, all files next to it are of the same run.
    write_inside(folder, PAGE, utf8(html), mode=0o644)
    return folder / PAGE


def utf8(text: str) -> bytes:
    """UTF-8; a lone surrogate, which a host's answer may contain, becomes an escape sequence."""
    return text.encode("utf-8", "backslashreplace")


def _clear(folder: Path, keep: frozenset[str]) -> None:
    """Create the charts' folder, and remove those files of an earlier report that are not in
    ``keep``. Raises StoreError if the folder is a symbolic link: its target does not belong to the
    report.
    """
    try:
        narrow = any(name.startswith(f"{CHARTS}/{COLUMN}/") for name in keep)
        narrow = narrow or os.path.lexists(folder / CHARTS / COLUMN)
        for below in ((CHARTS,), (CHARTS, COLUMN)) if narrow else ((CHARTS,),):
            with folder_inside(folder, *below, make=0o777) as charts:
                for name in charts.names():
                    is_picture = name.endswith(_PICTURES)
                    if is_picture and "/".join((*below, name)) not in keep:
                        charts.remove(name)
        for name in _SOMETIMES - keep:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise disk_error(error, folder, "keep the report there") from None
