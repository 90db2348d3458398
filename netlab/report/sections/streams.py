"""Streams → the sections on their findings and limits, and on message loss and CPU load.

A group of cells shares pairing, protocol, message size and direction of the data (flow). A sample
holds the values of one direction in one trial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from netlab.experiment.hosts import is_by_name
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Group, Kind, in_trials
from netlab.findings.stream_rules import DELIVERED
from netlab.messages import Message, _, counted, joined, sentence_case
from netlab.report.tables.charts import in_panels
from netlab.report.tables.elements import Chart, Curve, Part, Table, TableCell, TableLine
from netlab.report.text import summary
from netlab.report.text.findings import CALLED, shown_by
from netlab.results.labels import figure
from netlab.results.layout import BinGrid, TableColumn, lay_out
from netlab.stats import mean, rounded
from netlab.trial.record import FLOWS, Record, server_sends

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis

_NOT_SHOWN = _("not shown")

_LIMITS_MEANING = _(
    "The limits that the records show. Wire: throughput is at least 98 % of its ceiling (96 % "
    "with data both ways); all other limits only below that. Sender’s CPU: its one thread was on a "
    "CPU for at least 95 % of the window. Receiver’s CPU: its queue was at least 80 % full in most "
    "samples. Others on a CPU, or a quota: for more than 5 % of the window a thread was "
    "ready to run but had no CPU, or the quota made it wait in more than 5 % of its periods. "
    "Sender’s call rate: its send calls take at least 80 % of the window, and nine of ten found "
    "room in the socket, so they do not wait for a queue. Window, buffer and congestion: TCP’s own "
    "account, for at least half of the window; congestion only if segments were retransmitted. Not "
    "determined: all of this is recorded, and none of it shows a limit."
)


@dataclass(frozen=True, slots=True)
class _LimitRow:
    """One limit of one group of cells, or of several groups that differ only in message size."""

    groups: tuple[Group, ...]
    kind: Kind | None
    samples: tuple[StreamSample, ...]
    of_cells: int
    """Number of cells with a result in these groups."""
    of_trials: int
    """Number of trials in these groups."""
    of_trials_of_cells: int
    """Number of all trials in the cells with this limit."""
    finding: Finding | None

    @property
    def cells(self) -> int:
        """Number of cells with this limit."""
        return len({sample.cell for sample in self.samples})

    @property
    def whole(self) -> bool:
        """Whether every trial of every cell has this limit."""
        return self.cells == self.of_cells and len(self.samples) == self.of_trials

    @property
    def counted(self) -> Message:
        """Number of cells with this limit. If not all trials of these cells have the limit, the
        number of trials with the limit follows.
        """
        cells = _("{some} of {all}", some=self.cells, all=self.of_cells)
        if len(self.samples) == self.of_trials_of_cells:
            return cells
        trials = in_trials(len(self.samples), self.of_trials_of_cells)["in_trials"]
        return joined(", ", (cells, trials))

    @property
    def label(self) -> str:
        """The groups as text, such as ``WW TCP 64, 576``."""
        first = self.groups[0]
        sizes = ", ".join(str(group.message_bytes) for group in self.groups)
        words = (first.pairing, first.protocol, sizes, first.flow)
        return joined(" ", [word for word in words if word])

    def joins(self, row: _LimitRow) -> bool:
        """Whether both rows can share a line: the same limit holds for all their cells."""
        last, first = self.groups[-1], row.groups[0]
        return (
            self.kind is row.kind
            and self.kind in (None, Kind.WIRE_CEILING)
            and (last.pairing, last.protocol, last.flow)
            == (first.pairing, first.protocol, first.flow)
            and self.whole
            and row.whole
        )


def findings_and_limits(run: Analysis) -> tuple[Part, ...]:
    """All findings, the limits of the run's streams, and the remarks of an imported document.

    A part without content is left out.
    """
    every = (summary.all_findings(run), _limits(run), summary.stated(run))
    return tuple(part for part in every if part is not None)


def _limits(run: Analysis) -> Part | None:
    unpaced = [sample for sample in run.samples if not sample.paced]
    limits = [finding for finding in run.limits if finding.kind is not Kind.PACING]
    if not limits:
        return None
    sheet = Table(
        title=_("Bottlenecks"),
        corner=_("messages, bytes"),
        columns=(_("limited by"), _("cells"), _("of the ceiling, %"), _("evidence")),
        lines=tuple(_limit_line(row) for row in _limit_rows(unpaced, limits)),
    )
    advices = dict.fromkeys(limit.advice for limit in limits if limit.severity == "warning")
    advice = tuple(_("{advice}.", advice=sentence_case(text)) for text in advices)
    return Part(
        name="limits", title=_("Limits"), paragraphs=(_LIMITS_MEANING, *advice), sheets=(sheet,)
    )


def _limit_rows(unpaced: Sequence[StreamSample], findings: Iterable[Finding]) -> list[_LimitRow]:
    """A row for each group and limit. Successive rows are joined if ``_LimitRow.joins`` permits."""
    groups: dict[Group, list[StreamSample]] = {}
    for sample in unpaced:
        groups.setdefault(sample.group, []).append(sample)
    limits = [(finding, frozenset(finding.trials)) for finding in findings]
    rows: list[_LimitRow] = []
    for group, samples in groups.items():
        rest = samples
        for finding, trials in limits:
            limited = [sample for sample in rest if (sample.cell, sample.trial) in trials]
            if limited and _is_about(finding.group, group):
                _add_limit(rows, _limit_row(group, samples, limited, finding))
                rest = [sample for sample in rest if (sample.cell, sample.trial) not in trials]
        if rest:
            _add_limit(rows, _limit_row(group, samples, rest, None))
    return rows


def _is_about(broad: Group, group: Group) -> bool:
    """Whether a finding about ``broad`` (one group or several) is also about ``group``."""
    return (
        broad.pairing == group.pairing
        and broad.flow == group.flow
        and broad.protocol in ("", group.protocol)
        and broad.message_bytes in (None, group.message_bytes)
    )


def _limit_row(
    group: Group,
    samples: Sequence[StreamSample],
    limited: Sequence[StreamSample],
    finding: Finding | None,
) -> _LimitRow:
    cells = {sample.cell for sample in limited}
    return _LimitRow(
        (group,),
        None if finding is None else finding.kind,
        tuple(limited),
        len({sample.cell for sample in samples}),
        len(samples),
        sum(sample.cell in cells for sample in samples),
        finding,
    )


def _add_limit(rows: list[_LimitRow], row: _LimitRow) -> None:
    if rows and rows[-1].joins(row):
        last = rows.pop()
        row = _LimitRow(
            (*last.groups, *row.groups),
            row.kind,
            (*last.samples, *row.samples),
            last.of_cells + row.of_cells,
            last.of_trials + row.of_trials,
            last.of_trials_of_cells + row.of_trials_of_cells,
            None,
        )
    rows.append(row)


def _limit_line(row: _LimitRow) -> TableLine:
    shares = [s.ceiling_share for s in row.samples if s.ceiling_share is not None]
    return TableLine(
        row.label,
        (
            TableCell(_NOT_SHOWN if row.kind is None else CALLED[row.kind]),
            TableCell(row.counted, row.cells, "cells"),
            TableCell(_span(shares)),
            TableCell(_evidence(row)),
        ),
    )


def _evidence(row: _LimitRow) -> str:
    if row.kind is not None and row.finding is not None:
        return shown_by(row.kind, row.finding.evidence)
    datagrams = [sample for sample in row.samples if sample.protocol == "UDP"]
    arrived = [s.delivered_share for s in datagrams if s.delivered_share is not None]
    if row.kind is None and arrived and min(arrived) < DELIVERED:
        span = _span([min(1.0, share) for share in arrived])
        return _("{percent} % of what was sent arrived", percent=span)
    return ""


def _span(shares: Sequence[float]) -> str:
    """The shares in per cent, such as ``27.5`` or ``27.5 to 33.2``; empty without shares."""
    if not shares:
        return ""
    least, most = (str(rounded(100 * share, 1)) for share in (min(shares), max(shares)))
    return least if least == most else _("{low} to {high}", low=least, high=most)


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


def loss_and_cpu(records: Sequence[Record]) -> Part | None:
    """A line for each group of cells; ``None`` if nothing was counted, as in an imported run.

    A group has the cells of one column of a table of throughput.
    """
    streams = [r for r in records if r.test == "stream" and not is_by_name(r.pairing)]
    grids = lay_out(streams).grids
    lines = [_load_line(grid, column) for grid in grids for column in grid.columns]
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
    charts = [chart for chart in _load_charts(grids) if chart is not None]
    left_out = max(0, len(charts) - MAX_CHARTS)
    further = counted(
        "{number} further chart is not drawn.", "{number} further charts are not drawn.", left_out
    )
    is_short = len(lines) <= MAX_SHOWN_LINES
    return Part(
        name="loss-cpu",
        title=_("Loss and CPU"),
        paragraphs=(
            _LOADS_MEANING,
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


def _load_line(grid: BinGrid, column: TableColumn) -> TableLine:
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


def _host_share(name: str, end: str, flow: str, record: Record) -> float | None:
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
    LoadColumn(_("sender’s host busy, %"), partial(_host_share, "host_busy_share", "sender")),
    LoadColumn(
        _("sender’s busiest core, %"), partial(_host_share, "host_busiest_core_share", "sender")
    ),
    LoadColumn(_("receiver’s host busy, %"), partial(_host_share, "host_busy_share", "receiver")),
    LoadColumn(
        _("receiver’s busiest core, %"), partial(_host_share, "host_busiest_core_share", "receiver")
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
