"""Records → the sections on round trips and connections: tables and curves. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from netlab.experiment.matrix import Link
from netlab.experiment.records import Record
from netlab.messages import _, joined
from netlab.report.sections.pooled import pooled
from netlab.report.sections.stack_share import split_sheet
from netlab.report.tables.chart_panels import MOST_LINES, in_panels
from netlab.report.tables.elements import Chart, Curve, Notes, Part, Table, TableCell, TableLine
from netlab.report.tables.tables import FEW_TRIALS
from netlab.results.columns import PERCENTILES
from netlab.results.labels import figure
from netlab.results.layout import of_pairing
from netlab.results.quantities import names_of, words_of
from netlab.stats import MIN_TRIALS, interval, mean
from netlab.stats.histogram import Histogram

TITLES = {"round_trip": _("Round trips"), "connect": _("Connections")}
_SHARE_OF = {
    "round_trip": _("share of the round trips"),
    "connect": _("share of the transactions"),
}

_CURVE_STEPS = 16
"""Number of points of the percentile curve for each factor of ten of its x, 1 / (1 - share)."""
_MAX_CURVES = 8
"""Maximum number of lines in one chart that a reader can distinguish."""
_LOG_FROM = 20
"""Times that differ by more than this factor are drawn on a logarithmic axis."""

_SHARES = {word: f"{float(100 * share):g} %" for word, share in PERCENTILES.items()}


def parts(records: Sequence[Record], link: Link | None, *, imported: bool) -> tuple[Part, ...]:
    """A section for round trips and one for connections, if the run has such tests."""
    sections = []
    for test, title in TITLES.items():
        of_test = [record for record in records if record.test == test]
        if of_test:
            sections.append(_part(test, title, of_test, link, imported=imported))
    return tuple(sections)


def _part(
    test: str, title: str, records: Sequence[Record], link: Link | None, *, imported: bool
) -> Part:
    names = names_of(records)
    pairings = dict.fromkeys(record.pairing for record in records)
    sheets, splits = [], []
    for pairing in pairings:
        group = [record for record in records if record.pairing == pairing]
        sheets.append(_times(test, pairing, group, names))
        split = split_sheet(pairing, group, names, link)
        splits += [split] if split is not None else []
    return Part(
        name=test.replace("_", "-"),
        title=title,
        paragraphs=(
            (_ROUND_TRIP_PRINTED,) if imported else _paragraphs(test, records, split=bool(splits))
        ),
        sheets=(*sheets, *splits),
        charts=_curves(test, title, records),
    )


def _times(test: str, pairing: str, records: Sequence[Record], names: dict[str, str]) -> Table:
    notes = Notes()
    cells = dict.fromkeys(record.cell for record in records)
    connects = test == "connect"
    columns = [
        *(_("trials"), _("transactions/s"), _("mean, µs"), "± 95 %, µs"),
        *(joined(", ", [share, "µs"]) for share in _SHARES.values()),
        *(_("longest, µs"), _("lost, %")),
        *([_("handshake, µs")] if connects else []),
    ]
    lines = []
    for cell in cells:
        trials = [record for record in records if record.cell == cell]
        results = [record for record in trials if record.status == "ok"]
        letters = notes(_why(trials))
        places = [_plain(float(len(results)), "", f"{len(results)}/{len(trials)}", letters)]
        places += [_rate(results), *_means(results, notes), *_percentiles(results, notes)]
        places += [_longest(results, notes), _lost(results, notes)]
        if connects:
            places.append(_us(_mean(_numbers(results, "client_connect_mean_ns"))))
        lines.append(TableLine(names[cell], tuple(places), cell))
    pairing_name = of_pairing(pairing, same_host=any(record.same_host for record in records))
    return Table(
        title=_("{pairing}: time of a transaction", pairing=pairing_name)
        if connects
        else _("{pairing}: time of a round trip", pairing=pairing_name),
        corner=_("cell"),
        columns=tuple(columns),
        lines=tuple(lines),
        footnotes=notes.footnotes,
    )


def _why(trials: Sequence[Record]) -> list[str]:
    blanks = [record.why_blank for record in trials if record.status != "ok"]
    if not blanks or len(blanks) == len(trials):
        return blanks
    return [
        _("{some} of {total} trials {why}", some=blanks.count(why), total=len(trials), why=why)
        for why in dict.fromkeys(blanks)
    ]


def _numbers(records: Sequence[Record], name: str) -> list[float]:
    return [number for record in records if (number := record.number(name)) is not None]


def _mean(values: Sequence[float]) -> float | None:
    return mean(values) if values else None


def _plain(value: float, unit: str, text: str, notes: tuple[str, ...] = ()) -> TableCell:
    return TableCell(text, value, unit, notes)


def _us(value_ns: float | None) -> TableCell:
    return (
        TableCell() if value_ns is None else TableCell(figure(value_ns / 1e3), value_ns / 1e3, "µs")
    )


def _rate(results: Sequence[Record]) -> TableCell:
    value = _mean(_numbers(results, "transactions_per_s"))
    return TableCell() if value is None else TableCell(figure(value), value, "1/s")


def _means(results: Sequence[Record], notes: Notes) -> list[TableCell]:
    """The mean of the trials' means, and the half-width of its 95 % interval."""
    means = _numbers(results, "rtt_mean_ns")
    if not means:
        return [TableCell(), TableCell()]
    if len(means) < MIN_TRIALS:
        return [_us(mean(means)), TableCell(notes=notes([FEW_TRIALS]))]
    return [_us(mean(means)), _us(interval(means).half_width)]


def _percentiles(results: Sequence[Record], notes: Notes) -> list[TableCell]:
    """Percentiles of the round trips of all trials together."""
    histogram = pooled(results)
    places = []
    for word, share in PERCENTILES.items():
        if histogram is None:
            places.append(TableCell(notes=notes([_NO_SINGLES] if results else [])))
            continue
        value = histogram.percentile(share)
        few = _(
            "the {share} percentile needs at least {least} round trips.",
            share=_SHARES[word],
            least=f"{int(1 / (1 - share)):,}",
        )
        places.append(_us(value) if value is not None else TableCell(notes=notes([few])))
    return places


def _longest(results: Sequence[Record], notes: Notes) -> TableCell:
    value = max(_numbers(results, "rtt_max_ns"), default=None)
    return TableCell(notes=notes([_NO_SINGLES] if results else [])) if value is None else _us(value)


def _lost(results: Sequence[Record], notes: Notes) -> TableCell:
    """Requests that timed out, in per cent of all requests that ended."""
    pairs = [(r.number("lost_messages"), r.number("transactions")) for r in results]
    counts = [
        (losses, transactions)
        for losses, transactions in pairs
        if losses is not None and transactions is not None
    ]
    total = sum(losses + transactions for losses, transactions in counts)
    if not total:
        return TableCell(notes=notes([_("not counted.")] if results else []))
    share = 100 * sum(losses for losses, _ in counts) / total
    return TableCell(figure(share), share, "%")


def _curves(test: str, title: str, records: Sequence[Record]) -> tuple[Chart, ...]:
    """Percentile curves, a chart for each protocol; with too many lines, further charts.

    The x axis ends at the last percentile that the number of values allows. Each further nine
    (90 %, 99 %, 99.9 % …) is one step of equal width.
    """
    charts = []
    protocols = dict.fromkeys(record.protocol for record in records)
    for protocol in protocols:
        curves = _lines([record for record in records if record.protocol == protocol])
        if not curves:
            continue
        head, x_label = joined(", ", [title, protocol]), _SHARE_OF[test]
        name = f"{test.replace('_', '-')}-{protocol.lower()}"
        chart = in_panels(_curve_chart(f"{name}-1", head, x_label, curves))
        if len(curves) <= _MAX_CURVES or _is_readable(chart):
            charts.append(chart)
            continue
        for number, start in enumerate(range(0, len(curves), _MAX_CURVES), start=1):
            words = _("{title} ({number})", title=head, number=number)
            lines = curves[start : start + _MAX_CURVES]
            charts.append(in_panels(_curve_chart(f"{name}-{number}", words, x_label, lines)))
    return tuple(charts)


def _lines(records: Sequence[Record]) -> tuple[Curve, ...]:
    """A line for each pairing and cell, from records of one protocol."""
    names = names_of(records)
    settings = words_of(records, ("protocol", "message_bytes"), brief=True)
    places = {(record.pairing, record.cell): record.message_bytes for record in records}
    several = len({pairing for pairing, _cell in places}) > 1
    curves = []
    for index, ((pairing, cell), size) in enumerate(places.items()):
        results = [r for r in records if r.cell == cell and r.status == "ok"]
        histogram = pooled(results)
        if histogram is not None and histogram.count > 1:
            label = joined(" ", [pairing, names[cell]]) if several else names[cell]
            size_words = "" if size is None else _("{size} bytes", size=size)
            words = (pairing, size_words, *settings[cell])
            curves.append(Curve(label, index, _points(histogram), words=words))
    return tuple(curves)


def _is_readable(chart: Chart) -> bool:
    return bool(chart.panels) and max(len(panel.lines) for panel in chart.panels) <= MOST_LINES


def _points(histogram: Histogram) -> tuple[tuple[float, float | None], ...]:
    """Points (1 / (1 - share), time in µs), from the percentile of 13 % upwards.

    There are ``_CURVE_STEPS`` points for each factor of ten of x.
    """
    points: list[tuple[float, float | None]] = []
    step = 0
    while (odds := 10 ** (step / _CURVE_STEPS)) <= histogram.count:
        exact = Fraction(round(odds)) if step % _CURVE_STEPS == 0 else Fraction(odds)
        if exact > 1:
            value = histogram.percentile(1 - 1 / exact)
            points.append((float(exact), None if value is None else value / 1e3))
        step += 1
    return tuple(points)


def _curve_chart(name: str, title: str, x_label: str, lines: tuple[Curve, ...]) -> Chart:
    times = [y for line in lines for _, y in line.points if y]
    last = max(x for line in lines for x, _ in line.points)
    ticks = [(1.0, "0"), (2.0, "50 %"), (10.0, "90 %")]
    nines = 2
    while 10**nines <= last:
        ticks.append((10.0**nines, f"{100 - 100 / 10**nines:.{max(0, nines - 2)}f} %"))
        nines += 1
    return Chart(
        name=name,
        title=_("{title}: percentiles", title=title),
        x_label=x_label,
        x_ticks=tuple(ticks),
        log_x=True,
        lines=lines,
        quantity=_("time"),
        unit="µs",
        log_y=max(times) > _LOG_FROM * min(times),
    )


def _paragraphs(test: str, records: Sequence[Record], *, split: bool) -> tuple[str, ...]:
    paragraphs = [_CONNECT if test == "connect" else _ROUND_TRIP, _TOGETHER]
    open_loop = any(r.settings.get("message_rate_per_s") is not None for r in records)
    intended = any(r.value("client_latency_from") == "intended" for r in records)
    if open_loop or intended:
        paragraphs.append(_INTENDED)
    if split:
        paragraphs.append(_SPLIT)
    return tuple(paragraphs)


_NO_SINGLES = _("single times are not recorded, only their sum.")

_ROUND_TRIP_PRINTED = _(
    "The document prints the total time of many round trips. A round trip here is that time "
    "divided by their number, with one request in flight at a time."
)
_ROUND_TRIP = _(
    "A round trip is the time from handing a request to the client’s stack to receiving its whole "
    "answer, by the client’s clock. The column of trials gives those with a result, of those "
    "planned. A request that timed out counts as lost and has no time."
)
_CONNECT = _(
    "A transaction is a TCP connection of its own: it is opened and carries one request and one "
    "answer. Its time runs by the client’s clock from before the connection is opened to the whole "
    "answer; the handshake is the part until the connection is established."
)
_TOGETHER = _(
    "The mean is the mean of the trials’ means, with Student’s t interval over the trials. The "
    "percentiles are over the single times of all trials together: 99 % of them do not exceed the "
    "figure under “99 %”."
)
_INTENDED = _(
    "If requests are sent at a given rate, each time counts from when the request was due, not "
    "from when it could be sent: a stall is charged to every request that it delays."
)
_SPLIT = _(
    "The time on the wire is computed: preamble and frame of request and answer at the link’s "
    "rate, once for each cable on the path. The time in the mirror’s stack is measured there, from "
    "the timestamp of the request’s arrival to the timestamp of the answer’s sending. The rest is "
    "the client’s own stack and program, the network interfaces, and everything in between."
)
