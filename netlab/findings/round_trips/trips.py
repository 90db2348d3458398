"""The recorded trials of cells with round trips or connections. No I/O.

A cell is one combination of pairing (server and client), test and settings; a trial is one
execution of a cell. Trials in which data stopped or a process paused are called disturbed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from netlab.findings.finding import Group
from netlab.findings.series import Series
from netlab.findings.stops import STALLED
from netlab.messages import Message, _
from netlab.trial.interruptions import interruptions
from netlab.trial.record import MeasuredValues, Record, Status, as_number

WHAT: Mapping[str, Message] = {
    "round_trip": _("round trips"),
    "connect": _("transactions"),
}
"""Kind of test → name of the times that it measures."""
ENDS = ("client", "server")


@dataclass(frozen=True, slots=True)
class TripTrial(MeasuredValues):
    """Figures derived from one trial with a result."""

    record: Record

    def value(self, name: str) -> Any:
        """A measured value of the record."""
        return self.record.value(name)

    @property
    def mean_ns(self) -> float | None:
        """Mean of the round trips, or for ``connect`` of the times from first packet to answer."""
        mean_ns = self.number("rtt_mean_ns")
        return mean_ns if mean_ns is not None and mean_ns > 0 else None

    @property
    def under_way(self) -> float:
        """Number of requests under way at once."""
        return max(1.0, as_number(self.record.settings.get("outstanding")) or 1.0)

    @property
    def paced(self) -> bool:
        """Whether requests were sent at a given rate."""
        return self.record.settings.get("message_rate_per_s") is not None

    @property
    def disturbed(self) -> bool:
        """Whether data stopped or a process paused; other findings report this."""
        if any(True for _ in interruptions(self.record)):
            return True
        window_ns = self.number("elapsed_ns") or 0.0
        return any(
            window_ns and (self.number(f"{end}_stalled_ns") or 0.0) >= STALLED * window_ns
            for end in ENDS
        )


@dataclass(frozen=True, slots=True)
class TripCell:
    """A cell with its trials that have a result."""

    group: Group
    cell: str
    test: str
    trials: tuple[TripTrial, ...]

    @property
    def calm(self) -> tuple[TripTrial, ...]:
        """The trials that were not disturbed."""
        return tuple(trial for trial in self.trials if not trial.disturbed)


def trip_cells(series: Iterable[Series]) -> Iterator[TripCell]:
    """Every cell of the tests in ``WHAT`` that has a trial with a result, series by series."""
    for one_series in series:
        for point in one_series.points if one_series.test in WHAT else ():
            records = (
                record
                for record in point.records
                if record is not None and record.status is Status.OK
            )
            trials = tuple(TripTrial(record) for record in records)
            if trials:
                yield TripCell(one_series.group, point.cell, one_series.test, trials)


def median_of(values: Iterable[float | None]) -> float | None:
    """Median of the known values; ``None`` if none is known."""
    known_values = [value for value in values if value is not None]
    return median(known_values) if known_values else None
