"""Throughput searches → rates without loss, rates tried and loss rates, by frame size (RFC 2544).

RFC 2544 (26.1) asks for a table and a graph: frame rate over frame size, with the theoretical
maximum of the medium. Section 26.3 asks for the loss rate over the offered rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from netlab.ethernet import frames_per_s
from netlab.kinds.throughput_search import tables
from netlab.kinds.throughput_search.rate_search import VERDICTS
from netlab.messages import Message, _, joined
from netlab.report.tables.charts import in_panels
from netlab.report.tables.elements import Chart, Curve, Part, Table, table
from netlab.report.text.findings import filled
from netlab.results.quantities import names_of
from netlab.stats import mean
from netlab.trial.figures import FigureColumn, Shown, Trials, mean_of, results_of
from netlab.trial.host_counters import HOSTS
from netlab.trial.record import Record, grouped
from netlab.units import format_rate, format_share, plain_figures

_SECTION = "rate-without-loss"
_THOUSAND = 1000

_BySize = Mapping[int, Trials]
"""Frame size → trials, the shortest frame first."""
_Groups = Mapping[str, _BySize]
"""Name of a pair of ports under one set of conditions → its trials by frame size."""
_SearchPoints = tuple[tuple[float, float | None], ...]


def part(searches: Sequence[Record]) -> Part | None:
    """The results of the throughput searches; ``None`` if the run has no such search."""
    if not searches:
        return None
    names = names_of(searches, leaving_out=("protocol", "frame_bytes"))
    named = grouped(searches, lambda r: joined(" ", filter(None, (r.pairing, names[r.cell]))))
    groups: _Groups = {
        name: dict(sorted(grouped(own, lambda r: int(str(r.settings["frame_bytes"]))).items()))
        for name, own in named.items()
    }
    return Part(
        name=_SECTION,
        title=_("The highest rate without loss (RFC 2544)"),
        paragraphs=_paragraphs(searches),
        sheets=tuple(sheet for group in groups.items() for sheet in _sheets(*group)),
        charts=(
            *_bar_charts(groups),
            *_cpu_charts(groups),
            *_loss_charts(groups),
            *_latency_charts(groups),
            *_charts_of_tries(groups),
        ),
    )


def _sheets(name: str, by_size: _BySize) -> Iterator[Table]:
    frame = _("frame, bytes")
    every = [record for trials in by_size.values() for record in trials]
    loss_limits = {record.settings.get("acceptable_loss", 0) for record in every}
    lossy = [format_share(loss) for loss in sorted(loss_limits) if isinstance(loss, float) and loss]
    title = _("{group}: highest rate without loss", group=name)
    if lossy:
        shares = _alternatives(lossy)
        title = _(
            "{group}: highest rate with a loss of at most {shares}", group=name, shares=shares
        )
    sizes = [(str(size), trials) for size, trials in by_size.items()]
    yield table(title, frame, tables.RATES, [(size, "", trials) for size, trials in sizes])

    hosts = [(size, (key, results_of(trials))) for size, trials in sizes for key in HOSTS]
    loads = [
        (joined(", ", [size, _name_of_host(*host)]), "", host)
        for size, host in hosts
        if any(column.shows(host) for column in tables.LOADS)
    ]
    if loads:
        title = _(
            "{group}: load at the rate found, and frames dropped in all trials of the search",
            group=name,
        )
        yield table(title, _("frame, bytes; host"), tables.LOADS, loads)

    losses = [(size, "", rates) for size, trials in sizes if any(rates := _losses(trials))]
    if losses:
        title = _("{group}: frames lost, % of those sent, by offered rate", group=name)
        yield table(title, frame, _LOSS_COLUMNS, losses)

    latencies = [
        (joined(", ", [size, f"{100 * share:.0f} %"]), "", (trials, share))
        for size, trials in sizes
        for share in tables.loads_of(trials)
    ]
    if latencies:
        title = _(
            "{group}: round trips under load; the load as a share of the rate without loss",
            group=name,
        )
        yield table(title, _("frame, bytes; load"), tables.LATENCIES, latencies)

    bursts = [
        (size, "", searches)
        for size, trials in sizes
        if (searches := [r for r in trials if r.value("back_to_back_limit") is not None])
    ]
    if bursts:
        title = _("{group}: longest burst at line rate without loss", group=name)
        yield table(title, frame, tables.BURSTS, bursts)


def _name_of_host(key: str, records: Sequence[Record]) -> str:
    role = {"client": _("client"), "server": _("server")}.get(key, _("observed"))
    for record in records:
        ends = {"client": record.client, "server": record.server}
        if name := ends.get(key, record.value(f"{key}_host")):
            return joined(" ", [role, name])
    return role


def _bar_charts(groups: _Groups) -> tuple[Chart, ...]:
    """Bars for each pair of ports: share of the line rate, and frames per second. The maximum that
    the line carries is drawn over the bars.
    """
    sizes, ticks = _sizes(groups)
    shares, frames = (
        tuple(
            Curve(label, index, _at_sizes(by_size, sizes, name, factor))
            for index, (label, by_size) in enumerate(groups.items())
        )
        for name, factor in (("line_share", 100), ("frames_per_s", 1 / _THOUSAND))
    )
    if not any(y is not None for line in frames for _, y in line.points):
        return ()
    every = [
        record for by_size in groups.values() for trials in by_size.values() for record in trials
    ]
    rates = {rate for record in every if (rate := record.number("line_rate_bit_per_s")) is not None}
    theoretical = [
        Curve(
            _("theoretical maximum, {rate}", rate=format_rate(rate)),
            index,
            tuple((float(at), frames_per_s(rate, n) / _THOUSAND) for at, n in enumerate(sizes)),
        )
        for index, rate in enumerate(sorted(rates))
    ]
    share = Chart(
        name=f"{_SECTION}-share",
        title=_("The highest rate without loss, as a share of the line rate"),
        x_label=_OVER_SIZE,
        x_ticks=ticks,
        lines=shares,
        ceilings=(Curve(_("line rate"), 0, tuple((x, 100.0) for x, _ in ticks)),),
        quantity=_("share of the line rate"),
        unit="%",
        as_bars=True,
    )
    in_frames = replace(
        share,
        name=f"{_SECTION}-frames",
        title=_("The highest rate without loss, in frames per second"),
        lines=frames,
        ceilings=tuple(theoretical),
        quantity=_("frames per second"),
        unit=_("thousands"),
    )
    return share, in_frames


_OVER_SIZE = _("frame size with header and FCS, bytes")


def _sizes(groups: _Groups) -> tuple[list[int], tuple[tuple[float, str], ...]]:
    """(the frame sizes of all groups, the ticks of an axis on which they are evenly spaced)."""
    sizes = sorted({size for by_size in groups.values() for size in by_size})
    return sizes, tuple((float(at), str(size)) for at, size in enumerate(sizes))


def _at_sizes(by_size: _BySize, sizes: Sequence[int], name: str, factor: float) -> _SearchPoints:
    return tuple(
        (float(at), mean_of(name, by_size.get(size, ()), factor)) for at, size in enumerate(sizes)
    )


def _cpu_charts(groups: _Groups) -> Iterator[Chart]:
    """The busiest core of each host at the rate found, if the load of any core is known."""
    sizes, ticks = _sizes(groups)
    lines: list[Curve] = []
    for group, by_size in groups.items():
        of_group = [record for trials in by_size.values() for record in trials]
        for key in HOSTS:
            points = _at_sizes(by_size, sizes, f"{key}_busiest_core_share", 100)
            if any(y is not None for _, y in points):
                words = (group, _name_of_host(key, of_group))
                lines.append(Curve(joined(": ", words), len(lines), points, words=words))
    if lines:
        bars = Chart(
            name=f"{_SECTION}-cpu",
            title=_("Busiest core of each host at the rate found"),
            x_label=_OVER_SIZE,
            x_ticks=ticks,
            lines=tuple(lines),
            quantity=_("busy"),
            unit="%",
            as_bars=True,
        )
        yield in_panels(bars)


def _lines(
    groups: _Groups, of: Callable[[Trials], _SearchPoints]
) -> Iterator[tuple[int, str, tuple[Curve, ...]]]:
    """(number of a group, its name, a line for each frame size that has points), if it has lines.
    ``of`` returns the points of the trials with one frame size.
    """
    for number, (name, by_size) in enumerate(groups.items(), start=1):
        curves = (
            Curve(_("{size} bytes", size=size), index, of(trials))
            for index, (size, trials) in enumerate(by_size.items())
        )
        lines = tuple(curve for curve in curves if curve.points)
        if lines:
            yield number, name, lines


def _loss_charts(groups: _Groups) -> Iterator[Chart]:
    def points(trials: Trials) -> _SearchPoints:
        losses, _ours = _losses(trials)
        rates = sorted(losses) if len(losses) > 1 else []
        return tuple((100 * share, mean(losses[share])) for share in rates)

    for number, name, lines in _lines(groups, points):
        yield Chart(
            name=f"frame-loss-{number}",
            title=_("{group}: frames lost over the offered rate", group=name),
            x_label=_("offered rate, % of the line rate"),
            x_ticks=tuple((100 * share, f"{100 * share:.0f}") for share in _TENTHS[::-1]),
            lines=lines,
            quantity=_("frames lost"),
            unit="%",
        )


def _latency_charts(groups: _Groups) -> Iterator[Chart]:
    def points(trials: Trials) -> _SearchPoints:
        at = sorted({share for r in trials for share in r.series("latency_found_share")})
        medians = [tables.mean_at(trials, "latency_p50_ns", share, 1e-3) for share in at]
        if sum(median is not None for median in medians) < 2:
            return ()
        return tuple(zip((100 * share for share in at), medians, strict=True))

    for number, name, lines in _lines(groups, points):
        ticks = sorted({x for line in lines for x, _ in line.points})
        yield Chart(
            name=f"latency-under-load-{number}",
            title=_("{group}: median round trip under load", group=name),
            x_label=_("load, % of the rate without loss"),
            x_ticks=tuple((x, f"{x:.0f}") for x in ticks),
            lines=lines,
            quantity=_("round trip"),
            unit="µs",
            log_y=True,
        )


_PASSED = VERDICTS.index("passed")
_MOST_TICKS = 20


def _charts_of_tries(groups: _Groups) -> Iterator[Chart]:
    """The rates that the first search of each frame size tried: a chart for each group."""

    def tries(trials: Trials) -> list[tuple[float, float, bool]]:
        """(number of the try, rate in per cent of the line rate, whether it passed)."""
        for record in trials:
            both = (record.series("trial_line_share"), record.series("trial_verdict"))
            if tried := list(zip(*both, strict=False)):
                return [
                    (float(at), 100 * share, verdict == _PASSED)
                    for at, (share, verdict) in enumerate(tried, 1)
                ]
        return []

    def points(trials: Trials) -> _SearchPoints:
        return tuple((at, share) for at, share, _passed in tries(trials))

    for number, name, lines in _lines(groups, points):
        by_size = groups[name]
        failed = [
            (x, y) for trials in by_size.values() for x, y, passed in tries(trials) if not passed
        ]
        marks = [Curve(_("did not pass"), len(by_size), tuple(failed), joined=False)]
        most = max(len(line.points) for line in lines)
        step = -(-most // _MOST_TICKS)
        yield Chart(
            name=f"rates-tried-{number}",
            title=_("{group}: rates tried, trial by trial", group=name),
            x_label=_("trial of the search"),
            x_ticks=tuple((float(at), str(at)) for at in range(1, most + 1, step)),
            lines=(*lines, *(marks if failed else ())),
            quantity=_("offered rate"),
            unit=_("% of the line rate"),
        )


def _paragraphs(records: Sequence[Record]) -> tuple[str, ...]:
    criteria = []
    for name, (template, form) in _CRITERIA.items():
        levels = dict.fromkeys(record.settings.get(name) for record in records)
        if values := [level for level in levels if isinstance(level, int | float)]:
            text = _alternatives([form(value) for value in values])
            criteria.append(filled((template,), {"time": text, "share": text}.get) or "")
    method = _("Measured with {criteria}.", criteria=joined(", ", criteria))
    pairs = sorted({int(n) for r in records if (n := r.number("pairs")) is not None})
    shorter = any(
        isinstance(level := record.settings.get(name), int | float) and level < least
        for record in records
        for name, least in _LEAST_S.items()
    )
    further = {
        _LOSSES: any(record.series("loss_line_share") for record in records),
        _LATENCY: any(record.series("latency_found_share") for record in records),
        _BURSTS: any("back_to_back_limit" in record.measured for record in records),
        _BOTH: any(record.settings.get("direction") == "both" for record in records),
        _(_TOGETHER.id, pairs=_alternatives([*map(str, pairs)])): bool(pairs),
        _SHORTER: shorter,
    }
    said = (paragraph for paragraph, holds in further.items() if holds)
    return (_MEANING, joined(" ", [method, _LEARNING]), *said)


def _seconds(time_s: float) -> str:
    return f"{plain_figures(time_s, 6)} s"


def _alternatives(words: Sequence[str]) -> str:
    """Alternatives as text, such as ``60 s or 120 s``."""
    first, *alternatives = words or [""]
    return joined(" ", [first, *(_("or {other}", other=word) for word in alternatives)])


_CRITERIA: Mapping[str, tuple[Message, Callable[[float], str]]] = {
    "duration_s": (_("trials of {time}"), _seconds),
    "acceptable_loss": (_("an acceptable loss of {share}"), format_share),
    "resolution": (_("steps of {share} of the line rate"), format_share),
    "residual_s": (_("{time} for residual frames"), _seconds),
    "settle_s": (_("{time} between two trials"), _seconds),
}
"""Setting → the words for the values that the searches had, and the form of these values."""
_LEAST_S = {"duration_s": 60.0, "residual_s": 2.0, "settle_s": 5.0}
"""Setting → the time that RFC 2544 asks for."""

_TOGETHER = _(
    "Pairs of hosts were searched together ({pairs} at once): all pairs started each trial at "
    "the same moment. A rate passed if it passed for all of them; it is the rate of each pair, "
    "not their sum. Latency was measured under the load of all pairs, bursts for one pair "
    "after another."
)
_MEANING = _(
    "The highest rate of a grid at which every frame passed and no queue grew, in two trials of "
    "full length. The frame size includes header and FCS. The rate that did not pass is the lowest "
    "one above it; the device’s limit is between the two. If the limit is generator-bound or "
    "receiver-bound, it is that of our own hosts, and the device may do more."
)
_LEARNING = _(
    "Before each trial, frames are sent for a tenth of a second at half its rate, so that the "
    "device learns addresses and wakes up; none of them counts."
)
_LOSSES = _(
    "The frame loss rate is the share of the frames sent that did not arrive. It is measured from "
    "the line rate downwards until two trials lose nothing."
)
_LATENCY = _(
    "Round trips are timed during the load. The requests have the same length; about one frame in "
    "a hundred is a request (more at low rates), and a mirror at the other end answers it. "
    "Requests and load together are the stated rate. RFC 2544 asks for 120 s at the rate found, 20 "
    "times; here each measurement was as long as a trial."
)
_BURSTS = _(
    "The longest burst is the largest number of frames at line rate of which none was lost. While "
    "the burst arrives, the device forwards frames at the rate found; the remaining frames wait in "
    "the device (RFC 9004). RFC 2544 asks for the mean of 50 searches."
)
_BOTH = _("If frames went both ways at once, the rate is that of each direction, not their sum.")
_SHORTER = _(
    "RFC 2544 asks for trials of 60 s, 2 s for residual frames and 5 s between trials. Some of "
    "these times were shorter here."
)

_TENTHS = tuple(tenths / 10 for tenths in range(10, 0, -1))
_NOT_THE_DEVICES = frozenset({"tester-loss", "generator-bound"})
"""Verdicts of trials whose loss says nothing about the device at that rate."""

_Losses = tuple[Mapping[float, list[float]], set[float]]
"""Share of the line rate → the share of frames lost in each trial at that rate, in per cent; and
the rates at which a trial says nothing about the device."""


def _losses(records: Sequence[Record]) -> _Losses:
    losses: dict[float, list[float]] = {}
    ours: set[float] = set()
    names = ("loss_line_share", "loss_sent_frames", "loss_received_frames", "loss_verdict")
    for record in records:
        columns = [record.series(name) for name in names]
        for share, sent_frames, received_frames, verdict in zip(*columns, strict=False):
            if VERDICTS[int(verdict)] in _NOT_THE_DEVICES or not sent_frames:
                ours.add(share)
            else:
                losses.setdefault(share, []).append(
                    100 * max(0.0, sent_frames - received_frames) / sent_frames
                )
    return losses, ours


def _at_rate(share: float) -> Callable[[_Losses], Shown]:
    def shown(row: _Losses) -> Shown:
        losses, ours = row
        value = mean(losses[share]) if share in losses else None
        return Shown(value, [_OURS] if share in ours else ())

    return shown


_OURS = _(
    "In some trial our own hosts lost frames at that rate or could not send them: it says nothing "
    "about the device."
)
_LOSS_COLUMNS: Sequence[FigureColumn[_Losses]] = tuple(
    FigureColumn(f"{100 * share:.0f} %", _at_rate(share), "%") for share in _TENTHS
)
