"""Cells with several trials → a column for each repeat, mean and deviations, rates of frames.

The tables have the form of the imported document nettest. It prints the mean absolute deviation
under "Var"; here each kind of deviation has its own name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from netlab.ethernet import GAP_BYTES, Link, packet_wire_bytes
from netlab.kinds import KINDS
from netlab.messages import _, counted, joined
from netlab.report.sections.round_trips import NO_LINK, SAME_HOST, packets_of
from netlab.report.tables.elements import Notes, Part, Table, TableCell, TableLine
from netlab.results.labels import figure
from netlab.results.quantities import names_of, quantities_of
from netlab.stats import mean, mean_absolute_deviation, standard_deviation, variance
from netlab.trial.record import Record, by_cell

MAX_SHOWN = 6
"""If more cells than this have repeats, the tables are folded."""
MAX_CELLS = 60
"""Maximum number of cells with tables; the exported table has every trial of all cells."""
REPEATS_A_SHEET = 15
"""Maximum number of repeats (columns) in a table; further repeats are in another table below."""

_SUMMARY = (
    *(_("mean"), _("standard deviation"), _("variance")),
    _("mean absolute deviation"),
)


@dataclass(frozen=True, slots=True)
class _FigureRow:
    """One kind of figure, with a value for each repeat."""

    label: str
    unit: str
    values: tuple[float | None, ...]
    decimals: tuple[int, int, int]
    """Numbers of decimals: of a repeat, of the mean, of the deviations."""


def part(
    records: Sequence[Record],
    link: Link | None,
    *,
    imported: bool,
    never_tight: Sequence[str] = (),
) -> Part | None:
    """The repeats of every cell that has repeats; ``None`` if no cell was to be repeated.

    ``never_tight``: cells that had the maximum number of trials before their mean was as precise
    as requested.
    """
    repeated = [trials for trials in by_cell(records).values() if len(trials) > 1]
    if not repeated:
        return None
    names = names_of(records)
    sheets: list[Table] = []
    for trials in repeated[:MAX_CELLS]:
        test = KINDS[trials[0].test].label if trials[0].test in KINDS else ""
        words = [trials[0].pairing, names[trials[0].cell], test]
        title = joined(", ", [word for word in words if word])
        sheets += _repeats(title, trials, imported=imported)
        framing = framing_sheet(title, trials, link)
        sheets += [framing] if framing is not None else []
    few = len(repeated) <= MAX_SHOWN
    return Part(
        name="repeats",
        title=_("Repeats"),
        paragraphs=_paragraphs(len(repeated), [names[cell] for cell in never_tight]),
        sheets=tuple(sheets) if few else (),
        details=() if few else tuple(sheets),
    )


def _repeats(title: str, trials: Sequence[Record], *, imported: bool) -> list[Table]:
    """The repeats of a cell, fifteen in each sheet; the last sheet also has the deviations."""
    rows = _rows(trials, imported=imported)
    ends = range(0, len(trials), REPEATS_A_SHEET)
    sheets = []
    for start in ends:
        notes = Notes()
        part_of = trials[start : start + REPEATS_A_SHEET]
        last = start == ends[-1]
        lines = []
        for row in rows:
            values = row.values[start : start + REPEATS_A_SHEET]
            places = [
                _place(value, row.decimals[0], row.unit, notes, record)
                for value, record in zip(values, part_of, strict=True)
            ]
            places += _summaries(row, notes) if last else []
            lines.append(TableLine(row.label, tuple(places)))
        sheets.append(
            Table(
                title=_("{title}: repeat by repeat (continued)", title=title)
                if start
                else _("{title}: repeat by repeat", title=title),
                corner=_("repeat"),
                columns=(*(str(r.trial) for r in part_of), *(_SUMMARY if last else ())),
                lines=tuple(lines),
                footnotes=notes.footnotes,
            )
        )
    return sheets


def _rows(trials: Sequence[Record], *, imported: bool) -> list[_FigureRow]:
    """Elapsed time first, then every figure that at least one repeat has."""
    seconds = 2 if imported else 3
    rows = [_row(_("elapsed, s"), "s", trials, _seconds("elapsed_ns"), (seconds, 3, 4))]
    for name, words in _CPU_TIMES.items():
        rows.append(_row(words, "s", trials, _seconds(name), (3, 3, 4)))
    if trials[0].protocol == "UDP":
        rows.append(_row(_("lost messages"), "", trials, _lost, (0, 1, 1)))
    quotient = _row(_("elapsed / transactions, µs"), "µs", trials, _each_us, (2, 2, 2))
    if trials[0].test in ("round_trip", "connect"):
        rows.append(quotient)
    for quantity in quantities_of(trials[0]):
        label = joined(", ", [quantity.name, quantity.unit])
        row = _row(label, quantity.unit, trials, quantity.in_unit, (2, 2, 3))
        # In an imported run the mean equals this quotient; the table has only one of the two rows.
        rows += [row] if row.values != quotient.values else []
    return [rows[0], *(row for row in rows[1:] if any(v is not None for v in row.values))]


_CPU_TIMES = {
    "client_user_ns": _("user time, client, s"),
    "client_system_ns": _("system time, client, s"),
    "server_user_ns": _("user time, server, s"),
    "server_system_ns": _("system time, server, s"),
    "sender_user_ns": _("user time, sender, s"),
    "sender_system_ns": _("system time, sender, s"),
    "receiver_user_ns": _("user time, receiver, s"),
    "receiver_system_ns": _("system time, receiver, s"),
}


def _row(
    label: str,
    unit: str,
    trials: Sequence[Record],
    of: Callable[[Record], float | None],
    decimals: tuple[int, int, int],
) -> _FigureRow:
    values = tuple(of(record) if record.status == "ok" else None for record in trials)
    return _FigureRow(label, unit, values, decimals)


def _seconds(name: str) -> Callable[[Record], float | None]:
    def of(record: Record) -> float | None:
        value = record.number(name)
        return None if value is None else value / 1e9

    return of


def _lost(record: Record) -> float | None:
    return record.number("lost_messages")


def _each_us(record: Record) -> float | None:
    """Elapsed time for each transaction; ``None`` unless one request is in flight at a time."""
    elapsed, transactions = record.number("elapsed_ns"), record.number("transactions")
    if elapsed is None or not transactions or record.settings.get("outstanding", 1) != 1:
        return None
    return elapsed / transactions / 1e3


def _place(
    value: float | None, decimals: int, unit: str, notes: Notes, record: Record
) -> TableCell:
    if value is not None:
        return TableCell(figure(value, decimals), value, unit)
    why = record.why_blank if record.status != "ok" else _("not recorded.")
    return TableCell(notes=notes([why]))


def _summaries(row: _FigureRow, notes: Notes) -> list[TableCell]:
    values = [value for value in row.values if value is not None]
    of_mean, of_deviation = row.decimals[1:]
    if not values:
        return [TableCell()] * len(_SUMMARY)
    middle = mean(values)
    places = [TableCell(figure(middle, of_mean), middle, row.unit)]
    if len(values) < 2:
        blank = TableCell(notes=notes([_("one value has no deviation.")]))
        return [*places, *([blank] * (len(_SUMMARY) - 1))]
    square = f"{row.unit}²" if row.unit else ""
    for value, unit in (
        (standard_deviation(values), row.unit),
        (variance(values), square),
        (mean_absolute_deviation(values), row.unit),
    ):
        places.append(TableCell(figure(value, of_deviation), value, unit))
    return places


def _paragraphs(cells: int, never_tight: Sequence[str]) -> tuple[str, ...]:
    paragraphs = [_MEANING]
    if cells > MAX_CELLS:
        paragraphs.append(
            counted(
                "{number} further cell with repeats is not shown; netlab export has every trial.",
                "{number} further cells with repeats are not shown; netlab export has every trial.",
                cells - MAX_CELLS,
            )
        )
    if never_tight:
        paragraphs.append(
            counted(
                "{number} cell reached the most trials allowed before its mean was as precise as "
                "requested: {cells}.",
                "{number} cells reached the most trials allowed before their means were as "
                "precise as requested: {cells}.",
                len(never_tight),
                cells=joined("; ", never_tight),
            )
        )
    return tuple(paragraphs)


_MEANING = _(
    "The standard deviation and the variance (in the unit squared) are those of a sample, with "
    "n - 1. The mean absolute deviation is the mean distance from the mean; some documents print "
    "it under “Var”."
)


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
