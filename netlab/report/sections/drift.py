"""Records → deviations over the time of the run, which show drift. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial. A strip is several low diagrams
(panels) one below the other over one x axis.
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.experiment.records import Record, utc_of
from netlab.messages import _, counted, joined
from netlab.report.tables.elements import Curve, Panel, Part, Strip
from netlab.results.quantities import Quantity, quantities_of
from netlab.stats import median

MAX_PANELS = 8
"""Maximum number of panels of one picture."""
MAX_STRIPS = 3
_LEAST_POINTS = 3
_MAX_JOINED = 4
"""Maximum number of cells in a panel for which lines join the points of a cell. More lines would be
illegible."""
_MINUTES_FROM_S = 300.0

_Point = tuple[float, float]


def part(records: Sequence[Record]) -> Part | None:
    """A panel for each group of cells; ``None`` without repeated trials or without recorded times.

    Without repeated trials a cell has one point, and a difference between cells would look like
    drift.
    """
    if len({record.cell for record in records}) == len(records):
        return None
    begins = [at.timestamp() for record in records if (at := utc_of(record.started_at))]
    if not begins:
        return None
    first, last = min(begins), max(begins)
    scale, since = 1.0, _("seconds since the first trial began")
    if last - first >= _MINUTES_FROM_S:
        scale, since = 60.0, _("minutes since the first trial began")
    panels = _panels(records, first, scale)
    if not panels:
        return None
    first_panels = panels[: MAX_PANELS * MAX_STRIPS]
    strips = [
        first_panels[start : start + MAX_PANELS]
        for start in range(0, len(first_panels), MAX_PANELS)
    ]
    left_out = len(panels) - len(first_panels)
    further = counted(
        "{number} further panel is not drawn.", "{number} further panels are not drawn.", left_out
    )
    return Part(
        name="over-time",
        title=_("Over time"),
        paragraphs=(joined(" ", [_MEANING, *([further] if left_out else [])]),),
        charts=tuple(
            Strip(
                name=f"over-time-{index}",
                title=_("Each trial at the time when it began"),
                x_label=since,
                panels=tuple(strip),
            )
            for index, strip in enumerate(strips, start=1)
        ),
    )


def _panels(records: Sequence[Record], first_s: float, scale: float) -> list[Panel]:
    groups: dict[tuple[str, str, str, int | None], list[Record]] = {}
    for record in records:
        key = (record.test, record.pairing, record.protocol, record.message_bytes)
        groups.setdefault(key, []).append(record)
    panels = []
    for (_test, pairing, protocol, size), group in groups.items():
        for quantity in dict.fromkeys(q for record in group for q in quantities_of(record)):
            lines = _lines(group, quantity, first_s, scale)
            if sum(len(line.points) for line in lines) >= _LEAST_POINTS:
                words = [pairing, protocol, "" if size is None else str(size), quantity.name]
                title = joined(" ", [word for word in words if word])
                panels.append(Panel(title, _("% off the cell’s median"), lines))
    return panels


def _lines(
    group: Sequence[Record], quantity: Quantity, first_s: float, scale: float
) -> tuple[Curve, ...]:
    """A line for each cell: its trials over time, as deviations from their median in per cent."""
    lines = []
    cells: dict[str, list[_Point]] = {}
    for record in group:
        points = cells.setdefault(record.cell, [])
        at, value = utc_of(record.started_at), quantity.in_unit(record)
        if at is not None and value is not None:
            points.append(((at.timestamp() - first_s) / scale, value))
    has_lines = len(cells) <= _MAX_JOINED
    for index, points in enumerate(cells.values()):
        middle = median([value for _, value in points]) if len(points) > 1 else 0.0
        if middle:
            off = sorted((at, 100 * (value / middle - 1)) for at, value in points)
            lines.append(Curve("", index, tuple(off), has_lines))
    return tuple(lines)


_MEANING = _(
    "Every trial with a figure at the time when it began, in per cent off the median of its cell’s "
    "trials; each cell has a mark of its own. If the marks of all cells rise or fall together, the "
    "lab has drifted, and the trials of a cell were not measured under the same conditions."
)
