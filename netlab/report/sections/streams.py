"""Streams → the section on message loss and CPU load; where they reach the wire ceiling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

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
from netlab.trial.record import FLOWS, Record, server_sends

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
    groups = [(grid, column) for grid in grids for column in grid.columns]
    rows = [
        (joined(" ", [grid.title, column.words]), "", (grid, column)) for grid, column in groups
    ]
    loads = [load for load in _LOADS if any(load.mean(group) is not None for group in groups)]
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
    charts = [chart for chart in _load_charts(grids) if chart is not None]
    left_out = max(0, len(charts) - MAX_CHARTS)
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
            *((further,) if left_out else ()),
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
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(counts) else None

    return of


def _has_drops(group: _Group) -> bool:
    """Whether messages over UDP were lost or never sent, and a counter of frames is known."""
    messages_lost, never_sent, *frames = (_sum_of(drop)(group) for drop in _DROPS.values())
    lossy = bool(messages_lost or never_sent)
    return group[1].protocol == "UDP" and lossy and any(count is not None for count in frames)


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


def _load_charts(grids: Sequence[BinGrid]) -> list[Chart | None]:
    """Charts over the message size: CPU time and loss, for each protocol and set of conditions."""
    charts: list[Chart | None] = []
    for number, conditions in enumerate(dict.fromkeys(grid.conditions for grid in grids), start=1):
        group = [grid for grid in grids if grid.conditions == conditions]
        columns = [column for grid in group for column in grid.columns]
        for protocol in dict.fromkeys(column.protocol for column in columns):
            name = f"{protocol.lower()}-{number}"
            of = {"protocol": protocol, "conditions": conditions}
            cpu = (
                _("{protocol}: CPU time ({conditions})", **of)
                if conditions
                else _("{protocol}: CPU time", **of)
            )
            loss_title = (
                _("{protocol}: messages lost ({conditions})", **of)
                if conditions
                else _("{protocol}: messages lost", **of)
            )
            charts += [
                _load_chart(group, protocol, _CPU, f"cpu-{name}", cpu),
                _load_chart(group, protocol, _LOST, f"lost-{name}", loss_title),
            ]
    return charts


def _load_chart(
    grids: Sequence[BinGrid], protocol: str, loads: Sequence[StreamLoad], name: str, title: str
) -> Chart | None:
    columns = sorted({c for grid in grids for c in grid.columns if c.protocol == protocol})
    sizes = sorted({column.message_bytes for column in columns})
    lines: list[Curve] = []
    for grid in grids:
        for flow in dict.fromkeys(column.flow for column in columns):
            for load in loads:
                points = tuple(
                    (float(size), load.mean((grid, TableColumn(protocol, size, flow))))
                    for size in sizes
                )
                words = [grid.pairing, FLOWS[flow], load.who]
                label = joined(", ", [word for word in words if word])
                lines.append(Curve(label, len(lines), points, words=tuple(words)))
    curves = tuple(line for line in lines if any(y is not None for _, y in line.points))
    nothing = not any(y for line in curves for _, y in line.points)
    if len(sizes) < 2 or nothing:
        return None
    chart = Chart(
        name=name,
        title=title,
        x_label=_("message size, bytes"),
        x_ticks=tuple((float(size), str(size)) for size in sizes),
        log_x=True,
        lines=curves,
        quantity=_("share of the messages") if loads is _LOST else _("share of one CPU"),
        unit="%",
    )
    return in_panels(chart)


def _lost(flow: str, record: Record) -> float | None:
    """The share of the messages sent that was lost, in per cent."""
    counts = record.flow(flow)
    if counts.lost_messages is None or not counts.sent_messages:
        return None
    return 100 * counts.lost_messages / counts.sent_messages


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
    ceiling_bit_per_s: float | None

    @cached_property
    def means_bit_per_s(self) -> tuple[float, ...]:
        """The mean of each cell's trials."""
        return tuple(_mean_of(place) for place in self.bins if place.throughputs_bit_per_s)

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

    @property
    def cells(self) -> tuple[str, ...]:
        """Keys of the cells with a result, the lowest throughput first."""
        places = [place for place in self.bins if place.throughputs_bit_per_s]
        return tuple(place.cell for place in sorted(places, key=_mean_of))


def _mean_of(place: Bin) -> float:
    return mean(place.throughputs_bit_per_s)


def answers(layout: Layout, link: Link | None) -> tuple[AnswerLine, ...]:
    """One line for each protocol; the line of a single cell gives the interval of the mean.

    Protocols share one line if all their cells reach the wire ceiling, in the same pairings from
    the same message sizes upwards. If netlab's probe measured cells, the line is about these
    cells, and the numbers of other tools follow.
    """
    by_protocol: dict[str, list[PairingSize]] = {}
    for pairing_size in _pairing_sizes(layout, link):
        by_protocol.setdefault(pairing_size.column.protocol, []).append(pairing_size)
    alike: dict[object, list[str]] = {}
    for protocol, items in by_protocol.items():
        everywhere = None if _blank_pairings(protocol, items, layout) else _everywhere(items)
        alike.setdefault(everywhere or protocol, []).append(protocol)
    return tuple(
        _with_blanks(
            protocols, [item for protocol in protocols for item in by_protocol[protocol]], layout
        )
        for protocols in alike.values()
    )


def _everywhere(all_items: Sequence[PairingSize]) -> tuple[object, ...] | None:
    """A value that is equal for protocols that share a line.

    It consists of the pairings, each with its smallest message size, and of the names of other
    tools. ``None`` if a cell does not reach the wire ceiling, or if there is only one cell. Cells
    of other tools are not checked if the probe measured cells.
    """
    items, tools = _by_probe(all_items)
    shares = [share for item in items for share in item.shares]
    if len(shares) < 2 or not all(share >= LINK_FULL for share in shares):
        return None
    return (*_full_from(items).items(), *dict.fromkeys(item.engine for item in tools))


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


def _with_blanks(
    protocols: Sequence[str], items: Sequence[PairingSize], layout: Layout
) -> AnswerLine:
    """The line of some protocols, then numbers of other tools, then pairings without any result."""
    own, tools = _by_probe(items)
    answer = _answer(protocols, own)
    if tools:
        sentence = _(
            "{answer}, by netprobe; {tools}: {figures}",
            answer=answer.sentence,
            tools=listed(dict.fromkeys(item.engine for item in tools)),
            figures=_figures(tools),
        )
        cells = (*answer.cells, *(cell for item in tools for cell in item.cells))
        answer = replace(answer, sentence=sentence, cells=tuple(dict.fromkeys(cells)))
    without = [
        pairing for protocol in protocols for pairing in _blank_pairings(protocol, items, layout)
    ]
    if not without:
        return answer
    none = _("no result in {pairings}", pairings=listed(without))
    return replace(answer, sentence=joined("; ", [answer.sentence, none]))


def _figures(items: Sequence[PairingSize]) -> str:
    """The range of the items' results: shares of the ceiling; rates if any ceiling is unknown."""
    shares = sorted(item.share for item in items if item.share is not None)
    if len(shares) == len(items):
        return joined(" ", [spanned(*(f"{100 * shares[end]:.1f}" for end in (0, -1))), "%"])
    rates = sorted(item.middle_bit_per_s for item in items)
    return spanned(throughput(rates[0]), throughput(rates[-1]))


def _blank_pairings(protocol: str, items: Sequence[PairingSize], layout: Layout) -> list[str]:
    """The pairings that were planned with ``protocol`` but have no result."""
    grids = [grid for grid in layout.grids if any(c.protocol == protocol for c in grid.columns)]
    with_result = {item.pairing for item in items}
    return [p for p in dict.fromkeys(grid.pairing for grid in grids) if p not in with_result]


def _pairing_sizes(layout: Layout, link: Link | None) -> Iterator[PairingSize]:
    """The results by pairing, engine and column, without traffic inside one host."""
    places: dict[tuple[str, str, TableColumn], list[Bin]] = {}
    for grid in layout.grids:
        for column in () if grid.same_host else grid.columns:
            for place in grid.column(column):
                engine = str(place.records[0].settings.get("engine") or "")
                places.setdefault((grid.pairing, engine, column), []).append(place)
    for (pairing, engine, column), bins in places.items():
        if any(place.throughputs_bit_per_s for place in bins):
            ceiling = ceiling_of(column, bins, link)
            highest = None if ceiling is None else ceiling.highest_bit_per_s
            yield PairingSize(pairing, engine, column, tuple(bins), highest)


def _answer(protocols: Sequence[str], pairing_sizes: Sequence[PairingSize]) -> AnswerLine:
    least = min(pairing_sizes, key=lambda item: item.share or item.middle_bit_per_s)
    all_cells = (cell for item in pairing_sizes for cell in item.cells)
    cells = tuple(dict.fromkeys([*least.cells, *all_cells]))
    if len(pairing_sizes) == 1 and len(least.means_bit_per_s) == 1:
        return AnswerLine(_of_one(least), cells, _SECTION)
    if any(item.share is None for item in pairing_sizes):
        sentence = _without_ceiling(protocols[0], pairing_sizes, least)
    else:
        sentence = _of_ceiling(protocols, pairing_sizes, least)
    return AnswerLine(sentence, cells, _SECTION, _CHART)


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
    most = max(pairing_sizes, key=lambda item: item.middle_bit_per_s)
    return _(
        "{protocol}: {least} to {most}, medians over the cells",
        protocol=protocol,
        least=_rate_of(least),
        most=_rate_of(most),
    )


def _rate_of(pairing_size: PairingSize) -> Message:
    return _(
        "{rate} ({pairing}, {size} bytes)",
        rate=throughput(pairing_size.middle_bit_per_s),
        pairing=pairing_size.pairing,
        size=pairing_size.column.label,
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
        shares = [share for item in at_wire for share in item.shares]
        some = sum(share >= LINK_FULL for share in shares)
        text = counted(
            "{protocols} reaches the wire ceiling {where}: {shares} % of it",
            "{protocols} reach the wire ceiling {where}: {shares} % of it",
            len(protocols),
            protocols=listed(protocols),
            where=joined("; ", _where(full)),
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


def _where(full: dict[str, int]) -> Iterator[Message]:
    """One text for each size, such as ``from 64 bytes upwards in LL and WL``."""
    for size in sorted(set(full.values())):
        yield _(
            "from {size} bytes upwards in {pairings}",
            size=str(size),
            pairings=listed([pairing for pairing, least in full.items() if least == size]),
        )
