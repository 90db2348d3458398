"""The distribution of single times: two groups, outliers, connections that lost a packet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.link_checks import Facts
from netlab.findings.round_trips.parts import waiting, waiting_of
from netlab.findings.round_trips.trips import ENDS, WHAT, TripCell, TripTrial, trip_cells
from netlab.findings.series import Series
from netlab.findings.trial_words import in_trials
from netlab.messages import Message, _
from netlab.stats.histogram import Modes, middle_of, two_modes
from netlab.trial.record import as_number
from netlab.units import format_seconds

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
        trials = tuple(lossy_trial.trial.record.key for lossy_trial in lossy)
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
    times = trial.histogram("rtt_histogram")
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


LONG = 10
"""A round trip is long if it takes more than this many times the median."""
FEWEST_LONG = 5
OF_ALL_TIME = 0.1
"""The sum of the times by which long round trips exceed the median must be at least this share of
the total time of all round trips."""
HALF = 0.5
"""A finding is stated if more than this share of the trials show it. An explanation must cover at
least this share of a time or a count."""
OF_DISTANCE = 0.25
"""A CPU's idle state, or an interface's delay of interrupts, may cause the distance between two
groups if the CPU's wake-up time, or the delay, is at least this share of the distance."""


def two_groups(series: Iterable[Series], facts: Facts) -> Iterator[Finding]:
    """A note for each cell (combination of settings) whose times form two groups in more than half
    of its trials.
    """
    for cell in trip_cells(series):
        timed = [
            (timed_trial, times)
            for timed_trial in cell.calm
            if (times := timed_trial.histogram("rtt_histogram")) and times.count
        ]
        bimodal = [(trial, modes) for trial, times in timed if (modes := two_modes(times))]
        if not bimodal or len(bimodal) <= HALF * len(timed):
            continue
        bimodal.sort(key=lambda entry: entry[1].lower_share)
        trial, modes = bimodal[len(bimodal) // 2]
        figures: dict[str, float | None] = {
            "lower_trip_ns": modes.lower,
            "upper_trip_ns": modes.upper,
            "lower_share": modes.lower_share,
            "upper_share": 1 - modes.lower_share,
            "trials": len(bimodal),
            "of_trials": len(cell.trials),
        }
        words = {
            "suspect": suspect(trial, modes, facts),
            **in_trials(len(bimodal), len(cell.trials)),
        }
        present = {name: text for name, text in words.items() if text}
        trials = tuple(sorted(bimodal_trial.record.key for bimodal_trial, _modes in bimodal))
        yield finding(Kind.TWO_MODES, cell.group, (cell.cell,), figures, present, trials)


def suspect(trial: TripTrial, modes: Modes, facts: Facts) -> Message | None:
    """A possible cause of the distance between two groups, from the hosts' facts; ``None`` if no
    cause is known.

    One possible cause is the deepest idle state of an end's CPUs, if the end sleeps until a message
    arrives. The other is the time by which an end's interface delays interrupts.
    """
    apart_ns = modes.upper - modes.lower
    for end, host in (("client", trial.record.client), ("server", trial.record.server)):
        known_facts: dict[str, Any] = {}
        for fact in facts.get(host, ()):
            known_facts |= fact
        wakes_us = as_number(known_facts.get("idle_state_latency_us")) or 0.0
        held_us = as_number(known_facts.get("interface_coalesce_rx_us")) or 0.0
        if 1000 * wakes_us >= OF_DISTANCE * apart_ns and not _spins(trial, end):
            return _(
                "the CPUs of {host} may sleep in {state}, and need up to {time} to wake up",
                host=host,
                state=str(known_facts.get("idle_state_deepest", "")),
                time=_time(wakes_us),
            )
        if 1000 * held_us >= OF_DISTANCE * apart_ns and not trial.record.same_host:
            return _(
                "the interface of {host} delays interrupts by up to {time}",
                host=host,
                time=_time(held_us),
            )
    return None


def _spins(trial: TripTrial, end: str) -> bool:
    return trial.record.settings.get(f"{end}_receive") == "spinning"


def _time(time_us: float) -> str:
    return format_seconds(time_us / 1e6).replace("us", "µs")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tail:
    """A trial in which a few round trips took a large share of the time."""

    trial: TripTrial
    trips: int
    long: int
    median_ns: float
    mean_ns: float
    without_ns: float
    """Mean without the long round trips."""
    longest_ns: float
    beyond_ns: float
    """Total time by which the long round trips exceeded the median."""


def outliers(series: Iterable[Series]) -> Iterator[Finding]:
    """A note for each cell in which a few round trips are far longer than the median.

    A round trip is long if it takes more than ten times the median. In more than half of the
    trials, the times by which long round trips exceeded the median are together at least a tenth of
    the total time. Trials that another finding explains do not count.
    """
    for cell in trip_cells(series):
        explained = {waiting_trial.trial.record.key for waiting_trial, _best in waiting_of(cell)}
        explained |= {loss.trial.record.key for loss in first_packets(cell)}
        timed = [trial for trial in cell.calm if trial.histogram("rtt_histogram") is not None]
        tails = [
            tail for trial in timed if trial.record.key not in explained and (tail := _tail(trial))
        ]
        if not tails or len(tails) <= HALF * len(timed):
            continue
        tails.sort(key=lambda trial_tail: trial_tail.beyond_ns)
        yield _outliers(cell, tails)


def _outliers(cell: TripCell, tails: Sequence[_Tail]) -> Finding:
    middle = tails[len(tails) // 2]
    waits = [waiting(tail.trial) for tail in tails]
    waited = sum(wait.waited_ns for wait in waits if wait is not None)
    retransmitted = sum(_sent_again(tail.trial) for tail in tails)
    beyond, long = sum(tail.beyond_ns for tail in tails), sum(tail.long for tail in tails)
    figures: dict[str, float | None] = {
        "long_trips": middle.long,
        "trips": middle.trips,
        "median_trip_ns": middle.median_ns,
        "longest_trip_ns": max(tail.longest_ns for tail in tails),
        "mean_trip_ns": median(tail.mean_ns for tail in tails),
        "mean_without_trip_ns": median(tail.without_ns for tail in tails),
        "sent_again": retransmitted if retransmitted >= HALF * long else None,
        "waited_ns": waited / len(tails) if waited >= HALF * beyond else None,
        "trials": len(tails),
        "of_trials": len(cell.trials),
    }
    trials = tuple(sorted(tail.trial.record.key for tail in tails))
    words = {"what": WHAT[cell.test], **in_trials(len(tails), len(cell.trials))}
    return finding(Kind.RTT_OUTLIERS, cell.group, (cell.cell,), figures, words, trials)


def _tail(trial: TripTrial) -> _Tail | None:
    times = trial.histogram("rtt_histogram")
    half_ns = None if times is None else times.percentile(0.5)
    if times is None or not half_ns:
        return None
    values = [(middle_of(bucket, times.bits), count) for bucket, count in times.counts.items()]
    long = [(value, count) for value, count in values if value > LONG * half_ns]
    number_long = sum(count for _value, count in long)
    total_ns = sum(value * count for value, count in values)
    beyond_ns = sum((value - half_ns) * count for value, count in long)
    if number_long < FEWEST_LONG or beyond_ns < OF_ALL_TIME * total_ns:
        return None
    rest_ns = total_ns - sum(value * count for value, count in long)
    return _Tail(
        trial=trial,
        trips=times.count,
        long=number_long,
        median_ns=half_ns,
        mean_ns=total_ns / times.count,
        without_ns=rest_ns / (times.count - number_long),
        longest_ns=max(value for value, _n in long),
        beyond_ns=beyond_ns,
    )


def _sent_again(trial: TripTrial) -> float:
    """Segments that the TCP of both ends retransmitted within the window."""
    total = 0.0
    for end in ENDS:
        begin, end_count = (
            trial.number(f"{end}_tcp_{edge}_total_retrans") for edge in ("begin", "end")
        )
        if begin is not None and end_count is not None:
            total += max(0.0, end_count - begin)
    return total
