"""The parts of a round trip: on the wire, in the mirror's stack, and the rest.

The mirror is the host that answers the requests. The part on the wire is computed
(netlab.ethernet), the part in the stack is measured by the mirror's timestamps. An earlier form of
this method used an oscilloscope: the mirror raised a line of its parallel port on receiving, and
lowered it on sending.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from netlab.ethernet import transfer_wire_bytes
from netlab.experiment.matrix import Link
from netlab.experiment.records import Record, by_cell
from netlab.messages import _, joined
from netlab.report.sections.on_wire import NO_LINK, SAME_HOST, packets_of
from netlab.report.tables.columns import (
    FigureColumn,
    Shown,
    Trials,
    mean_of,
    pooled,
    results_of,
    table,
)
from netlab.report.tables.elements import Table
from netlab.results.columns import PERCENTILES

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
    title = _("{pairing}: parts of a round trip", pairing=pairing)
    rows = [(names[cell], cell, _Parts(trials, link)) for cell, trials in by_cell(timed).items()]
    return table(title, _("cell"), _COLUMNS, rows) if rows else None


class _Parts:
    """The parts of the mean round trip of a cell."""

    def __init__(self, trials: Trials, link: Link | None) -> None:
        self.trials = results_of(trials)
        self.why_blank = [record.why_blank for record in trials] if not self.trials else []
        self.round_trip_ns = mean_of("rtt_mean_ns", self.trials)
        self.stack_ns = mean_of("server_stack_mean_ns", self.trials)
        wire = wire_ns(self.trials[0], link) if self.trials else 0.0
        self.wire_ns = wire if isinstance(wire, float) else None
        self.why_no_wire = [wire] if isinstance(wire, str) else []
        self.why_no_stack = [_why_no_stack(self.trials)] if self.stack_ns is None else []


def _part(of: Callable[[_Parts], Shown | str]) -> Callable[[_Parts], Shown | str]:
    """Blank, with the reasons, if no trial has a result."""
    return lambda parts: of(parts) if parts.trials else Shown(why=parts.why_blank)


def _us(value_ns: float | None, why: Sequence[str] = ()) -> Shown:
    return Shown(why=why) if value_ns is None else Shown(value_ns / 1e3)


def _rest(parts: _Parts) -> Shown:
    if parts.round_trip_ns is None or parts.wire_ns is None or parts.stack_ns is None:
        return Shown(why=[*parts.why_no_wire, *parts.why_no_stack])
    rest = parts.round_trip_ns - parts.wire_ns - parts.stack_ns
    return Shown(why=[_TOO_FAST]) if rest < 0 else _us(rest)


def _percentile(share: Fraction) -> Callable[[_Parts], Shown]:
    """A percentile of the times in the stack, over all trials together."""
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
    return joined(", ", [_STAMPS.get(word, word) for word in words if word])


def _why_no_stack(results: Sequence[Record]) -> str:
    if any(record.value("agentless") for record in results):
        return _("the mirror has no agent, so no timestamps are taken there.")
    for record in results:
        if why := record.value("capture_reason"):
            return _("no frames were captured there: {why}.", why=str(why).rstrip("."))
    if any(record.value("stack_timed") is False for record in results):
        return _("the mirror’s system takes no timestamps (capability-missing).")
    return _("the mirror’s system returned no timestamps.")


_COLUMNS: Sequence[FigureColumn[_Parts]] = tuple(
    FigureColumn(heading, _part(of), "µs")
    for heading, of in (
        (_("round trip, µs"), lambda parts: _us(parts.round_trip_ns)),
        (_("on the wire, µs"), lambda parts: _us(parts.wire_ns, parts.why_no_wire)),
        (_("in the mirror’s stack, µs"), lambda parts: _us(parts.stack_ns, parts.why_no_stack)),
        (_("the rest, µs"), _rest),
        (_("stack, median, µs"), _percentile(PERCENTILES["p50"])),
        (_("stack, 99 %, µs"), _percentile(PERCENTILES["p99"])),
        (_("timestamps"), _stamps),
    )
)
