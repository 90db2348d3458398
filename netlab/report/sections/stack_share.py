"""A round trip cut into its shares: on the wire, in the mirror's stack, and the rest. Pure.

The wire's share is arithmetic (netlab.ethernet), the stack's is measured by the mirror's stamps;
the seed of the method is an oscilloscope on the mirror's parallel port, raised on receiving and
lowered on sending.
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.ethernet import transfer_wire_bytes
from netlab.experiment.matrix import Link
from netlab.messages import _, joined
from netlab.report.sections.on_wire import NO_LINK, SAME_HOST, packets_of
from netlab.report.sections.pooled import pooled
from netlab.report.tables.elements import Notes, Table, TableCell, TableLine
from netlab.results.columns import PERCENTILES
from netlab.results.labels import figure
from netlab.results.readings import Reading
from netlab.stats import mean

_COLUMNS = (
    *(_("round trip, µs"), _("on the wire, µs")),
    *(_("in the mirror’s stack, µs"), _("the rest, µs")),
    *(_("stack, half within, µs"), _("stack, 99 % within, µs"), _("stamps")),
)
_STAMPS = {"software": _("software"), "hardware": _("hardware")}


_TOO_FAST = _(
    "the whole is shorter than the link and the stack take together: the link is faster than "
    "stated, or delays no frame by itself (as a shaped virtual cable)."
)


def wire_ns(reading: Reading, link: Link | None) -> float | str:
    """What request and answer need on the cables of the way, one after the other, in ns.

    A sentence where that cannot be known.
    """
    if reading.same_host:
        return SAME_HOST
    if link is None:
        return NO_LINK
    request = reading.message_bytes
    if request is None:
        return _("the length of the request was not stated.")
    response = reading.settings.get("response_bytes", request)
    total_bytes = 0
    for size in (request, response):
        sent = packets_of(reading, int(str(size)), link)
        if isinstance(sent, str):
            return sent
        total_bytes += transfer_wire_bytes(sent, vlan=link.vlan, cables=link.hops + 1)
    return 8e9 * total_bytes / link.rate_bit_per_s


def split_sheet(
    pairing: str, readings: Sequence[Reading], names: dict[str, str], link: Link | None
) -> Table | None:
    """A line a cell; ``None`` where no cell was to time the mirror's stack."""
    asked = [reading for reading in readings if reading.settings.get("stack_time") is True]
    if not asked:
        return None
    notes = Notes()
    lines = []
    for cell in dict.fromkeys(reading.cell for reading in asked):
        trials = [reading for reading in asked if reading.cell == cell]
        lines.append(TableLine(names[cell], _places(trials, link, notes), cell))
    return Table(
        title=_("{pairing}: what a round trip is made of", pairing=pairing),
        corner=_("cell"),
        columns=_COLUMNS,
        lines=tuple(lines),
        footnotes=notes.footnotes,
    )


def _places(trials: Sequence[Reading], link: Link | None, notes: Notes) -> tuple[TableCell, ...]:
    measured = [reading for reading in trials if reading.status == "ok"]
    if not measured:
        blank = TableCell(notes=notes(reading.why_blank for reading in trials))
        return (blank,) * len(_COLUMNS)
    whole = _mean_of(measured, "rtt_mean_ns")
    wire = wire_ns(measured[0], link)
    stack = _mean_of(measured, "server_stack_mean_ns")
    rest = None
    if whole is not None and isinstance(wire, float) and stack is not None:
        rest = whole - wire - stack
    too_fast = rest is not None and rest < 0
    why_wire = [wire] if isinstance(wire, str) else []
    why_stack = [] if stack is not None else [_why_no_stack(measured)]
    why = [*why_wire, *why_stack]
    stamps = dict.fromkeys(str(r.values.get("server_stack_stamps", "")) for r in measured)
    return (
        _us(whole, [], notes),
        _us(wire if isinstance(wire, float) else None, why_wire, notes),
        _us(stack, why_stack, notes),
        _us(None if too_fast else rest, [_TOO_FAST] if too_fast else why, notes),
        _percentile(measured, "p50", why_stack, notes),
        _percentile(measured, "p99", why_stack, notes),
        TableCell(joined(", ", [_STAMPS.get(word, word) for word in stamps if word])),
    )


def _percentile(
    measured: Sequence[Reading], word: str, why_stack: Sequence[str], notes: Notes
) -> TableCell:
    """Of the times in the stack of all trials together."""
    times = pooled(measured, "server_stack_histogram")
    share = PERCENTILES[word]
    value = None if times is None else times.percentile(share)
    few = _(
        "{share} cannot be told from fewer than {least} of them.",
        share=f"{float(100 * share):g} %",
        least=int(1 / (1 - share)),
    )
    return _us(value, why_stack or [few], notes)


def _why_no_stack(measured: Sequence[Reading]) -> str:
    if any(reading.values.get("agentless") for reading in measured):
        return _("the mirror has no agent: nobody there takes stamps.")
    if any(reading.values.get("stack_timed") is False for reading in measured):
        return _("the mirror’s system takes no stamps (capability-missing).")
    return _("the mirror’s system gave no stamps.")


def _mean_of(readings: Sequence[Reading], name: str) -> float | None:
    found = [value for r in readings if (value := r.number(name)) is not None]
    return mean(found) if found else None


def _us(value_ns: float | None, why: Sequence[str], notes: Notes) -> TableCell:
    if value_ns is None:
        return TableCell(notes=notes(why))
    return TableCell(figure(value_ns / 1e3), value_ns / 1e3, "µs")
