"""Export of a run's frame as CSV or JSON, byte-identical on every machine and locale."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from netlab.errors import UsageError
from netlab.results.frame import core_names
from netlab.results.run import load
from netlab.terminal import harmless


def export(folder: Path, form: str, *, core: bool = False) -> bytes:
    """The frame of the run in ``folder`` as ``csv`` or ``json``; for Parquet, see ``arrow.export``.

    ``core``: only the columns of ``netlab.results.columns.CORE`` that the run has.

    CSV: UTF-8, comma, LF, decimal point, ``true`` and ``false``, empty for NA; text that a
    spreadsheet would execute gets an apostrophe in front. JSON: an array of flat objects in ASCII,
    ``null`` for NA. UsageError for another format, and for a folder that is not a run folder.
    """
    if form not in _WRITERS:
        raise UsageError(
            f"{form}: not a format of an export; the formats are {', '.join(_WRITERS)}"
        )
    frame = load(folder).frame
    return _WRITERS[form](frame[core_names(frame)] if core else frame)


def _csv(frame: pd.DataFrame) -> bytes:
    rows = [[harmless(str(name)) for name in frame.columns]]
    rows += [[_csv_cell(value) for value in row] for row in frame.itertuples(index=False)]
    return "".join(",".join(map(_quoted, row)) + "\n" for row in rows).encode("utf-8")


def _quoted(cell: str) -> str:
    """A field as in RFC 4180. Python's csv module would leave a lone carriage return unquoted."""
    return '"' + cell.replace('"', '""') + '"' if any(c in cell for c in '",\r\n') else cell


def _csv_cell(value: Any) -> str:
    if value is pd.NA:
        return ""
    if isinstance(value, str):
        return harmless(value)
    return json.dumps(_plain(value))


def _json(frame: pd.DataFrame) -> bytes:
    names = [str(name) for name in frame.columns]
    rows = [
        dict(zip(names, map(_plain, row), strict=True))
        for row in frame.itertuples(index=False, name=None)
    ]
    lines = (json.dumps(row, ensure_ascii=True, allow_nan=False) for row in rows)
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode("ascii")


def _plain(value: Any) -> Any:
    """A cell of the frame as one of Python's own types; NA becomes None."""
    if value is pd.NA:
        return None
    return value.item() if hasattr(value, "item") else value


_WRITERS: Mapping[str, Callable[[pd.DataFrame], bytes]] = {
    "csv": _csv,
    "json": _json,
}
