"""What cells of latency under load are called: ``UDP up``, ``TCP both ways, streams 2``. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netlab.messages import _, joined
from netlab.results.quantities import words_of
from netlab.results.readings import Reading

TEST = "latency_under_load"
SECTION = "latency-under-load"
OVER_TIME = "latency-over-time"
"""How the charts over time begin to be called."""

WAYS: Mapping[str, str] = {
    "client-sends": _("up"),
    "server-sends": _("down"),
    "both": _("both ways"),
}
"""Direction of the load → which way it goes, seen from the client."""

PHASE_WORDS: Mapping[str, str] = {
    "idle": _("idle"),
    "loaded": _("loaded"),
    "after": _("after"),
}


def load_names(readings: Sequence[Reading]) -> dict[str, str]:
    """Cell → protocol and way of the load, then whatever else tells it from the others."""
    sizes: dict[str, set[int | None]] = {}
    for each in readings:
        sizes.setdefault(each.protocol, set()).add(each.message_bytes)
    alike = all(len(each) == 1 for each in sizes.values())
    left_out = ("direction", *(["message_bytes"] if alike else []))
    ways = {each.cell: _way(each) for each in readings}
    return {
        cell: joined(", ", [joined(" ", [word for word in (head, ways[cell]) if word]), *rest])
        for cell, (head, *rest) in words_of(readings, left_out).items()
    }


def by_cell(readings: Sequence[Reading]) -> dict[str, list[Reading]]:
    """Cell → its trials, those without a result as well."""
    cells: dict[str, list[Reading]] = {}
    for each in readings:
        cells.setdefault(each.cell, []).append(each)
    return cells


def chart_names(readings: Sequence[Reading]) -> dict[str, str]:
    """Cell → what its chart over time is called, if it has one; ``readings`` are all of the run."""
    cells = dict.fromkeys(each.cell for each in readings if each.test == TEST)
    return {cell: f"{OVER_TIME}-{number}" for number, cell in enumerate(cells, start=1)}


def _way(reading: Reading) -> str:
    direction = str(reading.settings.get("direction", ""))
    return WAYS.get(direction, direction)
