"""Names of cells of latency under load: ``UDP up``, ``TCP both ways, streams 2``. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a reading is the data of one trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netlab.messages import _, joined
from netlab.results.quantities import words_of
from netlab.results.readings import Reading

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


def load_names(readings: Sequence[Reading]) -> dict[str, str]:
    """Cell → protocol and direction of the load, then the settings that differ between cells."""
    sizes: dict[str, set[int | None]] = {}
    for reading in readings:
        sizes.setdefault(reading.protocol, set()).add(reading.message_bytes)
    alike = all(len(sizes_of) == 1 for sizes_of in sizes.values())
    left_out = ("direction", *(["message_bytes"] if alike else []))
    ways = {reading.cell: _way(reading) for reading in readings}
    return {
        cell: joined(", ", [joined(" ", [word for word in (head, ways[cell]) if word]), *rest])
        for cell, (head, *rest) in words_of(readings, left_out).items()
    }


def by_cell(readings: Sequence[Reading]) -> dict[str, list[Reading]]:
    """Cell → all its trials, with and without a result."""
    cells: dict[str, list[Reading]] = {}
    for reading in readings:
        cells.setdefault(reading.cell, []).append(reading)
    return cells


def chart_names(readings: Sequence[Reading]) -> dict[str, str]:
    """Cell → name of its chart over time, even if the chart is not drawn.

    ``readings``: the readings of the whole run.
    """
    cells = dict.fromkeys(reading.cell for reading in readings if reading.test == TEST)
    return {cell: f"{OVER_TIME}-{number}" for number, cell in enumerate(cells, start=1)}


def _way(reading: Reading) -> str:
    direction = str(reading.settings.get("direction", ""))
    return WAYS.get(direction, direction)
