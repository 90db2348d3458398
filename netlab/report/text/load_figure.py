"""Round trips and load of one trial over time, as a few lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING

from netlab.kinds.latency_under_load.phases import LoadTimeline, timeline_of
from netlab.trial.record import FLOWS
from netlab.units import format_seconds, plain_figures

if TYPE_CHECKING:
    from netlab.results.run import Run

WIDTH = 60
LABEL = 12
"""Width of the names to the left of the figure, in columns."""
BLOCKS = "▁▂▃▄▅▆▇█"
LOST = "×"
"""Marks a column in which every request was lost."""


def load_figures(run: Run) -> list[str]:
    """The lines about the only trial under load of a run; none if there are several."""
    records = [record for record in run.records if record.test == "latency_under_load"]
    timeline = timeline_of(records[0]) if len(records) == 1 else None
    return [] if timeline is None else [*load_figure(timeline)]


def load_figure(timeline: LoadTimeline, width: int = WIDTH) -> Iterator[str]:
    """Lines of median round trips, of each flow's mean rates and of phases; unknown is blank."""
    end_s = max(trip.at_ns for trip in timeline.trips) / 1e9
    if end_s <= 0:
        return
    times: list[list[float]] = [[] for _ in range(width)]
    requests = [0] * width
    for trip in timeline.trips:
        at = _column(trip.at_ns / 1e9, end_s, width)
        requests[at] += 1
        if trip.ns is not None:
            times[at].append(trip.ns)
    medians = [median(column) if column else None for column in times]
    longest_ns = max((value for value in medians if value is not None), default=0.0)
    columns = zip(requests, times, _bars(medians), strict=True)
    line = "".join(LOST if n and not answered else mark for n, answered, mark in columns)
    yield f"{'round trips':{LABEL}}{line}  up to {format_seconds(longest_ns / 1e9)}"
    for flow, points in timeline.rates.items():
        rates: list[list[float]] = [[] for _ in range(width)]
        for at_s, rate in points:
            rates[_column(at_s, end_s, width)].append(rate)
        means = [sum(column) / len(column) if column else None for column in rates]
        most = max((value for value in means if value is not None), default=0.0)
        name = str(FLOWS[flow]) or "load"
        yield f"{name:{LABEL}}{_bars(means)}  up to {plain_figures(most, 4)} Mbit/s"
    phases = [" "] * width
    for name, (begin_s, until_s) in timeline.phases.items():
        begin, end = (_column(at_s, end_s, width) for at_s in (begin_s, until_s))
        phases[begin:end] = name.ljust(end - begin, "·")[: end - begin]
    yield f"{'':{LABEL}}{''.join(phases)}  {plain_figures(end_s, 3)} s".rstrip()


def _column(at_s: float, end_s: float, width: int) -> int:
    return min(width - 1, max(0, int(width * at_s / end_s)))


def _bars(values: Sequence[float | None]) -> str:
    """Blocks as high as each value's share of the largest value, and spaces for ``None``."""
    most = max((value for value in values if value is not None), default=0.0) or 1.0
    last = len(BLOCKS) - 1
    return "".join(
        " " if value is None else BLOCKS[min(last, round(last * value / most))] for value in values
    )
