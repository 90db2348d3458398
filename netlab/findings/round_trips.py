"""Round trips and connections: their minimum on the wire, waits, parts, and single long times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal

from netlab.ethernet import IP_BYTES, TCP_BYTES, Link, ip_version_of, packets, transfer_floor_bytes
from netlab.findings.finding import Facts, Finding, Group, Kind, finding, in_trials, of_trials
from netlab.findings.over_time import CAUSES, STALLED
from netlab.findings.series import Series
from netlab.findings.stream_end import WINDOW_NS
from netlab.messages import Message, _
from netlab.stats import median_absolute_deviation
from netlab.stats.histogram import Modes, middle_of, two_modes
from netlab.trial.interruptions import Cause, interruptions
from netlab.trial.record import MeasuredValues, Record, Status, as_number, grouped
from netlab.units import format_rate, format_seconds

WHAT: Mapping[str, Message] = {"round_trip": _("round trips"), "connect": _("transactions")}
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
        mean_ns = self.number("rtt_mean_ns") or 0.0
        return mean_ns if mean_ns > 0 else None

    @property
    def under_way(self) -> float:
        """Number of requests under way at once."""
        return max(1.0, as_number(self.record.settings.get("outstanding")) or 1.0)

    @property
    def paced(self) -> bool:
        """Whether requests were sent at a given rate."""
        return self.record.settings.get("message_rate_per_s") is not None

    def spins(self, end: str) -> bool:
        """Whether an end keeps its CPU busy while it waits."""
        return self.record.settings.get(f"{end}_receive") == "spinning"

    @property
    def disturbed(self) -> bool:
        """Whether data stopped or a process paused; other findings report this."""
        window_ns = self.number("elapsed_ns") or math.inf
        paused_ns = max(self.number(f"{end}_stalled_ns") or 0.0 for end in ENDS)
        return paused_ns >= STALLED * window_ns or any(True for _ in interruptions(self.record))


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

    def finding(
        self,
        kind: Kind,
        trials: Sequence[TripTrial],
        figures: Mapping[str, float | None],
        words: Mapping[str, str] | None = None,
    ) -> Finding:
        """A finding that these trials of the cell show, with their number in figures and words."""
        keys = sorted(trial.record.key for trial in trials)
        return of_trials(kind, self.group, keys, len(self.trials), figures, words)


def trip_cells(series: Iterable[Series]) -> Iterator[TripCell]:
    """Every cell of the tests in ``WHAT`` that has a trial with a result, series by series."""
    for one_series in series:
        for point in one_series.points if one_series.test in WHAT else ():
            trials = tuple(TripTrial(r) for r in point.records if r and r.status is Status.OK)
            if trials:
                yield TripCell(one_series.group, point.cell, one_series.test, trials)


def median_of(values: Iterable[float | None]) -> float | None:
    """Median of the known values; ``None`` if none is known."""
    known_values = [value for value in values if value is not None]
    return median(known_values) if known_values else None


TOLERANCE = 0.01
TOLERANCE_NS = 1000.0
"""Because of clock errors, a time may be below the floor by ``TOLERANCE`` (a share of the floor)
plus ``TOLERANCE_NS``."""


def below_floor(series: Iterable[Series], link: Link | None) -> tuple[Finding, ...]:
    """A warning for each pairing, protocol and message size with a round trip below its floor.

    Groups whose typical round trip is below the floor come first.
    """
    if link is None:
        return ()
    groups = grouped(
        trip_cells(series), lambda cell: (cell.test, replace(cell.group, flow="", conditions=()))
    )
    findings = (_of_group(test, group, cells, link) for (test, group), cells in groups.items())
    below = filter(None, findings)
    return tuple(sorted(below, key=lambda finding: "typical_trip_ns" not in finding.evidence))


def _of_group(test: str, group: Group, cells: Iterable[TripCell], link: Link) -> Finding | None:
    entries = []
    for cell in cells:
        for trial in cell.trials:
            shortest_ns, floor = trial.number("rtt_min_ns"), floor_ns(trial, cell.test, link)
            # If single times are missing, the mean, which is never shorter.
            least = trial.mean_ns if shortest_ns is None else shortest_ns
            if floor is not None and least is not None:
                entries.append((trial, floor, least))
    below = [entry for entry in entries if is_below(entry[2], entry[1])]
    if not below:
        return None
    _trial, floor, least = min(below, key=lambda entry: entry[2] / entry[1])
    typical = median_of(_typical_ns(trial) for trial, _floor, _least in below)
    figures: dict[str, float | None] = {
        "shortest_trip_ns": least,
        "floor_trip_ns": floor,
        "typical_trip_ns": typical if typical and is_below(typical, floor) else None,
        "link_rate_bit_per_s": link.rate_bit_per_s,
        "trials": len(below),
        "of_trials": len(entries),
    }
    trials = tuple(trial.record.key for trial, _floor, _least in below)
    rate = format_rate(link.rate_bit_per_s)
    one_link = _("a link of {rate}", rate=rate)
    cables = _("{cables} links of {rate} in series", cables=link.hops + 1, rate=rate)
    words = {
        "what": WHAT[test],
        "link": cables if link.hops else one_link,
        **(in_trials(len(below), len(entries)) if len(below) < len(entries) else {}),
    }
    return finding(Kind.BELOW_FLOOR, group, (), figures, words, trials)


def is_below(time_ns: float, floor: float) -> bool:
    """Whether a time is below the floor by more than the clocks explain."""
    return time_ns < (1 - TOLERANCE) * floor - TOLERANCE_NS


def floor_ns(trial: TripTrial, test: str, link: Link) -> float | None:
    """Minimum time of request and answer on the link, in ns. For the test ``connect``, the two
    packets that open the connection are included.

    ``None`` if both ends are one host, or if the sizes are not known.
    """
    settings = trial.record.settings
    request, response = map(as_number, map(settings.get, ("message_bytes", "response_bytes")))
    if trial.record.same_host or not request:
        return None
    answer = trial.number("client_response_bytes") or response or request
    # Without TCP options: the record does not show which options each connection uses.
    opening = (IP_BYTES[ip_version_of(settings)] + TCP_BYTES,)
    packet_lists = [
        _packets(trial, "client", round(request), link),
        _packets(trial, "server", round(answer), link),
        *([opening, opening] if test == "connect" else []),
    ]
    total_bytes = 0
    for packet_bytes in packet_lists:
        if packet_bytes is None:
            return None
        total_bytes += transfer_floor_bytes(packet_bytes, link)
    return 8e9 * total_bytes / link.rate_bit_per_s


def _packets(trial: TripTrial, end: str, size: int, link: Link) -> tuple[int, ...] | None:
    """Sizes of the IP packets of one message. If an option or the path's MTU is unknown, the floor
    is too low, never too high.
    """
    path_mtu, mss = trial.number(f"{end}_path_mtu_bytes"), trial.number("mss_bytes")
    version, mtu = ip_version_of(trial.record.settings), link.mtu_bytes
    stamps, mss_bytes = trial.flag("tcp_timestamps") is True, None if mss is None else round(mss)
    with suppress(ValueError):
        if trial.record.settings.get("protocol") == "UDP":
            mtu = mtu if path_mtu is None else round(path_mtu)
            return packets("UDP", size, mtu, ip_version=version)
        return packets("TCP", size, mtu, ip_version=version, timestamps=stamps, mss_bytes=mss_bytes)
    return None


def _typical_ns(trial: TripTrial) -> float | None:
    """The median round trip; the mean if there is no histogram."""
    times = trial.histogram("rtt_histogram")
    half = None if times is None else times.percentile(0.5)
    return trial.mean_ns if half is None else float(half)


LEAST_SHARE = 0.05
"""A trial's waits must take at least this share of its time. The means of the trials that it is
compared with must be shorter than its own mean by at least this share of its own mean."""
ALONE = 0.2
"""If there is only one compared trial, its mean must be shorter by at least this share."""
HALF = 0.5
"""An explanation, such as waits, must cover at least this share of a time or a count. A trial is
compared only with trials whose waits are less than this share of its own waits. A finding about the
shape of times is stated if more than this share of the trials show it."""

SCATTERS = 4.5
"""Minimum excess of a trial's mean over the median of the compared trials' means. The unit is the
median absolute deviation of these means; 4.5 of them are three standard deviations."""
ENOUGH = 4
"""Minimum number of trials from which a scatter is computed."""

Wait = Literal["delay", "quota", "steal"]

WORDS: Mapping[tuple[Wait, str], Message] = {
    ("delay", "client"): _("the client was ready to run and had no CPU"),
    ("delay", "server"): _("the server was ready to run and had no CPU"),
    ("quota", "client"): _("a CPU quota throttled the client"),
    ("quota", "server"): _("a CPU quota throttled the server"),
    ("steal", "client"): CAUSES[Cause.STEAL, "client"],
    ("steal", "server"): CAUSES[Cause.STEAL, "server"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How long the ends of a trial waited for a CPU during its window."""

    trial: TripTrial
    waited_ns: float
    """The waits of both ends together; overlapping waits of one end count once."""
    wait: Wait
    end: str
    """The end that waited longest."""
    longest_ns: float
    """The wait of this end."""
    mean_ns: float
    number: float
    """Number of round trips in the window."""

    @property
    def each_ns(self) -> float:
        """Wait per round trip."""
        return self.waited_ns / self.number

    @property
    def share(self) -> float:
        """The waits as a share of the time that the round trips took together. Requests that were
        under way at the same time count once.
        """
        return self.waited_ns * self.trial.under_way / (self.mean_ns * self.number)


def waited(series: Iterable[Series]) -> Iterator[Finding]:
    """A warning for each cell with trials whose round trips are longer because of waits."""
    for cell in trip_cells(series):
        if longer := waiting_of(cell):
            worst, best_ns = max(longer, key=lambda entry: entry[0].share)
            figures = {
                "mean_trip_ns": worst.mean_ns,
                "waited_trip_ns": worst.longest_ns * worst.trial.under_way / worst.number,
                "waited_share": worst.share,
                "best_trip_ns": best_ns,
            }
            words = {"cause": WORDS[worst.wait, worst.end]}
            trials = [waiting_trial.trial for waiting_trial, _best in longer]
            yield cell.finding(Kind.TRIP_WAITED_FOR_CPU, trials, figures, words)


def waiting_of(cell: TripCell) -> list[tuple[Waiting, float | None]]:
    """The trials whose round trips were lengthened by waits. Each trial is returned with the median
    of the mean times of the trials that waited less, or with ``None`` if no trial waited less and a
    CPU quota explains the trial.
    """
    candidates = [candidate for trial in cell.calm if (candidate := waiting(trial)) is not None]
    longer: list[tuple[Waiting, float | None]] = []
    for candidate in (candidate for candidate in candidates if candidate.share >= LEAST_SHARE):
        fewer = [sibling for sibling in candidates if sibling.each_ns < HALF * candidate.each_ns]
        # A quota that throttled the end in more than a twentieth of its periods.
        quota, number = f"{candidate.end}_quota", candidate.trial.number
        periods, throttled = number(f"{quota}_periods"), number(f"{quota}_throttled_periods")
        is_throttled = bool(periods) and (throttled or 0.0) > LEAST_SHARE * (periods or 0.0)
        if not fewer and candidate.wait == "quota" and is_throttled:
            longer.append((candidate, None))
        elif fewer and _explains(candidate, fewer):
            longer.append((candidate, median(sibling.mean_ns for sibling in fewer)))
    return longer


def _explains(slow: Waiting, fewer: Sequence[Waiting]) -> bool:
    """Whether waits explain why a trial is slower than the trials that waited less.

    All trials that waited less must be faster, by more than their scatter. The additional waits
    must be at least half of the additional time.
    """
    means = [sibling.mean_ns for sibling in fewer]
    lost_ns = slow.mean_ns - median(means)
    scatter_ns = median_absolute_deviation(means) if len(means) >= ENOUGH else 0.0
    least = LEAST_SHARE if len(means) > 1 else ALONE
    if max(means) >= slow.mean_ns or lost_ns < max(least * slow.mean_ns, SCATTERS * scatter_ns):
        return False
    more_ns = slow.each_ns - median(sibling.each_ns for sibling in fewer)
    return more_ns * slow.trial.under_way >= HALF * lost_ns


def waiting(trial: TripTrial) -> Waiting | None:
    """The waits of a trial; ``None`` if no end reports them, if there is no mean, or if the window
    is too short for the kernel's counters.
    """
    mean_ns, number = trial.mean_ns, trial.number("rtt_count") or trial.number("transactions")
    window_ns = trial.number("elapsed_ns")
    if not mean_ns or not number or not window_ns or window_ns < WINDOW_NS:
        return None
    waits: dict[tuple[Wait, str], float] = {}
    for end in ENDS:
        if (delay_ns := trial.number(f"{end}_run_queue_delay_ns")) is not None:
            waits["delay", end] = delay_ns
        if (quota_ns := trial.number(f"{end}_quota_throttled_ns")) is not None:
            # The counter sums over all CPUs, but no thread waits longer than the window.
            waits["quota", end] = min(quota_ns, window_ns)
        if (stolen_share := trial.number(f"{end}_host_steal_share")) is not None:
            waits["steal", end] = stolen_share * window_ns
    if not waits:
        return None
    of_ends = (max(waits.get(("delay", e), 0.0), waits.get(("quota", e), 0.0)) for e in ENDS)
    # Two ends on one machine report the same CPUs: the larger value counts, not the sum.
    stolen = max(waits.get(("steal", e), 0.0) for e in ENDS)
    wait, end = max(waits, key=waits.__getitem__)
    return Waiting(
        trial=trial,
        waited_ns=max(sum(of_ends), stolen),
        wait=wait,
        end=end,
        longest_ns=waits[wait, end],
        mean_ns=mean_ns,
        number=number,
    )


PARTS = ("wire", "stack", "hold", "client_cpu", "server_cpu", "wait")
"""Names of the parts, in the order of the text; the figures are called ``NAME_trip_ns``. The parts
are the minimum time on the wire, the time in the server's stack and program, the time for which the
server held answers back, the CPU time of client and server, and waits for a CPU."""
FEWEST = 2
LEAST = 0.25
"""The parts are informative only if they are together at least this share of the round trip."""
TICK_NS = 15_625_000
"""Length of the ticks in which Windows counts the CPU time of threads."""
TICKS = 20
"""Minimum CPU time in such ticks: a shorter time is too coarse."""


def made_of(series: Iterable[Series], link: Link | None) -> Iterator[Finding]:
    """A note for each cell with at least two known parts, if their sum does not exceed the round
    trip.
    """
    for cell in trip_cells(series):
        trials = [t for t in cell.calm if t.mean_ns and t.under_way == 1 and not t.paced]
        mean_ns = median_of(trial.mean_ns for trial in trials)
        if mean_ns is None:
            continue
        parts_of_trials = [parts_ns(trial, cell, link) for trial in trials]
        parts = {
            f"{name}_trip_ns": median(of_trial[name] for of_trial in parts_of_trials)
            for name in PARTS
            if all(name in of_trial for of_trial in parts_of_trials)
        }
        together_ns = sum(parts.values())
        if len(parts) >= FEWEST and LEAST * mean_ns <= together_ns <= mean_ns:
            figures = {**parts, "mean_trip_ns": mean_ns, "rest_trip_ns": mean_ns - together_ns}
            keys = tuple(trial.record.key for trial in trials)
            yield finding(Kind.TRIP_MADE_OF, cell.group, (cell.cell,), figures, trials=keys)


def parts_ns(trial: TripTrial, cell: TripCell, link: Link | None) -> dict[str, float]:
    """Name of a part → its mean time per round trip; unknown parts are absent."""
    wire = None if link is None else floor_ns(trial, cell.test, link)
    least = trial.number("rtt_min_ns") or trial.mean_ns
    if wire is not None and least is not None and is_below(least, wire):
        wire = None
    hold_s = trial.record.settings.get("mirror_hold_s")
    hold = 1e9 * hold_s if isinstance(hold_s, float) and hold_s > 0 else None
    stack = trial.number("server_stack_mean_ns")
    requests, answered = trial.number("transactions"), trial.number("server_received_messages")
    client = _per_message(trial, "client", "thread_ns", requests)
    server = _per_message(trial, "server", "thread_ns", answered)
    waits = [_per_message(trial, "client", "run_queue_delay_ns", requests)]
    if stack is None:
        waits.append(_per_message(trial, "server", "run_queue_delay_ns", answered))
    if hold is not None or stack is not None:
        server = None
    all_parts = {
        "wire": wire,
        "stack": stack,
        "hold": hold if stack is None else None,
        "client_cpu": None if trial.spins("client") else client,
        "server_cpu": None if trial.spins("server") else server,
        "wait": sum(wait or 0.0 for wait in waits) or None,
    }
    return {name: ns for name, ns in all_parts.items() if ns is not None}


def _per_message(trial: TripTrial, end: str, name: str, number: float | None) -> float | None:
    """A time that an end recorded over its window, divided by the number of messages in the window.

    ``None`` if the time is not known, 0 or too coarse, or if the window is too short.
    """
    total_ns = trial.number(f"{end}_{name}")
    if not total_ns or not number or (trial.number("elapsed_ns") or 0.0) < WINDOW_NS:
        return None
    coarse = total_ns % TICK_NS == 0 and total_ns < TICKS * TICK_NS
    return None if coarse else total_ns / number


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
        known_facts = {name: fact for each in facts.get(host, ()) for name, fact in each.items()}
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
