"""Cells with several trials → a column for each repeat, mean and deviations, rates of frames.

The tables have the form of the imported document nettest. It prints the mean absolute deviation
under "Var"; here each kind of deviation has its own name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from netlab.ethernet import GAP_BYTES, Link, packet_wire_bytes
from netlab.kinds import KINDS
from netlab.messages import _, counted, joined
from netlab.report.sections.round_trips import NO_LINK, SAME_HOST, packets_of
from netlab.report.tables.elements import Part, Table, table
from netlab.results.labels import figure
from netlab.results.quantities import names_of, quantities_of
from netlab.stats import mean, mean_absolute_deviation, standard_deviation, variance
from netlab.trial.figures import WHOLE, FigureColumn, Shown, ShownOf, number
from netlab.trial.record import Record, by_cell

MAX_SHOWN = 6
"""If more cells than this have repeats, the tables are folded."""
MAX_CELLS = 60
"""Maximum number of cells with tables; the exported table has every trial of all cells."""
REPEATS_A_SHEET = 15
"""Maximum number of repeats (columns) in a table; further repeats are in another table below."""


@dataclass(frozen=True, slots=True)
class _FigureRow:
    """One kind of figure, with a value for each repeat."""

    label: str
    unit: str
    trials: Sequence[Record]
    values: tuple[float | None, ...]
    decimals: tuple[int, int, int]
    """Numbers of decimals: of a repeat, of the mean, of the deviations."""

    @property
    def known(self) -> list[float]:
        """The values of the repeats that have one."""
        return [value for value in self.values if value is not None]

    def repeat(self, at: int) -> Shown:
        """The figure of one repeat, or why there is none."""
        value, trial = self.values[at], self.trials[at]
        if value is not None:
            return Shown(value, text=figure(value, self.decimals[0]), unit=self.unit)
        return Shown(why=[trial.why_blank if trial.status != "ok" else _("not recorded.")])

    def mean(self) -> Shown:
        """The mean of the known values."""
        if not self.known:
            return Shown()
        value = mean(self.known)
        return Shown(value, text=figure(value, self.decimals[1]), unit=self.unit)

    def deviation(self, of: Callable[[Sequence[float]], float], power: str = "") -> Shown:
        """A measure of how far the known values are from their mean."""
        if len(self.known) < 2:
            return Shown(why=[_("one value has no deviation.")] if self.known else ())
        value = of(self.known)
        unit = f"{self.unit}{power}" if self.unit else ""
        return Shown(value, text=figure(value, self.decimals[2]), unit=unit)


_SUMMARY: Sequence[FigureColumn[_FigureRow]] = (
    FigureColumn(_("mean"), _FigureRow.mean),
    FigureColumn(_("standard deviation"), lambda row: row.deviation(standard_deviation)),
    FigureColumn(_("variance"), lambda row: row.deviation(variance, "²")),
    FigureColumn(_("mean absolute deviation"), lambda row: row.deviation(mean_absolute_deviation)),
)


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
        title = joined(", ", filter(None, (trials[0].pairing, names[trials[0].cell], test)))
        sheets += _repeats(title, trials, imported=imported)
        framing = framing_sheet(title, trials, link)
        sheets += [framing] if framing is not None else []
    further = counted(
        "{number} further cell with repeats is not shown; netlab export has every trial.",
        "{number} further cells with repeats are not shown; netlab export has every trial.",
        len(repeated) - MAX_CELLS,
    )
    imprecise = counted(
        "{number} cell reached the most trials allowed before its mean was as precise as "
        "requested: {cells}.",
        "{number} cells reached the most trials allowed before their means were as "
        "precise as requested: {cells}.",
        len(never_tight),
        cells=joined("; ", [names[cell] for cell in never_tight]),
    )
    few = len(repeated) <= MAX_SHOWN
    return Part(
        name="repeats",
        title=_("Repeats"),
        paragraphs=(
            _MEANING,
            *([further] if len(repeated) > MAX_CELLS else []),
            *([imprecise] if never_tight else []),
        ),
        sheets=tuple(sheets) if few else (),
        details=() if few else tuple(sheets),
    )


def _repeats(title: str, trials: Sequence[Record], *, imported: bool) -> Iterator[Table]:
    """The repeats of a cell, fifteen in each sheet; the last sheet also has the deviations."""
    rows = [(row.label, "", row) for row in _rows(trials, imported=imported)]
    head = _("{title}: repeat by repeat", title=title)
    for start in range(0, len(trials), REPEATS_A_SHEET):
        until = min(start + REPEATS_A_SHEET, len(trials))
        columns: list[FigureColumn[_FigureRow]] = [
            FigureColumn(str(trials[at].trial), partial(_FigureRow.repeat, at=at))
            for at in range(start, until)
        ]
        columns += _SUMMARY if until == len(trials) else ()
        yield table(head, _("repeat"), columns, rows)
        head = _("{title}: repeat by repeat (continued)", title=title)


def _rows(trials: Sequence[Record], *, imported: bool) -> list[_FigureRow]:
    """Elapsed time first, then every figure that at least one repeat has."""

    def row(
        label: str, unit: str, of: Callable[[Record], float | None], *decimals: int
    ) -> _FigureRow:
        values = tuple(of(record) if record.status == "ok" else None for record in trials)
        of_repeat, of_mean, of_deviation = decimals
        return _FigureRow(label, unit, trials, values, (of_repeat, of_mean, of_deviation))

    elapsed_decimals = (2 if imported else 3, 3, 4)
    elapsed = row(_("elapsed, s"), "s", _seconds("elapsed_ns"), *elapsed_decimals)
    rows = [row(words, "s", _seconds(name), 3, 3, 4) for name, words in _CPU_TIMES.items()]
    if trials[0].protocol == "UDP":
        rows.append(row(_("lost messages"), "", number("lost_messages"), 0, 1, 1))
    quotient = row(_("elapsed / transactions, µs"), "µs", _each_us, 2, 2, 2)
    if trials[0].test in ("round_trip", "connect"):
        rows.append(quotient)
    for quantity in quantities_of(trials[0]):
        label = joined(", ", [quantity.name, quantity.unit])
        of_quantity = row(label, quantity.unit, quantity.in_unit, 2, 2, 3)
        # In an imported run the mean equals this quotient; the table has only one of the two rows.
        rows += [of_quantity] if of_quantity.values != quotient.values else []
    return [elapsed, *(row for row in rows if row.known)]


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


def _seconds(name: str) -> Callable[[Record], float | None]:
    def of(record: Record) -> float | None:
        value = record.number(name)
        return None if value is None else value / 1e9

    return of


def _each_us(record: Record) -> float | None:
    """Elapsed time for each transaction; ``None`` unless one request is in flight at a time."""
    elapsed, transactions = record.number("elapsed_ns"), record.number("transactions")
    if elapsed is None or not transactions or record.settings.get("outstanding", 1) != 1:
        return None
    return elapsed / transactions / 1e3


_MEANING = _(
    "The standard deviation and the variance (in the unit squared) are those of a sample, with "
    "n - 1. The mean absolute deviation is the mean distance from the mean; some documents print "
    "it under “Var”."
)

_CountedBytes = tuple[float, float] | str
"""Bytes of a message and bytes per second as counted, or why these are not known."""


def framing_sheet(title: str, trials: Sequence[Record], link: Link | None) -> Table | None:
    """Payload and frames per second, over the elapsed time of all repeats together.

    ``None`` unless the cell is a stream in one direction with a known elapsed time.
    """
    timed = [record for record in trials if _received_bytes(record) is not None]
    size = trials[0].message_bytes
    if trials[0].test != "stream" or not timed or size is None:
        return None
    seconds = sum((record.number("elapsed_ns") or 0) / 1e9 for record in timed)
    received = sum(_received_bytes(record) or 0 for record in timed)
    # Only with a given number of messages do the sender's count and the elapsed time belong to the
    # same messages.
    sizes_sent = [
        (record.message_bytes or 0) * count
        for record in timed
        if "count" in record.settings and (count := record.flow("").sent_messages)
    ]
    has_count = len(sizes_sent) == len(timed)
    sent_bytes = sum(sizes_sent) if has_count else received
    rows: list[tuple[str, str, _CountedBytes]] = [
        (_("payload received"), "", (float(size), received / seconds))
    ]
    for label, gap in (
        (_("frames with preamble, without the gaps"), GAP_BYTES),
        (_("frames with preamble and gaps"), 0),
    ):
        share = _frames_share(timed[0], link, gap)
        if isinstance(share, str):
            rows.append((label, "", share))
        else:
            counted_bytes = round(size * share, 6)
            rows.append((label, "", (counted_bytes, share * sent_bytes / seconds)))
    head = _("{title}: throughput over all repeats, by what is counted", title=title)
    if not has_count:
        head = _(
            "{title}: throughput over all repeats, by what is counted; frames are those of the "
            "received payload",
            title=title,
        )
    return table(head, _("counted"), _framing_columns(link), rows)


def _framing_columns(link: Link | None) -> Sequence[FigureColumn[_CountedBytes]]:
    def if_known(of: Callable[[float, float], float | Shown]) -> ShownOf[_CountedBytes]:
        return lambda row: Shown(why=[row]) if isinstance(row, str) else of(*row)

    def of_message(size: float, _bytes_per_s: float) -> Shown:
        return Shown(size, text=f"{size:,.0f}" if size == int(size) else None)

    def of_link(_size: float, bytes_per_s: float) -> float | Shown:
        return Shown(why=[NO_LINK]) if link is None else 800 * bytes_per_s / link.rate_bit_per_s

    return (
        FigureColumn(_("bytes per message"), if_known(of_message), "byte"),
        FigureColumn("byte/s", if_known(lambda _size, rate: rate), "byte/s", WHOLE),
        FigureColumn("Mbit/s", if_known(lambda _size, rate: 8 * rate / 1e6), "Mbit/s"),
        FigureColumn(_("share of the link, %"), if_known(of_link), "%"),
    )


def _received_bytes(record: Record) -> float | None:
    """Payload received in the measured time: throughput times elapsed time, if it is known."""
    flow, elapsed = record.flows.get(""), record.number("elapsed_ns")
    if flow is None or flow.throughput_bit_per_s is None or not elapsed:
        return None
    return flow.throughput_bit_per_s * elapsed / 8e9


def _frames_share(record: Record, link: Link | None, gap: int) -> float | str:
    """Bytes on the link for each byte of payload, or a sentence that says why it is unknown.

    ``gap``: bytes of a gap that are not counted.
    """
    if record.same_host or link is None:
        return SAME_HOST if record.same_host else NO_LINK
    # TCP makes full segments of a stream, whatever the size of the messages is.
    packets = packets_of(record, None, link)
    if isinstance(packets, str):
        return packets
    tcp = record.protocol == "TCP"
    payload_bytes = (record.flow("").mss_bytes if tcp else record.message_bytes) or 0
    wire = sum(packet_wire_bytes(size + link.added_bytes) - gap for size in packets)
    return wire / payload_bytes
