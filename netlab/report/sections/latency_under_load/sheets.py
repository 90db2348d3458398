"""Records of latency under load → tables for each pairing: round trips, then the load. No I/O.

Connections opened during the load have a table of their own.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial. A flow is the data of a trial in one
direction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from netlab.experiment.matrix import Link
from netlab.experiment.records import FLOWS, Record
from netlab.messages import _, joined
from netlab.report.sections.latency_under_load.connections import connections_sheet
from netlab.report.sections.latency_under_load.names import by_cell
from netlab.report.sections.latency_under_load.places import (
    Figure,
    Why,
    mean_place,
    number,
    share_place,
    trials_place,
    with_half_width,
)
from netlab.report.tables.elements import MBIT_PER_S, Notes, Table, TableCell, TableLine, blank
from netlab.results.ceilings import ceiling_of
from netlab.results.layout import Bin, TableColumn, of_pairing

_THROUGHPUT: Mapping[str, str] = {
    "": _("throughput"),
    "to_server_": _("throughput to server"),
    "to_client_": _("throughput to client"),
}
_TOWARDS: Mapping[str, str] = {"client-sends": "to_server_", "server-sends": "to_client_"}
"""Direction of a one-way load → the name of its flow."""


def sheets_of(
    records: Sequence[Record], names: Mapping[str, str], link: Link | None
) -> Iterator[Table]:
    """The tables of each pairing that have any content."""
    for pairing in dict.fromkeys(record.pairing for record in records):
        group = [record for record in records if record.pairing == pairing]
        pairing_name = of_pairing(pairing, same_host=any(record.same_host for record in group))
        yield _trips_sheet(pairing_name, group, names)
        further = (
            _load_sheet(pairing_name, group, names, link),
            connections_sheet(pairing_name, group, names),
        )
        yield from (sheet for sheet in further if sheet is not None)


def _in(unit: str, name: str) -> str:
    return joined(", ", [name, unit])


def _trips_sheet(pairing_name: str, records: Sequence[Record], names: Mapping[str, str]) -> Table:
    notes = Notes()
    columns = _ways(records)
    return Table(
        title=_("{pairing}: round trips with and without load", pairing=pairing_name),
        corner=_("load"),
        columns=(
            _("trials"),
            *(_in("ms", name) for name in (_("idle"), _("loaded"), _("loaded, 99 %"), _("after"))),
            *(_in("ms", _("increase")), _in("ms", "± 95 %"), _in("%", _("lost under load"))),
            *(_in(MBIT_PER_S, _THROUGHPUT[flow]) for flow in columns),
        ),
        lines=tuple(
            TableLine(names[cell], (*_trips(trials, notes), *_rates(trials, columns, notes)), cell)
            for cell, trials in by_cell(records).items()
        ),
        footnotes=notes.footnotes,
    )


def _trips(trials: Sequence[Record], notes: Notes) -> tuple[TableCell, ...]:
    results = [trial for trial in trials if trial.status == "ok"]

    def time(phase: str, percentile: str) -> TableCell:
        of = number(f"{phase}_rtt_{percentile}_ns", 1e-6)
        return mean_place(results, of, "ms", _why_no_time(phase, percentile), notes)

    return (
        trials_place(trials, notes),
        *(time("idle", "p50"), time("loaded", "p50"), time("loaded", "p99")),
        time("after", "p50"),
        *with_half_width(results, number("increase_ns", 1e-6), "ms", _why_no_increase, notes),
        share_place(
            results,
            number("loaded_lost_messages"),
            number("loaded_rtt_count"),
            [_NO_REQUEST["loaded"]],
            notes,
        ),
    )


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


def _ways(records: Sequence[Record]) -> tuple[str, ...]:
    """The flows with a column of throughput: one flow if all loads go in the same single direction,
    otherwise a flow for each direction.
    """
    ways = {str(record.settings.get("direction", "")) for record in records}
    return ("",) if len(ways) == 1 and "both" not in ways else tuple(filter(None, FLOWS))


def _rates(trials: Sequence[Record], columns: Sequence[str], notes: Notes) -> Iterator[TableCell]:
    results = [trial for trial in trials if trial.status == "ok"]
    for column in columns:
        flow = _flow_in(trials[0], column)
        if flow is None:
            yield blank(notes([_OTHER_WAY]))
        else:
            yield mean_place(results, _throughput(flow), MBIT_PER_S, _why_blank, notes)


def _flow_in(record: Record, column: str) -> str | None:
    """The flow of a cell that a column shows; ``None`` if the cell's load went the other way."""
    if column in record.flows:
        return column
    return "" if column == _TOWARDS.get(str(record.settings.get("direction", ""))) else None


def _throughput(flow: str) -> Figure:
    def of(record: Record) -> float | None:
        flow_result = record.flows.get(flow)
        rate = None if flow_result is None else flow_result.throughput_bit_per_s
        return None if rate is None else rate / 1e6

    return of


def _why_blank(record: Record) -> str:
    return record.why_blank


def _load_sheet(
    pairing_name: str, records: Sequence[Record], names: Mapping[str, str], link: Link | None
) -> Table | None:
    """A line for each cell and direction; ``None`` if no load was measured."""
    notes = Notes()
    lossy = any(record.protocol == "UDP" for record in records)
    shared = any(_streams(record) > 1 for record in records)
    lines = []
    for cell, trials in by_cell(records).items():
        results = [trial for trial in trials if trial.status == "ok"]
        for flow in results[0].flows if results else ():
            label = joined(", ", [names[cell], FLOWS[flow]]) if flow else names[cell]
            places = [
                *with_half_width(results, _throughput(flow), MBIT_PER_S, _why_blank, notes),
                _of_ceiling(results, flow, link, notes),
            ]
            places += [_load_lost(results, flow, notes)] if lossy else []
            places += [_fairness(results, flow, notes)] if shared else []
            lines.append(TableLine(label, tuple(places), cell))
    if not lines:
        return None
    return Table(
        title=_("{pairing}: the load", pairing=pairing_name),
        corner=_("load"),
        columns=(
            *(_in(MBIT_PER_S, _("throughput")), _in(MBIT_PER_S, "± 95 %")),
            _("of the wire ceiling, %"),
            *([_("messages lost, %")] if lossy else []),
            *([_("fairness")] if shared else []),
        ),
        lines=tuple(lines),
        footnotes=notes.footnotes,
    )


def _of_ceiling(results: Sequence[Record], flow: str, link: Link | None, notes: Notes) -> TableCell:
    first = results[0]
    column = TableColumn(first.protocol, first.message_bytes or 0, flow)
    ceiling = ceiling_of(column, [Bin(tuple(results), flow)], link)
    if ceiling is None:
        return blank(notes([_NO_CEILING]))
    most = ceiling.highest_bit_per_s / 1e8

    def of(record: Record) -> float | None:
        rate = _throughput(flow)(record)
        return None if rate is None else rate / most

    return mean_place(results, of, "%", _why_blank, notes)


def _load_lost(results: Sequence[Record], flow: str, notes: Notes) -> TableCell:
    if results[0].protocol != "UDP":
        return blank(notes([_RETRANSMITTED]))

    def lost(record: Record) -> float | None:
        return record.flow(flow).lost_messages

    def sent(record: Record) -> float | None:
        return record.flow(flow).sent_messages

    return share_place(results, lost, sent, [_("not counted.")], notes)


def _fairness(results: Sequence[Record], flow: str, notes: Notes) -> TableCell:
    if _streams(results[0]) < 2:
        return blank(notes([_ONE_STREAM]))
    return mean_place(results, number(f"{flow}fairness_index"), "", _why_blank, notes)


def _streams(record: Record) -> int:
    streams = record.settings.get("streams")
    return streams if isinstance(streams, int) else 1


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
_OTHER_WAY = _("the load went the other way.")
_NO_CEILING = _("the link’s rate was not stated, or no cable was touched.")
_RETRANSMITTED = _("TCP retransmits what is lost.")
_ONE_STREAM = _("there is only one stream.")
