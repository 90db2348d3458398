"""Trials of latency under load → round trips above throughput, on one time axis. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial. A timeline has the single round trips
of a trial, and the rates of its load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netlab.experiment.load_phases import Trip
from netlab.experiment.records import FLOWS, Record, by_cell
from netlab.messages import Message, _, joined
from netlab.report.sections.latency_under_load.names import PHASE_WORDS, chart_names
from netlab.report.tables.elements import Band, Curve, Panel, Strip
from netlab.results.load_timeline import LoadTimeline, short, thinned
from netlab.stats import median

MOST = 12
"""Maximum number of charts in the section. The page shows the charts of the other cells when a
reader opens these cells."""
MOST_POINTS = 900
GAP = 3
"""Minimum number of consecutive lost requests that leave a gap in the line."""
SMALL_NS = 1e6
"""If every round trip is shorter than this, the axis is in µs."""

Timelines = Mapping[tuple[str, int], LoadTimeline]
"""(cell, trial) → its timeline, for trials that recorded single round trips."""

Points = list[tuple[float, float | None]]


def charts(
    records: Sequence[Record], names: Mapping[str, str], timelines: Timelines
) -> tuple[tuple[Strip, ...], int]:
    """(a chart for each cell, number of charts that are left out)."""
    several = len({record.pairing for record in records}) > 1
    file_names, charted = chart_names(records), []
    for cell, trials in by_cell(records).items():
        example = _chosen([trial for trial in trials if (cell, trial.trial) in timelines])
        if example is not None:
            name = joined(" ", [example.pairing, names[cell]]) if several else names[cell]
            timeline = timelines[cell, example.trial]
            charted.append((file_names[cell], _title(name, example, len(trials)), timeline))
    strips = tuple(_strip(*chart) for chart in charted[:MOST])
    return strips, len(charted) - len(strips)


def _chosen(trials: Sequence[Record]) -> Record | None:
    """The trial whose increase (round trip under load minus round trip before it) is nearest to the
    median. If no increase is known, the first trial; ``None`` without trials.
    """
    increases = [(t, value) for t in trials if (value := t.number("increase_ns")) is not None]
    if not increases:
        return trials[0] if trials else None
    middle = median([increase for _trial, increase in increases])
    return min(increases, key=lambda pair: abs(pair[1] - middle))[0]


def _title(name: str, example: Record, trials: int) -> Message:
    if trials == 1:
        return _("{cell}: round trips and load over time", cell=name)
    return _(
        "{cell}: round trips and load over time (trial {trial} of {trials}, nearest the median)",
        cell=name,
        trial=str(example.trial),
        trials=str(trials),
    )


def _strip(name: str, title: Message, timeline: LoadTimeline) -> Strip:
    trips, unit = trip_curves(timeline)
    panels = [Panel(_("round trip"), unit, tuple(trips))]
    rates = rate_curves(timeline)
    if rates:
        panels.append(Panel(_("throughput of the load"), "Mbit/s", tuple(rates)))
    return Strip(
        name=name,
        title=title,
        x_label=_("seconds since the first request"),
        panels=tuple(panels),
        bands=tuple(
            Band(begin, end, PHASE_WORDS[phase]) for phase, (begin, end) in timeline.phases.items()
        ),
        from_zero=True,
    )


def trip_curves(timeline: LoadTimeline) -> tuple[list[Curve], str]:
    """The line of the round trips, the marks of lost requests, and the unit. The marks are at the
    height of the longest round trip.
    """
    trips = thinned(timeline.trips, MOST_POINTS)
    longest_ns = max((trip.ns for trip in trips if trip.ns is not None), default=0)
    scale, unit = (1e3, "µs") if longest_ns < SMALL_NS else (1e6, "ms")
    curves = []
    if longest_ns:
        curves.append(Curve(_("round trip"), 0, tuple(_line(trips, scale))))
    losses = tuple((_seconds(trip), short(longest_ns / scale)) for trip in trips if trip.ns is None)
    if losses:
        curves.append(Curve(_("lost"), 1, losses, joined=False))
    return curves, unit


def _line(trips: Sequence[Trip], scale: float) -> Points:
    points: Points = []
    losses: list[Trip] = []
    for trip in trips:
        if trip.ns is None:
            losses.append(trip)
            continue
        if len(losses) >= GAP and points:
            points.append((_seconds(losses[0]), None))
        losses = []
        points.append((_seconds(trip), short(trip.ns / scale)))
    return points


def _seconds(trip: Trip) -> float:
    return short(trip.at_ns / 1e9)


def rate_curves(timeline: LoadTimeline) -> list[Curve]:
    """A line for each direction of the load."""
    return [
        Curve(_flow_words(flow), place, points)
        for place, (flow, points) in enumerate(timeline.rates.items(), start=2)
    ]


def _flow_words(flow: str) -> str:
    """The label of a flow's line."""
    return _("throughput {way}", way=FLOWS[flow]) if flow else _("throughput")
