"""Records of latency under load → its section: tables, charts over time, percentiles by phase.

The test measures round trips before, during and after a load that fills the path. Its connections
are those that it opened in these phases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from netlab.ethernet import Link
from netlab.kinds.latency_under_load import tables
from netlab.kinds.latency_under_load.phases import (
    PHASES,
    LoadTimeline,
    Trip,
    short,
    thinned,
    timeline_of,
)
from netlab.messages import _, counted, joined
from netlab.report.tables import elements
from netlab.report.tables.charts import MOST_PANELS
from netlab.report.tables.elements import MBIT_PER_S, Curve, Panel, Part, Table, table
from netlab.results.ceilings import ceiling_of
from netlab.results.layout import Bin, TableColumn, of_pairing
from netlab.results.quantities import words_of
from netlab.results.run import Run
from netlab.stats import median
from netlab.trial import figures
from netlab.trial.figures import FigureColumn, Shown, Trials, in_unit, mean_of_all, results_of
from netlab.trial.record import FLOWS, Record, by_cell, grouped
from netlab.units import format_seconds, plain_figures

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

_Timelines = Mapping[str, Sequence[tuple[Record, LoadTimeline]]]
"""Cell → its trials that recorded single round trips, with their timelines; no cell without any."""


def part(run: Run, records: Sequence[Record]) -> Part | None:
    """Tables for each pairing, then charts; ``None`` if the run has no such test."""
    if not records:
        return None
    names, cells = load_names(records), by_cell(records)
    several = len({record.pairing for record in records}) > 1
    titles = {
        cell: joined(" ", [trials[0].pairing, names[cell]]) if several else names[cell]
        for cell, trials in cells.items()
    }
    timelines: _Timelines = {
        cell: recorded
        for cell, trials in cells.items()
        if (recorded := [(t, timeline) for t in trials if (timeline := timeline_of(t))])
    }
    results = results_of(records)
    without = len(results) - sum(
        trial.status == "ok" for recorded in timelines.values() for trial, _timeline in recorded
    )
    without_words = counted(
        "{number} trial did not record single round trips and is not in the charts.",
        "{number} trials did not record single round trips and are not in the charts.",
        without,
    )
    left_out = max(0, len(timelines) - MOST_STRIPS)
    left_out_words = counted(
        "{number} further cell has no chart over time here: its figures in the table open one.",
        "{number} further cells have no chart over time here: their figures in the tables open "
        "one.",
        left_out,
    )
    further = {
        _RESPONSIVENESS: any(record.number("responsiveness_per_minute") for record in results),
        _CHARTS: bool(timelines),
        without_words: without > 0,
        left_out_words: left_out > 0,
    }
    return Part(
        name=SECTION,
        title=_("Latency under load"),
        paragraphs=(_MEANING, _PHASES, *(text for text, holds in further.items() if holds)),
        sheets=tuple(_sheets(records, names, run.plan.link)),
        charts=(
            *_charts_over_time(records, titles, timelines),
            *_charts_by_phase(titles, timelines),
        ),
    )


def load_names(records: Sequence[Record]) -> dict[str, str]:
    """Cell → protocol and direction of the load, then the settings that differ between cells."""
    sizes: dict[str, set[int | None]] = {}
    for record in records:
        sizes.setdefault(record.protocol, set()).add(record.message_bytes)
    alike = all(len(sizes_of) == 1 for sizes_of in sizes.values())
    left_out = ("direction", *(["message_bytes"] if alike else []))
    directions = {r.cell: str(r.settings.get("direction", "")) for r in records}
    ways = {cell: WAYS.get(direction, direction) for cell, direction in directions.items()}
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


_MEANING = _(
    "Requests are due at an even rate all the time. Each is timed from when it was due. “Up” is a "
    "load from the client to the server, “down” one from the server to the client. The increase is "
    "the median round trip under load minus the median before the load. Medians and percentiles "
    "are computed for each trial; for several trials their mean is given. A lost request counts as "
    "longer than any other."
)
_PHASES = _(
    "“Idle” is before the load. “Loaded” begins when the throughput has settled, at the earliest "
    "2 s after the start of the load, and ends with the load. “After” begins when all data queued "
    "on the path has passed. Throughput is that of the loaded phase alone."
)
_RESPONSIVENESS = _(
    "RPM is the number of round trips per minute after draft-ietf-ippm-responsiveness-09, over TCP "
    "alone, without TLS and HTTP. It is not comparable with the RPM of tools that include these."
)
_CHARTS = _(
    "The line over time shows the shortest and the longest round trip at each point of the time "
    "axis. A lost request is marked at the height of the longest round trip."
)


def _sheets(
    records: Sequence[Record], names: Mapping[str, str], link: Link | None
) -> Iterator[Table]:
    for pairing, group in grouped(records, lambda record: record.pairing).items():
        pairing_name = of_pairing(pairing, same_host=any(record.same_host for record in group))
        rows = [(names[cell], cell, trials) for cell, trials in by_cell(group).items()]
        ways = {str(record.settings.get("direction", "")) for record in group}
        one_way = len(ways) == 1 and "both" not in ways
        yield table(
            _("{pairing}: round trips with and without load", pairing=pairing_name),
            _("load"),
            [*tables.TRIPS, *map(_rate_column, ("",) if one_way else filter(None, FLOWS))],
            rows,
        )
        measured = [row for row in rows if results_of(row[2])]
        if measured:
            yield _load_sheet(pairing_name, group, measured, link)
        connects = any(record.number(f"{name}_connections") for record in group for name in PHASES)
        rates = [
            column
            for name, column in tables.PER_MINUTE.items()
            if any(record.number(name) for record in group)
        ]
        title = _("{pairing}: round trips per minute", pairing=pairing_name)
        if connects:
            title = _("{pairing}: connections up to their first answer", pairing=pairing_name)
        if connects or rates:
            columns = [*(tables.CONNECTIONS if connects else ()), *rates]
            yield table(title, _("load"), columns, measured)


_WHY_BLANK: figures.Why = attrgetter("why_blank")
_THROUGHPUT: Mapping[str, str] = {
    "": _("throughput"),
    "to_server_": _("throughput to server"),
    "to_client_": _("throughput to client"),
}
_TOWARDS: Mapping[str, str] = {"client-sends": "to_server_", "server-sends": "to_client_"}
"""Direction of a one-way load → the name of its flow."""


def _rate_column(way: str) -> FigureColumn[Trials]:
    """The throughput in one direction, ``way``, or of loads in the same single direction."""

    def of(trials: Trials) -> Shown:
        first = trials[0]
        towards = _TOWARDS.get(str(first.settings.get("direction", "")))
        if way not in first.flows and way != towards:
            return Shown(why=[_("the load went the other way.")])
        return mean_of_all(_throughput(way if way in first.flows else ""), _WHY_BLANK)(trials)

    return FigureColumn(in_unit(MBIT_PER_S, _THROUGHPUT[way]), of, MBIT_PER_S)


def _throughput(flow: str, unit_bit_per_s: float = 1e6) -> figures.Figure:
    def of(record: Record) -> float | None:
        flow_result = record.flows.get(flow)
        rate = None if flow_result is None else flow_result.throughput_bit_per_s
        return None if rate is None else rate / unit_bit_per_s

    return of


_FlowOfTrials = tuple[Trials, str]
"""Trials of a cell, and the flow of them that a line is about."""


def _load_sheet(
    pairing_name: str,
    records: Sequence[Record],
    measured: Sequence[tuple[str, str, Trials]],
    link: Link | None,
) -> Table:
    def of_ceiling(row: _FlowOfTrials) -> Shown:
        trials, flow = row
        results = results_of(trials)
        first = results[0]
        column = TableColumn(first.protocol, first.message_bytes or 0, flow)
        ceiling = ceiling_of(column, [Bin(tuple(results), flow)], link)
        if ceiling is None:
            return Shown(why=[_("the link’s rate was not stated, or no cable was touched.")])
        per_cent_bit_per_s = ceiling.highest_bit_per_s / 100
        return mean_of_all(_throughput(flow, per_cent_bit_per_s), _WHY_BLANK)(trials)

    columns: list[FigureColumn[_FlowOfTrials]] = [
        FigureColumn(
            in_unit(MBIT_PER_S, _("throughput")),
            lambda row: mean_of_all(_throughput(row[1]), _WHY_BLANK)(row[0]),
            MBIT_PER_S,
        ),
        FigureColumn(
            in_unit(MBIT_PER_S, "± 95 %"),
            lambda row: figures.half_width(_throughput(row[1]), _WHY_BLANK)(row[0]),
            MBIT_PER_S,
        ),
        FigureColumn(_("of the wire ceiling, %"), of_ceiling, "%"),
    ]
    if any(record.protocol == "UDP" for record in records):
        columns.append(FigureColumn(_("messages lost, %"), _load_lost, "%"))
    if any(_streams(record) > 1 for record in records):
        columns.append(FigureColumn(_("fairness"), _fairness))
    rows = [
        (joined(", ", filter(None, (name, FLOWS[flow]))), cell, (trials, flow))
        for name, cell, trials in measured
        for flow in results_of(trials)[0].flows
    ]
    return table(_("{pairing}: the load", pairing=pairing_name), _("load"), columns, rows)


def _load_lost(row: _FlowOfTrials) -> Shown:
    trials, flow = row
    if trials[0].protocol != "UDP":
        return Shown(why=[_("TCP retransmits what is lost.")])
    return figures.share(
        lambda record: record.flow(flow).lost_messages,
        lambda record: record.flow(flow).sent_messages,
        _("not counted."),
    )(trials)


def _fairness(row: _FlowOfTrials) -> Shown:
    trials, flow = row
    if _streams(trials[0]) < 2:
        return Shown(why=[_("there is only one stream.")])
    return mean_of_all(figures.number(f"{flow}fairness_index"), _WHY_BLANK)(trials)


def _streams(record: Record) -> int:
    streams = record.settings.get("streams")
    return streams if isinstance(streams, int) else 1


MOST_STRIPS = 12
"""Maximum number of charts over time in the section. The page shows those of the other cells when a
reader opens these cells."""
MOST_POINTS = 900
GAP = 3
"""Minimum number of consecutive lost requests that leave a gap in the line."""
SMALL_NS = 1e6
"""If every round trip is shorter than this, the axis is in µs."""


def _charts_over_time(
    records: Sequence[Record], titles: Mapping[str, str], timelines: _Timelines
) -> Iterator[elements.Strip]:
    """A chart for each cell: the trial whose increase (round trip under load minus round trip
    before it) is nearest to the median. If no increase is known, the first trial.
    """
    file_names, cells = chart_names(records), by_cell(records)
    for cell, recorded in list(timelines.items())[:MOST_STRIPS]:
        increases = [trial.number("increase_ns") for trial, _timeline in recorded]
        known = [increase for increase in increases if increase is not None]
        middle = median(known) if known else 0.0
        place = min(
            range(len(recorded)),
            key=lambda at: math.inf if (ns := increases[at]) is None else abs(ns - middle),
        )
        example, timeline = recorded[place]
        title = _("{cell}: round trips and load over time", cell=titles[cell])
        if len(cells[cell]) > 1:
            title = _(
                "{cell}: round trips and load over time (trial {trial} of {trials}, nearest "
                "the median)",
                cell=titles[cell],
                trial=str(example.trial),
                trials=str(len(cells[cell])),
            )
        # A line for each direction of the load.
        rates = tuple(
            Curve(_("throughput {way}", way=FLOWS[flow]) if flow else _("throughput"), at, points)
            for at, (flow, points) in enumerate(timeline.rates.items(), start=2)
        )
        panels = [_trip_panel(timeline)]
        panels += [Panel(_("throughput of the load"), "Mbit/s", rates)] if rates else []
        yield elements.Strip(
            name=file_names[cell],
            title=title,
            x_label=_("seconds since the first request"),
            panels=tuple(panels),
            bands=tuple(
                elements.Band(*ends, tables.PHASE_WORDS[phase])
                for phase, ends in timeline.phases.items()
            ),
            from_zero=True,
        )


def _trip_panel(timeline: LoadTimeline) -> Panel:
    """The line of the round trips, and the marks of lost requests at the height of the longest."""
    trips = thinned(timeline.trips, MOST_POINTS)
    longest_ns = max((trip.ns for trip in trips if trip.ns is not None), default=0)
    scale, unit = (1e3, "µs") if longest_ns < SMALL_NS else (1e6, "ms")
    points: list[tuple[float, float | None]] = []
    marks: list[tuple[float, float | None]] = []
    losses: list[Trip] = []
    for trip in trips:
        if trip.ns is None:
            losses.append(trip)
            marks.append((short(trip.at_ns / 1e9), short(longest_ns / scale)))
            continue
        if len(losses) >= GAP and points:
            points.append((short(losses[0].at_ns / 1e9), None))
        losses = []
        points.append((short(trip.at_ns / 1e9), short(trip.ns / scale)))
    curves = [Curve(_("round trip"), 0, tuple(points))] if longest_ns else []
    curves += [Curve(_("lost"), 1, tuple(marks), joined=False)] if marks else []
    return Panel(_("round trip"), unit, tuple(curves))


_CURVE_STEPS = 120
"""Number of points of a curve, evenly spaced in the share of the requests."""


def _charts_by_phase(titles: Mapping[str, str], timelines: _Timelines) -> Iterator[elements.Chart]:
    """Empirical distributions, a panel for each cell, a line for each phase, all trials pooled. A
    single panel becomes a diagram of its own.
    """
    panels: list[Panel] = []
    for cell, recorded in timelines.items():
        curves = tuple(
            Curve(tables.PHASE_WORDS[phase], place, points)
            for place, phase in enumerate(PHASES)
            if (points := _percentile_points(phase, [timeline for _trial, timeline in recorded]))
        )
        if curves:
            panels.append(Panel(titles[cell], "%", curves))
    if not panels:
        return
    panels = panels[:MOST_PANELS]
    is_single = len(panels) == 1
    lines = tuple(
        line if is_single else replace(line, label=joined(", ", [panel.title, line.label]))
        for panel in panels
        for line in panel.lines
    )
    times = [x for line in lines for x, _y in line.points]
    first, last = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    title = _("Percentiles of the round trips of each phase")
    if is_single:
        title = _("{title} ({conditions})", title=title, conditions=panels[0].title)
    yield elements.Chart(
        name="latency-by-phase-1",
        title=title,
        x_label=_("round trip, ms"),
        x_ticks=tuple((10.0**n, f"{10.0**n:g}") for n in range(first, max(last, first + 1) + 1)),
        log_x=True,
        lines=lines,
        quantity=_("share of the requests"),
        unit="%",
        panels=() if is_single else tuple(panels),
    )


def _percentile_points(
    phase: str, timelines: Sequence[LoadTimeline]
) -> tuple[tuple[float, float | None], ...]:
    """(round trip in ms, percentage of the phase's requests that took no longer).

    A lost request counts as longer than any other, so that a line with losses ends below 100 %.
    """
    trips = [trip for timeline in timelines for trip in timeline.trips_of(phase)]
    answered_ns = sorted(trip.ns for trip in trips if trip.ns is not None)
    step = max(1, len(answered_ns) // _CURVE_STEPS)
    points: dict[float, float | None] = {}
    for rank in sorted({*range(1, len(answered_ns) + 1, step), len(answered_ns)}):
        if rank and answered_ns[rank - 1] > 0:
            # Of several equal times the last one counts, because its share is the largest.
            points[short(answered_ns[rank - 1] / 1e6)] = short(100 * rank / len(trips))
    return tuple(points.items())


# ---- one trial on a terminal

WIDTH = 60
"""Width of the figure of a trial on a terminal, in columns."""
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
