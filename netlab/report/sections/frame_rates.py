"""Throughput of a stream's repeats: as payload, as frames with and without their gaps. No I/O.

Each figure is given with its share of the link's rate.

A frame keeps the link busy for its preamble (8 bytes), header, payload, FCS and the gap of 12
bytes after it. Without the gap, a full frame counts as 1526 bytes instead of 1538. A link at 99.8 %
of its rate would then seem to be at 99.0 %.

The repeats are the trials (measurements) of one cell, which is one combination of test, pairing and
settings. A record is the data of one trial.
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.ethernet import GAP_BYTES, packet_wire_bytes
from netlab.experiment.matrix import Link
from netlab.experiment.records import Record
from netlab.messages import _
from netlab.report.sections.on_wire import NO_LINK, SAME_HOST, packets_of
from netlab.report.tables.elements import Notes, Table, TableCell, TableLine
from netlab.results.labels import figure

_COLUMNS = (_("bytes per message"), "byte/s", "Mbit/s", _("share of the link, %"))


def framing_sheet(title: str, trials: Sequence[Record], link: Link | None) -> Table | None:
    """Payload and frames per second, over the elapsed time of all repeats together.

    ``None`` unless the cell is a stream in one direction with a known elapsed time.
    """
    timed = [record for record in trials if _time_s(record) is not None and "" in record.flows]
    size = trials[0].message_bytes
    if trials[0].test != "stream" or not timed or size is None:
        return None
    notes = Notes()
    seconds = sum(time for record in timed if (time := _time_s(record)) is not None)
    received = sum(_received_bytes(record) or 0 for record in timed)
    sent_bytes, has_count = _sent_bytes(timed, received)
    lines = [
        TableLine(_("payload received"), _places(float(size), received / seconds, link, notes)),
    ]
    for label, gaps in ((_WITHOUT, False), (_WITH, True)):
        share = _frames_share(timed[0], link, gaps=gaps)
        if isinstance(share, str):
            blank = TableCell(notes=notes([share]))
            lines.append(TableLine(label, (blank,) * len(_COLUMNS)))
        else:
            message_bytes = round(size * share, 6)
            lines.append(
                TableLine(label, _places(message_bytes, share * sent_bytes / seconds, link, notes))
            )
    return Table(
        title=_("{title}: throughput over all repeats, by what is counted", title=title)
        if has_count
        else _(
            "{title}: throughput over all repeats, by what is counted; frames are those of the "
            "received payload",
            title=title,
        ),
        corner=_("counted"),
        columns=_COLUMNS,
        lines=tuple(lines),
        footnotes=notes.footnotes,
    )


_WITHOUT = _("frames with preamble, without the gaps")
_WITH = _("frames with preamble and gaps")


def _time_s(record: Record) -> float | None:
    elapsed = record.number("elapsed_ns")
    return elapsed / 1e9 if elapsed and _received_bytes(record) is not None else None


def _received_bytes(record: Record) -> float | None:
    """Payload received in the window (the measured time): throughput times elapsed time."""
    flow, elapsed = record.flows.get(""), record.number("elapsed_ns")
    if flow is None or flow.throughput_bit_per_s is None or elapsed is None:
        return None
    return flow.throughput_bit_per_s * elapsed / 8e9


def _sent_bytes(records: Sequence[Record], received: float) -> tuple[float, bool]:
    """(bytes sent onto the link, whether the sender counted them).

    The sender's count is used only for trials with a given number of messages: only in these trials
    do the sender's count and the elapsed time belong to the same messages.
    """
    sizes = [record.message_bytes or 0 for record in records]
    counts = [
        flow.sent_messages
        if "count" in record.settings and (flow := record.flow("")).sent_messages
        else None
        for record in records
    ]
    if any(count is None for count in counts):
        return received, False
    return sum(size * (n or 0) for size, n in zip(sizes, counts, strict=True)), True


def _frames_share(record: Record, link: Link | None, *, gaps: bool) -> float | str:
    """Bytes on the link for each byte of payload, or a sentence that says why it is unknown."""
    if record.same_host:
        return SAME_HOST
    if link is None:
        return NO_LINK
    # TCP makes full segments of a stream, whatever the size of the messages is.
    packets = packets_of(record, None, link)
    if isinstance(packets, str):
        return packets
    tcp = record.protocol == "TCP"
    payload_bytes = (record.flow("").mss_bytes if tcp else record.message_bytes) or 0
    gap = 0 if gaps else GAP_BYTES
    return sum(packet_wire_bytes(size, vlan=link.vlan) - gap for size in packets) / payload_bytes


def _places(
    message_bytes: float, bytes_per_s: float, link: Link | None, notes: Notes
) -> tuple[TableCell, ...]:
    size_text = f"{message_bytes:,.0f}" if message_bytes == int(message_bytes) else None
    mbit = 8 * bytes_per_s / 1e6
    if link is None:
        share = TableCell(notes=notes([NO_LINK]))
    else:
        percent = 800 * bytes_per_s / link.rate_bit_per_s
        share = TableCell(figure(percent), percent, "%")
    return (
        TableCell(size_text or figure(message_bytes), message_bytes, "byte"),
        TableCell(f"{bytes_per_s:,.0f}", bytes_per_s, "byte/s"),
        TableCell(figure(mbit), mbit, "Mbit/s"),
        share,
    )
