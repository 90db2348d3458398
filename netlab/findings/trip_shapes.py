"""Single times of round trips (groups, outliers, losses); cells that differ in a setting."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from statistics import median
from typing import Any

from netlab.experiment.cells import Comparison
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.round_trips import (
    ENDS,
    WHAT,
    TripCell,
    TripTrial,
    trip_cells,
    waiting,
    waiting_of,
)
from netlab.findings.series import Series
from netlab.findings.validity import Facts
from netlab.kinds import DEFAULTS_OF
from netlab.messages import Message, _
from netlab.results.labels import setting
from netlab.stats import ComparisonResult, compare, judged_together, mean
from netlab.stats.histogram import Modes, middle_of, two_modes
from netlab.trial.record import Value, as_number
from netlab.trial.settings import Level
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
class LongTrips:
    """A trial with some round trips, or connections, that took far longer than the others."""

    trial: TripTrial
    trips: int
    """Number of all round trips; ``long`` is the number of the long ones."""
    long: int
    median_ns: int
    longest_ns: int
    mean_ns: float
    without_ns: float
    """Mean without the long round trips."""
    beyond_ns: int
    """Total time by which the long round trips exceeded the median."""


def _times(trial: TripTrial) -> tuple[dict[int, int], int]:
    """Time in ns → its count, and the median; empty and 0 if they are not known."""
    times = trial.histogram("rtt_histogram")
    half_ns = None if times is None else times.percentile(0.5)
    if times is None or half_ns is None:
        return {}, 0
    return {middle_of(bucket, times.bits): n for bucket, n in times.counts.items()}, half_ns


def _long_trips(
    trial: TripTrial, times: Mapping[int, int], median_ns: int, long: Mapping[int, int]
) -> LongTrips:
    """``times`` are all times with their counts; ``long`` are some of them."""
    trips, number_long = sum(times.values()), sum(long.values())
    all_ns, long_ns = (sum(ns * count for ns, count in part.items()) for part in (times, long))
    return LongTrips(
        trial=trial,
        trips=trips,
        long=number_long,
        median_ns=median_ns,
        longest_ns=max(long),
        mean_ns=all_ns / trips,
        without_ns=(all_ns - long_ns) / (trips - number_long),
        beyond_ns=long_ns - number_long * median_ns,
    )


def first_packet_lost(series: Iterable[Series]) -> Iterator[Finding]:
    """A warning for each cell with connections whose first packet was lost."""
    for cell in trip_cells(series):
        if lossy := first_packets(cell):
            worst = max(lossy, key=lambda lossy_trial: lossy_trial.long / lossy_trial.trips)
            figures = {
                "lost_connections": sum(lossy_trial.long for lossy_trial in lossy),
                "connections": sum(lossy_trial.trips for lossy_trial in lossy),
                "longest_trip_ns": max(lossy_trial.longest_ns for lossy_trial in lossy),
                "mean_trip_ns": worst.mean_ns,
                "mean_without_trip_ns": worst.without_ns,
            }
            trials = [lossy_trial.trial for lossy_trial in lossy]
            yield cell.finding(Kind.FIRST_PACKET_LOST, trials, figures)


def first_packets(cell: TripCell) -> list[LongTrips]:
    """The trials of a cell with connections whose first packet was lost. Empty for tests of round
    trips, which use an open connection.
    """
    trials = cell.calm if cell.test == "connect" else ()
    return [loss for trial in trials if (loss := _lost_first(trial)) is not None]


def _lost_first(trial: TripTrial) -> LongTrips | None:
    times, half_ns = _times(trial)
    long = {ns: count for ns, count in times.items() if ns >= 9e8}
    near = {ns: count for ns, count in long.items() if _near(ns, half_ns)}
    number_long, lost = sum(long.values()), sum(near.values())
    first = sum(count for ns, count in near.items() if ns <= _latest(TIMEOUTS_S[0], half_ns))
    if half_ns > SHORT_NS or lost in (0, sum(times.values())):
        return None
    stalled_ns = sum(trial.number(f"{end}_stalled_ns") or 0.0 for end in ENDS)
    if 2 * stalled_ns >= sum(ns * count for ns, count in near.items()):
        return None
    is_shown = lost >= MOST * number_long and first >= FIRST * number_long
    return _long_trips(trial, times, half_ns, near) if is_shown else None


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
    """A note for each cell whose times form two groups in more than half of its trials."""
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
        figures = {
            "lower_trip_ns": modes.lower,
            "upper_trip_ns": modes.upper,
            "lower_share": modes.lower_share,
            "upper_share": 1 - modes.lower_share,
        }
        cause = suspect(trial, modes, facts)
        words = {} if cause is None else {"suspect": cause}
        yield cell.finding(Kind.TWO_MODES, [trial for trial, _modes in bimodal], figures, words)


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
        if 1000 * wakes_us >= OF_DISTANCE * apart_ns and not trial.spins(end):
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


def _time(time_us: float) -> str:
    return format_seconds(time_us / 1e6).replace("us", "µs")


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
        middle = sorted(tails, key=lambda trial_tail: trial_tail.beyond_ns)[len(tails) // 2]
        trials = [tail.trial for tail in tails]
        waited = sum(wait.waited_ns for trial in trials if (wait := waiting(trial)) is not None)
        again = sum(trial.grown(end, "total_retrans") or 0 for trial in trials for end in ENDS)
        beyond, long = sum(tail.beyond_ns for tail in tails), sum(tail.long for tail in tails)
        figures = {
            "long_trips": middle.long,
            "trips": middle.trips,
            "median_trip_ns": middle.median_ns,
            "longest_trip_ns": max(tail.longest_ns for tail in tails),
            "mean_trip_ns": median(tail.mean_ns for tail in tails),
            "mean_without_trip_ns": median(tail.without_ns for tail in tails),
            "sent_again": float(again) if again >= HALF * long else None,
            "waited_ns": waited / len(tails) if waited >= HALF * beyond else None,
        }
        yield cell.finding(Kind.RTT_OUTLIERS, trials, figures, {"what": WHAT[cell.test]})


def _tail(trial: TripTrial) -> LongTrips | None:
    """The round trips of more than ten medians, if they took a large share of the time."""
    times, half_ns = _times(trial)
    long = {ns: count for ns, count in times.items() if ns > LONG * half_ns}
    if not half_ns or sum(long.values()) < FEWEST_LONG:
        return None
    tail = _long_trips(trial, times, half_ns, long)
    total_ns = sum(ns * count for ns, count in times.items())
    return tail if tail.beyond_ns >= OF_ALL_TIME * total_ns else None


AXES = (
    *("protocol", "ip_version", "server_receive", "client_receive", "nodelay", "udp_checksum"),
    *("congestion", "close"),
)
"""Settings for which a ratio is informative: not the length or the number of messages."""
MOST_LEVELS = 4
LEVEL = 0.01
"""Significance level. Nobody requested these comparisons, so at most one in a hundred should show a
difference by chance."""
FEWEST = 3
"""Minimum number of trials per side: with two, hardly any difference is significant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """One level of a setting (the contender) compared with another (the baseline), in cells that
    are otherwise equal."""

    pairing: str
    axis: str
    baseline: Level
    contender: Level
    cells: tuple[str, ...]
    together: ComparisonResult
    """The comparison of all pairs of cells together."""
    single: tuple[ComparisonResult, ...]
    """The comparison of each pair."""


def variants(series: Iterable[Series], *, imported: bool) -> Iterator[Finding]:
    """One note for each setting in which cells differ, and each of its levels. The baseline, with
    which the other levels are compared, has no note.
    """
    kinds: dict[tuple[str, str], list[TripCell]] = defaultdict(list)
    for cell in trip_cells(series):
        kinds[cell.test, cell.group.pairing].append(cell)
    comparisons = [
        comparison
        for cells in kinds.values()
        for axis in AXES
        for comparison in _along(axis, cells, paired=not imported)
    ]
    results = judged_together([comparison.together for comparison in comparisons], LEVEL)
    all_single = list(chain.from_iterable(comparison.single for comparison in comparisons))
    singles = iter(judged_together(all_single, LEVEL))
    for comparison, result in zip(comparisons, results, strict=True):
        yield _finding(comparison, result, [next(singles) for _pair in comparison.single])


def _along(axis: str, cells: Sequence[TripCell], *, paired: bool) -> Iterator[_Compared]:
    """Compare each level with the setting's default, or with the first level if the default was not
    measured.
    """
    all_settings = [_settings_of(cell) for cell in cells]
    levels = list(
        dict.fromkeys(settings[axis] for settings in all_settings if settings.get(axis) is not None)
    )
    if not 2 <= len(levels) <= MOST_LEVELS:
        return
    usual = DEFAULTS_OF[cells[0].test].get(axis)
    baseline = usual if usual in levels else levels[0]
    for contender in levels:
        comparison = Comparison(axis, {axis: baseline}, {axis: contender})
        pairs = [] if contender == baseline else comparison.pairs_in(all_settings)
        all_sides = [(_figures(cells[old]), _figures(cells[new])) for old, new in pairs]
        full = [min(map(len, sides)) >= FEWEST for sides in all_sides]
        aligned = _aligned(list(compress(all_sides, full)), paired=paired)
        if not aligned or len(aligned[0][0]) < FEWEST:
            continue
        # The geometric mean of each block over the cells.
        old_means, new_means = (
            [math.exp(mean([*map(math.log, block)])) for block in zip(*figures, strict=True)]
            for figures in zip(*aligned, strict=True)
        )
        positions = chain.from_iterable(compress(pairs, full))
        yield _Compared(
            pairing=cells[0].group.pairing,
            axis=axis,
            baseline=baseline,
            contender=contender,
            cells=tuple(dict.fromkeys(cells[position].cell for position in positions)),
            together=compare(old_means, new_means, paired=paired, confidence=1 - LEVEL),
            single=tuple(compare(*side, paired=paired, confidence=1 - LEVEL) for side in aligned),
        )


def _aligned(
    sides: Sequence[tuple[Mapping[int, float], Mapping[int, float]]], *, paired: bool
) -> list[tuple[list[float], list[float]]]:
    """For each pair of cells, the figures of the blocks in which all cells have a figure. If not
    ``paired``, the cells are imported and have no blocks: their lists of figures are cut to the
    same length.
    """
    all_sides = [side for pair in sides for side in pair]
    if not paired:
        fewest = min(map(len, all_sides), default=0)
        return [([*a.values()][:fewest], [*b.values()][:fewest]) for a, b in sides]
    common = sorted(set.intersection(*map(set, all_sides))) if all_sides else []
    return [([a[trial] for trial in common], [b[trial] for trial in common]) for a, b in sides]


def _settings_of(cell: TripCell) -> dict[str, Level]:
    settings: Mapping[str, Value] = cell.trials[0].record.settings
    plain = {name: value for name, value in settings.items() if not isinstance(value, list)}
    return {**plain, "test": cell.test, "pairing": cell.group.pairing}


def _figures(cell: TripCell) -> dict[int, float]:
    return {trial.record.trial: mean for trial in cell.calm if (mean := trial.mean_ns) is not None}


def _finding(
    compared: _Compared, together: ComparisonResult, single: Sequence[ComparisonResult]
) -> Finding:
    ratios = [pair.ratio for pair in single if pair.verdict == "different" and pair.ratio]
    mean_ratio = together.ratio if together.verdict == "different" else None
    # The mean is meaningless if it hides or contradicts a difference of single pairs.
    apart = bool(ratios) and not _agree(mean_ratio, ratios)
    figures: dict[str, float | None] = {
        "n": together.n,
        "compared": len(single),
        "differing": len(ratios),
    }
    if apart and len(ratios) == 1:
        figures["only_ratio"] = ratios[0]
    elif apart:
        figures |= {"least_ratio": min(ratios), "most_ratio": max(ratios)}
    if mean_ratio is not None and not apart:
        figures |= {"ratio": mean_ratio, "low_ratio": together.low, "high_ratio": together.high}
    is_difference = mean_ratio is not None or apart
    if not is_difference and together.smallest_ratio is not None:
        figures["detectable_share"] = together.smallest_ratio - 1
    axis, baseline, contender = compared.axis, compared.baseline, compared.contender
    if axis == "protocol":
        words, group = {"baseline": str(baseline)}, Group(compared.pairing, str(contender))
    else:
        words = {"baseline": setting(axis, baseline)}
        group = Group(compared.pairing, conditions=((axis, contender),))
    if len(single) > 1:
        words["pairs_of_cells"] = _("{number} pairs of cells", number=len(single))
    kind = Kind.COMPARISON_DIFFERS if is_difference else Kind.COMPARISON_INCONCLUSIVE
    return finding(kind, group, compared.cells, figures, words)


def _agree(mean_ratio: float | None, ratios: Sequence[float]) -> bool:
    """Whether the mean shows a difference, and no single pair shows a difference in the other
    direction.
    """
    return mean_ratio is not None and all((ratio > 1) == (mean_ratio > 1) for ratio in ratios)
