"""Readings → what the searches for the highest rate found: tables and charts by frame size. Pure.

RFC 2544 asks for both: a graph of the frame rate over the frame size beside the theoretical maximum
of the medium (26.1), and the same as a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from netlab.ethernet import frames_per_s
from netlab.messages import Message, _, joined, sentence_case
from netlab.report.sections import bottlenecks, latency_and_bursts, loss_curve, rates_tried
from netlab.report.sections.pooled import mean_of
from netlab.report.tables.elements import Chart, Curve, Notes, Part, Table, TableCell, TableLine
from netlab.results.labels import figure
from netlab.results.quantities import names_of
from netlab.results.readings import Reading
from netlab.stats import mean
from netlab.units import format_rate, format_share, plain_figures

_COLUMNS = (
    *(_("trials"), _("frames/s"), _("of the line rate, %"), _("line rate, frames/s")),
    *(_("did not pass, frames/s"), _("limit"), _("rates tried")),
)

_THOUSAND = 1000

_BySize = dict[int, list[Reading]]
"""Frame size → trials, the shortest frame first."""


def part(readings: Sequence[Reading]) -> Part | None:
    """What the searches found; ``None`` where the run has none."""
    those = [reading for reading in readings if reading.test == "throughput_search"]
    if not those:
        return None
    groups = _groups(those)
    sheets = [
        sheet
        for name, by_size in groups.items()
        for sheet in (
            _sheet(name, by_size),
            bottlenecks.sheet(name, by_size),
            loss_curve.sheet(name, _all_of(by_size)),
            latency_and_bursts.latency_sheet(name, by_size),
            latency_and_bursts.burst_sheet(name, by_size),
        )
    ]
    cpu = bottlenecks.chart(groups)
    return Part(
        name="rate-without-loss",
        title=_("The highest rate without loss (RFC 2544)"),
        paragraphs=_paragraphs(those),
        sheets=tuple(sheet for sheet in sheets if sheet is not None),
        charts=(
            *_charts(groups),
            *([] if cpu is None else [cpu]),
            *loss_curve.charts({name: _all_of(by_size) for name, by_size in groups.items()}),
            *latency_and_bursts.latency_charts(groups),
            *rates_tried.charts(groups),
        ),
    )


def _groups(readings: Sequence[Reading]) -> dict[str, _BySize]:
    """A pair of ports each, under one set of conditions: name → its trials by frame size."""
    names = names_of(readings, leaving_out=("protocol", "frame_bytes"))
    groups: dict[str, _BySize] = {}
    for reading in readings:
        words = [word for word in (reading.pairing, names[reading.cell]) if word]
        by_size = groups.setdefault(joined(" ", words), {})
        by_size.setdefault(_frame_bytes(reading), []).append(reading)
    return {name: dict(sorted(by_size.items())) for name, by_size in groups.items()}


def _all_of(by_size: _BySize) -> list[Reading]:
    return [reading for trials in by_size.values() for reading in trials]


def _sheet(name: str, by_size: _BySize) -> Table:
    notes = Notes()
    lines = [TableLine(str(size), _places(trials, notes)) for size, trials in by_size.items()]
    accepted = {reading.settings.get("acceptable_loss", 0) for reading in _all_of(by_size)}
    lossy = [format_share(each) for each in sorted(accepted) if isinstance(each, float) and each]
    return Table(
        title=_(
            "{group}: highest rate with a loss of {shares} at most",
            group=name,
            shares=_alternatives(lossy),
        )
        if lossy
        else _("{group}: highest rate without loss", group=name),
        corner=_("frame, bytes"),
        columns=_COLUMNS,
        lines=tuple(lines),
        footnotes=notes.footnotes,
    )


def _places(trials: Sequence[Reading], notes: Notes) -> tuple[TableCell, ...]:
    measured = [reading for reading in trials if reading.status == "ok"]
    letters = notes(_why_blank(reading) for reading in trials if reading.status != "ok")
    counted = TableCell(f"{len(measured)}/{len(trials)}", float(len(measured)), "", letters)
    if not measured:
        return (counted, *([TableCell(notes=letters)] * (len(_COLUMNS) - 1)))
    found = [reading for reading in measured if reading.number("frames_per_s") is not None]
    none = [_NONE] if len(found) < len(measured) else []
    jumps = [_JUMPS] if any(reading.values.get("monotone") is False for reading in found) else []
    faster = [_FASTER] if any(r.values.get("link_paced") is False for r in measured) else []
    lonely = [_LONELY] if any(reading.number("pairs") == 1 for reading in found) else []
    limits = dict.fromkeys(bottlenecks.limit_words(reading) for reading in measured)
    tried = mean([float(len(reading.series("trial_verdict"))) for reading in measured])
    return (
        counted,
        _mean(found, "frames_per_s", "1/s", notes([*none, *jumps, *lonely])),
        _mean(found, "line_share", "%", notes(faster), 100),
        _mean(measured, "line_frames_per_s", "1/s", ()),
        _mean(measured, "upper_frames_per_s", "1/s", ()),
        TableCell(joined("; ", limits)),
        TableCell(figure(tried, 0), tried, ""),
    )


def _why_blank(reading: Reading) -> str:
    """Where our own hosts were in the way all the way down, which, and its busiest core."""
    detail = reading.detail or ""
    more = detail.partition("tester-bound: ")[2] if reading.reason == "tester-bound" else ""
    # What the record says stands there as it was recorded.
    said = _("{detail}.", detail=sentence_case(more))
    return joined(" ", [reading.why_blank, said]) if more else reading.why_blank


def _mean(
    readings: Sequence[Reading],
    name: str,
    unit: str,
    letters: tuple[str, ...],
    factor: float = 1,
) -> TableCell:
    """The mean of the trials that have the figure; a blank where none has."""
    value = mean_of(name, readings, factor)
    if value is None:
        return TableCell(notes=letters)
    return TableCell(f"{value:,.0f}" if unit == "1/s" else figure(value), value, unit, letters)


def _charts(groups: dict[str, _BySize]) -> tuple[Chart, ...]:
    """One bar a pair of ports: the share of the line rate, and frames a second, with the most that
    the line carries drawn over them.
    """
    sizes = sorted({size for by_size in groups.values() for size in by_size})
    shares = _bars(groups, sizes, "line_share", 100)
    frames = _bars(groups, sizes, "frames_per_s", 1 / _THOUSAND)
    if not any(y is not None for line in frames for _, y in line.points):
        return ()
    ticks = tuple((float(at), str(size)) for at, size in enumerate(sizes))
    whole = Curve(_("line rate"), 0, tuple((x, 100.0) for x, _ in ticks))
    over = _("frame size with header and FCS, bytes")
    return (
        Chart(
            name="rate-without-loss-share",
            title=_("The highest rate without loss, as a share of the line rate"),
            x_label=over,
            x_ticks=ticks,
            log_x=False,
            lines=shares,
            ceilings=(whole,),
            quantity=_("share of the line rate"),
            unit="%",
            as_bars=True,
        ),
        Chart(
            name="rate-without-loss-frames",
            title=_("The highest rate without loss, in frames a second"),
            x_label=over,
            x_ticks=ticks,
            log_x=False,
            lines=frames,
            ceilings=_theoretical(groups, sizes),
            quantity=_("frames a second"),
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
            those = [r for r in by_size.get(size, ()) if r.status == "ok"]
            points.append((float(at), mean_of(name, those, factor)))
        lines.append(Curve(label, index, tuple(points)))
    return tuple(lines)


def _theoretical(groups: dict[str, _BySize], sizes: Sequence[int]) -> tuple[Curve, ...]:
    """A line rate each: what its framing leaves of frames of every size."""
    rates = {
        rate: None
        for by_size in groups.values()
        for reading in _all_of(by_size)
        if (rate := reading.number("line_rate_bit_per_s")) is not None
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


def _frame_bytes(reading: Reading) -> int:
    return int(reading.settings["frame_bytes"])  # type: ignore[arg-type]  # an int in every plan


def _paragraphs(readings: Sequence[Reading]) -> tuple[str, ...]:
    """How it was measured, with what the standard asks for where it was not followed."""
    asked = {
        name: _alternatives([form(value) for value in values])
        for name, form in _FORMS.items()
        if (values := _all(readings, name))
    }
    criteria = joined(", ", [_CRITERIA[name](value) for name, value in asked.items()])
    measured = _("Measured with {criteria}.", criteria=criteria)
    paragraphs = [_MEANING, joined(" ", [measured, _LEARNING])]
    if any(reading.series("loss_line_share") for reading in readings):
        paragraphs.append(_LOSSES)
    if any(reading.series("latency_found_share") for reading in readings):
        paragraphs.append(_LATENCY)
    if any("back_to_back_limit" in reading.values for reading in readings):
        paragraphs.append(_BURSTS)
    if any(reading.settings.get("direction") == "both" for reading in readings):
        paragraphs.append(_BOTH)
    pairs = sorted({int(n) for r in readings if (n := r.number("pairs")) is not None})
    if pairs:
        paragraphs.append(_together(_alternatives([str(each) for each in pairs])))
    if any(_short(reading) for reading in readings):
        paragraphs.append(_SHORTER)
    return tuple(paragraphs)


def _together(pairs: str) -> Message:
    return _(
        "Pairs of hosts were searched together ({pairs} at once): all began each trial at one "
        "moment, a rate passed where it did for all of them, and it is that of each pair, not "
        "their sum. Latency was measured under the load of all; bursts of one pair after another.",
        pairs=pairs,
    )


def _seconds(time_s: float) -> str:
    return f"{plain_figures(time_s, 6)} s"


def _short(reading: Reading) -> bool:
    least = {"duration_s": 60.0, "residual_s": 2.0, "settle_s": 5.0}
    found = {name: reading.settings.get(name) for name in least}
    return any(
        isinstance(value, int | float) and value < least[name] for name, value in found.items()
    )


def _all(readings: Sequence[Reading], name: str) -> list[float]:
    found = dict.fromkeys(reading.settings.get(name) for reading in readings)
    return [value for value in found if isinstance(value, int | float)]


def _alternatives(words: Sequence[str]) -> str:
    """``60 s or 120 s``."""
    first, *others = words
    return joined(" ", [first, *(_("or {other}", other=each) for each in others)])


_FORMS: Mapping[str, Callable[[float], str]] = {
    "duration_s": _seconds,
    "acceptable_loss": format_share,
    "resolution": format_share,
    "residual_s": _seconds,
    "settle_s": _seconds,
}
_CRITERIA: Mapping[str, Callable[[str], Message]] = {
    "duration_s": lambda time: _("trials of {time}", time=time),
    "acceptable_loss": lambda share: _("an acceptable loss of {share}", share=share),
    "resolution": lambda share: _("steps of {share} of the line rate", share=share),
    "residual_s": lambda time: _("{time} for residual frames", time=time),
    "settle_s": lambda time: _("{time} between two trials", time=time),
}
"""Setting → what is said of the values that the searches had."""

_MEANING = _(
    "The highest rate of a grid at which every frame passed, and no queue grew, in two trials of "
    "full length. A frame’s size counts header and FCS. The rate that did not pass is the lowest "
    "one above it; between the two lies the device’s limit. Where the limit is generator-bound or "
    "receiver-bound it is our own hosts’, and the device may do more."
)
_LEARNING = _(
    "Before each trial frames pass for a tenth of a second at half its rate, so that the device "
    "learns and wakes up; none of them counts."
)
_LOSSES = _(
    "The frame loss rate is the share of the frames sent that did not arrive, from the line rate "
    "down until two trials lost nothing."
)
_LATENCY = _(
    "Round trips are timed beside the load: requests of the same length, about one among a hundred "
    "frames (of few frames more), which a mirror at the other end answers; requests and load "
    "together are the rate named. RFC 2544 asks for 120 s at the rate found, 20 times; these "
    "lasted as long as a trial."
)
_BURSTS = _(
    "The longest burst is the most frames at line rate of which none was lost. While it came in "
    "the device sent on at the rate found: the frames waiting are what was left (RFC 9004). RFC "
    "2544 asks for the mean of 50 searches."
)
_BOTH = _("Where frames went both ways at once, the rate is that of each way, not their sum.")
_SHORTER = _(
    "RFC 2544 asks for trials of 60 s, 2 s for residual frames and 5 s between trials. These were "
    "shorter."
)
_FASTER = _(
    "The sender was faster than the line rate stated: the link is another one, and the share is of "
    "the rate stated."
)
_LONELY = _("Searched by itself: no other pair of hosts was there.")
_NONE = _("Not even the lowest rate of the grid passed in some of the trials.")
_JUMPS = _(
    "Not monotone: in some trial a higher rate passed, or a lower one failed; the limit is no "
    "sharp edge."
)
