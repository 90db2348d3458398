"""Series: cells that differ only in their socket buffer, with their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from statistics import median

from netlab.ethernet import Link
from netlab.findings.finding import Group, conditions_of
from netlab.findings.rates import ceiling_of
from netlab.results.layout import varying
from netlab.results.run import Run
from netlab.store.plan import PlannedCell
from netlab.trial.record import FLOWS, Record, Status, Value, as_number, grouped

AXIS = "socket_buffer_bytes"

QUANTITIES: Mapping[str, str] = {
    "stream": "throughput_bit_per_s",
    "round_trip": "rtt_mean_ns",
    "connect": "rtt_mean_ns",
}
"""Kind of test → the figure by which its cells are compared."""

_IN_GROUP = frozenset({AXIS, "protocol", "message_bytes"})
_PACED = ("rate_bit_per_s", "message_rate_per_s")


@dataclass(frozen=True, kw_only=True)
class Point:
    """One cell of a series, in one direction."""

    cell: str
    """The key of the cell."""
    buffer_bytes: int | None
    """Requested size of the socket buffer; ``None``: the system chooses the size."""
    settings: Mapping[str, Value]
    records: tuple[Record | None, ...]
    """The records of its trials, in order; ``None``: not measured yet."""
    prefix: str
    """Prefix of the names of the flow's values in records: a key of ``FLOWS``."""
    quantity: str
    link: Link | None

    @cached_property
    def lowest_ceiling(self) -> float | None:
        """Wire ceiling in payload bit/s; ``None`` if it is not known. If the TCP options are not
        known, those that take the most room are assumed.
        """
        return self._ceiling(highest=False)

    @cached_property
    def highest_ceiling(self) -> float | None:
        """As ``lowest_ceiling``, but unknown TCP options are assumed to take the least room."""
        return self._ceiling(highest=True)

    def _ceiling(self, *, highest: bool) -> float | None:
        if self.quantity != "throughput_bit_per_s":
            return None
        values = next((record.values for record in self._ok), {})
        return ceiling_of(self.settings, values, self.prefix, self.link, highest=highest)

    @cached_property
    def _ok(self) -> tuple[Record, ...]:
        return tuple(r for r in self.records if r is not None and r.status is Status.OK)

    @cached_property
    def figures(self) -> tuple[float | None, ...]:
        """The result of each trial; ``None`` if it has no figure."""
        name = self.prefix + self.quantity
        return tuple(None if record is None else record.number(name) for record in self.records)

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The results of the trials that have a figure."""
        return tuple(figure for figure in self.figures if figure is not None)

    @cached_property
    def middle(self) -> float | None:
        """The median of the values, which one outlier does not move; ``None`` if there are none."""
        return median(self.values) if self.values else None

    @cached_property
    def mean(self) -> float | None:
        """The mean of the values, as in the tables."""
        return sum(self.values) / len(self.values) if self.values else None

    @cached_property
    def print_step(self) -> float:
        """One unit of the last printed digit of an imported figure, in bit/s; otherwise 0."""
        steps = [step for value in self.of("printed_step_bit_per_s") if (step := as_number(value))]
        return max(steps, default=0.0) if self.quantity == "throughput_bit_per_s" else 0.0

    @cached_property
    def same_host(self) -> bool:
        """Whether both ends are on one host: no wire was used."""
        return True in self.of("same_host")

    @cached_property
    def paced(self) -> bool:
        """Whether the messages were sent at an offered rate."""
        return any(name in self.settings for name in _PACED)

    def of(self, name: str) -> tuple[Value, ...]:
        """The value ``name`` of each trial that is ok and has this value."""
        return tuple(record.values[name] for record in self._ok if name in record.values)

    def of_flow(self, name: str) -> tuple[Value, ...]:
        """As ``of``, for a value of the point's flow; ``name`` is without the flow's prefix."""
        return self.of(self.prefix + name)


@dataclass(frozen=True, kw_only=True)
class Series:
    """The points of one group by their buffers, smallest first; without a size: last."""

    group: Group
    test: str
    quantity: str
    points: tuple[Point, ...]

    @cached_property
    def on_axis(self) -> tuple[Point, ...]:
        """The points with a requested buffer size: the others have no position on the axis."""
        return tuple(point for point in self.points if point.buffer_bytes is not None)

    @cached_property
    def measured(self) -> tuple[Point, ...]:
        """The points with a figure."""
        return tuple(point for point in self.points if point.values)


def series_of(run: Run) -> tuple[Series, ...]:
    """All series of a run, in the plan's order."""
    conditions = varying(run.plan.cells)
    points_of: dict[tuple[Group, str], list[Point]] = {}
    trials = grouped(run.stored.trials(), lambda trial: trial[0].key)
    for cell in run.plan.cells:
        if cell.test not in QUANTITIES:
            continue
        is_both_ways = cell.settings.get("direction") == "both" and cell.test == "stream"
        size = cell.settings.get(AXIS)
        for prefix, flow in FLOWS.items():
            if bool(prefix) != is_both_ways:
                continue
            group = group_of(cell, flow, conditions[cell.test, _protocol(cell)])
            point = Point(
                cell=cell.key,
                buffer_bytes=size if isinstance(size, int) else None,
                settings=cell.settings,
                records=tuple(record for _cell, _trial, record in trials.get(cell.key, ())),
                prefix=prefix,
                quantity=QUANTITIES[cell.test],
                link=run.plan.link,
            )
            points_of.setdefault((group, cell.test), []).append(point)
    for points in points_of.values():
        points.sort(key=lambda p: inf if p.buffer_bytes is None else p.buffer_bytes)
    return tuple(
        Series(group=group, test=test, quantity=QUANTITIES[test], points=tuple(points))
        for (group, test), points in points_of.items()
    )


def group_of(cell: PlannedCell, flow: str, conditions: Sequence[str]) -> Group:
    """The group of a cell, with its values of those ``conditions`` that it does not name itself."""
    size = cell.settings.get("message_bytes")
    return Group(
        pairing=cell.pairing,
        protocol=_protocol(cell),
        message_bytes=size if isinstance(size, int) else None,
        flow=flow,
        conditions=conditions_of(cell.settings, [n for n in conditions if n not in _IN_GROUP]),
    )


def _protocol(cell: PlannedCell) -> str:
    return str(cell.settings.get("protocol", ""))
