"""Trials of latency under load → the percentiles of the round trips of each phase. No I/O.

The phases of a trial are idle (before the load), loaded, and after (after the load). A cell is one
combination of test, pairing (server and client) and settings; a trial is one measurement of a cell.
A timeline has the single round trips of a trial.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from netlab.experiment.load_phases import PHASES, trips_within
from netlab.experiment.records import Record, by_cell
from netlab.messages import _, joined
from netlab.report.sections.latency_under_load.names import PHASE_WORDS
from netlab.report.sections.latency_under_load.over_time import Timelines
from netlab.report.tables.chart_panels import MOST_PANELS
from netlab.report.tables.elements import Chart, ChartPanel, Curve
from netlab.results.load_timeline import LoadTimeline, short

NAME = "latency-by-phase"
_STEPS = 120
"""Number of points of a curve, evenly spaced in the share of the requests."""


def charts(
    records: Sequence[Record], names: Mapping[str, str], timelines: Timelines
) -> tuple[Chart, ...]:
    """Empirical distributions, a panel for each cell, a line for each phase, all trials pooled."""
    several = len({record.pairing for record in records}) > 1
    panels: list[ChartPanel] = []
    for cell, trials in by_cell(records).items():
        of_cell = [timelines[cell, t.trial] for t in trials if (cell, t.trial) in timelines]
        curves = tuple(
            Curve(PHASE_WORDS[phase], place, points)
            for place, phase in enumerate(PHASES)
            if (points := _points(phase, of_cell))
        )
        if curves:
            name = joined(" ", [trials[0].pairing, names[cell]]) if several else names[cell]
            panels.append(ChartPanel(name, curves))
    return (_chart(panels[:MOST_PANELS]),) if panels else ()


def _points(
    phase: str, timelines: Sequence[LoadTimeline]
) -> tuple[tuple[float, float | None], ...]:
    """(round trip in ms, percentage of the phase's requests that took no longer).

    A lost request counts as longer than any other, so that a line with losses ends below 100 %.
    """
    trips = [trip for timeline in timelines for trip in timeline.trips_of(phase)]
    phase_trips = trips_within(trips, 0, 1 + max((trip.at_ns for trip in trips), default=0))
    answered = phase_trips.answered_ns
    step = max(1, len(answered) // _STEPS)
    points: dict[float, float | None] = {}
    for rank in sorted({*range(1, len(answered) + 1, step), len(answered)}):
        if rank and answered[rank - 1] > 0:
            # Of several equal times the last one counts, because its share is the largest.
            points[short(answered[rank - 1] / 1e6)] = short(100 * rank / phase_trips.count)
    return tuple(points.items())


def _chart(panels: Sequence[ChartPanel]) -> Chart:
    """A single diagram if there is one panel; otherwise a small diagram for each panel."""
    lines = tuple(
        replace(line, label=joined(", ", [panel.title, line.label]))
        for panel in panels
        for line in panel.lines
    )
    times = [x for line in lines for x, _y in line.points]
    first, last = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    title = _("Percentiles of the round trips of each phase")
    is_single = len(panels) == 1
    return Chart(
        name=f"{NAME}-1",
        title=_("{title} ({conditions})", title=title, conditions=panels[0].title)
        if is_single
        else title,
        x_label=_("round trip, ms"),
        x_ticks=tuple((10.0**n, f"{10.0**n:g}") for n in range(first, max(last, first + 1) + 1)),
        log_x=True,
        lines=panels[0].lines if is_single else lines,
        quantity=_("share of the requests"),
        unit="%",
        panels=() if is_single else tuple(panels),
    )
