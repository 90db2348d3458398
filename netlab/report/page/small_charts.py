"""Records and findings of a cell → the small charts that the page draws when the cell is opened.

The window is the time that is measured; TCP's window is called congestion window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from netlab.findings.finding import Finding, Kind
from netlab.findings.tcp_series import recoveries_of
from netlab.messages import Message, _, sentence_case
from netlab.report.sections.latency_under_load import PHASE_WORDS
from netlab.report.tables.elements import Curve
from netlab.report.text.findings import RunIndex, sentence
from netlab.results.load_timeline import LoadTimeline, interval_rates, short, thinned, timeline_of
from netlab.results.quantities import quantities_of
from netlab.results.tcp_series import TcpSeries, tcp_series_of
from netlab.stats import mean
from netlab.stats.histogram import Histogram, middle_of
from netlab.stats.summary import MIN_TRIALS, interval
from netlab.trial.interruptions import interruptions
from netlab.trial.record import FLOWS, Record
from netlab.units import format_rate, format_seconds

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis


@dataclass(frozen=True, slots=True)
class CellFinding:
    """One finding as the page shows it among the details of a cell."""

    sentence: str
    kind: Kind | None = None
    advice: str = ""
    evidence: Mapping[str, float] = field(default_factory=dict)
    """Name → value; the name includes the unit, as in a record."""
    trials: tuple[int, ...] = ()
    """The trials of the cell that show the finding; empty if the finding is not about single
    trials."""

    @property
    def is_warning(self) -> bool:
        """Whether the kind of finding means that a figure should not be trusted without a check."""
        return self.kind is not None and self.kind.severity == "warning"


def findings_by_cell(run: Analysis) -> dict[str, tuple[CellFinding, ...]]:
    """Key of a cell → its findings, in the run's order: warnings first."""
    index = RunIndex(run)
    by_cell: dict[str, list[CellFinding]] = {}
    for finding in run.findings:
        words = sentence(finding, index)
        for cell in finding.cells:
            by_cell.setdefault(cell, []).append(_of_cell(finding, cell, words))
    return {cell: tuple(findings) for cell, findings in by_cell.items()}


def _of_cell(finding: Finding, cell: str, words: Message) -> CellFinding:
    return CellFinding(
        sentence=words,
        kind=finding.kind,
        advice=_("{statement}.", statement=sentence_case(finding.advice)),
        evidence=finding.evidence,
        trials=tuple(trial for key, trial in finding.trials if key == cell),
    )


MOST_MARKS = 12
"""Maximum number of marks on one chart. If there are more, the longest marks are drawn."""
LEAST_OF_LONGEST = 0.1
"""Gaps shorter than this share of the longest gap are not marked."""


@dataclass(frozen=True, slots=True)
class SeriesMark:
    """A labelled part of the window (the measured time), in seconds since the window opened."""

    from_s: float
    until_s: float
    words: str
    trial: int


@dataclass(frozen=True, slots=True)
class SeriesLevel:
    """A limit of a flow's rate, in Mbit/s."""

    level: float
    words: str


def marks_of(
    records: Sequence[Record], flow: str, findings: Sequence[CellFinding]
) -> tuple[SeriesMark, ...]:
    """The marks of one flow, for those findings of a cell that have a time.

    ``records``: the cell's records whose status is ok. The marks are gaps without data, TCP's
    recoveries after losses, and repeated dips; at most ``MOST_MARKS`` marks, in the order of time.
    """
    kinds = {finding.kind: finding for finding in findings}
    marks: list[SeriesMark] = []
    for record in records:
        if Kind.INTERRUPTION_FINAL in kinds:
            marks += _gaps(record, flow)
        if Kind.LOSS_RECOVERY in kinds:
            marks += _recoveries(record, flow)
        for kind in (Kind.DIPS_UNEXPLAINED, Kind.DIPS_CONGESTION):
            if kind in kinds and record.trial in (kinds[kind].trials or (record.trial,)):
                marks += _dips(record, flow, kinds[kind].evidence)
    longest = sorted(marks, key=lambda mark: mark.from_s - mark.until_s)[:MOST_MARKS]
    return tuple(sorted(longest, key=lambda mark: (mark.from_s, mark.trial)))


def levels_of(findings: Sequence[CellFinding]) -> tuple[SeriesLevel, ...]:
    """The limits of the cell's rate according to its findings, in Mbit/s, each once."""
    levels = {
        SeriesLevel(value / 1e6, _(words, rate=format_rate(value)))
        for finding in findings
        for name, words in _LIMITS.items()
        if (value := finding.evidence.get(name)) is not None
    }
    return tuple(sorted(levels, key=lambda limit: (limit.level, limit.words)))


_LIMITS: Mapping[str, str] = {
    "rate_limit_bit_per_s": _("rate limit, {rate}").id,
    "window_limit_bit_per_s": _("limit of the receive window, {rate}").id,
}


def _gaps(record: Record, flow: str) -> Iterator[SeriesMark]:
    """The gaps in which the receiver got no data, if they amount to an interruption."""
    if not any(interruption.flow == flow for interruption in interruptions(record)):
        return
    pairs = record.values.get(f"{flow}receiver_gaps")
    if not isinstance(pairs, list):
        return
    gaps = [
        (begin, length)
        for begin, length in zip(pairs[::2], pairs[1::2], strict=False)
        if type(begin) is int and type(length) is int and begin >= 0 < length
    ]
    longest = max((length for _begin, length in gaps), default=0)
    for begin, length in gaps:
        if length >= LEAST_OF_LONGEST * longest:
            words = _("no data for {time}", time=_time(length / 1e9))
            yield _mark(record, begin / 1e9, length / 1e9, words)


def _recoveries(record: Record, flow: str) -> Iterator[SeriesMark]:
    series = tcp_series_of(record.values, flow)
    for recovery in recoveries_of(series) if series is not None else ():
        words = _("recovery from loss, {time}", time=_time(recovery.length_us / 1e6))
        yield _mark(record, recovery.from_us / 1e6, recovery.length_us / 1e6, words)


def _dips(record: Record, flow: str, evidence: Mapping[str, float]) -> Iterator[SeriesMark]:
    """The interval with the fewest bytes in each period of the dips."""
    series = record.values.get(f"{flow}receiver_interval_bytes")
    interval_ns: Any = record.values.get(f"{flow}receiver_interval_ns")
    period_ns = evidence.get("period_ns")
    if not isinstance(series, list) or not interval_ns or not period_ns:
        return
    period = period_ns / interval_ns
    edges = [round(n * period) for n in range(int(len(series) / period) + 1)]
    for begin, end in pairwise(edges):
        if begin < end <= len(series):
            lowest = min(range(begin, end), key=series.__getitem__)
            words = _("dip, every {time}", time=_time(period_ns / 1e9))
            yield _mark(record, lowest * interval_ns / 1e9, interval_ns / 1e9, words)


def _mark(record: Record, from_s: float, length_s: float, words: str) -> SeriesMark:
    return SeriesMark(round(from_s, 6), round(from_s + length_s, 6), words, record.trial)


def _time(seconds: float) -> str:
    """A time to three significant digits."""
    return format_seconds(float(f"{seconds:.3g}"))


MAX_LINES = 12
"""Maximum number of trials (measurements of a cell) in a chart; more lines would look alike."""

_MAX_STEPS = 200
"""Maximum number of points of one curve."""

_PASSED, _NOT_PASSED = _("passed"), _("did not pass")

_Points = list[tuple[float, float | None]]


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
    """The limits that findings name."""
    marks: tuple[SeriesMark, ...] = ()
    """The marks for findings with a time."""
    from_zero: bool = True
    """Whether the y axis begins at zero. If it does not, no line joins the points."""


@dataclass(frozen=True, slots=True)
class _TrialSeries:
    """TCP's own values of one flow in one trial."""

    record: Record
    series: TcpSeries
    times_s: Sequence[float]
    """The time of each point of ``series``."""


def small_charts(
    trials: Sequence[Record],
    ceilings: Mapping[str, float],
    marks: Mapping[str, tuple[SeriesMark, ...]] | None = None,
    limits: tuple[SeriesLevel, ...] = (),
) -> tuple[SmallChart, ...]:
    """The charts of one cell, from the series that its trials recorded. If there is no series over
    time, the charts show the figure of each trial instead, unless there is only one figure.

    ``trials``: the trials whose status is ok. ``ceilings`` has the wire ceiling of each flow in
    bit/s, ``marks`` the marks of each flow, ``limits`` the limits of a stream with a single flow. A
    damaged series is left out.
    """
    first_trials = trials[:MAX_LINES]
    charts: list[SmallChart | None] = [_around_load(first_trials)]
    for flow in FLOWS:
        chart = _over_window(first_trials, flow, ceilings.get(flow))
        if chart is not None:
            chart = replace(chart, marks=(marks or {}).get(flow, ()), limits=() if flow else limits)
        charts.append(chart)
    if not any(charts):
        charts += _by_trial(trials)
    for flow in FLOWS:
        own = [
            _TrialSeries(record, series, [short(time_us / 1e6) for time_us in series.time_us])
            for record in first_trials
            if (series := tcp_series_of(record.values, flow)) is not None
        ]
        if own:
            draws = (_tcp_window, _tcp_round_trip, _tcp_retransmissions)
            charts += [draw(own, flow) for draw in draws]
    charts += [_distribution(first_trials), _first_round_trips(first_trials), _swept(first_trials)]
    charts += [_searched(record) for record in first_trials]
    return tuple(chart for chart in charts if chart is not None)


def _over_window(
    trials: Sequence[Record], flow: str, ceiling_bit_per_s: float | None
) -> SmallChart | None:
    """The receiver's throughput in each interval."""
    lines: list[Curve] = []
    means: list[tuple[int, float]] = []
    for record in trials:
        series = record.series(f"{flow}receiver_interval_bytes")
        interval_ns = record.number(f"{flow}receiver_interval_ns")
        if series and interval_ns:
            elapsed_ns = record.number(f"{flow}receiver_elapsed_ns")
            points = interval_rates(series, interval_ns, elapsed_ns)
            own = record.flows.get(flow)
            if own is not None and own.throughput_bit_per_s is not None:
                means.append((len(lines), short(own.throughput_bit_per_s / 1e6)))
            lines.append(_line(record, len(lines), points))
    if not lines:
        return None
    if flow:
        title = _("Throughput {way} within the window", way=FLOWS[flow])
    else:
        title = _("Throughput within the window")
    level = None if ceiling_bit_per_s is None else short(ceiling_bit_per_s / 1e6)
    return SmallChart(
        title,
        _("seconds since the window opened"),
        "Mbit/s",
        tuple(lines),
        level,
        tuple(means),
        _mean_of([mean for _place, mean in means]),
    )


def _around_load(trials: Sequence[Record]) -> SmallChart | None:
    """Single round trips before, during and after the load. A lost round trip is drawn at the
    height of the longest one.
    """
    timelines: list[tuple[Record, LoadTimeline, float]] = []
    for record in trials:
        timeline = timeline_of(record)
        opened_ns = record.number("load_open_ns")
        if timeline is not None and opened_ns is not None:
            timelines.append((record, timeline, opened_ns))
    trips = [trip for _record, timeline, _opened in timelines for trip in timeline.trips]
    times = [trip.ns for trip in trips if trip.ns is not None]
    if not times:
        return None
    scale, unit = (1e3, "µs") if max(times) < 1e6 else (1e6, "ms")
    lines: list[Curve] = []
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
        lines.append(_line(record, len(lines), points))
        marks = marks or [
            SeriesMark(begin - opened_ns / 1e9, end - opened_ns / 1e9, PHASE_WORDS[phase], 0)
            for phase, (begin, end) in timeline.phases.items()
        ]
    if losses:
        lines.append(Curve(_("lost"), len(lines), tuple(losses), joined=False))
    return SmallChart(
        _("Round trips before, during and after the load"),
        _("seconds since the load began"),
        unit,
        tuple(lines),
        marks=tuple(replace(m, from_s=short(m.from_s), until_s=short(m.until_s)) for m in marks),
    )


def _by_trial(trials: Sequence[Record]) -> Iterator[SmallChart]:
    """The figure of each trial, for a test that records no series over its window."""
    quantities = dict.fromkeys(q for r in trials for q in quantities_of(r))
    for quantity in quantities:
        figures = [(r.trial, quantity.in_unit(r)) for r in trials]
        points = [(float(trial), short(value)) for trial, value in figures if value is not None]
        if len(points) > 1:
            yield SmallChart(
                _("{quantity}, trial by trial", quantity=sentence_case(quantity.name)),
                _("number of the trial"),
                quantity.unit,
                (Curve(_("trials"), 0, tuple(points), joined=False),),
                mean=_mean_of([value for _trial, value in points]),
                from_zero=False,
            )


def _mean_of(values: Sequence[float]) -> tuple[float, float, float] | None:
    """(low, mean, high) by Student's t; ``None`` for fewer than three trials."""
    if len(values) < MIN_TRIALS:
        return None
    ends = interval(values)
    return short(ends.low), short(mean(values)), short(ends.high)


def _tcp_window(trials: Sequence[_TrialSeries], flow: str) -> SmallChart | None:
    """The sender's congestion window, with a point where the sender retransmitted segments."""
    lines: list[Curve] = []
    retransmissions: _Points = []
    for trial in trials:
        if trial.series.cwnd_bytes:
            points = _thinned(trial, trial.series.cwnd_bytes, 1024)
            lines.append(_line(trial.record, len(lines), points))
            retransmissions += _retransmissions(trial)
    if not lines:
        return None
    label = _("retransmitted segments")
    marks = [Curve(label, len(lines), tuple(retransmissions), joined=False)]
    if flow:
        title = _("TCP’s congestion window {way}", way=FLOWS[flow])
    else:
        title = _("TCP’s congestion window")
    curves = (*lines, *(marks if retransmissions else []))
    return SmallChart(title, _("seconds since the window opened"), "KiB", curves)


def _tcp_round_trip(trials: Sequence[_TrialSeries], flow: str) -> SmallChart | None:
    """The smoothed round trip that the sender's TCP used."""
    lines: list[Curve] = []
    for trial in trials:
        if trial.series.rtt_us:
            points = _thinned(trial, trial.series.rtt_us, 1e3)
            lines.append(_line(trial.record, len(lines), points))
    if not lines:
        return None
    title = _("TCP’s round trip {way}", way=FLOWS[flow]) if flow else _("TCP’s round trip")
    return SmallChart(title, _("seconds since the window opened"), "ms", tuple(lines))


def _tcp_retransmissions(trials: Sequence[_TrialSeries], flow: str) -> SmallChart | None:
    """Segments retransmitted since the window opened; ``None`` if there were none."""
    if not any(any(trial.series.retransmissions) for trial in trials):
        return None
    lines: list[Curve] = []
    for trial in trials:
        if trial.series.retransmissions:
            points = _thinned(trial, trial.series.retransmissions, 1)
            lines.append(_line(trial.record, len(lines), points))
    if not any(y for line in lines for _x, y in line.points):
        return None
    if flow:
        title = _("Segments retransmitted by TCP {way}", way=FLOWS[flow])
    else:
        title = _("Segments retransmitted by TCP")
    return SmallChart(
        title, _("seconds since the window opened"), _("segments in total"), tuple(lines)
    )


def _thinned(trial: _TrialSeries, values: Sequence[int], unit: float) -> _Points:
    """Every n-th point, at most ``_MAX_STEPS``, so that a page of many cells stays small."""
    step = -(-len(values) // _MAX_STEPS)
    figures = [short(value / unit) for value in values[::step]]
    return list(zip(trial.times_s[::step], figures, strict=True))


def _retransmissions(trial: _TrialSeries) -> _Points:
    """The points with retransmissions since the point before, at most ``_MAX_STEPS`` of them."""
    series = trial.series
    places = [
        place
        for place, (last_count, count) in enumerate(pairwise(series.retransmissions), start=1)
        if count > last_count
    ]
    step = max(1, -(-len(places) // _MAX_STEPS))
    return [
        (trial.times_s[place], short(series.cwnd_bytes[place] / 1024)) for place in places[::step]
    ]


def _distribution(trials: Sequence[Record]) -> SmallChart | None:
    """The percentiles of the round trips, up to the 99th."""
    lines: list[Curve] = []
    for record in trials:
        histogram = record.histogram("rtt_histogram")
        if histogram is not None:
            lines.append(_line(record, len(lines), list(_shares(histogram))))
    if not any(line.points for line in lines):
        return None
    return SmallChart(
        _("Distribution of the round trips"),
        _("percentile of the round trips"),
        "µs",
        tuple(lines),
    )


def _shares(histogram: Histogram) -> Iterator[tuple[float, float | None]]:
    total, last = histogram.count, -1.0
    sums = accumulate(histogram.counts.values())
    for bucket, count in zip(histogram.counts, sums, strict=True):
        share = 100 * count / total
        if share - last >= 100 / _MAX_STEPS and share <= 99:
            last = share
            yield short(share), short(middle_of(bucket, histogram.bits) / 1e3)


def _first_round_trips(trials: Sequence[Record]) -> SmallChart | None:
    lines: list[Curve] = []
    for record in trials:
        points: _Points = [
            (float(number), short(rtt_ns / 1e3))
            for number, rtt_ns in enumerate(record.series("first_rtt_ns"), start=1)
        ]
        if points:
            lines.append(_line(record, len(lines), points))
    if not lines:
        return None
    return SmallChart(_("The first round trips"), _("number of the round trip"), "µs", tuple(lines))


def _swept(trials: Sequence[Record]) -> SmallChart | None:
    lines: list[Curve] = []
    for record in trials:
        sizes = record.series("sweep_message_bytes")
        rates = record.series("sweep_throughput_bit_per_s")
        if sizes and len(sizes) == len(rates):
            pairs = sorted(zip(sizes, rates, strict=True))
            points: _Points = [(size, short(rate / 1e6)) for size, rate in pairs]
            lines.append(_line(record, len(lines), points, joined=False))
    if not lines:
        return None
    return SmallChart(
        _("Throughput around the largest payload"), _("message size, bytes"), "Mbit/s", tuple(lines)
    )


def _searched(record: Record) -> SmallChart | None:
    """The rates that one search tried, in order: points for rates that passed, and for others."""
    shares = record.series("trial_line_share")
    verdicts = record.series("trial_verdict")
    if not shares or len(shares) != len(verdicts):
        return None
    tries = list(enumerate(zip(shares, verdicts, strict=True), start=1))
    lines = [
        Curve(label, place, tuple(points), joined=False)
        for place, (label, passed) in enumerate(((_PASSED, True), (_NOT_PASSED, False)))
        if (points := [(float(n), short(100 * s)) for n, (s, v) in tries if (v == 0) is passed])
    ]
    return SmallChart(
        _("Rates tried by search {number}", number=record.trial),
        _("number of the trial"),
        _("% of the line rate"),
        tuple(lines),
    )


def _line(
    record: Record,
    place: int,
    points: Sequence[tuple[float, float | None]],
    *,
    joined: bool = True,
) -> Curve:
    return Curve(_("trial {number}", number=record.trial), place, tuple(points), joined)
