"""Records → the sections on round trips and connections: times, percentiles, parts of a trip.

A mirror is the host that answers the requests. The part of a trip on the wire is computed, the part
in the mirror's stack is measured by the mirror's timestamps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import count

from netlab.ethernet import Link, ip_version_of, packets, transfer_wire_bytes
from netlab.kinds.round_trip.settings import PERCENTILES
from netlab.kinds.round_trip.tables import HANDSHAKE, TIMES
from netlab.messages import _, joined
from netlab.report.tables.charts import MOST_LINES, in_panels
from netlab.report.tables.elements import Chart, Curve, Part, table
from netlab.results.layout import of_pairing
from netlab.results.quantities import names_of, words_of
from netlab.trial.figures import FigureColumn, Shown, Trials, mean_of, pooled, results_of
from netlab.trial.record import Record, by_cell, grouped

SAME_HOST = _("server and client are one host: no cable was touched.")
NO_LINK = _("the link was not stated.")


def packets_of(record: Record, size_bytes: int | None, link: Link) -> tuple[int, ...] | str:
    """Sizes in bytes of the IP packets of one message of ``size_bytes``, sent as in ``record``.

    If ``size_bytes`` is ``None``, the message is a full segment (TCP), or has the message size of
    ``record`` (UDP). If the sizes cannot be known, the result is a sentence that says why.
    """
    flow, tcp = record.flow(""), record.protocol == "TCP"
    mss_bytes, timestamps = flow.mss_bytes, flow.tcp_timestamps is not False
    if tcp and mss_bytes is None:
        return _("the segment size of TCP is not recorded.")
    ip_version = ip_version_of(record.settings)
    full_bytes = mss_bytes if tcp else record.message_bytes
    size = (full_bytes or 0) if size_bytes is None else size_bytes
    try:
        return packets(
            "TCP" if tcp else "UDP",
            size,
            link.mtu_bytes,
            ip_version=ip_version,
            timestamps=timestamps,
            mss_bytes=mss_bytes,
        )
    except ValueError as impossible:
        return joined("", [*impossible.args, "."])


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


def parts(records: Sequence[Record], link: Link | None, *, imported: bool) -> tuple[Part, ...]:
    """A section for round trips and one for connections, if the run has such tests."""
    sections = []
    for test, title in TITLES.items():
        of_test = [record for record in records if record.test == test]
        names = names_of(of_test)
        sheets, splits = [], []
        for pairing, group in grouped(of_test, lambda record: record.pairing).items():
            pairing_name = of_pairing(pairing, same_host=any(r.same_host for r in group))
            times, columns = _("{pairing}: time of a round trip", pairing=pairing_name), TIMES
            if test == "connect":
                times = _("{pairing}: time of a transaction", pairing=pairing_name)
                columns = (*columns, HANDSHAKE)
            rows = [(names[cell], cell, trials) for cell, trials in by_cell(group).items()]
            sheets.append(table(times, _("cell"), columns, rows))
            split = [
                (name, cell, _Parts(timed, link))
                for name, cell, trials in rows
                if (timed := [r for r in trials if r.settings.get("stack_time") is True])
            ]
            if split:
                head = _("{pairing}: parts of a round trip", pairing=pairing)
                splits.append(table(head, _("cell"), _STACK_COLUMNS, split))
        due_times = any(
            record.settings.get("message_rate_per_s") is not None
            or record.value("client_latency_from") == "intended"
            for record in of_test
        )
        paragraphs = (
            *(_CONNECT if test == "connect" else _ROUND_TRIP, _TOGETHER),
            *((_INTENDED,) if due_times else ()),
            *((_SPLIT,) if splits else ()),
        )
        if sheets:
            sections.append(
                Part(
                    name=test.replace("_", "-"),
                    title=title,
                    paragraphs=(_ROUND_TRIP_PRINTED,) if imported else paragraphs,
                    sheets=(*sheets, *splits),
                    charts=tuple(_curves(test, title, of_test)),
                )
            )
    return tuple(sections)


def _curves(test: str, title: str, records: Sequence[Record]) -> Iterator[Chart]:
    """Percentile curves, a chart for each protocol; with too many lines, further charts. Each
    further nine (90 %, 99 %, 99.9 % …) is one step of equal width, to the last that the values
    allow.
    """
    for protocol, group in grouped(records, lambda record: record.protocol).items():
        curves = _lines(group)
        if not curves:
            continue
        head, x_label = joined(", ", [title, protocol]), _SHARE_OF[test]
        name = f"{test.replace('_', '-')}-{protocol.lower()}"
        chart = in_panels(_curve_chart(f"{name}-1", head, x_label, curves))
        in_a_panel = max((len(panel.lines) for panel in chart.panels), default=len(curves))
        if len(curves) <= _MAX_CURVES or in_a_panel <= MOST_LINES:
            yield chart
            continue
        for at, start in enumerate(range(0, len(curves), _MAX_CURVES), start=1):
            words = _("{title} ({number})", title=head, number=at)
            lines = curves[start : start + _MAX_CURVES]
            yield in_panels(_curve_chart(f"{name}-{at}", words, x_label, lines))


def _lines(records: Sequence[Record]) -> tuple[Curve, ...]:
    """A line for each pairing and cell, from records of one protocol: points (1 / (1 - share), time
    in µs) from the percentile of 13 % upwards, ``_CURVE_STEPS`` for each factor of ten of x.
    """
    names = names_of(records)
    settings = words_of(records, ("protocol", "message_bytes"), brief=True)
    places = {(record.pairing, record.cell): record.message_bytes for record in records}
    several = len({pairing for pairing, _cell in places}) > 1
    curves = []
    for index, ((pairing, cell), size) in enumerate(places.items()):
        histogram = pooled([record for record in records if record.cell == cell])
        if histogram is None or histogram.count < 2:
            continue
        points: list[tuple[float, float | None]] = []
        for step in count(1):
            odds = 10 ** (step / _CURVE_STEPS)
            if odds > histogram.count:
                break
            exact = Fraction(round(odds)) if step % _CURVE_STEPS == 0 else Fraction(odds)
            value = histogram.percentile(1 - 1 / exact)
            points.append((float(exact), None if value is None else value / 1e3))
        label = joined(" ", [pairing, names[cell]]) if several else names[cell]
        size_words = "" if size is None else _("{size} bytes", size=size)
        words = (pairing, size_words, *settings[cell])
        curves.append(Curve(label, index, tuple(points), words=words))
    return tuple(curves)


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

_STAMPS = {
    "software": _("software"),
    "hardware": _("hardware"),
    "capture": _("captured frames"),
}

_TOO_FAST = _(
    "the round trip is shorter than its parts on the link and in the stack together: the link is "
    "faster than stated, or does not delay single frames (as a shaped virtual cable)."
)


def wire_ns(record: Record, link: Link | None) -> float | str:
    """Time that request and answer need on all cables of the path, one after the other, in ns.

    Returns a sentence if the time cannot be known.
    """
    if record.same_host:
        return SAME_HOST
    if link is None:
        return NO_LINK
    request = record.message_bytes
    if request is None:
        return _("the length of the request was not stated.")
    response = record.settings.get("response_bytes", request)
    total_bytes = 0
    for size in (request, response):
        packets = packets_of(record, int(str(size)), link)
        if isinstance(packets, str):
            return packets
        total_bytes += transfer_wire_bytes(packets, link)
    return 8e9 * total_bytes / link.rate_bit_per_s


class _Parts:
    """The parts of the mean round trip of a cell whose time in the mirror's stack was requested."""

    def __init__(self, trials: Trials, link: Link | None) -> None:
        self.trials = results_of(trials)
        self.why_blank = [record.why_blank for record in trials] if not self.trials else []
        self.round_trip_ns = mean_of("rtt_mean_ns", self.trials)
        self.stack_ns = mean_of("server_stack_mean_ns", self.trials)
        wire = wire_ns(self.trials[0], link) if self.trials else 0.0
        self.wire_ns = wire if isinstance(wire, float) else None
        self.why_no_wire = [wire] if isinstance(wire, str) else []
        self.why_no_stack = [_why_no_stack(self.trials)] if self.stack_ns is None else []


def _us(value_ns: float | None, why: Sequence[str] = ()) -> Shown:
    return Shown(why=why) if value_ns is None else Shown(value_ns / 1e3)


def _rest(parts: _Parts) -> Shown:
    if parts.round_trip_ns is None or parts.wire_ns is None or parts.stack_ns is None:
        return Shown(why=[*parts.why_no_wire, *parts.why_no_stack])
    rest = parts.round_trip_ns - parts.wire_ns - parts.stack_ns
    return Shown(why=[_TOO_FAST]) if rest < 0 else _us(rest)


def _stack_percentile(share: Fraction) -> Callable[[_Parts], Shown]:
    few = _(
        "the {share} percentile needs at least {least} of these times.",
        share=f"{float(100 * share):g} %",
        least=int(1 / (1 - share)),
    )

    def shown(parts: _Parts) -> Shown:
        times = pooled(parts.trials, "server_stack_histogram")
        value = None if times is None else times.percentile(share)
        return _us(value, parts.why_no_stack or [few])

    return shown


def _stamps(parts: _Parts) -> str:
    words = dict.fromkeys(str(r.values.get("server_stack_stamps", "")) for r in parts.trials)
    return joined(", ", [_STAMPS.get(word, word) for word in filter(None, words)])


def _why_no_stack(results: Sequence[Record]) -> str:
    if any(record.value("agentless") for record in results):
        return _("the mirror has no agent, so no timestamps are taken there.")
    for record in results:
        if why := record.value("capture_reason"):
            return _("no frames were captured there: {why}.", why=str(why).rstrip("."))
    if any(record.value("stack_timed") is False for record in results):
        return _("the mirror’s system takes no timestamps (capability-missing).")
    return _("the mirror’s system returned no timestamps.")


def _part_column(heading: str, of: Callable[[_Parts], Shown | str]) -> FigureColumn[_Parts]:
    """A column that is blank, with the reasons, if no trial has a result."""
    return FigureColumn(
        heading, lambda parts: of(parts) if parts.trials else Shown(why=parts.why_blank), "µs"
    )


_STACK_COLUMNS: Sequence[FigureColumn[_Parts]] = (
    _part_column(_("round trip, µs"), lambda parts: _us(parts.round_trip_ns)),
    _part_column(_("on the wire, µs"), lambda parts: _us(parts.wire_ns, parts.why_no_wire)),
    _part_column(
        _("in the mirror’s stack, µs"), lambda parts: _us(parts.stack_ns, parts.why_no_stack)
    ),
    _part_column(_("the rest, µs"), _rest),
    _part_column(_("stack, median, µs"), _stack_percentile(PERCENTILES["p50"])),
    _part_column(_("stack, 99 %, µs"), _stack_percentile(PERCENTILES["p99"])),
    _part_column(_("timestamps"), _stamps),
)
