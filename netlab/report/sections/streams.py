"""Streams → the section on message loss and CPU load; where they reach the wire ceiling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from netlab.messages import _, counted, joined
from netlab.report.tables.charts import in_panels
from netlab.report.tables.elements import Chart, Curve, Part, table
from netlab.results.layout import BinGrid, TableColumn, lay_out, lost_share, tabled
from netlab.stats import mean
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
    grids = lay_out(tabled(records))
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
    return lost_share([record.flow(flow)])


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
