"""Records of streams → message loss and CPU load at both ends: tables and charts. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial. A flow is the data of a trial in one
direction. The probe is netlab's program on a host; its window is the time that it measures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from netlab.experiment.hosts import is_by_name
from netlab.experiment.records import FLOWS, Record, server_sends
from netlab.messages import _, counted, joined
from netlab.report.tables.chart_panels import in_panels
from netlab.report.tables.elements import Chart, Curve, Part, Table, TableCell, TableLine
from netlab.results.labels import figure
from netlab.results.layout import BinGrid, TableColumn, lay_out
from netlab.stats import mean

MAX_CHARTS = 12
MAX_SHOWN_LINES = 40
"""Maximum number of lines of a table. A longer table is folded, because charts show its figures."""


Drop = Callable[[str, Record], float | None]
"""(flow, record) → a count of drops in one trial; ``None`` if it is not known."""


@dataclass(frozen=True, slots=True)
class LoadColumn:
    """One column of the table: a figure of each trial, in per cent."""

    label: str
    of: Callable[[str, Record], float | None]
    """(flow, record) → the figure; ``None`` if it is not known."""
    who: str = ""
    """The end that the figure belongs to, if a chart shows both ends."""


def part(records: Sequence[Record]) -> Part | None:
    """A line for each group of cells; ``None`` if nothing was counted, as in an imported run.

    A group has the cells of one column of a table of throughput.
    """
    streams = [r for r in records if r.test == "stream" and not is_by_name(r.pairing)]
    grids = lay_out(streams).grids
    lines = [_line(grid, column) for grid in grids for column in grid.columns]
    indexes = [index for index in range(len(_LOADS)) if any(_has(line, index) for line in lines)]
    if not indexes:
        return None
    sheet = Table(
        title=_("Loss and CPU, means over the trials"),
        corner=_("messages, bytes"),
        columns=tuple(_LOADS[index].label for index in indexes),
        lines=tuple(
            TableLine(line.label, tuple(line.places[index] for index in indexes)) for line in lines
        ),
    )
    places = _places(grids)
    charts = [chart for chart in _charts(grids) if chart is not None]
    left_out = max(0, len(charts) - MAX_CHARTS)
    further = counted(
        "{number} further chart is not drawn.", "{number} further charts are not drawn.", left_out
    )
    is_short = len(lines) <= MAX_SHOWN_LINES
    return Part(
        name="loss-cpu",
        title=_("Loss and CPU"),
        paragraphs=(
            _MEANING,
            *((_PLACES_MEANING,) if places else ()),
            *((further,) if left_out else ()),
        ),
        sheets=(*([sheet] if is_short else []), *([] if places is None else [places])),
        charts=tuple(charts[:MAX_CHARTS]),
        details=() if is_short else (sheet,),
    )


def _places(grids: Sequence[BinGrid]) -> Table | None:
    """Where both hosts dropped frames, for the groups of cells over UDP that lost messages.

    Messages that were never sent count as lost here. ``None`` if no such group has a counter.
    """
    lines = []
    for grid in grids:
        for column in grid.columns:
            counts = [_sum_of(grid, column, drop) for _label, drop in _DROPS]
            lossy = any(count for count in counts[:2])
            if column.protocol == "UDP" and lossy and any(n is not None for n in counts[2:]):
                places = (
                    TableCell() if count is None else TableCell(f"{count:,.0f}", count, "")
                    for count in counts
                )
                lines.append(TableLine(joined(" ", [grid.title, column.words]), tuple(places)))
    if not lines:
        return None
    return Table(
        title=_("Where messages were lost: frames that both hosts dropped, all trials"),
        corner=_("messages, bytes"),
        columns=tuple(label for label, _of in _DROPS),
        lines=tuple(lines),
    )


def _sum_of(grid: BinGrid, column: TableColumn, drop: Drop) -> float | None:
    """The sum of a count over all trials with a result; ``None`` if any of them lacks the count."""
    counts = [
        drop(column.flow, record)
        for place in grid.column(column)
        for record in place.records
        if record.status == "ok"
    ]
    numbers = [count for count in counts if count is not None]
    return sum(numbers) if numbers and len(numbers) == len(counts) else None


def _line(grid: BinGrid, column: TableColumn) -> TableLine:
    places = []
    for load in _LOADS:
        value = _mean_of(grid, column, load)
        places.append(TableCell() if value is None else TableCell(figure(value), value, "%"))
    return TableLine(joined(" ", [grid.title, column.words]), tuple(places))


def _has(line: TableLine, index: int) -> bool:
    return line.places[index].value is not None


def _mean_of(grid: BinGrid, column: TableColumn, load: LoadColumn) -> float | None:
    """The mean over the trials that have the figure."""
    values = [
        value
        for place in grid.column(column)
        for record in place.records
        if record.status == "ok" and (value := load.of(column.flow, record)) is not None
    ]
    return mean(values) if values else None


def _charts(grids: Sequence[BinGrid]) -> list[Chart | None]:
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
                _chart(group, protocol, _CPU, f"cpu-{name}", cpu),
                _chart(group, protocol, _LOST, f"lost-{name}", loss_title),
            ]
    return charts


def _chart(
    grids: Sequence[BinGrid], protocol: str, loads: Sequence[LoadColumn], name: str, title: str
) -> Chart | None:
    columns = sorted({c for grid in grids for c in grid.columns if c.protocol == protocol})
    sizes = sorted({column.message_bytes for column in columns})
    lines: list[Curve] = []
    for grid in grids:
        for flow in dict.fromkeys(column.flow for column in columns):
            for load in loads:
                points = tuple(
                    (float(size), _mean_of(grid, TableColumn(protocol, size, flow), load))
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
    counts = record.flows.get(flow)
    if counts is None or counts.lost_messages is None or not counts.sent_messages:
        return None
    return 100 * counts.lost_messages / counts.sent_messages


def _cpu(end: str, flow: str, record: Record) -> float | None:
    """CPU time of the probe at one end, user and system, in per cent of its window."""
    names = ("user_ns", "system_ns", "elapsed_ns")
    user, system, elapsed = (record.number(f"{flow}{end}_{name}") for name in names)
    if user is None or system is None or not elapsed:
        return None
    return 100 * (user + system) / elapsed


def _share(name: str, end: str, flow: str, record: Record) -> float | None:
    value = record.number(f"{flow}{end}_{name}")
    return None if value is None else 100 * value


def _dropped(end: str, place: str, flow: str, record: Record) -> float | None:
    """Frames, sent or received, that one end's host dropped at a place such as ``interface``."""
    by_server = server_sends(record.settings, flow)
    host = "server" if by_server == (end == "sender") else "client"
    return record.number(f"{host}_{place}_dropped_frames")


def _counted(name: str, flow: str, record: Record) -> float | None:
    return record.number(f"{flow}{name}")


def _lost_messages(flow: str, record: Record) -> float | None:
    counts = record.flows.get(flow)
    return None if counts is None else counts.lost_messages


_DROPS: tuple[tuple[str, Drop], ...] = (
    (_("messages lost"), _lost_messages),
    (_("never sent"), partial(_counted, "sender_local_drops")),
    (_("receiving socket"), partial(_counted, "receiver_queue_drops")),
    (_("receiver’s backlog"), partial(_dropped, "receiver", "softnet")),
    (_("receiver’s interface"), partial(_dropped, "receiver", "interface")),
    (_("sender’s interface"), partial(_dropped, "sender", "interface")),
    (_("sender’s queue"), partial(_dropped, "sender", "queue")),
)
"""(heading, function that returns a count) of each column. The first two columns count messages,
the others count frames."""

_LOST = (LoadColumn(_("lost, %"), _lost),)
_CPU = (
    LoadColumn(_("sender’s CPU, %"), partial(_cpu, "sender"), _("sender")),
    LoadColumn(_("receiver’s CPU, %"), partial(_cpu, "receiver"), _("receiver")),
)
_LOADS = (
    *_LOST,
    *_CPU,
    LoadColumn(_("sender’s host busy, %"), partial(_share, "host_busy_share", "sender")),
    LoadColumn(_("sender’s busiest core, %"), partial(_share, "host_busiest_core_share", "sender")),
    LoadColumn(_("receiver’s host busy, %"), partial(_share, "host_busy_share", "receiver")),
    LoadColumn(
        _("receiver’s busiest core, %"), partial(_share, "host_busiest_core_share", "receiver")
    ),
)

_MEANING = _(
    "CPU: user and system time of the probe at each end as a share of its window; 100 % is one CPU "
    "for the whole window. Host busy: the share of the CPU time of the whole host in which "
    "anything ran. Busiest core: the same for its busiest CPU. Lost: the share of the messages "
    "sent whose sequence number never arrived."
)

_PLACES_MEANING = _(
    "Where messages were lost follows from both hosts’ counters of their own drops. A blank means "
    "that the counter is not known."
)
