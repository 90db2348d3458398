"""The parts of a round trip: on the wire, in the mirror's stack, and the rest. No I/O.

The mirror is the host that answers the requests. The part on the wire is computed
(netlab.ethernet), the part in the stack is measured by the mirror's timestamps. An earlier form of
this method used an oscilloscope: the mirror raised a line of its parallel port on receiving, and
lowered it on sending.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial.
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.ethernet import transfer_wire_bytes
from netlab.experiment.matrix import Link
from netlab.experiment.records import Record
from netlab.messages import _, joined
from netlab.report.sections.on_wire import NO_LINK, SAME_HOST, packets_of
from netlab.report.sections.pooled import pooled
from netlab.report.tables.elements import Notes, Table, TableCell, TableLine
from netlab.results.columns import PERCENTILES
from netlab.results.labels import figure
from netlab.stats import mean

_COLUMNS = (
    *(_("round trip, µs"), _("on the wire, µs")),
    *(_("in the mirror’s stack, µs"), _("the rest, µs")),
    *(_("stack, median, µs"), _("stack, 99 %, µs"), _("timestamps")),
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
        total_bytes += transfer_wire_bytes(packets, vlan=link.vlan, cables=link.hops + 1)
    return 8e9 * total_bytes / link.rate_bit_per_s


def split_sheet(
    pairing: str, records: Sequence[Record], names: dict[str, str], link: Link | None
) -> Table | None:
    """A line for each cell; ``None`` if no cell requested the time in the mirror's stack."""
    timed = [record for record in records if record.settings.get("stack_time") is True]
    if not timed:
        return None
    notes = Notes()
    lines = []
    for cell in dict.fromkeys(record.cell for record in timed):
        trials = [record for record in timed if record.cell == cell]
        lines.append(TableLine(names[cell], _places(trials, link, notes), cell))
    return Table(
        title=_("{pairing}: parts of a round trip", pairing=pairing),
        corner=_("cell"),
        columns=_COLUMNS,
        lines=tuple(lines),
        footnotes=notes.footnotes,
    )


def _places(trials: Sequence[Record], link: Link | None, notes: Notes) -> tuple[TableCell, ...]:
    results = [record for record in trials if record.status == "ok"]
    if not results:
        blank = TableCell(notes=notes(record.why_blank for record in trials))
        return (blank,) * len(_COLUMNS)
    round_trip = _mean_of(results, "rtt_mean_ns")
    wire = wire_ns(results[0], link)
    stack = _mean_of(results, "server_stack_mean_ns")
    remainder = None
    if round_trip is not None and isinstance(wire, float) and stack is not None:
        remainder = round_trip - wire - stack
    too_fast = remainder is not None and remainder < 0
    why_wire = [wire] if isinstance(wire, str) else []
    why_stack = [] if stack is not None else [_why_no_stack(results)]
    why = [*why_wire, *why_stack]
    stamps = dict.fromkeys(str(r.values.get("server_stack_stamps", "")) for r in results)
    return (
        _us(round_trip, [], notes),
        _us(wire if isinstance(wire, float) else None, why_wire, notes),
        _us(stack, why_stack, notes),
        _us(None if too_fast else remainder, [_TOO_FAST] if too_fast else why, notes),
        _percentile(results, "p50", why_stack, notes),
        _percentile(results, "p99", why_stack, notes),
        TableCell(joined(", ", [_STAMPS.get(word, word) for word in stamps if word])),
    )


def _percentile(
    results: Sequence[Record], word: str, why_stack: Sequence[str], notes: Notes
) -> TableCell:
    """A percentile of the times in the stack, over all trials together."""
    times = pooled(results, "server_stack_histogram")
    share = PERCENTILES[word]
    value = None if times is None else times.percentile(share)
    few = _(
        "the {share} percentile needs at least {least} of these times.",
        share=f"{float(100 * share):g} %",
        least=int(1 / (1 - share)),
    )
    return _us(value, why_stack or [few], notes)


def _why_no_stack(results: Sequence[Record]) -> str:
    if any(record.value("agentless") for record in results):
        return _("the mirror has no agent, so no timestamps are taken there.")
    for record in results:
        if why := record.value("capture_reason"):
            return _("no frames were captured there: {why}.", why=str(why).rstrip("."))
    if any(record.value("stack_timed") is False for record in results):
        return _("the mirror’s system takes no timestamps (capability-missing).")
    return _("the mirror’s system returned no timestamps.")


def _mean_of(records: Sequence[Record], name: str) -> float | None:
    values = [value for r in records if (value := r.number(name)) is not None]
    return mean(values) if values else None


def _us(value_ns: float | None, why: Sequence[str], notes: Notes) -> TableCell:
    if value_ns is None:
        return TableCell(notes=notes(why))
    return TableCell(figure(value_ns / 1e3), value_ns / 1e3, "µs")
