"""Export of a run's frame as CSV or JSON, byte-identical on every machine and locale."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from netlab.errors import UsageError
from netlab.results.frame import present
from netlab.results.quantities import core_names
from netlab.results.run import load
from netlab.terminal import harmless


def export(folder: Path, form: str, *, core: bool = False) -> bytes:
    """The frame of the run in ``folder`` as ``csv`` or ``json``; for Parquet, see ``arrow.export``.

    ``core``: only the columns of ``netlab.results.quantities.core_names`` that have a value.

    CSV: UTF-8, comma, LF, decimal point, ``true`` and ``false``, empty for NA; text that a
    spreadsheet would execute gets an apostrophe in front. JSON: an array of flat objects in ASCII,
    ``null`` for NA. UsageError for another format, and for a folder that is not a run folder.
    """
    if form not in _WRITERS:
        raise UsageError(
            f"{form}: not a format of an export; the formats are {', '.join(_WRITERS)}"
        )
    run = load(folder)
    frame = run.frame
    shown = frame[present(frame, core_names(run.plan.cells))] if core else frame
    plain = shown.astype(object).where(shown.notna(), None)
    return _WRITERS[form]([*map(str, plain.columns)], plain.itertuples(index=False, name=None))


def _csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    return "".join(",".join(map(_field, row)) + "\n" for row in (names, *rows)).encode("utf-8")


def _field(value: Any) -> str:
    """A field as in RFC 4180. Python's csv module would leave a lone carriage return unquoted."""
    if not isinstance(value, str):
        return "" if value is None else json.dumps(value)
    text = harmless(value)
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in '",\r\n') else text


def _json(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    objects = (dict(zip(names, row, strict=True)) for row in rows)
    lines = (json.dumps(row, ensure_ascii=True, allow_nan=False) for row in objects)
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode("ascii")


_WRITERS = {"csv": _csv, "json": _json}
