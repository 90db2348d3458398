"""Names of cells of latency under load: ``UDP up``, ``TCP both ways, streams 2``. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netlab.experiment.records import Record
from netlab.messages import _, joined
from netlab.results.quantities import words_of

TEST = "latency_under_load"
SECTION = "latency-under-load"
OVER_TIME = "latency-over-time"
"""Beginning of the names of the charts over time."""

WAYS: Mapping[str, str] = {
    "client-sends": _("up"),
    "server-sends": _("down"),
    "both": _("both ways"),
}
"""Direction of the load → its word, seen from the client."""

PHASE_WORDS: Mapping[str, str] = {
    "idle": _("idle"),
    "loaded": _("loaded"),
    "after": _("after"),
}


def load_names(records: Sequence[Record]) -> dict[str, str]:
    """Cell → protocol and direction of the load, then the settings that differ between cells."""
    sizes: dict[str, set[int | None]] = {}
    for record in records:
        sizes.setdefault(record.protocol, set()).add(record.message_bytes)
    alike = all(len(sizes_of) == 1 for sizes_of in sizes.values())
    left_out = ("direction", *(["message_bytes"] if alike else []))
    ways = {record.cell: _way(record) for record in records}
    return {
        cell: joined(", ", [joined(" ", [word for word in (head, ways[cell]) if word]), *rest])
        for cell, (head, *rest) in words_of(records, left_out).items()
    }


def chart_names(records: Sequence[Record]) -> dict[str, str]:
    """Cell → name of its chart over time, even if the chart is not drawn.

    ``records``: the records of the whole run.
    """
    cells = dict.fromkeys(record.cell for record in records if record.test == TEST)
    return {cell: f"{OVER_TIME}-{number}" for number, cell in enumerate(cells, start=1)}


def _way(record: Record) -> str:
    direction = str(record.settings.get("direction", ""))
    return WAYS.get(direction, direction)
