"""Records of latency under load → its section: tables, charts over time, percentiles by phase.

The test measures round trips before, during and after a load that fills the path. Its connections
are those that it opened in these phases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from netlab.ethernet import Link
from netlab.experiment.hosts import is_by_name
from netlab.kinds.latency_under_load.phases import (
    PHASES,
    LoadTimeline,
    Trip,
    short,
    thinned,
    timeline_of,
    trips_within,
)
from netlab.kinds.latency_under_load.tables import CONNECTIONS, PER_MINUTE, PHASE_WORDS, TRIPS
from netlab.messages import Message, _, counted, joined
from netlab.report.tables.charts import MOST_PANELS
from netlab.report.tables.elements import (
    MBIT_PER_S,
    AnswerLine,
    Band,
    Chart,
    ChartPanel,
    Curve,
    Panel,
    Part,
    Strip,
    Table,
    table,
)
from netlab.report.text.phrases import increase_words, mean_ms, rise_words
from netlab.results.ceilings import ceiling_of
from netlab.results.layout import Bin, TableColumn, of_pairing
from netlab.results.quantities import words_of
from netlab.stats import median
from netlab.trial.figures import (
    Figure,
    FigureColumn,
    OfTrials,
    Shown,
    Trials,
    Why,
    half_width,
    in_unit,
    mean_of_all,
    number,
    results_of,
    share,
)
from netlab.trial.record import FLOWS, Record, by_cell

if TYPE_CHECKING:
    from netlab.results.run import Run

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


_THROUGHPUT: Mapping[str, str] = {
    "": _("throughput"),
    "to_server_": _("throughput to server"),
    "to_client_": _("throughput to client"),
}
_TOWARDS: Mapping[str, str] = {"client-sends": "to_server_", "server-sends": "to_client_"}
"""Direction of a one-way load → the name of its flow."""


def sheets_of(
    records: Sequence[Record], names: Mapping[str, str], link: Link | None
) -> Iterator[Table]:
    """The tables of each pairing that have any content."""
    for pairing in dict.fromkeys(record.pairing for record in records):
        group = [record for record in records if record.pairing == pairing]
        pairing_name = of_pairing(pairing, same_host=any(record.same_host for record in group))
        rows = [(names[cell], cell, trials) for cell, trials in by_cell(group).items()]
        yield table(
            _("{pairing}: round trips with and without load", pairing=pairing_name),
            _("load"),
            [*TRIPS, *(_rate(way) for way in _ways(group))],
            rows,
        )
        measured = [row for row in rows if results_of(row[2])]
        if measured:
            yield _load_sheet(pairing_name, group, measured, link)
        yield from _connections_sheet(pairing_name, group, measured)


def _why_blank(record: Record) -> str:
    return record.why_blank


def _ways(records: Sequence[Record]) -> tuple[str, ...]:
    """The flows with a column of throughput: one flow if all loads go in the same single direction,
    otherwise a flow for each direction.
    """
    ways = {str(record.settings.get("direction", "")) for record in records}
    return ("",) if len(ways) == 1 and "both" not in ways else tuple(filter(None, FLOWS))


def _rate(way: str) -> FigureColumn[Trials]:
    def of(trials: Trials) -> Shown:
        flow = _flow_in(trials[0], way)
        if flow is None:
            return Shown(why=[_("the load went the other way.")])
        return mean_of_all(_throughput(flow), _why_blank)(trials)

    return FigureColumn(in_unit(MBIT_PER_S, _THROUGHPUT[way]), of, MBIT_PER_S)


def _flow_in(record: Record, way: str) -> str | None:
    """The flow of a cell that a column shows; ``None`` if the cell's load went the other way."""
    if way in record.flows:
        return way
    return "" if way == _TOWARDS.get(str(record.settings.get("direction", ""))) else None


def _throughput(flow: str) -> Figure:
    def of(record: Record) -> float | None:
        flow_result = record.flows.get(flow)
        rate = None if flow_result is None else flow_result.throughput_bit_per_s
        return None if rate is None else rate / 1e6

    return of


_FlowOfTrials = tuple[Trials, str]
"""Trials of a cell, and the flow of them that a line is about."""


def _connections_sheet(
    pairing_name: str, records: Sequence[Record], measured: Sequence[tuple[str, str, Trials]]
) -> Iterator[Table]:
    """A line for each cell; nothing if there is no connection and no rate of round trips."""
    connects = any(record.number(f"{phase}_connections") for record in records for phase in PHASES)
    rates = [
        column
        for name, column in PER_MINUTE.items()
        if any(record.number(name) for record in records)
    ]
    if connects or rates:
        title = (
            _("{pairing}: connections up to their first answer", pairing=pairing_name)
            if connects
            else _("{pairing}: round trips per minute", pairing=pairing_name)
        )
        columns = [*(CONNECTIONS if connects else ()), *rates]
        yield table(title, _("load"), columns, measured)


def _load_sheet(
    pairing_name: str,
    records: Sequence[Record],
    measured: Sequence[tuple[str, str, Trials]],
    link: Link | None,
) -> Table:
    """A line for each cell and direction."""

    def rate(made: Callable[[Figure, Why], OfTrials]) -> Callable[[_FlowOfTrials], Shown]:
        return lambda row: made(_throughput(row[1]), _why_blank)(row[0])

    columns: list[FigureColumn[_FlowOfTrials]] = [
        FigureColumn(in_unit(MBIT_PER_S, _("throughput")), rate(mean_of_all), MBIT_PER_S),
        FigureColumn(in_unit(MBIT_PER_S, "± 95 %"), rate(half_width), MBIT_PER_S),
        FigureColumn(_("of the wire ceiling, %"), lambda row: _of_ceiling(row, link), "%"),
    ]
    if any(record.protocol == "UDP" for record in records):
        columns.append(FigureColumn(_("messages lost, %"), _load_lost, "%"))
    if any(_streams(record) > 1 for record in records):
        columns.append(FigureColumn(_("fairness"), _fairness))
    rows = [
        (joined(", ", [name, FLOWS[flow]]) if flow else name, cell, (trials, flow))
        for name, cell, trials in measured
        for flow in results_of(trials)[0].flows
    ]
    return table(_("{pairing}: the load", pairing=pairing_name), _("load"), columns, rows)


def _of_ceiling(row: _FlowOfTrials, link: Link | None) -> Shown:
    trials, flow = row
    results = results_of(trials)
    first = results[0]
    column = TableColumn(first.protocol, first.message_bytes or 0, flow)
    ceiling = ceiling_of(column, [Bin(tuple(results), flow)], link)
    if ceiling is None:
        return Shown(why=[_("the link’s rate was not stated, or no cable was touched.")])
    most = ceiling.highest_bit_per_s / 1e8

    def of(record: Record) -> float | None:
        rate = _throughput(flow)(record)
        return None if rate is None else rate / most

    return mean_of_all(of, _why_blank)(trials)


def _load_lost(row: _FlowOfTrials) -> Shown:
    trials, flow = row
    if trials[0].protocol != "UDP":
        return Shown(why=[_("TCP retransmits what is lost.")])
    return share(
        lambda record: record.flow(flow).lost_messages,
        lambda record: record.flow(flow).sent_messages,
        _("not counted."),
    )(trials)


def _fairness(row: _FlowOfTrials) -> Shown:
    trials, flow = row
    if _streams(trials[0]) < 2:
        return Shown(why=[_("there is only one stream.")])
    return mean_of_all(number(f"{flow}fairness_index"), _why_blank)(trials)


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

Timelines = Mapping[tuple[str, int], LoadTimeline]
"""(cell, trial) → its timeline, for trials that recorded single round trips."""

Points = list[tuple[float, float | None]]


def charts_over_time(
    records: Sequence[Record], names: Mapping[str, str], timelines: Timelines
) -> tuple[tuple[Strip, ...], int]:
    """(a chart for each cell, number of charts that are left out)."""
    several = len({record.pairing for record in records}) > 1
    file_names, charted = chart_names(records), []
    for cell, trials in by_cell(records).items():
        example = _chosen([trial for trial in trials if (cell, trial.trial) in timelines])
        if example is not None:
            name = joined(" ", [example.pairing, names[cell]]) if several else names[cell]
            title = _("{cell}: round trips and load over time", cell=name)
            if len(trials) > 1:
                title = _(
                    "{cell}: round trips and load over time (trial {trial} of {trials}, nearest "
                    "the median)",
                    cell=name,
                    trial=str(example.trial),
                    trials=str(len(trials)),
                )
            charted.append((file_names[cell], title, timelines[cell, example.trial]))
    strips = []
    for name, title, timeline in charted[:MOST_STRIPS]:
        trips, unit = trip_curves(timeline)
        panels = [Panel(_("round trip"), unit, tuple(trips))]
        if rates := rate_curves(timeline):
            panels.append(Panel(_("throughput of the load"), "Mbit/s", tuple(rates)))
        bands = (Band(*ends, PHASE_WORDS[phase]) for phase, ends in timeline.phases.items())
        strips.append(
            Strip(
                name=name,
                title=title,
                x_label=_("seconds since the first request"),
                panels=tuple(panels),
                bands=tuple(bands),
                from_zero=True,
            )
        )
    return tuple(strips), len(charted) - len(strips)


def _chosen(trials: Sequence[Record]) -> Record | None:
    """The trial whose increase (round trip under load minus round trip before it) is nearest to the
    median. If no increase is known, the first trial; ``None`` without trials.
    """
    increases = [(t, value) for t in trials if (value := t.number("increase_ns")) is not None]
    if not increases:
        return trials[0] if trials else None
    middle = median([increase for _trial, increase in increases])
    return min(increases, key=lambda pair: abs(pair[1] - middle))[0]


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
        Curve(_("throughput {way}", way=FLOWS[flow]) if flow else _("throughput"), place, points)
        for place, (flow, points) in enumerate(timeline.rates.items(), start=2)
    ]


_BY_PHASE = "latency-by-phase"
_CURVE_STEPS = 120
"""Number of points of a curve, evenly spaced in the share of the requests."""


def charts_by_phase(
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
            if (points := _percentile_points(phase, of_cell))
        )
        if curves:
            name = joined(" ", [trials[0].pairing, names[cell]]) if several else names[cell]
            panels.append(ChartPanel(name, curves))
    return (_chart(panels[:MOST_PANELS]),) if panels else ()


def _percentile_points(
    phase: str, timelines: Sequence[LoadTimeline]
) -> tuple[tuple[float, float | None], ...]:
    """(round trip in ms, percentage of the phase's requests that took no longer).

    A lost request counts as longer than any other, so that a line with losses ends below 100 %.
    """
    trips = [trip for timeline in timelines for trip in timeline.trips_of(phase)]
    phase_trips = trips_within(trips, 0, 1 + max((trip.at_ns for trip in trips), default=0))
    answered = phase_trips.answered_ns
    step = max(1, len(answered) // _CURVE_STEPS)
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
        name=f"{_BY_PHASE}-1",
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


def part(run: Run, records: Sequence[Record]) -> Part | None:
    """Tables for each pairing, then charts; ``None`` if the run has no such test."""
    if not records:
        return None
    names = load_names(records)
    timelines = {
        (record.cell, record.trial): timeline
        for record in records
        if (timeline := timeline_of(record)) is not None
    }
    strips, left_out = charts_over_time(records, names, timelines)
    return Part(
        name=SECTION,
        title=_("Latency under load"),
        paragraphs=_paragraphs(records, timelines, left_out),
        sheets=tuple(sheets_of(records, names, run.plan.link)),
        charts=(*strips, *charts_by_phase(records, names, timelines)),
    )


def _paragraphs(records: Sequence[Record], timelines: Timelines, left_out: int) -> tuple[str, ...]:
    paragraphs: list[Message] = [_MEANING, _PHASES]
    results = results_of(records)
    if any(record.number("responsiveness_per_minute") for record in results):
        paragraphs.append(_RESPONSIVENESS)
    if timelines:
        paragraphs.append(_CHARTS)
    without = sum((record.cell, record.trial) not in timelines for record in results)
    if without:
        paragraphs.append(
            counted(
                "{number} trial did not record single round trips and is not in the charts.",
                "{number} trials did not record single round trips and are not in the charts.",
                without,
            )
        )
    if left_out:
        paragraphs.append(
            counted(
                "{number} further cell has no chart over time here: its figures in the table open "
                "one.",
                "{number} further cells have no chart over time here: their figures in the tables "
                "open one.",
                left_out,
            )
        )
    return tuple(paragraphs)


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


MOST_LOAD_LINES = 3
"""Maximum number of lines; if there would be more, all cells share one line."""


def answers(records: Sequence[Record]) -> tuple[AnswerLine, ...]:
    """One line for each cell with a result, or one line with the least and the largest increase.

    Pairs of named hosts are left out here: ``pairs.answers`` makes their lines.
    """
    by_system = [record for record in records if not is_by_name(record.pairing)]
    names, charts = load_names(by_system), chart_names(records)
    cells = by_cell([r for r in results_of(by_system) if r.number("loaded_rtt_count")])
    increases = {
        cell: increase
        for cell, trials in cells.items()
        if (increase := mean_ms(trials, "increase_ns")) is not None
    }
    if len(cells) <= MOST_LOAD_LINES or not increases:
        return tuple(
            AnswerLine(
                rise_words(trials, _load_name(trials, names)), (cell,), SECTION, charts[cell]
            )
            for cell, trials in list(cells.items())[:MOST_LOAD_LINES]
        )
    ranking = sorted(increases, key=increases.__getitem__)
    least, most = (
        _("{time} ({load})", time=increase_words(cells[cell]), load=_load_name(cells[cell], names))
        for cell in (ranking[0], ranking[-1])
    )
    clauses = [_("Under load round trips take longer by {least} to {most}", least=least, most=most)]
    lossy_cells = [cell for cell in cells if cell not in increases]
    if lossy_cells:
        clauses.append(
            counted(
                "in {number} cell at least half of the requests are lost",
                "in {number} cells at least half of the requests are lost",
                len(lossy_cells),
            )
        )
    by_relevance = (ranking[-1], *ranking[:-1], *lossy_cells)
    return (AnswerLine(joined("; ", clauses), by_relevance, SECTION, charts[by_relevance[0]]),)


def _load_name(trials: Sequence[Record], names: dict[str, str]) -> Message:
    return joined(", ", [trials[0].pairing, names[trials[0].cell]])
