"""Readings of streams → what was lost of them, and how busy both ends were: a table, and charts.
Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from netlab.experiment.pairings import is_by_name
from netlab.experiment.records import server_sends
from netlab.messages import _, counted, joined
from netlab.report.tables.chart_panels import in_panels
from netlab.report.tables.elements import Chart, Curve, Part, Table, TableCell, TableLine
from netlab.results.labels import figure
from netlab.results.layout import BinGrid, TableColumn, lay_out
from netlab.results.readings import FLOWS, Reading
from netlab.stats import mean

MAX_CHARTS = 12
MAX_SHOWN_LINES = 40
"""A longer table is folded away: the charts show it."""


Drop = Callable[[str, Reading], float | None]
"""A count of one trial, of a flow and a reading; ``None`` where it is not known."""


@dataclass(frozen=True, slots=True)
class LoadColumn:
    """One column: a figure in per cent of one trial; ``None`` where it is not known."""

    label: str
    of: Callable[[str, Reading], float | None]
    """Of a flow and a reading."""
    who: str = ""
    """Whose it is, where a chart shows those of several."""


def part(readings: Sequence[Reading]) -> Part | None:
    """A line a group of cells; ``None`` where nobody counted, as in an import."""
    streams = [r for r in readings if r.test == "stream" and not is_by_name(r.pairing)]
    grids = lay_out(streams).grids
    lines = [_line(grid, column) for grid in grids for column in grid.columns]
    known = [index for index in range(len(_LOADS)) if any(_has(line, index) for line in lines)]
    if not known:
        return None
    sheet = Table(
        title=_("Loss and CPU, means over the trials"),
        corner=_("messages, bytes"),
        columns=tuple(_LOADS[index].label for index in known),
        lines=tuple(
            TableLine(line.label, tuple(line.places[index] for index in known)) for line in lines
        ),
    )
    places = _places(grids)
    drawn = [chart for chart in _charts(grids) if chart is not None]
    left_out = max(0, len(drawn) - MAX_CHARTS)
    further = counted(
        "{number} further charts are not drawn.", "{number} further charts are not drawn.", left_out
    )
    shown = len(lines) <= MAX_SHOWN_LINES
    return Part(
        name="loss-cpu",
        title=_("Loss and CPU"),
        paragraphs=(
            _MEANING,
            *((_PLACES_MEANING,) if places else ()),
            *((further,) if left_out else ()),
        ),
        sheets=tuple(each for each in (sheet if shown else None, places) if each is not None),
        charts=tuple(drawn[:MAX_CHARTS]),
        details=() if shown else (sheet,),
    )


def _places(grids: Sequence[BinGrid]) -> Table | None:
    """Where the two hosts dropped frames, of the groups over UDP that lost messages or refused
    some; ``None`` where no such group has a counter.
    """
    lines = []
    for grid in grids:
        for column in grid.columns:
            counts = [_sum_of(grid, column, drop) for _label, drop in _DROPS]
            gone = any(count for count in counts[:2])
            if column.protocol == "UDP" and gone and any(each is not None for each in counts[2:]):
                places = (
                    TableCell() if each is None else TableCell(f"{each:,.0f}", each, "")
                    for each in counts
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
    """Over all trials with a result; ``None`` where one of them does not know it."""
    found = [
        drop(column.flow, reading)
        for place in grid.column(column)
        for reading in place.readings
        if reading.status == "ok"
    ]
    known = [each for each in found if each is not None]
    return sum(known) if known and len(known) == len(found) else None


def _line(grid: BinGrid, column: TableColumn) -> TableLine:
    places = []
    for load in _LOADS:
        value = _mean_of(grid, column, load)
        places.append(TableCell() if value is None else TableCell(figure(value), value, "%"))
    return TableLine(joined(" ", [grid.title, column.words]), tuple(places))


def _has(line: TableLine, index: int) -> bool:
    return line.places[index].value is not None


def _mean_of(grid: BinGrid, column: TableColumn, load: LoadColumn) -> float | None:
    """Over the trials that know it."""
    found = [
        value
        for place in grid.column(column)
        for reading in place.readings
        if reading.status == "ok" and (value := load.of(column.flow, reading)) is not None
    ]
    return mean(found) if found else None


def _charts(grids: Sequence[BinGrid]) -> list[Chart | None]:
    """Over the message size: CPU a chart a protocol, loss of UDP; for each combination apart."""
    drawn: list[Chart | None] = []
    for number, conditions in enumerate(dict.fromkeys(grid.conditions for grid in grids), start=1):
        those = [grid for grid in grids if grid.conditions == conditions]
        columns = [column for grid in those for column in grid.columns]
        for protocol in dict.fromkeys(column.protocol for column in columns):
            name = f"{protocol.lower()}-{number}"
            of = {"protocol": protocol, "conditions": conditions}
            cpu = (
                _("{protocol}: CPU time ({conditions})", **of)
                if conditions
                else _("{protocol}: CPU time", **of)
            )
            lost = (
                _("{protocol}: messages lost ({conditions})", **of)
                if conditions
                else _("{protocol}: messages lost", **of)
            )
            drawn += [
                _chart(those, protocol, _CPU, f"cpu-{name}", cpu),
                _chart(those, protocol, _LOST, f"lost-{name}", lost),
            ]
    return drawn


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
    drawn = tuple(line for line in lines if any(y is not None for _, y in line.points))
    nothing = not any(y for line in drawn for _, y in line.points)
    if len(sizes) < 2 or nothing:
        return None
    chart = Chart(
        name=name,
        title=title,
        x_label=_("message size, bytes"),
        x_ticks=tuple((float(size), str(size)) for size in sizes),
        log_x=True,
        lines=drawn,
        quantity=_("share of the messages") if loads is _LOST else _("share of one CPU"),
        unit="%",
    )
    return in_panels(chart)


def _lost(flow: str, reading: Reading) -> float | None:
    """The share of the messages sent that was lost."""
    found = reading.flows.get(flow)
    if found is None or found.lost_messages is None or not found.sent_messages:
        return None
    return 100 * found.lost_messages / found.sent_messages


def _cpu(end: str, flow: str, reading: Reading) -> float | None:
    """CPU time of the probe at one end, user and system, as a share of its window."""
    names = ("user_ns", "system_ns", "elapsed_ns")
    user, system, elapsed = (reading.number(f"{flow}{end}_{name}") for name in names)
    if user is None or system is None or not elapsed:
        return None
    return 100 * (user + system) / elapsed


def _share(name: str, end: str, flow: str, reading: Reading) -> float | None:
    value = reading.number(f"{flow}{end}_{name}")
    return None if value is None else 100 * value


def _dropped(end: str, place: str, flow: str, reading: Reading) -> float | None:
    """Frames that the sender's or the receiver's host dropped in a place, either way."""
    by_server = server_sends(reading.settings, flow)
    host = "server" if by_server == (end == "sender") else "client"
    return reading.number(f"{host}_{place}_dropped_frames")


def _counted(name: str, flow: str, reading: Reading) -> float | None:
    return reading.number(f"{flow}{name}")


def _lost_messages(flow: str, reading: Reading) -> float | None:
    found = reading.flows.get(flow)
    return None if found is None else found.lost_messages


_DROPS: tuple[tuple[str, Drop], ...] = (
    (_("messages lost"), _lost_messages),
    (_("never sent"), partial(_counted, "sender_local_drops")),
    (_("receiving socket"), partial(_counted, "receiver_queue_drops")),
    (_("receiver’s backlog"), partial(_dropped, "receiver", "softnet")),
    (_("receiver’s interface"), partial(_dropped, "receiver", "interface")),
    (_("sender’s interface"), partial(_dropped, "sender", "interface")),
    (_("queue before it"), partial(_dropped, "sender", "queue")),
)
"""What a line says, with where it is of a flow and a reading; the first two are of messages."""

_LOST = (LoadColumn(_("lost, %"), _lost),)
_CPU = (
    LoadColumn(_("sender’s CPU, %"), partial(_cpu, "sender"), _("sender")),
    LoadColumn(_("receiver’s CPU, %"), partial(_cpu, "receiver"), _("receiver")),
)
_LOADS = (
    *_LOST,
    *_CPU,
    LoadColumn(_("sender’s host busy, %"), partial(_share, "host_busy_share", "sender")),
    LoadColumn(_("its busiest core, %"), partial(_share, "host_busiest_core_share", "sender")),
    LoadColumn(_("receiver’s host busy, %"), partial(_share, "host_busy_share", "receiver")),
    LoadColumn(_("busiest core there, %"), partial(_share, "host_busiest_core_share", "receiver")),
)

_MEANING = _(
    "CPU: user and system time of the probe at each end as a share of its window; 100 % is one CPU "
    "all the time. Host busy: the share of the time of all its CPUs that anything ran on, and that "
    "of the busiest of them. Lost: of the messages sent, those whose number never arrived."
)

_PLACES_MEANING = _(
    "Where messages were lost is told by what both hosts count of their own drops; a blank is not "
    "known."
)
