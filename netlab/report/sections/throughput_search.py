"""Throughput searches → rates without loss, rates tried and loss rates, by frame size (RFC 2544).

RFC 2544 (26.1) asks for a table and a graph: frame rate over frame size, with the theoretical
maximum of the medium. Section 26.3 asks for the loss rate over the offered rate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from netlab.ethernet import frames_per_s
from netlab.kinds.throughput_search.rate_search import VERDICTS
from netlab.kinds.throughput_search.tables import (
    BURSTS,
    LATENCIES,
    LOADS,
    RATES,
    limit_words,
    loads_of,
    mean_at,
)
from netlab.messages import Message, _, joined
from netlab.report.tables.charts import in_panels
from netlab.report.tables.elements import AnswerLine, Chart, Curve, Part, Table, table
from netlab.report.text.findings import filled
from netlab.results.quantities import names_of
from netlab.stats import mean
from netlab.trial.figures import (
    FigureColumn,
    Shown,
    Trials,
    mean_of,
    results_of,
)
from netlab.trial.host_counters import HOSTS
from netlab.trial.record import Record
from netlab.units import format_rate, format_share, plain_figures

_THOUSAND = 1000

_BySize = dict[int, list[Record]]
"""Frame size → trials, the shortest frame first."""


def part(searches: Sequence[Record]) -> Part | None:
    """The results of the throughput searches; ``None`` if the run has no such search."""
    if not searches:
        return None
    groups = _groups(searches)
    sheets = [
        sheet
        for name, by_size in groups.items()
        for sheet in (
            _sheet(name, by_size),
            load_sheet(name, by_size),
            loss_sheet(name, by_size),
            latency_sheet(name, by_size),
            burst_sheet(name, by_size),
        )
    ]
    cpu = cpu_chart(groups)
    return Part(
        name="rate-without-loss",
        title=_("The highest rate without loss (RFC 2544)"),
        paragraphs=_paragraphs(searches),
        sheets=tuple(sheet for sheet in sheets if sheet is not None),
        charts=(
            *_charts(groups),
            *([] if cpu is None else [cpu]),
            *loss_charts(groups),
            *latency_charts(groups),
            *rates_tried(groups),
        ),
    )


def _groups(records: Sequence[Record]) -> dict[str, _BySize]:
    """Name of a pair of ports under one set of conditions → its trials by frame size."""
    names = names_of(records, leaving_out=("protocol", "frame_bytes"))
    groups: dict[str, _BySize] = {}
    for record in records:
        words = [word for word in (record.pairing, names[record.cell]) if word]
        by_size = groups.setdefault(joined(" ", words), {})
        by_size.setdefault(_size_of(record), []).append(record)
    return {name: dict(sorted(by_size.items())) for name, by_size in groups.items()}


def _size_of(record: Record) -> int:
    return int(str(record.settings["frame_bytes"]))


def _all_of(by_size: _BySize) -> list[Record]:
    return [record for trials in by_size.values() for record in trials]


def _sheet(name: str, by_size: _BySize) -> Table:
    loss_limits = {record.settings.get("acceptable_loss", 0) for record in _all_of(by_size)}
    lossy = [format_share(loss) for loss in sorted(loss_limits) if isinstance(loss, float) and loss]
    title = (
        _(
            "{group}: highest rate with a loss of at most {shares}",
            group=name,
            shares=_alternatives(lossy),
        )
        if lossy
        else _("{group}: highest rate without loss", group=name)
    )
    rows = [(str(size), "", trials) for size, trials in by_size.items()]
    return table(title, _("frame, bytes"), RATES, rows)


def _charts(groups: dict[str, _BySize]) -> tuple[Chart, ...]:
    """Bars for each pair of ports: share of the line rate, and frames per second.

    The maximum that the line carries is drawn over the bars.
    """
    sizes = sorted({size for by_size in groups.values() for size in by_size})
    shares = _bars(groups, sizes, "line_share", 100)
    frames = _bars(groups, sizes, "frames_per_s", 1 / _THOUSAND)
    if not any(y is not None for line in frames for _, y in line.points):
        return ()
    ticks = tuple((float(at), str(size)) for at, size in enumerate(sizes))
    line_rate = Curve(_("line rate"), 0, tuple((x, 100.0) for x, _ in ticks))
    over = _("frame size with header and FCS, bytes")
    return (
        Chart(
            name="rate-without-loss-share",
            title=_("The highest rate without loss, as a share of the line rate"),
            x_label=over,
            x_ticks=ticks,
            log_x=False,
            lines=shares,
            ceilings=(line_rate,),
            quantity=_("share of the line rate"),
            unit="%",
            as_bars=True,
        ),
        Chart(
            name="rate-without-loss-frames",
            title=_("The highest rate without loss, in frames per second"),
            x_label=over,
            x_ticks=ticks,
            log_x=False,
            lines=frames,
            ceilings=_theoretical(groups, sizes),
            quantity=_("frames per second"),
            unit=_("thousands"),
            as_bars=True,
        ),
    )


def _bars(
    groups: dict[str, _BySize], sizes: Sequence[int], name: str, factor: float
) -> tuple[Curve, ...]:
    lines = []
    for index, (label, by_size) in enumerate(groups.items()):
        points: list[tuple[float, float | None]] = []
        for at, size in enumerate(sizes):
            points.append((float(at), mean_of(name, by_size.get(size, ()), factor)))
        lines.append(Curve(label, index, tuple(points)))
    return tuple(lines)


def _theoretical(groups: dict[str, _BySize], sizes: Sequence[int]) -> tuple[Curve, ...]:
    """A curve for each line rate: the frames per second that framing allows at each frame size."""
    rates = {
        rate: None
        for by_size in groups.values()
        for record in _all_of(by_size)
        if (rate := record.number("line_rate_bit_per_s")) is not None
    }
    return tuple(
        Curve(
            _("theoretical maximum, {rate}", rate=format_rate(rate)),
            index,
            tuple(
                (float(at), frames_per_s(rate, size) / _THOUSAND) for at, size in enumerate(sizes)
            ),
        )
        for index, rate in enumerate(sorted(rates))
    )


def _paragraphs(records: Sequence[Record]) -> tuple[str, ...]:
    """The method, and the requirements of the standard if the searches deviate from them."""
    criteria = []
    for name, (template, form) in _CRITERIA.items():
        levels = dict.fromkeys(record.settings.get(name) for record in records)
        if values := [level for level in levels if isinstance(level, int | float)]:
            text = _alternatives([form(value) for value in values])
            criteria.append(filled((template,), {"time": text, "share": text}.get) or "")
    method = _("Measured with {criteria}.", criteria=joined(", ", criteria))
    paragraphs = [_MEANING, joined(" ", [method, _LEARNING])]
    if any(record.series("loss_line_share") for record in records):
        paragraphs.append(_LOSSES)
    if any(record.series("latency_found_share") for record in records):
        paragraphs.append(_LATENCY)
    if any("back_to_back_limit" in record.measured for record in records):
        paragraphs.append(_BURSTS)
    if any(record.settings.get("direction") == "both" for record in records):
        paragraphs.append(_BOTH)
    pairs = sorted({int(n) for r in records if (n := r.number("pairs")) is not None})
    if pairs:
        numbers = _alternatives([str(number) for number in pairs])
        paragraphs.append(_(_TOGETHER.id, pairs=numbers))
    if any(
        isinstance(level := record.settings.get(name), int | float) and level < least
        for record in records
        for name, least in _LEAST_S.items()
    ):
        paragraphs.append(_SHORTER)
    return tuple(paragraphs)


def _seconds(time_s: float) -> str:
    return f"{plain_figures(time_s, 6)} s"


def _alternatives(words: Sequence[str]) -> str:
    """Alternatives as text, such as ``60 s or 120 s``."""
    first, *alternatives = words
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


_PASSED = VERDICTS.index("passed")
_MOST_TICKS = 20


def rates_tried(groups: Mapping[str, Mapping[int, Sequence[Record]]]) -> tuple[Chart, ...]:
    """A chart for each group, with a line for each frame size. A line shows one search: the first
    search with this frame size that tried a rate.

    ``groups``: name → frame size → searches.
    """
    all_charts = []
    for number, (name, by_size) in enumerate(groups.items(), start=1):
        lines = []
        failed: list[tuple[float, float | None]] = []
        for index, (size, records) in enumerate(by_size.items()):
            tries = next((trials for trials in map(_tried, records) if trials), ())
            if tries:
                points = tuple((float(at), share) for at, (share, _) in enumerate(tries, start=1))
                lines.append(Curve(_("{size} bytes", size=size), index, points))
                failed += [
                    (x, y) for (x, y), (_, passed) in zip(points, tries, strict=True) if not passed
                ]
        if not lines:
            continue
        if failed:
            lines.append(Curve(_("did not pass"), len(by_size), tuple(failed), joined=False))
        most = max(len(line.points) for line in lines if line.joined)
        step = -(-most // _MOST_TICKS)
        all_charts.append(
            Chart(
                name=f"rates-tried-{number}",
                title=_("{group}: rates tried, trial by trial", group=name),
                x_label=_("trial of the search"),
                x_ticks=tuple((float(at), str(at)) for at in range(1, most + 1, step)),
                log_x=False,
                lines=tuple(lines),
                quantity=_("offered rate"),
                unit=_("% of the line rate"),
            )
        )
    return tuple(all_charts)


def _tried(record: Record) -> tuple[tuple[float, bool], ...]:
    """(rate in per cent of the line rate, whether it passed) for each rate tried, in order."""
    shares, verdicts = record.series("trial_line_share"), record.series("trial_verdict")
    return tuple(
        (100 * share, verdict == _PASSED) for share, verdict in zip(shares, verdicts, strict=False)
    )


_TENTHS = tuple(tenths / 10 for tenths in range(10, 0, -1))
_NOT_THE_DEVICES = frozenset({"tester-loss", "generator-bound"})
"""Verdicts of trials whose loss says nothing about the device at that rate."""

LossesByRate = Mapping[float, list[float]]
"""Share of the line rate → the share of frames lost in each trial at that rate, in per cent."""

_Losses = tuple[LossesByRate, set[float]]
"""The losses, and the rates at which a trial says nothing about the device."""


def loss_sheet(name: str, by_size: _BySize) -> Table | None:
    """A table of frame sizes by rates; ``None`` if no loss was measured."""
    rows = [
        (str(size), "", losses)
        for size, trials in by_size.items()
        if any(losses := _losses(trials))
    ]
    title = _("{group}: frames lost, % of those sent, by offered rate", group=name)
    return table(title, _("frame, bytes"), _LOSS_COLUMNS, rows) if rows else None


def loss_charts(groups: Mapping[str, _BySize]) -> tuple[Chart, ...]:
    """Loss over the offered rate, a chart for each group, a line for each frame size."""
    all_charts = []
    for number, (name, by_size) in enumerate(groups.items(), start=1):
        lines = []
        for index, (size, trials) in enumerate(by_size.items()):
            losses, _ours = _losses(trials)
            if len(losses) > 1:
                points = tuple((100 * share, mean(losses[share])) for share in sorted(losses))
                lines.append(Curve(_("{size} bytes", size=size), index, points))
        if lines:
            all_charts.append(
                Chart(
                    name=f"frame-loss-{number}",
                    title=_("{group}: frames lost over the offered rate", group=name),
                    x_label=_("offered rate, % of the line rate"),
                    x_ticks=tuple((100 * share, f"{100 * share:.0f}") for share in _TENTHS[::-1]),
                    log_x=False,
                    lines=tuple(lines),
                    quantity=_("frames lost"),
                    unit="%",
                )
            )
    return tuple(all_charts)


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


_ROLES = {"client": _("client"), "server": _("server")}


def load_sheet(name: str, groups: Mapping[int, Trials]) -> Table | None:
    """A line for each frame size and host; ``None`` if no load and no count is known.

    ``groups``: frame size → trials.
    """
    rows = []
    for size, trials in groups.items():
        results = results_of(trials)
        for key in HOSTS:
            row = (key, results)
            if any(column.shows(row) for column in LOADS):
                rows.append((joined(", ", [str(size), name_of(key, results)]), "", row))
    title = _(
        "{group}: load at the rate found, and frames dropped in all trials of the search",
        group=name,
    )
    return table(title, _("frame, bytes; host"), LOADS, rows) if rows else None


def name_of(key: str, records: Sequence[Record]) -> str:
    """A host in words: its role in the test, and its name."""
    role = _ROLES.get(key, _("observed"))
    for record in records:
        ends = {"client": record.client, "server": record.server}
        name = ends.get(key, record.value(f"{key}_host"))
        if name:
            return joined(" ", [role, name])
    return role


def cpu_chart(groups: Mapping[str, Mapping[int, Sequence[Record]]]) -> Chart | None:
    """The busiest core of each host at the rate found; ``None`` if no core load is known."""
    sizes = sorted({size for by_size in groups.values() for size in by_size})
    lines: list[Curve] = []
    for group, by_size in groups.items():
        of_group = [record for trials in by_size.values() for record in trials]
        for key in HOSTS:
            points = tuple(
                (float(at), mean_of(f"{key}_busiest_core_share", by_size.get(size, ()), 100))
                for at, size in enumerate(sizes)
            )
            if any(y is not None for _, y in points):
                words = (group, name_of(key, of_group))
                lines.append(Curve(joined(": ", words), len(lines), points, words=words))
    if not lines:
        return None
    bars = Chart(
        name="rate-without-loss-cpu",
        title=_("Busiest core of each host at the rate found"),
        x_label=_("frame size with header and FCS, bytes"),
        x_ticks=tuple((float(at), str(size)) for at, size in enumerate(sizes)),
        log_x=False,
        lines=tuple(lines),
        quantity=_("busy"),
        unit="%",
        as_bars=True,
    )
    return in_panels(bars)


BySize = Mapping[int, Trials]
"""Frame size → trials."""


def latency_sheet(name: str, by_size: BySize) -> Table | None:
    """A line for each frame size and load; ``None`` if no round trip was measured."""
    rows = [
        (joined(", ", [str(size), f"{100 * share:.0f} %"]), "", (trials, share))
        for size, trials in by_size.items()
        for share in loads_of(trials)
    ]
    title = _(
        "{group}: round trips under load; the load as a share of the rate without loss", group=name
    )
    return table(title, _("frame, bytes; load"), LATENCIES, rows) if rows else None


def burst_sheet(name: str, by_size: BySize) -> Table | None:
    """A line for each frame size; ``None`` if no burst was searched for."""
    rows = [
        (str(size), "", searches)
        for size, trials in by_size.items()
        if (searches := [r for r in trials if r.value("back_to_back_limit") is not None])
    ]
    title = _("{group}: longest burst at line rate without loss", group=name)
    return table(title, _("frame, bytes"), BURSTS, rows) if rows else None


def latency_charts(groups: Mapping[str, BySize]) -> tuple[Chart, ...]:
    """Median round trips over the load, a chart for each group, a line for each frame size."""
    charts = []
    for number, (name, trials) in enumerate(groups.items(), start=1):
        lines = []
        for index, (size, records) in enumerate(trials.items()):
            shares = sorted({s for r in records for s in r.series("latency_found_share")})
            points = tuple((100 * s, mean_at(records, "latency_p50_ns", s, 1e-3)) for s in shares)
            if sum(y is not None for _, y in points) > 1:
                lines.append(Curve(_("{size} bytes", size=size), index, points))
        if lines:
            ticks = sorted({x for line in lines for x, _ in line.points})
            charts.append(
                Chart(
                    name=f"latency-under-load-{number}",
                    title=_("{group}: median round trip under load", group=name),
                    x_label=_("load, % of the rate without loss"),
                    x_ticks=tuple((x, f"{x:.0f}") for x in ticks),
                    log_x=False,
                    lines=tuple(lines),
                    quantity=_("round trip"),
                    unit="µs",
                    log_y=True,
                )
            )
    return tuple(charts)


FULL = 0.995
"""A rate of at least this share of the line rate counts as the line rate, because by default a
search tries rates in steps of 0.5 % of the line rate."""
ALIKE = 0.005
"""If the shares at all frame sizes differ by less than this, the line gives a single share."""
_SECTION = "rate-without-loss"


def answers(records: Sequence[Record]) -> tuple[AnswerLine, ...]:
    """One line for each pair of ports and set of conditions."""
    names = names_of(records, leaving_out=("protocol", "frame_bytes"))
    groups: dict[str, list[Record]] = {}
    for record in records:
        words = [word for word in (record.pairing, names[record.cell]) if word]
        if record.number("line_share") is not None:
            groups.setdefault(joined(" ", words), []).append(record)
    return tuple(_answer(name, searches) for name, searches in groups.items())


def _answer(name: str, records: Sequence[Record]) -> AnswerLine:
    by_size: dict[int, list[Record]] = {}
    for record in records:
        by_size.setdefault(_size_of(record), []).append(record)
    shares = {size: mean_of("line_share", by_size[size]) or 0.0 for size in sorted(by_size)}
    full: int | None = None
    for size in reversed(shares):
        if shares[size] < FULL:
            break
        full = size
    least = min(shares, key=lambda size: shares[size])
    cells = (by_size[least][0].cell, *(record.cell for record in records))
    alike = full is None and len(shares) > 1 and max(shares.values()) - shares[least] < ALIKE
    shown = f"{100 * shares[least]:.1f}"
    if alike:
        sentence = _(
            "{name}: {share} % of the line rate without loss at every frame size; limit: {limit}",
            name=name,
            share=shown,
            limit=_search_limits(records),
        )
    elif full is None:
        sentence = _("{name}: no frame size reaches the line rate without loss", name=name)
    else:
        sentence = _(
            "{name}: line rate without loss from {size} bytes upwards", name=name, size=str(full)
        )
    if not alike and shares[least] < FULL:
        sentence = _(
            "{said}; {size} bytes: {share} % of the line rate, {limit}",
            said=sentence,
            size=str(least),
            share=shown,
            limit=_search_limits(by_size[least]),
        )
    return AnswerLine(sentence, tuple(dict.fromkeys(cells)), _SECTION, f"{_SECTION}-share")


def _search_limits(trials: Sequence[Record]) -> Message | str:
    limits = dict.fromkeys(limit_words(trial) for trial in trials)
    return joined("; ", [limit for limit in limits if limit]) or _("limit not known")
