"""Records and findings of a cell → the small charts that the page draws when the cell is opened.

The window is the time that is measured; TCP's window is called congestion window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any

from netlab.findings.analysis import Analysis
from netlab.findings.finding import Kind
from netlab.findings.tcp_series import recoveries_of
from netlab.kinds.latency_under_load.phases import interval_rates, short, thinned, timeline_of
from netlab.kinds.latency_under_load.tables import PHASE_WORDS
from netlab.messages import Message, _, sentence_case
from netlab.report.tables.elements import Curve
from netlab.report.text.findings import RunIndex, sentence
from netlab.results.quantities import quantities_of
from netlab.results.tcp_series import TcpSeries, tcp_series_of
from netlab.stats import MIN_TRIALS, interval, mean
from netlab.stats.histogram import middle_of
from netlab.trial.interruptions import interruptions
from netlab.trial.record import FLOWS, Record
from netlab.units import format_rate, format_seconds

MOST_MARKS = 12
"""Maximum number of marks on one chart. If there are more, the longest marks are drawn."""
LEAST_OF_LONGEST = 0.1
"""Gaps shorter than this share of the longest gap are not marked."""
_LIMITS: Mapping[str, str] = {
    "rate_limit_bit_per_s": _("rate limit, {rate}").id,
    "window_limit_bit_per_s": _("limit of the receive window, {rate}").id,
}
MAX_LINES = 12
"""Maximum number of trials (measurements of a cell) in a chart; more lines would look alike."""
_MAX_STEPS = 200
"""Maximum number of points of one curve, so that a page of many cells stays small."""
_IN_WINDOW = _("seconds since the window opened")
_Points = list[tuple[float, float | None]]


@dataclass(frozen=True, slots=True)
class CellFinding:
    """One finding as the page shows it among the details of a cell."""

    sentence: str
    kind: Kind | None = None
    advice: str = ""
    evidence: Mapping[str, float] = field(default_factory=dict)
    """Name → value; the name includes the unit, as in a record."""
    trials: tuple[int, ...] = ()
    """The trials of the cell that show it; empty if it is not about single trials."""

    @property
    def is_warning(self) -> bool:
        """Whether the kind of finding means that a figure should not be trusted without a check."""
        return self.kind is not None and self.kind.severity == "warning"


def findings_by_cell(run: Analysis) -> dict[str, tuple[CellFinding, ...]]:
    """Key of a cell → its findings, in the run's order: warnings first."""
    index = RunIndex(run)
    by_cell: dict[str, list[CellFinding]] = {}
    for finding in run.findings:
        words, number = sentence(finding, index), len(finding.cells)
        if number > 1:
            words = _("{words} These figures are of {number} cells.", words=words, number=number)
        advice = _("{statement}.", statement=sentence_case(finding.advice))
        for cell in finding.cells:
            trials = tuple(trial for key, trial in finding.trials if key == cell)
            of_cell = CellFinding(words, finding.kind, advice, finding.evidence, trials)
            by_cell.setdefault(cell, []).append(of_cell)
    return {cell: tuple(findings) for cell, findings in by_cell.items()}


# Marks and levels of findings


@dataclass(frozen=True, slots=True)
class SeriesMark:
    """A labelled part of the window (the measured time), in seconds since the window opened."""

    from_s: float
    until_s: float
    words: str
    trial: int


SeriesLevel = tuple[float, str]
"""A limit of a flow's rate, in Mbit/s, and its words."""


def marks_of(
    records: Sequence[Record], flow: str, findings: Sequence[CellFinding]
) -> tuple[SeriesMark, ...]:
    """The longest ``MOST_MARKS`` marks of a flow, in order of time; ``records`` have results."""
    kinds = {finding.kind: finding for finding in findings}
    marks: list[SeriesMark] = []
    for record in records:
        if Kind.INTERRUPTION_FINAL in kinds:
            marks += _gaps(record, flow)
        series = tcp_series_of(record.values, flow) if Kind.LOSS_RECOVERY in kinds else None
        for recovery in recoveries_of(series) if series is not None else ():
            length_s = recovery.length_us / 1e6
            words = _("recovery from loss, {time}")
            marks.append(_mark(record, recovery.from_us / 1e6, length_s, words, length_s))
    longest = sorted(marks, key=lambda mark: mark.from_s - mark.until_s)[:MOST_MARKS]
    return tuple(sorted(longest, key=lambda mark: (mark.from_s, mark.trial)))


def levels_of(findings: Sequence[CellFinding]) -> tuple[SeriesLevel, ...]:
    """The limits of the cell's rate according to its findings, in Mbit/s, each once."""
    levels = {
        (value / 1e6, _(words, rate=format_rate(value)))
        for finding in findings
        for name, words in _LIMITS.items()
        if (value := finding.evidence.get(name)) is not None
    }
    return tuple(sorted(levels))


def _gaps(record: Record, flow: str) -> Iterator[SeriesMark]:
    """The gaps in which the receiver got no data, if they amount to an interruption."""
    if not any(interruption.flow == flow for interruption in interruptions(record)):
        return
    pairs: Any = record.values.get(f"{flow}receiver_gaps")
    if not isinstance(pairs, list):
        return
    gaps = [
        (begin, length)
        for begin, length in zip(pairs[::2], pairs[1::2], strict=False)
        if type(begin) is type(length) is int and begin >= 0 < length
    ]
    longest = max((length for _begin, length in gaps), default=0)
    for begin, length in gaps:
        if length >= LEAST_OF_LONGEST * longest:
            words = _("no data for {time}")
            yield _mark(record, begin / 1e9, length / 1e9, words, length / 1e9)


def _mark(
    record: Record, from_s: float, length_s: float, words: Message, time_s: float
) -> SeriesMark:
    text = _(words.id, time=format_seconds(float(f"{time_s:.3g}")))
    return SeriesMark(round(from_s, 6), round(from_s + length_s, 6), text, record.trial)


# Charts


@dataclass(frozen=True, slots=True)
class SmallChart:
    """One small diagram, with a line for each trial or kind of point."""

    title: str
    x_label: str
    y_label: str
    """Quantity and unit."""
    lines: tuple[Curve, ...]
    level: float | None = None
    """The wire ceiling in the unit of y, if known."""
    trials: tuple[tuple[int, float], ...] = ()
    """(index of its line, mean) of each trial; the mean is in the unit of y."""
    mean: tuple[float, float, float] | None = None
    """(low, mean, high): the trials' mean with its 95 % interval, from three trials upwards."""
    limits: tuple[SeriesLevel, ...] = ()
    marks: tuple[SeriesMark, ...] = ()
    from_zero: bool = True
    """Whether the y axis begins at zero. If it does not, no line joins the points."""


def small_charts(
    trials: Sequence[Record],
    ceilings: Mapping[str, float],
    marks: Mapping[str, tuple[SeriesMark, ...]] | None = None,
    limits: tuple[SeriesLevel, ...] = (),
) -> tuple[SmallChart, ...]:
    """The charts of one cell, from the series of its ``trials`` with a result; without a series
    over time, from the figures of its trials. A damaged series is left out.

    ``ceilings``: by flow, in bit/s. ``marks``: by flow. ``limits``: of a stream with a single flow.
    """
    drawn = trials[:MAX_LINES]
    charts = [*_around_load(drawn)]
    for flow in FLOWS:
        of_flow = (marks or {}).get(flow, ())
        charts += [
            replace(chart, marks=of_flow, limits=() if flow else limits)
            for chart in _over_window(drawn, flow, ceilings.get(flow))
        ]
    if not charts:
        # The figure of each trial, for a test that records no series over its window.
        for quantity in dict.fromkeys(q for r in trials for q in quantities_of(r)):
            figures = [(r.trial, quantity.in_unit(r)) for r in trials]
            points = [(float(trial), short(value)) for trial, value in figures if value is not None]
            if len(points) > 1:
                title = _("{quantity}, trial by trial", quantity=sentence_case(quantity.name))
                line = Curve(_("trials"), 0, tuple(points), joined=False)
                ends = _mean_of([value for _trial, value in points])
                names = (title, _("number of the trial"), quantity.unit)
                charts.append(SmallChart(*names, (line,), mean=ends, from_zero=False))
    for flow in FLOWS:
        charts += _tcp_charts(drawn, flow)
    charts += _of_round_trips(drawn)
    charts += _of_searches(drawn)
    return tuple(charts)


def _over_window(
    trials: Sequence[Record], flow: str, ceiling_bit_per_s: float | None
) -> Iterator[SmallChart]:
    """The receiver's throughput in each interval."""
    measured: list[tuple[Record, list[tuple[float, float]]]] = []
    means: list[tuple[int, float]] = []
    for record in trials:
        series = record.series(f"{flow}receiver_interval_bytes")
        interval_ns = record.number(f"{flow}receiver_interval_ns")
        if series and interval_ns:
            elapsed_ns = record.number(f"{flow}receiver_elapsed_ns")
            own = record.flows.get(flow)
            if own is not None and own.throughput_bit_per_s is not None:
                means.append((len(measured), short(own.throughput_bit_per_s / 1e6)))
            measured.append((record, interval_rates(series, interval_ns, elapsed_ns)))
    if measured:
        yield SmallChart(
            _in_flow(
                flow, _("Throughput within the window"), _("Throughput {way} within the window")
            ),
            _IN_WINDOW,
            "Mbit/s",
            _lines(measured),
            None if ceiling_bit_per_s is None else short(ceiling_bit_per_s / 1e6),
            tuple(means),
            _mean_of([mean for _place, mean in means]),
        )


def _around_load(trials: Sequence[Record]) -> Iterator[SmallChart]:
    """Round trips before, during and after the load; a lost one is as high as the longest."""
    timelines = [
        (record, timeline, opened_ns)
        for record in trials
        if (timeline := timeline_of(record)) is not None
        and (opened_ns := record.number("load_open_ns")) is not None
    ]
    trips = [trip for _record, timeline, _opened in timelines for trip in timeline.trips]
    times = [trip.ns for trip in trips if trip.ns is not None]
    if not times:
        return
    scale, unit = (1e3, "µs") if max(times) < 1e6 else (1e6, "ms")
    arrived: list[tuple[Record, _Points]] = []
    losses: _Points = []
    marks: list[SeriesMark] = []
    for record, timeline, opened_ns in timelines:
        points: _Points = []
        for trip in thinned(timeline.trips, _MAX_STEPS):
            at = short((trip.at_ns - opened_ns) / 1e9)
            if trip.ns is None:
                losses.append((at, short(max(times) / scale)))
            else:
                points.append((at, short(trip.ns / scale)))
        arrived.append((record, points))
        for phase, (begin_s, end_s) in () if marks else timeline.phases.items():
            from_s, until_s = (edge_s - opened_ns / 1e9 for edge_s in (begin_s, end_s))
            marks.append(SeriesMark(short(from_s), short(until_s), PHASE_WORDS[phase], 0))
    lines = _lines(arrived)
    lost = Curve(_("lost"), len(lines), tuple(losses), joined=False)
    yield SmallChart(
        _("Round trips before, during and after the load"),
        _("seconds since the load began"),
        unit,
        (*lines, lost) if losses else lines,
        marks=tuple(marks),
    )


def _mean_of(values: Sequence[float]) -> tuple[float, float, float] | None:
    """(low, mean, high) by Student's t; ``None`` for fewer than three trials."""
    if len(values) < MIN_TRIALS:
        return None
    ends = interval(values)
    return short(ends.low), short(mean(values)), short(ends.high)


def _tcp_charts(trials: Sequence[Record], flow: str) -> Iterator[SmallChart]:
    """The sender's congestion window, smoothed round trip, and retransmitted segments."""
    own = [
        (record, series, [short(time_us / 1e6) for time_us in series.time_us])
        for record in trials
        if (series := tcp_series_of(record.values, flow)) is not None
    ]
    if not own:
        return

    def lines_of(values_of: Callable[[TcpSeries], Sequence[int]], unit: float) -> tuple[Curve, ...]:
        measured = []
        for record, series, times_s in own:
            if values := values_of(series):
                step = -(-len(values) // _MAX_STEPS)
                figures = [short(value / unit) for value in values[::step]]
                measured.append((record, [*zip(times_s[::step], figures, strict=True)]))
        return _lines(measured)

    if windows := lines_of(lambda series: series.cwnd_bytes, 1024):
        again: _Points = []
        for _record, series, times_s in own:
            # A point where the sender retransmitted segments since the point before.
            places = [
                place
                for place, (earlier, count) in enumerate(pairwise(series.retransmissions), start=1)
                if count > earlier and series.cwnd_bytes
            ]
            step = max(1, -(-len(places) // _MAX_STEPS))
            again += [(times_s[at], short(series.cwnd_bytes[at] / 1024)) for at in places[::step]]
        title = _in_flow(flow, _("TCP’s congestion window"), _("TCP’s congestion window {way}"))
        mark = Curve(_("retransmitted segments"), len(windows), tuple(again), joined=False)
        yield SmallChart(title, _IN_WINDOW, "KiB", (*windows, mark) if again else windows)
    if round_trips := lines_of(lambda series: series.rtt_us, 1e3):
        title = _in_flow(flow, _("TCP’s round trip"), _("TCP’s round trip {way}"))
        yield SmallChart(title, _IN_WINDOW, "ms", round_trips)
    if not any(any(series.retransmissions) for _record, series, _times in own):
        return
    sums = lines_of(lambda series: series.retransmissions, 1)
    if any(y for line in sums for _x, y in line.points):
        in_flow = _("Segments retransmitted by TCP {way}")
        title = _in_flow(flow, _("Segments retransmitted by TCP"), in_flow)
        yield SmallChart(title, _IN_WINDOW, _("segments in total"), sums)


def _in_flow(flow: str, whole: Message, in_flow: Message) -> Message:
    return _(in_flow.id, way=FLOWS[flow]) if flow else whole


def _of_round_trips(trials: Sequence[Record]) -> Iterator[SmallChart]:
    """The percentiles of the round trips, up to the 99th, and the first round trips."""
    distributions: list[tuple[Record, _Points]] = []
    for record in trials:
        points: _Points = []
        if (histogram := record.histogram("rtt_histogram")) is None:
            continue
        last = -1.0
        sums = accumulate(histogram.counts.values())
        for bucket, count in zip(histogram.counts, sums, strict=True):
            share = 100 * count / histogram.count
            if share - last >= 100 / _MAX_STEPS and share <= 99:
                last = share
                points.append((short(share), short(middle_of(bucket, histogram.bits) / 1e3)))
        distributions.append((record, points))
    if any(points for _record, points in distributions):
        names = (_("Distribution of the round trips"), _("percentile of the round trips"), "µs")
        yield SmallChart(*names, _lines(distributions))
    firsts: list[tuple[Record, _Points]] = [
        (record, [(float(n), short(rtt_ns / 1e3)) for n, rtt_ns in enumerate(series, start=1)])
        for record in trials
        if (series := record.series("first_rtt_ns"))
    ]
    if firsts:
        number = _("number of the round trip")
        yield SmallChart(_("The first round trips"), number, "µs", _lines(firsts))


def _of_searches(trials: Sequence[Record]) -> Iterator[SmallChart]:
    """The throughput around the largest payload, and the rates that each search tried."""
    swept: list[tuple[Record, _Points]] = []
    for record in trials:
        sizes = record.series("sweep_message_bytes")
        rates = record.series("sweep_throughput_bit_per_s")
        if sizes and len(sizes) == len(rates):
            pairs = sorted(zip(sizes, rates, strict=True))
            swept.append((record, [(size, short(rate / 1e6)) for size, rate in pairs]))
    if swept:
        names = (_("Throughput around the largest payload"), _("message size, bytes"), "Mbit/s")
        yield SmallChart(*names, _lines(swept, joined=False))
    for record in trials:
        shares, verdicts = record.series("trial_line_share"), record.series("trial_verdict")
        if not shares or len(shares) != len(verdicts):
            continue
        tries = list(enumerate(zip(shares, verdicts, strict=True), start=1))
        lines = [
            Curve(label, place, tuple(points), joined=False)
            for place, label in enumerate((_("passed"), _("did not pass")))
            if (points := [(float(n), short(100 * s)) for n, (s, v) in tries if (v != 0) == place])
        ]
        title = _("Rates tried by search {number}", number=record.trial)
        number = _("number of the trial")
        yield SmallChart(title, number, _("% of the line rate"), tuple(lines))


def _lines(
    measured: Iterable[tuple[Record, Sequence[tuple[float, float | None]]]], *, joined: bool = True
) -> tuple[Curve, ...]:
    return tuple(
        Curve(_("trial {number}", number=record.trial), place, tuple(points), joined)
        for place, (record, points) in enumerate(measured)
    )
