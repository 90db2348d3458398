"""Readings → what the searches for the highest rate found: tables and charts by frame size. Pure.

RFC 2544 asks for both: a graph of the frame rate over the frame size beside the theoretical maximum
of the medium (26.1), and the same as a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from netlab.ethernet import frames_per_s
from netlab.report.sections import bottlenecks, loss_curve, rates_tried, under_load
from netlab.report.sections.pooled import mean_of
from netlab.report.tables.elements import Chart, Curve, Notes, Part, Table, TableCell, TableLine
from netlab.results.labels import figure
from netlab.results.quantities import names_of
from netlab.results.readings import Reading
from netlab.stats import mean
from netlab.units import format_rate, format_share

_COLUMNS = (
    *("trials", "frames/s", "of the line rate, %", "line rate, frames/s"),
    *("did not pass, frames/s", "limit", "rates tried"),
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
            under_load.latency_sheet(name, by_size),
            under_load.burst_sheet(name, by_size),
        )
    ]
    cpu = bottlenecks.chart(groups)
    return Part(
        name="rate-without-loss",
        title="The highest rate without loss (RFC 2544)",
        paragraphs=_paragraphs(those),
        sheets=tuple(sheet for sheet in sheets if sheet is not None),
        charts=(
            *_charts(groups),
            *([] if cpu is None else [cpu]),
            *loss_curve.charts({name: _all_of(by_size) for name, by_size in groups.items()}),
            *under_load.latency_charts(groups),
            *rates_tried.charts(groups),
        ),
    )


def _groups(readings: Sequence[Reading]) -> dict[str, _BySize]:
    """A pair of ports each, under one set of conditions: name → its trials by frame size."""
    names = names_of(readings, leaving_out=("protocol", "frame_bytes"))
    groups: dict[str, _BySize] = {}
    for reading in sorted(readings, key=_frame_bytes):
        name = " ".join(word for word in (reading.pairing, names[reading.cell]) if word)
        groups.setdefault(name, {}).setdefault(_frame_bytes(reading), []).append(reading)
    order = dict.fromkeys(f"{r.pairing} {names[r.cell]}".strip() for r in readings)
    return {name: groups[name] for name in order}


def _all_of(by_size: _BySize) -> list[Reading]:
    return [reading for trials in by_size.values() for reading in trials]


def _sheet(name: str, by_size: _BySize) -> Table:
    notes = Notes()
    lines = [TableLine(str(size), _places(trials, notes)) for size, trials in by_size.items()]
    accepted = {reading.settings.get("acceptable_loss", 0) for reading in _all_of(by_size)}
    lossy = [format_share(each) for each in sorted(accepted) if isinstance(each, float) and each]
    bearing = f"with a loss of {' or '.join(lossy)} at most" if lossy else "without loss"
    return Table(
        title=f"{name}: highest rate {bearing}",
        corner="frame, bytes",
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
        TableCell("; ".join(limits)),
        TableCell(figure(tried, 0), tried, ""),
    )


def _why_blank(reading: Reading) -> str:
    """Where our own hosts were in the way all the way down, which, and its busiest core."""
    detail = reading.detail or ""
    more = detail.partition("tester-bound: ")[2] if reading.reason == "tester-bound" else ""
    return f"{reading.why_blank} {more[:1].upper()}{more[1:]}." if more else reading.why_blank


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
    whole = Curve("line rate", 0, tuple((x, 100.0) for x, _ in ticks))
    over = "frame size with header and FCS, bytes"
    return (
        Chart(
            name="rate-without-loss-share",
            title="The highest rate without loss, as a share of the line rate",
            x_label=over,
            x_ticks=ticks,
            log_x=False,
            lines=shares,
            ceilings=(whole,),
            quantity="share of the line rate",
            unit="%",
            as_bars=True,
        ),
        Chart(
            name="rate-without-loss-frames",
            title="The highest rate without loss, in frames a second",
            x_label=over,
            x_ticks=ticks,
            log_x=False,
            lines=frames,
            ceilings=_theoretical(groups, sizes),
            quantity="frames a second",
            unit="thousands",
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
            f"theoretical maximum, {format_rate(rate)}",
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
    criteria = {
        "trials of {}": _all(readings, "duration_s", _seconds),
        "an acceptable loss of {}": _all(readings, "acceptable_loss", format_share),
        "steps of {} of the line rate": _all(readings, "resolution", format_share),
        "{} for residual frames": _all(readings, "residual_s", _seconds),
        "{} between two trials": _all(readings, "settle_s", _seconds),
    }
    said = ", ".join(words.format(value) for words, value in criteria.items() if value)
    paragraphs = [_MEANING, f"Measured with {said}. {_LEARNING}"]
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
        paragraphs.append(_TOGETHER.format(" or ".join(map(str, pairs))))
    if any(_short(reading) for reading in readings):
        paragraphs.append(_SHORTER)
    return tuple(paragraphs)


def _seconds(time_s: float) -> str:
    return f"{time_s:g} s"


def _short(reading: Reading) -> bool:
    least = {"duration_s": 60.0, "residual_s": 2.0, "settle_s": 5.0}
    found = {name: reading.settings.get(name) for name in least}
    return any(
        isinstance(value, int | float) and value < least[name] for name, value in found.items()
    )


def _all(readings: Sequence[Reading], name: str, form: Callable[[float], str]) -> str:
    found = dict.fromkeys(reading.settings.get(name) for reading in readings)
    return " or ".join(form(value) for value in found if isinstance(value, int | float))


_MEANING = (
    "The highest rate of a grid at which every frame passed, and no queue grew, in two trials of "
    "full length. A frame’s size counts header and FCS. The rate that did not pass is the lowest "
    "one above it; between the two lies the device’s limit. Where the limit is generator-bound or "
    "receiver-bound it is our own hosts’, and the device may do more."
)
_LEARNING = (
    "Before each trial frames pass for a tenth of a second at half its rate, so that the device "
    "learns and wakes up; none of them counts."
)
_LOSSES = (
    "The frame loss rate is the share of the frames sent that did not arrive, from the line rate "
    "down until two trials lost nothing."
)
_LATENCY = (
    "Round trips are timed beside the load: requests of the same length, about one among a hundred "
    "frames (of few frames more), which a mirror at the other end answers; requests and load "
    "together are the rate named. RFC 2544 asks for 120 s at the rate found, 20 times; these "
    "lasted as long as a trial."
)
_BURSTS = (
    "The longest burst is the most frames at line rate of which none was lost. While it came in "
    "the device sent on at the rate found: the frames waiting are what was left (RFC 9004). RFC "
    "2544 asks for the mean of 50 searches."
)
_BOTH = "Where frames went both ways at once, the rate is that of each way, not their sum."
_TOGETHER = (
    "Pairs of hosts were searched together ({} at once): all began each trial at one moment, a "
    "rate passed where it did for all of them, and it is that of each pair, not their sum. "
    "Latency was measured under the load of all; bursts of one pair after another."
)
_SHORTER = (
    "RFC 2544 asks for trials of 60 s, 2 s for residual frames and 5 s between trials. These were "
    "shorter."
)
_FASTER = (
    "The sender was faster than the line rate stated: the link is another one, and the share is of "
    "the rate stated."
)
_LONELY = "Searched by itself: no other pair of hosts was there."
_NONE = "Not even the lowest rate of the grid passed in some of the trials."
_JUMPS = (
    "Not monotone: in some trial a higher rate passed, or a lower one failed; the limit is no "
    "sharp edge."
)
