"""Streams → the section on message loss and CPU load; where they reach the wire ceiling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product

from netlab.ethernet import Link
from netlab.experiment.hosts import is_by_name
from netlab.findings.traffic import LINK_FULL
from netlab.messages import Message, _, counted, joined
from netlab.report.tables.charts import in_panels
from netlab.report.tables.elements import AnswerLine, Chart, Curve, Part, table
from netlab.report.text.phrases import (
    listed,
    share_words,
    spanned,
    throughput,
    throughput_with_interval,
)
from netlab.results.ceilings import ceiling_of
from netlab.results.layout import Bin, BinGrid, Layout, TableColumn, lay_out
from netlab.stats import MIN_TRIALS, interval, mean, median
from netlab.trial.figures import WHOLE, FigureColumn, results_of
from netlab.trial.record import FLOWS, Record, grouped, server_sends

MAX_CHARTS = 12
MAX_SHOWN_LINES = 40
"""Maximum number of lines of a table. A longer table is folded, because charts show its figures."""

_Group = tuple[BinGrid, TableColumn]
"""The cells of one column of a table of throughput."""
_OfFlow = Callable[[str, Record], float | None]
"""(flow, record) → a figure of one trial; ``None`` if it is not known."""


def loss_and_cpu(records: Sequence[Record]) -> Part | None:
    """A line for each group of cells; ``None`` if nothing was counted, as in an imported run.

    A group has the cells of one column of a table of throughput.
    """
    grids = lay_out([record for record in records if not is_by_name(record.pairing)]).grids
    rows = [
        (joined(" ", [grid.title, column.words]), "", (grid, column))
        for grid in grids
        for column in grid.columns
    ]
    loads = [load for load in _LOADS if any(load.mean(row[2]) is not None for row in rows)]
    if not loads:
        return None
    sheet = table(
        _("Loss and CPU, means over the trials"),
        _("messages, bytes"),
        [FigureColumn(load.heading, load.mean, "%") for load in loads],
        rows,
    )
    lossy = [row for row in rows if _has_drops(row[2])]
    places = table(
        _("Where messages were lost: frames that both hosts dropped, all trials"),
        _("messages, bytes"),
        [FigureColumn(heading, _sum_of(drop), decimals=WHOLE) for heading, drop in _DROPS.items()],
        lossy,
    )
    charts = list(_load_charts(grids))
    left_out = len(charts) - MAX_CHARTS
    further = counted(
        "{number} further chart is not drawn.", "{number} further charts are not drawn.", left_out
    )
    is_short = len(rows) <= MAX_SHOWN_LINES
    return Part(
        name="loss-cpu",
        title=_("Loss and CPU"),
        paragraphs=(
            _LOADS_MEANING,
            *((_PLACES_MEANING,) if lossy else ()),
            *((further,) if left_out > 0 else ()),
        ),
        sheets=(*([sheet] if is_short else []), *([places] if lossy else [])),
        charts=tuple(charts[:MAX_CHARTS]),
        details=() if is_short else (sheet,),
    )


def _figures_of(group: _Group, of: _OfFlow) -> list[float | None]:
    """A figure of each trial with a result."""
    grid, column = group
    trials = [record for place in grid.column(column) for record in place.records]
    return [of(column.flow, trial) for trial in results_of(trials)]


def _sum_of(drop: _OfFlow) -> Callable[[_Group], float | None]:
    """The sum of a count over all trials with a result; ``None`` if any of them lacks the count."""

    def of(group: _Group) -> float | None:
        counts = _figures_of(group, drop)
        return None if None in counts or not counts else sum(filter(None, counts))

    return of


def _has_drops(group: _Group) -> bool:
    """Whether messages over UDP were lost or never sent, and a counter of frames is known."""
    if group[1].protocol != "UDP":
        return False
    messages_lost, never_sent, *frames = (_sum_of(drop)(group) for drop in _DROPS.values())
    return bool(messages_lost or never_sent) and any(count is not None for count in frames)


@dataclass(frozen=True, slots=True)
class StreamLoad:
    """A figure of each trial, in per cent."""

    heading: str
    of: _OfFlow
    who: str = ""
    """The end that the figure belongs to, if a chart shows both ends."""

    def mean(self, group: _Group) -> float | None:
        """The mean over the trials that have the figure."""
        values = [value for value in _figures_of(group, self.of) if value is not None]
        return mean(values) if values else None


def _load_charts(grids: Sequence[BinGrid]) -> Iterator[Chart]:
    """Charts over the message size: CPU time and loss, for each protocol and set of conditions."""
    by_conditions = grouped(grids, lambda grid: grid.conditions)
    for number, (conditions, group) in enumerate(by_conditions.items(), start=1):
        columns = [column for grid in group for column in grid.columns]
        for protocol, of_protocol in grouped(columns, lambda column: column.protocol).items():
            sizes = sorted({column.message_bytes for column in of_protocol})
            for name, loads, quantity, title, title_with_conditions in _CHARTS:
                lines = _load_lines(group, of_protocol, loads)
                if len(sizes) < 2 or not any(y for line in lines for _, y in line.points):
                    continue
                template = title_with_conditions if conditions else title
                chart = Chart(
                    name=f"{name}-{protocol.lower()}-{number}",
                    title=_(template.id, protocol=protocol, conditions=conditions),
                    x_label=_("message size, bytes"),
                    x_ticks=tuple((float(size), str(size)) for size in sizes),
                    log_x=True,
                    lines=lines,
                    quantity=quantity,
                    unit="%",
                )
                yield in_panels(chart)


def _load_lines(
    grids: Sequence[BinGrid], columns: Sequence[TableColumn], loads: Sequence[StreamLoad]
) -> tuple[Curve, ...]:
    lines: list[Curve] = []
    flows = dict.fromkeys(column.flow for column in sorted(columns))
    sizes = sorted({column.message_bytes for column in columns})
    for grid, flow, load in product(grids, flows, loads):
        of_flow = [TableColumn(columns[0].protocol, size, flow) for size in sizes]
        points = tuple((float(c.message_bytes), load.mean((grid, c))) for c in of_flow)
        words = (grid.pairing, FLOWS[flow], load.who)
        label = joined(", ", filter(None, words))
        lines.append(Curve(label, len(lines), points, words=words))
    return tuple(line for line in lines if any(y is not None for _, y in line.points))


def _lost(flow: str, record: Record) -> float | None:
    """The share of the messages sent that was lost, in per cent."""
    counts = record.flow(flow)
    lost, sent = counts.lost_messages, counts.sent_messages
    return None if lost is None or not sent else 100 * lost / sent


def _cpu(end: str, flow: str, record: Record) -> float | None:
    """CPU time of the probe at one end, user and system, in per cent of its window."""
    names = ("user_ns", "system_ns", "elapsed_ns")
    user, system, elapsed = (record.number(f"{flow}{end}_{name}") for name in names)
    if user is None or system is None or not elapsed:
        return None
    return 100 * (user + system) / elapsed


def _share(name: str, flow: str, record: Record) -> float | None:
    value = record.number(f"{flow}{name}")
    return None if value is None else 100 * value


def _dropped(end: str, place: str, flow: str, record: Record) -> float | None:
    """Frames, sent or received, that one end's host dropped at a place such as ``interface``."""
    by_server = server_sends(record.settings, flow)
    host = "server" if by_server == (end == "sender") else "client"
    return record.number(f"{host}_{place}_dropped_frames")


_DROPS: Mapping[str, _OfFlow] = {
    _("messages lost"): lambda flow, record: record.flow(flow).lost_messages,
    _("never sent"): lambda flow, record: record.number(f"{flow}sender_local_drops"),
    _("receiving socket"): lambda flow, record: record.number(f"{flow}receiver_queue_drops"),
    _("receiver’s backlog"): partial(_dropped, "receiver", "softnet"),
    _("receiver’s interface"): partial(_dropped, "receiver", "interface"),
    _("sender’s interface"): partial(_dropped, "sender", "interface"),
    _("sender’s queue"): partial(_dropped, "sender", "queue"),
}
"""Heading of a column → its count. The first two count messages, the others count frames."""

_LOST = (StreamLoad(_("lost, %"), _lost),)
_CPU = (
    StreamLoad(_("sender’s CPU, %"), partial(_cpu, "sender"), _("sender")),
    StreamLoad(_("receiver’s CPU, %"), partial(_cpu, "receiver"), _("receiver")),
)
_LOADS = (
    *_LOST,
    *_CPU,
    StreamLoad(_("sender’s host busy, %"), partial(_share, "sender_host_busy_share")),
    StreamLoad(_("sender’s busiest core, %"), partial(_share, "sender_host_busiest_core_share")),
    StreamLoad(_("receiver’s host busy, %"), partial(_share, "receiver_host_busy_share")),
    StreamLoad(
        _("receiver’s busiest core, %"), partial(_share, "receiver_host_busiest_core_share")
    ),
)

# A table: each row takes as few lines as possible.
# fmt: off
_CHARTS = (
    ("cpu", _CPU, _("share of one CPU"),
        _("{protocol}: CPU time"), _("{protocol}: CPU time ({conditions})")),
    ("lost", _LOST, _("share of the messages"),
        _("{protocol}: messages lost"), _("{protocol}: messages lost ({conditions})")),
)
# fmt: on
"""Beginning of a chart's name, its figures, their quantity, its title without and with conditions.
"""

_LOADS_MEANING = _(
    "CPU: user and system time of the probe at each end as a share of its window; 100 % is one CPU "
    "for the whole window. Host busy: the share of the CPU time of the whole host in which "
    "anything ran. Busiest core: the same for its busiest CPU. Lost: the share of the messages "
    "sent whose sequence number never arrived."
)

_PLACES_MEANING = _(
    "Where messages were lost follows from both hosts’ counters of their own drops. A blank means "
    "that the counter is not known."
)

_SECTION = "tables"
_CHART = "message-size"


@dataclass(frozen=True)
class PairingSize:
    """All cells of a pairing with one protocol, message size and direction of the data, measured
    by one tool (engine).
    """

    pairing: str
    engine: str
    """The name of the tool; empty for netlab's own probe (its program on each host)."""
    column: TableColumn
    bins: tuple[Bin, ...]
    """The cells with a result, the lowest throughput first."""
    ceiling_bit_per_s: float | None

    @cached_property
    def means_bit_per_s(self) -> tuple[float, ...]:
        """The mean of each cell's trials."""
        return tuple(mean(place.throughputs_bit_per_s) for place in self.bins)

    @cached_property
    def middle_bit_per_s(self) -> float:
        """The median of the cells' means, which a single slow cell hardly changes."""
        return median(self.means_bit_per_s)

    @property
    def share(self) -> float | None:
        """The median as a share of the wire ceiling; ``None`` if the ceiling is not known."""
        ceiling = self.ceiling_bit_per_s
        return None if ceiling is None else self.middle_bit_per_s / ceiling

    @property
    def shares(self) -> tuple[float, ...]:
        """Each cell's mean as a share of the wire ceiling; empty if the ceiling is not known."""
        ceiling = self.ceiling_bit_per_s
        return () if ceiling is None else tuple(rate / ceiling for rate in self.means_bit_per_s)


def answers(layout: Layout, link: Link | None) -> tuple[AnswerLine, ...]:
    """One line for each protocol; the line of a single cell gives the interval of the mean.

    Protocols share one line if all their cells reach the wire ceiling, in the same pairings from
    the same message sizes upwards, with the same other tools. If netlab's probe measured cells, the
    line is about these cells, and the numbers of other tools follow.
    """
    # By pairing, engine and column, without traffic inside one host.
    places: dict[tuple[str, str, TableColumn], list[Bin]] = {}
    for grid in layout.grids:
        for column in () if grid.same_host else grid.columns:
            for place in grid.column(column):
                engine = str(place.records[0].settings.get("engine") or "")
                places.setdefault((grid.pairing, engine, column), []).append(place)
    by_protocol: dict[str, list[PairingSize]] = {}
    for (pairing, engine, column), bins in places.items():
        with_result = [place for place in bins if place.throughputs_bit_per_s]
        if with_result:
            with_result.sort(key=lambda place: mean(place.throughputs_bit_per_s))
            ceiling = ceiling_of(column, bins, link)
            highest = None if ceiling is None else ceiling.highest_bit_per_s
            item = PairingSize(pairing, engine, column, tuple(with_result), highest)
            by_protocol.setdefault(column.protocol, []).append(item)
    alike: dict[object, list[str]] = {}
    for protocol, items in by_protocol.items():
        own, tools = _by_probe(items)
        shares = [share for item in own for share in item.shares]
        everywhere = len(shares) > 1 and min(shares) >= LINK_FULL
        what: object = protocol
        if everywhere and not _blank_pairings(protocol, items, layout):
            what = (*_full_from(own).items(), *dict.fromkeys(item.engine for item in tools))
        alike.setdefault(what, []).append(protocol)
    return tuple(
        _answer(protocols, [item for name in protocols for item in by_protocol[name]], layout)
        for protocols in alike.values()
    )


def _by_probe(
    items: Sequence[PairingSize],
) -> tuple[Sequence[PairingSize], Sequence[PairingSize]]:
    """(items that the answer is about, items of other tools that the text states after the answer).
    If the probe measured nothing, the answer is about all tools; with several tools, each pairing
    is followed by the name of its tool.
    """
    tools = [item for item in items if item.engine]
    probe = [item for item in items if not item.engine]
    if probe:
        return probe, tools
    if len({item.engine for item in tools}) == 1:
        return tools, ()
    return [replace(item, pairing=f"{item.pairing} ({item.engine})") for item in tools], ()


def _answer(protocols: Sequence[str], items: Sequence[PairingSize], layout: Layout) -> AnswerLine:
    """The line of some protocols, then numbers of other tools, then pairings without any result."""
    own, tools = _by_probe(items)
    least = min(own, key=lambda item: item.share or item.middle_bit_per_s)
    is_one = len(own) == 1 and len(least.bins) == 1
    sentence: str
    if is_one:
        sentence = _of_one(least)
    elif any(item.share is None for item in own):
        sentence = _without_ceiling(protocols[0], own, least)
    else:
        sentence = _of_ceiling(protocols, own, least)
    if tools:
        # Shares of the ceiling, or rates if any ceiling is unknown.
        shares = sorted(item.share for item in tools if item.share is not None)
        rates = sorted(item.middle_bit_per_s for item in tools)
        figures = spanned(throughput(rates[0]), throughput(rates[-1]))
        if len(shares) == len(tools):
            figures = joined(" ", [spanned(*(f"{100 * shares[end]:.1f}" for end in (0, -1))), "%"])
        sentence = _(
            "{answer}, by netprobe; {tools}: {figures}",
            answer=sentence,
            tools=listed(dict.fromkeys(item.engine for item in tools)),
            figures=figures,
        )
    without = [
        pairing for protocol in protocols for pairing in _blank_pairings(protocol, items, layout)
    ]
    if without:
        none = _("no result in {pairings}", pairings=listed(without))
        sentence = joined("; ", [sentence, none])
    cells = [place.cell for item in (least, *own, *tools) for place in item.bins]
    return AnswerLine(sentence, tuple(dict.fromkeys(cells)), _SECTION, "" if is_one else _CHART)


def _blank_pairings(protocol: str, items: Sequence[PairingSize], layout: Layout) -> list[str]:
    """The pairings that were planned with ``protocol`` but have no result."""
    grids = [grid for grid in layout.grids if any(c.protocol == protocol for c in grid.columns)]
    with_result = {item.pairing for item in items}
    return [p for p in dict.fromkeys(grid.pairing for grid in grids) if p not in with_result]


def _of_one(cell: PairingSize) -> Message:
    """A text such as ``TCP, 1448 bytes: 93.27 ± 0.48 Mbit/s of payload (10 trials), 99.1 % …``."""
    trials = [value for place in cell.bins for value in place.throughputs_bit_per_s]
    middle = mean(trials)
    half = interval(trials).half_width if len(trials) >= MIN_TRIALS else None
    text = _(
        "{protocol}, {size} bytes: {rate} of payload ({trials})",
        protocol=cell.column.protocol,
        size=cell.column.label,
        rate=throughput(middle) if half is None else throughput_with_interval(middle, half),
        trials=counted("{number} trial", "{number} trials", len(trials)),
    )
    ceiling = cell.ceiling_bit_per_s
    return text if ceiling is None else joined(", ", [text, share_words(middle, ceiling)])


def _without_ceiling(
    protocol: str, pairing_sizes: Sequence[PairingSize], least: PairingSize
) -> Message:
    if len(pairing_sizes) == 1:
        return _(
            "{protocol}, {size} bytes: {least} to {most} of payload, means of {number} cells",
            protocol=protocol,
            size=least.column.label,
            least=throughput(min(least.means_bit_per_s)),
            most=throughput(max(least.means_bit_per_s)),
            number=len(least.means_bit_per_s),
        )
    ends = (least, max(pairing_sizes, key=lambda item: item.middle_bit_per_s))
    rates = [
        _(
            "{rate} ({pairing}, {size} bytes)",
            rate=throughput(item.middle_bit_per_s),
            pairing=item.pairing,
            size=item.column.label,
        )
        for item in ends
    ]
    return _(
        "{protocol}: {least} to {most}, medians over the cells",
        protocol=protocol,
        least=rates[0],
        most=rates[1],
    )


def _of_ceiling(
    protocols: Sequence[str], pairing_sizes: Sequence[PairingSize], least: PairingSize
) -> Message:
    """Which pairings reach the wire ceiling, from which message size, and the lowest share."""
    full = _full_from(pairing_sizes)
    if not full:
        text = _("{protocol} does not reach the wire ceiling in any cell", protocol=protocols[0])
    else:
        at_wire = [
            item
            for item in pairing_sizes
            if item.pairing in full and item.column.message_bytes >= full[item.pairing]
        ]
        ends = sorted(item.share or 0 for item in at_wire)
        where = [
            _(
                "from {size} bytes upwards in {pairings}",
                size=str(size),
                pairings=listed([pairing for pairing, least in full.items() if least == size]),
            )
            for size in sorted(set(full.values()))
        ]
        shares = [share for item in at_wire for share in item.shares]
        some = sum(share >= LINK_FULL for share in shares)
        text = counted(
            "{protocols} reaches the wire ceiling {where}: {shares} % of it",
            "{protocols} reach the wire ceiling {where}: {shares} % of it",
            len(protocols),
            protocols=listed(protocols),
            where=joined("; ", where),
            shares=spanned(*(f"{100 * share:.1f}" for share in (ends[0], ends[-1]))),
        )
        if some < len(shares):
            median_only = _(
                "at the median, in {some} of {all} cells", some=str(some), all=str(len(shares))
            )
            text = joined(" ", [text, median_only])
    if (least.share or 0) >= LINK_FULL:
        return text
    lowest = _(
        "lowest: {rate}, {share} % of the ceiling, in {pairing} with {size} bytes",
        rate=throughput(least.middle_bit_per_s),
        share=f"{100 * (least.share or 0):.1f}",
        pairing=least.pairing,
        size=least.column.label,
    )
    return joined("; ", [text, lowest])


def _full_from(pairing_sizes: Sequence[PairingSize]) -> dict[str, int]:
    """Pairing → message size. This size and all larger sizes reach the wire ceiling."""
    full: dict[str, int] = {}
    for pairing in dict.fromkeys(item.pairing for item in pairing_sizes):
        by_column = {item.column: item for item in pairing_sizes if item.pairing == pairing}
        for column in sorted(by_column, reverse=True):
            if (by_column[column].share or 0) < LINK_FULL:
                break
            full[pairing] = column.message_bytes
    return full
