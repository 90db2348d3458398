"""Estimates how long a plan takes, and counts the trials whose time cannot be predicted. No I/O.

A trial is one measurement of a cell (a combination of two hosts and settings); a round is the
trials that run at the same time. If a trial ends after a number of messages (``count``) and no rate
of messages is set, its length is not known in advance. Its minimum length follows from the link's
rate; slow hosts may take longer.

A search is a trial that tries several sizes or rates. Its **least** time assumes that the first try
gives the result. Its **most** time assumes that the path has one fixed limit, that every step
halves the range, and that each size or rate beyond the limit is tried until it counts as failed. A
search takes longer on a path that loses a few frames at every rate; how much longer cannot be
predicted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from netlab import ethernet
from netlab.experiment.matrix import Link
from netlab.experiment.schedule import Round, is_together
from netlab.kinds import (
    SEARCHES,
    Connect,
    LatencyUnderLoad,
    PayloadSearch,
    RoundTrip,
    Stream,
    TestSettings,
    ThroughputSearch,
)
from netlab.kinds.throughput_search.rate_search import CONFIRMATIONS, FAILURES, RateGrid

LEARN_S = 0.1
"""Time at the beginning of a try. The frames sent in this time do not count: from these frames, the
device under test learns the hosts' addresses."""
LATENCY_LOAD_SHARES = (0.1, 0.5, 0.9, 1.0)
"""Loads under which round trips are timed after a search, as shares of the rate that it found."""
AROUND_S = 0.2
"""Each of these loads runs for this time before the first request that counts, and for the same
time after the last request that counts."""
LOSS_STEPS = 10
"""Maximum number of rates at which frame loss is measured. Two successive rates without loss end
the measurement."""
LONGEST_BURST_S = 2.0
"""A device that forwards a burst of this length is assumed to forward any burst."""
LEAST_BURST_FRAMES = 2
LEAST_MESSAGE_BYTES = {"TCP": 1, "UDP": 16}
"""Smallest message that a payload search tries; a UDP message needs 16 bytes for its sequence
number."""
SETTLE_TCP_S = 1.0
"""Time that a lost TCP message takes in addition to its time-out."""

PROGRAMS_S = 0.6
"""Time that another tool's server and client take to start and end, in addition to the warm-up and
the measured time."""

_GUESSES = 2
"""Number of sizes tried before halving begins: the largest that the interface should pass, and this
size plus one byte."""
_AGAIN = 3
"""Number of bursts in a search for the longest burst, if the search begins with the result of an
earlier search."""
_SWEPT = {"TCP": (14, 14), "UDP": (14, 16)}
"""Minimum and maximum number of message sizes at which a payload search also measures throughput,
if the payload found has at least a hundred bytes."""

_BARE_SEGMENT_BYTES = ethernet.packet_wire_bytes(1)
"""Wire bytes of a segment without payload: its headers and options fit into the shortest frame."""


Setups = tuple[TestSettings, ...]
"""The settings of the trials of a round."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated time of some rounds."""

    time_s: float
    """The time that can be calculated, including overhead and pauses."""
    longest_s: float
    """Time of the longest trial."""
    at_link_rate: int
    """Number of trials that end after a count of messages and whose time was calculated from the
    link's rate. These trials may take longer."""
    counted: int
    """Number of trials that end after a count of messages, on an unknown link. ``time_s`` does not
    include their length."""
    searching: int
    """Number of trials that are searches. ``time_s`` includes their least or their most time,
    depending on the argument ``at_least`` of ``estimate``."""
    unbounded: int = 0
    """Number of searches whose time depends on an unknown line rate. ``time_s`` does not include
    the time of these searches."""


def estimate(
    rounds: Mapping[Setups, int],
    link: Link | None,
    *,
    overhead_s: float,
    pause_s: float,
    at_least: bool = False,
) -> Estimate:
    """The time of successive rounds, each with ``overhead_s``, and ``pause_s`` between two rounds.

    ``rounds`` maps the settings of the trials of a round to the number of rounds with them.
    Searches count with their most time, or with their least time if ``at_least`` is true.
    """
    time_s = longest_s = 0.0
    at_link_rate = counts = searching = unbounded = number = 0
    for setups, same in rounds.items():
        times_s = [0.0]
        for setup, of_round in Counter(setups).items():
            trials = same * of_round
            if isinstance(setup, SEARCHES):
                rate = None if link is None else link.rate_bit_per_s
                bounds = bounds_of(setup, rate, len(setups) if is_together(setup) else 1)
                searching += trials
                unbounded += trials if bounds is None else 0
                if bounds is not None:
                    times_s.append(bounds.least_s if at_least else bounds.most_s)
                continue
            asked_s = window_s(setup)
            known_s = least_s(setup, link) if asked_s is None else asked_s
            times_s.append((known_s or 0.0) + _programs_s(setup))
            if known_s is None:
                counts += trials
            elif asked_s is None:
                at_link_rate += trials
        time_s += same * (max(times_s) + overhead_s)
        longest_s = max(longest_s, *times_s)
        number += same
    time_s += pause_s * max(0, number - 1)
    return Estimate(time_s, longest_s, at_link_rate, counts, searching, unbounded)


def same_setups(rounds: Iterable[Round]) -> Counter[Setups]:
    """The number of rounds with the same settings. Many rounds have the same settings, and so the
    same time.
    """
    return Counter(tuple([trial.cell.setup for trial in round_.trials]) for round_ in rounds)


def _programs_s(setup: TestSettings) -> float:
    """Time in which the programs of another tool start and end; 0 for netlab's own probe."""
    is_tool = isinstance(setup, Stream | RoundTrip) and setup.engine is not None
    return PROGRAMS_S if is_tool else 0.0


def window_s(setup: TestSettings) -> float | None:
    """Requested length of the warm-up and the window (the time that is measured) together.

    ``None`` if the settings do not fix the time: a count of messages without a rate, or a search.
    """
    if isinstance(setup, LatencyUnderLoad):
        return setup.round_trips_s()
    if isinstance(setup, SEARCHES):
        return None
    if setup.duration_s is not None:
        return setup.warm_up_s + setup.duration_s
    if setup.count is not None and setup.message_rate_per_s is not None:
        return setup.warm_up_s + setup.count / setup.message_rate_per_s
    if setup.count is None or not isinstance(setup, Stream) or setup.rate_bit_per_s is None:
        return None
    return setup.warm_up_s + 8 * setup.message_bytes * setup.count / setup.rate_bit_per_s


def least_s(setup: TestSettings, link: Link | None) -> float | None:
    """The least time of a search, or of a trial that ends after a count of messages.

    For a count of messages, the time assumes that only the link's rate limits them. Returns
    ``None`` for any other trial, and if the time depends on an unknown link.
    """
    if isinstance(setup, SEARCHES):
        bounds = bounds_of(setup, None if link is None else link.rate_bit_per_s)
        return None if bounds is None else bounds.least_s
    if isinstance(setup, LatencyUnderLoad) or setup.count is None or link is None:
        return None
    request_s = _serialisation_s(setup, setup.message_bytes, link)
    if request_s is None:
        return None
    cables = link.hops + 1
    if isinstance(setup, Stream):
        return setup.warm_up_s + setup.count * request_s
    answer_s = _serialisation_s(setup, setup.response_bytes or setup.message_bytes, link)
    if answer_s is None:
        return None
    there_and_back_s = cables * (request_s + answer_s) + setup.mirror_hold_s
    if isinstance(setup, Connect):
        # SYN and its answer; the last segment of the handshake travels with the request.
        there_and_back_s += cables * 2 * 8 * _BARE_SEGMENT_BYTES / link.rate_bit_per_s
    else:
        # Requests that are under way at once share the cables. Their rate is limited by the slowest
        # of three: the direction there, the direction back, and the mirror (the server's program).
        busiest_s = max(request_s, answer_s, setup.mirror_hold_s)
        there_and_back_s = max(there_and_back_s / setup.outstanding, busiest_s)
    return setup.warm_up_s + setup.count * there_and_back_s


def _serialisation_s(
    setup: Stream | RoundTrip | Connect, message_bytes: int, link: Link
) -> float | None:
    """How long one message occupies one cable; ``None`` if the link cannot carry it."""
    try:
        if setup.protocol == "UDP":
            packets = ethernet.fragments(
                message_bytes, mtu_bytes=link.mtu_bytes, ip_version=setup.ip_version
            )
            on_wire = sum(ethernet.packet_wire_bytes(packet, vlan=link.vlan) for packet in packets)
            return 8 * on_wire / link.rate_bit_per_s
        mss = ethernet.mss_of(link.mtu_bytes, ip_version=setup.ip_version)
    except ValueError:
        return None
    headers = link.mtu_bytes - mss
    if isinstance(setup, Stream):
        # TCP cuts a stream into full segments, independent of its messages.
        on_wire_of_full = ethernet.packet_wire_bytes(link.mtu_bytes, vlan=link.vlan)
        return 8 * on_wire_of_full * (message_bytes / mss) / link.rate_bit_per_s
    full_segments, last = divmod(message_bytes, mss)
    sizes = [mss] * full_segments + ([last] if last else [])
    on_wire = sum(ethernet.packet_wire_bytes(headers + size, vlan=link.vlan) for size in sizes)
    return 8 * on_wire / link.rate_bit_per_s


# Searches


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most time that a search takes, in seconds."""

    least_s: float
    most_s: float


def bounds_of(
    setup: ThroughputSearch | PayloadSearch, line_rate_bit_per_s: float | None, turns: int = 1
) -> Bounds | None:
    """The bounds of one search; ``None`` if they depend on an unknown line rate.

    ``turns``: number of pairs that search together and send their bursts one after the other.
    """
    if isinstance(setup, PayloadSearch):
        return _of_payload(setup)
    rate = setup.line_rate_bit_per_s or line_rate_bit_per_s
    further = _of_further(setup, rate, turns)
    if further is None:
        return None
    tries_least, tries_most = rate_tries(setup)
    least_s, most_s = (
        _rate_s(setup, short, full, late=late)
        for (short, full), late in ((tries_least, False), (tries_most, True))
    )
    return Bounds(least_s + further.least_s, most_s + further.most_s)


def rate_tries(setup: ThroughputSearch) -> tuple[tuple[int, int], tuple[int, int]]:
    """The least and most tries of a search, each as (tries before the confirmation, tries in it).

    The line rate is tried first, then as many rates as it takes to halve the grid of rates down to
    one rate. For the most tries, every rate except the result is assumed to fail.
    """
    grid = RateGrid(Fraction(repr(setup.resolution)))
    decided = 1 + math.ceil(math.log2(grid.size))
    if setup.search_duration_s is None:
        # A try that passes in the search counts for the confirmation.
        return (0, CONFIRMATIONS), (0, FAILURES * decided)
    return (1, CONFIRMATIONS), (FAILURES * decided - 1, CONFIRMATIONS)


def _rate_s(setup: ThroughputSearch, short: int, full: int, *, late: bool) -> float:
    """Time of ``short`` + ``full`` tries and the pauses between them.

    If ``late`` is true, each try waits for late frames.
    """
    full_s = setup.duration_s or 0.0
    short_s = setup.search_duration_s or full_s
    each_s = LEARN_S + (setup.residual_s if late else 0.0)
    pauses_s = (short + full - 1) * setup.settle_s
    return short * short_s + full * full_s + (short + full) * each_s + pauses_s


def _of_further(setup: ThroughputSearch, rate_bit_per_s: float | None, turns: int) -> Bounds | None:
    """Bounds of what a search measures after the rate: loss, latency, and the longest burst."""
    full_s = (setup.duration_s or 0.0) + LEARN_S + setup.settle_s
    least_s = most_s = 0.0
    if setup.frame_loss:
        least_s += 2 * full_s
        most_s += LOSS_STEPS * (full_s + setup.residual_s)
    if setup.latency:
        each_s = full_s + 2 * AROUND_S
        least_s += len(LATENCY_LOAD_SHARES) * each_s
        most_s += len(LATENCY_LOAD_SHARES) * (each_s + setup.residual_s)
    if setup.back_to_back is not None:
        # The least time has no burst: a device that forwards the line rate forwards any burst.
        if rate_bit_per_s is None:
            return None
        longest = LONGEST_BURST_S * ethernet.frames_per_s(rate_bit_per_s, setup.frame_bytes)
        doublings = math.ceil(math.log2(max(2.0, longest / LEAST_BURST_FRAMES)))
        bursts = 1 + 2 * doublings + _AGAIN * (setup.back_to_back - 1)
        most_s += turns * (LEARN_S + bursts * (LONGEST_BURST_S + setup.residual_s))
    return Bounds(least_s, most_s)


def _of_payload(setup: PayloadSearch) -> Bounds:
    """Bounds of a payload search in both directions. A size that is lost takes its time-out. A size
    that passes takes one round trip, which counts as no time here.
    """
    least, most = LEAST_MESSAGE_BYTES[setup.protocol], ethernet.MAX_DATAGRAM_BYTES[setup.ip_version]
    silent = _GUESSES + math.ceil(math.log2(most - least + 1))
    if setup.protocol == "UDP":
        silent += 1  # the largest size that passes, plus one byte, with fragments allowed
    each_s = setup.timeout_s + (SETTLE_TCP_S if setup.protocol == "TCP" else 0.0)
    swept = _SWEPT[setup.protocol] if setup.sweep else (0, 0)
    least_s, most_s = (sizes * setup.duration_s for sizes in swept)
    return Bounds(least_s, 2 * silent * each_s + most_s)
