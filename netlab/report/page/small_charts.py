"""Records of a cell → the small charts that the page draws when the cell is opened. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

from netlab.messages import _, sentence_case
from netlab.report.page.series_marks import SeriesLevel, SeriesMark
from netlab.report.sections.latency_under_load.names import PHASE_WORDS
from netlab.report.tables.elements import Curve
from netlab.results.load_timeline import (
    LoadTimeline,
    interval_rates,
    numbers,
    short,
    thinned,
    timeline_of,
)
from netlab.results.quantities import quantities_of
from netlab.results.readings import FLOWS, Reading
from netlab.results.tcp_series import TcpSeries, tcp_series_of
from netlab.stats import mean
from netlab.stats.histogram import Histogram, from_pairs, middle_of
from netlab.stats.intervals import MIN_TRIALS, interval

MAX_LINES = 12
"""Trials drawn of a cell; more lines than these are a tangle."""

_MAX_STEPS = 200
"""Points of one curve of a distribution, or of TCP's own numbers."""

_PASSED, _NOT_PASSED = _("passed"), _("did not pass")

_Points = list[tuple[float, float | None]]
_Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SmallChart:
    """One small diagram; a line a trial, or a kind of point."""

    title: str
    x_label: str
    y_label: str
    """Quantity and unit."""
    lines: tuple[Curve, ...]
    level: float | None = None
    """The wire ceiling in the unit of y, where it is known."""
    trials: tuple[tuple[int, float], ...] = ()
    """(place of its line, mean) of each trial, in the unit of y."""
    mean: tuple[float, float, float] | None = None
    """The trials' mean between the ends of its 95 % interval, from three trials upwards."""
    limits: tuple[SeriesLevel, ...] = ()
    """What findings say it is limited to."""
    marks: tuple[SeriesMark, ...] = ()
    """Where findings tell a time."""
    from_zero: bool = True
    """Whether y begins there; else below the least of its points, which nothing joins."""


@dataclass(frozen=True, slots=True)
class _TrialSeries:
    """What TCP said in one trial of one flow."""

    reading: Reading
    series: TcpSeries
    times_s: Sequence[float]
    """Of its points."""


def small_charts(
    trials: Sequence[tuple[Reading, _Values]],
    ceilings: Mapping[str, float],
    marks: Mapping[str, tuple[SeriesMark, ...]] | None = None,
    limits: tuple[SeriesLevel, ...] = (),
) -> tuple[SmallChart, ...]:
    """What the trials of one cell hold as a series, and each trial's figure; empty where they hold
    none and there is one figure only.

    ``trials`` are those that are ok, each with all values of its record; ``ceilings`` has the wire
    ceiling of each flow in bit/s, ``marks`` what findings tell the time of in it, ``limits`` what
    they say a single flow is limited to. A damaged series is none.
    """
    shown = trials[:MAX_LINES]
    found: list[SmallChart | None] = [_beside_load(shown)]
    for flow in FLOWS:
        chart = _over_window(shown, flow, ceilings.get(flow))
        if chart is not None:
            chart = replace(chart, marks=(marks or {}).get(flow, ()), limits=() if flow else limits)
        found.append(chart)
    if not any(found):
        found += _by_trial(trials)
    for flow in FLOWS:
        own = [
            _TrialSeries(reading, series, [short(each / 1e6) for each in series.time_us])
            for reading, values in shown
            if (series := tcp_series_of(values, flow)) is not None
        ]
        if own:
            found += [draw(own, flow) for draw in (_tcp_window, _tcp_round_trip, _tcp_sent_again)]
    found += [_distribution(shown), _first_round_trips(shown), _swept(shown)]
    found += [_searched(reading, values) for reading, values in shown]
    return tuple(chart for chart in found if chart is not None)


def _over_window(
    trials: Sequence[tuple[Reading, _Values]], flow: str, ceiling_bit_per_s: float | None
) -> SmallChart | None:
    """Throughput by the receiver, interval by interval."""
    lines: list[Curve] = []
    means: list[tuple[int, float]] = []
    for reading, values in trials:
        series = numbers(values.get(f"{flow}receiver_interval_bytes"))
        interval_ns = _number(values.get(f"{flow}receiver_interval_ns"))
        if series and interval_ns:
            elapsed_ns = _number(values.get(f"{flow}receiver_elapsed_ns"))
            points = interval_rates(series, interval_ns, elapsed_ns)
            own = reading.flows.get(flow)
            if own is not None and own.throughput_bit_per_s is not None:
                means.append((len(lines), short(own.throughput_bit_per_s / 1e6)))
            lines.append(_line(reading, len(lines), points))
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


def _beside_load(trials: Sequence[tuple[Reading, _Values]]) -> SmallChart | None:
    """Round trips one by one, those before, while and after a load marked; what is lost at the
    height of the longest.
    """
    found: list[tuple[Reading, LoadTimeline, float]] = []
    for reading, values in trials:
        timeline = timeline_of(reading.settings, values)
        opened_ns = _number(values.get("load_open_ns"))
        if timeline is not None and opened_ns is not None:
            found.append((reading, timeline, opened_ns))
    times = [trip.ns for _r, each, _o in found for trip in each.trips if trip.ns is not None]
    if not times:
        return None
    scale, unit = (1e3, "µs") if max(times) < 1e6 else (1e6, "ms")
    lines: list[Curve] = []
    lost: _Points = []
    marks: list[SeriesMark] = []
    for reading, timeline, opened_ns in found:
        points: _Points = []
        for trip in thinned(timeline.trips, _MAX_STEPS):
            at = short((trip.at_ns - opened_ns) / 1e9)
            if trip.ns is None:
                lost.append((at, short(max(times) / scale)))
            else:
                points.append((at, short(trip.ns / scale)))
        lines.append(_line(reading, len(lines), points))
        marks = marks or [
            SeriesMark(begin - opened_ns / 1e9, end - opened_ns / 1e9, PHASE_WORDS[phase], 0)
            for phase, (begin, end) in timeline.phases.items()
        ]
    if lost:
        lines.append(Curve(_("lost"), len(lines), tuple(lost), joined=False))
    return SmallChart(
        _("Round trips before, during and after the load"),
        _("seconds since the load began"),
        unit,
        tuple(lines),
        marks=tuple(replace(m, from_s=short(m.from_s), until_s=short(m.until_s)) for m in marks),
    )


def _by_trial(trials: Sequence[tuple[Reading, _Values]]) -> Iterator[SmallChart]:
    """The figure of each trial, of a test that records no series over its window."""
    quantities = dict.fromkeys(each for r, _values in trials for each in quantities_of(r))
    for quantity in quantities:
        known = [(r.trial, quantity.in_unit(r)) for r, _values in trials]
        points = [(float(trial), short(value)) for trial, value in known if value is not None]
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
    """(low, mean, high) by Student's t; ``None`` below three trials."""
    if len(values) < MIN_TRIALS:
        return None
    found = interval(values)
    return short(found.low), short(mean(values)), short(found.high)


def _tcp_window(trials: Sequence[_TrialSeries], flow: str) -> SmallChart | None:
    """The sender's congestion window, and on it where it sent segments again."""
    lines: list[Curve] = []
    again: _Points = []
    for each in trials:
        if each.series.cwnd_bytes:
            points = _thinned(each, each.series.cwnd_bytes, 1024)
            lines.append(_line(each.reading, len(lines), points))
            again += _sent_again(each)
    if not lines:
        return None
    marks = [Curve(_("retransmitted segments"), len(lines), tuple(again), joined=False)]
    if flow:
        title = _("TCP’s congestion window {way}", way=FLOWS[flow])
    else:
        title = _("TCP’s congestion window")
    shown = (*lines, *(marks if again else []))
    return SmallChart(title, _("seconds since the window opened"), "KiB", shown)


def _tcp_round_trip(trials: Sequence[_TrialSeries], flow: str) -> SmallChart | None:
    """The round trip, smoothed, that the sender's TCP went by."""
    lines: list[Curve] = []
    for each in trials:
        if each.series.rtt_us:
            points = _thinned(each, each.series.rtt_us, 1e3)
            lines.append(_line(each.reading, len(lines), points))
    if not lines:
        return None
    title = _("TCP’s round trip {way}", way=FLOWS[flow]) if flow else _("TCP’s round trip")
    return SmallChart(title, _("seconds since the window opened"), "ms", tuple(lines))


def _tcp_sent_again(trials: Sequence[_TrialSeries], flow: str) -> SmallChart | None:
    """Segments sent again since the window opened; ``None`` where none was."""
    if not any(any(each.series.retransmissions) for each in trials):
        return None
    lines: list[Curve] = []
    for each in trials:
        if each.series.retransmissions:
            points = _thinned(each, each.series.retransmissions, 1)
            lines.append(_line(each.reading, len(lines), points))
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
    """Every so many points, so that a page of many cells stays small."""
    step = -(-len(values) // _MAX_STEPS)
    shown = [short(value / unit) for value in values[::step]]
    return list(zip(trial.times_s[::step], shown, strict=True))


def _sent_again(trial: _TrialSeries) -> _Points:
    """Where segments were sent again since the point before; every so many of these as well."""
    series = trial.series
    places = [
        place
        for place, (before, count) in enumerate(pairwise(series.retransmissions), start=1)
        if count > before
    ]
    step = max(1, -(-len(places) // _MAX_STEPS))
    return [
        (trial.times_s[place], short(series.cwnd_bytes[place] / 1024)) for place in places[::step]
    ]


def _distribution(trials: Sequence[tuple[Reading, _Values]]) -> SmallChart | None:
    """Which time a share of the round trips does not exceed, up to 99 %."""
    lines: list[Curve] = []
    for reading, values in trials:
        pairs = numbers(values.get("rtt_histogram"))
        bits = _number(values.get("rtt_histogram_bits"))
        try:
            histogram = from_pairs([int(each) for each in pairs], int(bits or 0))
        except ValueError:
            continue
        lines.append(_line(reading, len(lines), list(_shares(histogram))))
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


def _first_round_trips(trials: Sequence[tuple[Reading, _Values]]) -> SmallChart | None:
    lines: list[Curve] = []
    for reading, values in trials:
        points: _Points = [
            (float(number), short(each / 1e3))
            for number, each in enumerate(numbers(values.get("first_rtt_ns")), start=1)
        ]
        if points:
            lines.append(_line(reading, len(lines), points))
    if not lines:
        return None
    return SmallChart(_("The first round trips"), _("number of the round trip"), "µs", tuple(lines))


def _swept(trials: Sequence[tuple[Reading, _Values]]) -> SmallChart | None:
    lines: list[Curve] = []
    for reading, values in trials:
        sizes = numbers(values.get("sweep_message_bytes"))
        rates = numbers(values.get("sweep_throughput_bit_per_s"))
        if sizes and len(sizes) == len(rates):
            found = sorted(zip(sizes, rates, strict=True))
            points: _Points = [(size, short(rate / 1e6)) for size, rate in found]
            lines.append(_line(reading, len(lines), points, joined=False))
    if not lines:
        return None
    return SmallChart(
        _("Throughput around the largest payload"), _("message size, bytes"), "Mbit/s", tuple(lines)
    )


def _searched(reading: Reading, values: _Values) -> SmallChart | None:
    """The rates that one search tried, in their order, by whether they passed."""
    shares = numbers(values.get("trial_line_share"))
    verdicts = numbers(values.get("trial_verdict"))
    if not shares or len(shares) != len(verdicts):
        return None
    tried = list(enumerate(zip(shares, verdicts, strict=True), start=1))
    lines = [
        Curve(label, place, tuple(points), joined=False)
        for place, (label, passed) in enumerate(((_PASSED, True), (_NOT_PASSED, False)))
        if (points := [(float(n), short(100 * s)) for n, (s, v) in tried if (v == 0) is passed])
    ]
    return SmallChart(
        _("Rates tried by search {number}", number=reading.trial),
        _("number of the trial"),
        _("% of the line rate"),
        tuple(lines),
    )


def _line(
    reading: Reading,
    place: int,
    points: Sequence[tuple[float, float | None]],
    *,
    joined: bool = True,
) -> Curve:
    return Curve(_("trial {number}", number=reading.trial), place, tuple(points), joined)


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
