"""Records of latency under load → tables of each pairing: round trips, the load, connections.

The connections are those that the test opened during the load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from netlab.experiment.load_phases import PHASES, RPM_INTERVAL_NS, RPM_INTERVALS
from netlab.experiment.matrix import Link
from netlab.experiment.records import FLOWS, Record, by_cell
from netlab.messages import Message, _, joined
from netlab.report.sections.latency_under_load.names import PHASE_WORDS
from netlab.report.tables.columns import (
    Figure,
    FigureColumn,
    OfTrials,
    Shown,
    Trials,
    Why,
    half_width,
    longest,
    mean_of_all,
    number,
    results_of,
    share,
    table,
    trials_shown,
)
from netlab.report.tables.elements import MBIT_PER_S, Table
from netlab.results.ceilings import ceiling_of
from netlab.results.layout import Bin, TableColumn, of_pairing

_THROUGHPUT: Mapping[str, str] = {
    "": _("throughput"),
    "to_server_": _("throughput to server"),
    "to_client_": _("throughput to client"),
}
_TOWARDS: Mapping[str, str] = {"client-sends": "to_server_", "server-sends": "to_client_"}
"""Direction of a one-way load → the name of its flow."""
_RPM, _RATE = "responsiveness_per_minute", "round_trips_per_minute_loaded"


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
            [*_TRIPS, *(_rate(way) for way in _ways(group))],
            rows,
        )
        measured = [row for row in rows if results_of(row[2])]
        if measured:
            yield _load_sheet(pairing_name, group, measured, link)
        yield from _connections_sheet(pairing_name, group, measured)


def _in(unit: str, name: str) -> str:
    return joined(", ", [name, unit])


def _why_no_time(phase: str, percentile: str) -> Why:
    def why(record: Record) -> str:
        if not record.number(f"{phase}_rtt_count"):
            return _NO_REQUEST[phase]
        losses = record.number(f"{phase}_lost_messages")
        return _TOO_MANY_LOST[percentile] if losses else record.why_blank

    return why


def _why_no_increase(record: Record) -> str:
    phase = next(
        (name for name in ("idle", "loaded") if record.number(f"{name}_rtt_p50_ns") is None),
        "loaded",
    )
    return _why_no_time(phase, "p50")(record)


def _why_blank(record: Record) -> str:
    return record.why_blank


def _time(heading: str, phase: str, percentile: str) -> FigureColumn[Trials]:
    of = number(f"{phase}_rtt_{percentile}_ns", 1e-6)
    return FigureColumn(_in("ms", heading), mean_of_all(of, _why_no_time(phase, percentile)), "ms")


_NO_REQUEST: Mapping[str, str] = {
    "idle": _("no request was due before the load."),
    "loaded": _("no request was due in the loaded phase."),
    "after": _("no request was due after the load: the queue on the path took too long to drain."),
}
_TOO_MANY_LOST: Mapping[str, str] = {
    "p50": _(
        "at least half of the requests were lost; a lost request counts as longer than any other."
    ),
    "p99": _(
        "more than 1 % of the requests were lost; a lost request counts as longer than any other."
    ),
}
_INCREASE = number("increase_ns", 1e-6)
_TRIPS: Sequence[FigureColumn[Trials]] = (
    FigureColumn(_("trials"), trials_shown),
    _time(_("idle"), "idle", "p50"),
    _time(_("loaded"), "loaded", "p50"),
    _time(_("loaded, 99 %"), "loaded", "p99"),
    _time(_("after"), "after", "p50"),
    FigureColumn(_in("ms", _("increase")), mean_of_all(_INCREASE, _why_no_increase), "ms"),
    FigureColumn(_in("ms", "± 95 %"), half_width(_INCREASE, _why_no_increase), "ms"),
    FigureColumn(
        _in("%", _("lost under load")),
        share(number("loaded_lost_messages"), number("loaded_rtt_count"), _NO_REQUEST["loaded"]),
        "%",
    ),
)


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

    return FigureColumn(_in(MBIT_PER_S, _THROUGHPUT[way]), of, MBIT_PER_S)


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
        FigureColumn(_in(MBIT_PER_S, _("throughput")), rate(mean_of_all), MBIT_PER_S),
        FigureColumn(_in(MBIT_PER_S, "± 95 %"), rate(half_width), MBIT_PER_S),
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


def _connections_sheet(
    pairing_name: str, records: Sequence[Record], measured: Sequence[tuple[str, str, Trials]]
) -> Iterator[Table]:
    """A line for each cell; nothing if there is no connection and no rate of round trips."""
    connects = any(record.number(f"{phase}_connections") for record in records for phase in PHASES)
    columns: list[FigureColumn[Trials]] = []
    for phase in PHASES if connects else ():
        median, most = (number(f"{phase}_connect_{name}_ns", 1e-6) for name in ("p50", "max"))
        why = _why_no_connection(phase)
        for words, of in (
            (_("median"), mean_of_all(median, why)),
            (_("longest"), longest(most, why)),
        ):
            columns.append(FigureColumn(joined(", ", [PHASE_WORDS[phase], words, "ms"]), of, "ms"))
    if connects:
        lost = share(_of_all("lost_connections"), _of_all("connections"), _NONE_REQUESTED)
        columns.append(FigureColumn(_("lost, %"), lost, "%"))
    for name, words, why in (
        (_RATE, _("round trips per minute, loaded"), _why_no_rate),
        (_RPM, _("RPM"), _why_no_rpm),
    ):
        if any(record.number(name) for record in records):
            columns.append(FigureColumn(words, mean_of_all(number(name), why), "1/min"))
    if columns:
        title = (
            _("{pairing}: connections up to their first answer", pairing=pairing_name)
            if connects
            else _("{pairing}: round trips per minute", pairing=pairing_name)
        )
        yield table(title, _("load"), columns, measured)


def _of_all(name: str) -> Figure:
    """A function that returns the sum of a figure of one trial over all phases."""

    def of(record: Record) -> float | None:
        counts = [n for phase in PHASES if (n := record.number(f"{phase}_{name}")) is not None]
        return sum(counts) if counts else None

    return of


def _why_no_connection(phase: str) -> Why:
    def why(record: Record) -> str:
        if record.number(f"{phase}_connections"):
            return _("at least half of the connections were not answered within 5 s.")
        if record.settings.get("connect_rate_per_s") is None:
            return _NONE_REQUESTED
        return _("no connection was started in that phase.")

    return why


_NONE_REQUESTED = _("no connections were opened.")


def _why_no_rate(_record: Record) -> str:
    return _("more than 5 % of the requests under load were lost.")


def _why_no_rpm(record: Record) -> str | Message:
    if record.protocol != "TCP":
        return _("RPM needs a load over TCP.")
    duration_s, least_s = record.settings.get("duration_s"), RPM_INTERVALS * RPM_INTERVAL_NS / 1e9
    if isinstance(duration_s, int | float) and duration_s < least_s:
        return _("RPM needs a load of at least {least} s.", least=f"{least_s:g}")
    return _("the sender’s TCP reported no round trips, or too few connections were answered.")
