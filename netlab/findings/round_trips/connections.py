"""Connections whose first packet was lost: TCP's first time-out lengthens them.

TCP retransmits the packet that opens a connection after 1 s (RFC 6298, 2), then after 2 s and 4 s
more; newer Linux kernels retransmit it several times after 1 s each. No counter shows how many
connections this affects, so they are recognised by their duration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.round_trips.trips import ENDS, TripCell, TripTrial, trip_cells
from netlab.findings.series import Series
from netlab.findings.trial_words import in_trials
from netlab.stats.histogram import middle_of

TIMEOUTS_S = (1, 2, 3, 4, 5, 7)
"""Times after which the packet that opens a connection has been retransmitted."""
LATE = 0.125
"""Share by which a timer may be late: Linux rounds timers to an eighth of their length."""
EARLY = 0.01
"""Share by which the middle of a histogram's bucket may be below the times in the bucket."""
SHORT_NS = 2e8
"""Maximum median duration of the connections of a trial that is judged: if connections usually take
longer, an additional second is not conspicuous."""
MOST = 0.8
"""Of the connections that took at least 0.9 s, at least this share must have taken about as long as
one of the time-outs."""
FIRST = 0.5
"""Of the connections that took at least 0.9 s, at least this share must have taken about as long as
the first time-out: two lost packets in a row are rarer than one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostFirst:
    """A trial with connections whose first packet was lost."""

    trial: TripTrial
    connections: int
    lost: int
    longest_ns: float
    mean_ns: float
    without_ns: float
    """Mean of the connections without such a loss."""


def first_packet_lost(series: Iterable[Series]) -> Iterator[Finding]:
    """A warning for each cell (combination of settings) with connections whose first packet was
    lost.
    """
    for cell in trip_cells(series):
        lossy = first_packets(cell)
        if not lossy:
            continue
        worst = max(lossy, key=lambda lossy_trial: lossy_trial.lost / lossy_trial.connections)
        figures: dict[str, float | None] = {
            "lost_connections": sum(lossy_trial.lost for lossy_trial in lossy),
            "connections": sum(lossy_trial.connections for lossy_trial in lossy),
            "longest_trip_ns": max(lossy_trial.longest_ns for lossy_trial in lossy),
            "mean_trip_ns": worst.mean_ns,
            "mean_without_trip_ns": worst.without_ns,
            "trials": len(lossy),
            "of_trials": len(cell.trials),
        }
        trials = tuple(lossy_trial.trial.key for lossy_trial in lossy)
        words = in_trials(len(lossy), len(cell.trials))
        yield finding(Kind.FIRST_PACKET_LOST, cell.group, (cell.cell,), figures, words, trials)


def first_packets(cell: TripCell) -> list[LostFirst]:
    """The trials of a cell with connections whose first packet was lost. Empty for tests of round
    trips, which use an open connection.
    """
    if cell.test != "connect":
        return []
    return [loss for trial in cell.calm if (loss := _lost_first(trial)) is not None]


def _lost_first(trial: TripTrial) -> LostFirst | None:
    times = trial.histogram
    half_ns = None if times is None else times.percentile(0.5)
    if times is None or half_ns is None or half_ns > SHORT_NS:
        return None
    values = [(middle_of(bucket, times.bits), count) for bucket, count in times.counts.items()]
    long = [(value, count) for value, count in values if value >= 9e8]
    near = [(value, count) for value, count in long if _near(value, half_ns)]
    number_long, lost_count = (
        sum(count for _value, count in long),
        sum(count for _value, count in near),
    )
    first = sum(count for value, count in near if value <= _latest(TIMEOUTS_S[0], half_ns))
    stalled_ns = sum(trial.number(f"{end}_stalled_ns") or 0.0 for end in ENDS)
    if not lost_count or lost_count < MOST * number_long or first < FIRST * number_long:
        return None
    if 2 * stalled_ns >= sum(value * count for value, count in near):
        return None
    total_ns, other_count = sum(value * count for value, count in values), times.count - lost_count
    if not other_count:
        return None
    return LostFirst(
        trial=trial,
        connections=times.count,
        lost=lost_count,
        longest_ns=max(value for value, _n in near),
        mean_ns=total_ns / times.count,
        without_ns=(total_ns - sum(value * count for value, count in near)) / other_count,
    )


def _near(value_ns: float, half_ns: float) -> bool:
    """Whether a time is about one of the time-outs plus the duration of a usual connection."""
    return any(
        (1 - EARLY) * 1e9 * timeout_s <= value_ns <= _latest(timeout_s, half_ns)
        for timeout_s in TIMEOUTS_S
    )


def _latest(timeout_s: int, half_ns: float) -> float:
    return (1 + LATE) * 1e9 * timeout_s + 4 * half_ns
