"""Latency under load as text lines: round trips above throughput, on one time axis. No I/O.

The phases are idle (before the load), loaded, and after (after the load). A timeline has the single
round trips of a trial (one measurement), and the rates of its load.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from netlab.experiment.records import FLOWS
from netlab.results.load_timeline import LoadTimeline
from netlab.units import format_seconds, plain_figures

WIDTH = 60
"""Width of the figure in columns."""
LABEL = 12
"""Width of the names to the left of the figure, in columns."""
BLOCKS = "▁▂▃▄▅▆▇█"
LOST = "×"
"""Marks a column in which every request was lost."""


def load_figure(timeline: LoadTimeline, width: int = WIDTH) -> Iterator[str]:
    """A line of round trips, a line for each flow's rate, and a line with the phases.

    A column of the first line shows a median of round trips, a column of the next lines a mean
    rate. A column without a figure is blank.
    """
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
    yield f"{'':{LABEL}}{_phases(timeline, end_s, width)}  {plain_figures(end_s, 3)} s".rstrip()


def _column(at_s: float, end_s: float, width: int) -> int:
    return min(width - 1, max(0, int(width * at_s / end_s)))


def _bars(values: Sequence[float | None]) -> str:
    """A block character for each value, and a space for ``None``.

    The height of the block is the value's share of the largest value.
    """
    most = max((value for value in values if value is not None), default=0.0) or 1.0
    last = len(BLOCKS) - 1
    return "".join(
        " " if value is None else BLOCKS[min(last, round(last * value / most))] for value in values
    )


def _phases(timeline: LoadTimeline, end_s: float, width: int) -> str:
    line = [" "] * width
    for name, (begin_s, until_s) in timeline.phases.items():
        first, last = (_column(at_s, end_s, width) for at_s in (begin_s, until_s))
        for at, letter in enumerate(name.ljust(last - first, "·")[: last - first], start=first):
            line[at] = letter
    return "".join(line)
