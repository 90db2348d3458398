"""The bottleneck of one stream, as far as its own record shows it.

``_RULES`` lists the rules; host_limits.py and path_limits.py contain their conditions. by_trials.py
judges several trials together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from netlab.ethernet import above_tolerance
from netlab.findings.finding import Kind
from netlab.findings.sample import StreamSample
from netlab.findings.streams.host_limits import (
    COSTS,
    core_saturated,
    costs,
    receiver_costs,
    receiver_on_cpu,
    receiver_shut,
    robbed,
    sender_in_calls,
    sender_on_cpu,
    starved,
    takes,
    throttled,
    wants_cpu,
)
from netlab.findings.streams.host_limits import receiver_held_up as held_up
from netlab.findings.streams.parts import largest_beside_others, wait_for_cpu
from netlab.findings.streams.path_limits import (
    congested,
    crowded_out,
    host_drops,
    is_shared,
    path_loss,
    receive_queue_drops,
    send_buffer_limited,
    sender_queue_drops,
    unplaced_loss,
    window_limited,
)

FILLED, FILLED_BOTH_WAYS = 0.98, 0.96
"""Minimum share of the wire ceiling at which the wire is the limit. The second value applies if
data flow both ways: then the ceiling is an upper bound, since acknowledgements take room."""

OFFERED = 0.98
"""Minimum share of the offered rate at which this rate is the limit."""

_Rule = Callable[[StreamSample, float | None], bool]
"""Whether a limit holds for a stream. The second argument is the median throughput, in bit/s, of
those trials of its cell in which no end waited for a CPU (``None``: not known)."""


def _of(rule: Callable[[StreamSample], bool]) -> _Rule:
    """A rule that does not use other trials."""
    return lambda sample, best: rule(sample)


_RULES: Sequence[tuple[Kind, _Rule]] = (
    # First the causes of missing CPU time, then their effects: a receiver without a CPU closes
    # its window and drops messages; a sender without a CPU makes fewer calls.
    (Kind.CPU_WAIT_RECEIVER_QUOTA, lambda it, best: throttled(it.receiver) and held_up(it, best)),
    (
        Kind.CPU_WAIT_SENDER_QUOTA,
        lambda it, best: throttled(it.sender) and takes(it, it.sender, best),
    ),
    (Kind.CPU_WAIT_STEAL, lambda it, best: robbed(it.receiver) and held_up(it, best)),
    (Kind.CPU_WAIT_STEAL, lambda it, best: robbed(it.sender) and wants_cpu(it.sender)),
    (Kind.BUFFER_LIMIT_RECEIVER, _of(window_limited)),  # too small for this round trip
    (Kind.CPU_WAIT_RECEIVER_PROGRAMS, lambda it, best: starved(it.receiver) and held_up(it, best)),
    (Kind.CPU_WAIT_SENDER_PROGRAMS, lambda it, best: starved(it.sender) and _never_idle(it, best)),
    # Before the call rate: a thread that is always on its CPU may be inside its send calls.
    (Kind.CPU_BOUND_SENDER, _of(sender_on_cpu)),
    (Kind.CPU_BOUND_RECEIVER, _of(receiver_on_cpu)),
    (Kind.SENDER_CALL_RATE, _of(sender_in_calls)),
    # If others fill the link, no room is left on it, whatever TCP waits for.
    (Kind.OTHER_TRAFFIC, _of(crowded_out)),
    (Kind.BUFFER_LIMIT_SENDER, _of(send_buffer_limited)),
    (Kind.LOSS_LIMIT_SOCKET, _of(receive_queue_drops)),
    (Kind.LOSS_LIMIT_HOST, _of(host_drops)),
    (Kind.LOSS_LIMIT_SENDER_QUEUE, _of(sender_queue_drops)),
    (Kind.SATURATED_CORE, _of(core_saturated)),
    # The path is the limit only if no host is.
    (Kind.CONGESTION, _of(congested)),
    (Kind.LOSS_LIMIT_PATH, _of(path_loss)),
    (Kind.LOSS_LIMIT_UNKNOWN, _of(unplaced_loss)),
    (
        Kind.CPU_WAIT_RECEIVER_QUOTA,
        lambda it, best: throttled(it.receiver) and receiver_shut(it, best),
    ),
    (
        Kind.CPU_WAIT_RECEIVER_PROGRAMS,
        lambda it, best: starved(it.receiver) and receiver_shut(it, best),
    ),
)
"""The first rule that holds gives the limit."""


def _never_idle(sample: StreamSample, best: float | None) -> bool:
    return wants_cpu(sample.sender) and takes(sample, sample.sender, best)


_BY_WAITS: Sequence[tuple[Kind, _Rule]] = (
    (
        Kind.CPU_WAIT_RECEIVER_QUOTA,
        lambda it, best: throttled(it.receiver) and receiver_costs(it, best),
    ),
    (
        Kind.CPU_WAIT_STEAL,
        lambda it, best: any(robbed(end) and costs(it, end, best) for end in it.ends),
    ),
    (
        Kind.CPU_WAIT_RECEIVER_PROGRAMS,
        lambda it, best: starved(it.receiver) and receiver_costs(it, best),
    ),
    (
        Kind.CPU_WAIT_SENDER_PROGRAMS,
        lambda it, best: starved(it.sender) and costs(it, it.sender, best),
    ),
)
"""Waits whose effect is not recorded. Such a wait must explain at least half of the missing
throughput. A limit that several trials together show replaces such a wait."""


@dataclass(frozen=True, slots=True)
class JudgedStream:
    """One stream, and its limit according to its own record."""

    sample: StreamSample
    kind: Kind | None
    """``None`` if too little is recorded, even for "not determined"."""
    by_shares: bool = False
    """Whether the limit was found by shares only: the waits for a CPU, or the traffic of others,
    are large enough to explain the missing throughput, but their effect is not recorded."""


def judged(sample: StreamSample, best_bit_per_s: float | None = None) -> JudgedStream:
    """The bottleneck of a stream.

    ``best_bit_per_s`` is the median throughput of those trials of its cell in which no end waited
    for a CPU; ``None`` if it is not known.
    """
    if fills_the_wire(sample):
        # A stream above the computed ceiling shows that the computed ceiling is wrong.
        return JudgedStream(sample, None if is_above(sample) else Kind.WIRE_CEILING)
    comparable = sample.same_host or sample.ceiling_bit_per_s
    if sample.imported or not comparable or lost_to_stops(sample):
        return JudgedStream(sample, None)
    offered_rate = sample.offered_bit_per_s
    if offered_rate is not None and sample.throughput_bit_per_s >= OFFERED * offered_rate:
        return JudgedStream(sample, Kind.PACING)
    waited = wait_for_cpu(sample)
    if waited is not None:
        return JudgedStream(sample, waited)
    for kind, rule in _RULES:
        if rule(sample, best_bit_per_s):
            return JudgedStream(sample, kind)
    return _by_shares(sample, best_bit_per_s)


def _by_shares(sample: StreamSample, best_bit_per_s: float | None) -> JudgedStream:
    """The limit if no rule of ``_RULES`` holds: a wait for a CPU, or other traffic, that explains
    enough of the missing throughput.
    """
    largest = largest_beside_others(sample)
    if largest is not None:
        return JudgedStream(sample, largest, by_shares=True)
    # If TCP has a plateau (its rate while data flow), the cost of its waits is known, and
    # ``wait_for_cpu`` has judged it.
    rules = () if is_shared(sample) or sample.plateau_bit_per_s is not None else _BY_WAITS
    for kind, rule in rules:
        if rule(sample, best_bit_per_s):
            return JudgedStream(sample, kind, by_shares=True)
    return JudgedStream(sample, Kind.NOT_DETERMINED if is_all_known(sample) else None)


def limit_of(sample: StreamSample) -> Kind | None:
    """A stream's bottleneck by its own record alone; ``None`` if too little is recorded."""
    return judged(sample).kind


def fills_the_wire(sample: StreamSample) -> bool:
    """Whether a stream fills the wire."""
    share = sample.ceiling_share
    if share is None or sample.same_host:
        return False
    return share >= (FILLED_BOTH_WAYS if sample.flow else FILLED)


def lost_to_stops(sample: StreamSample) -> bool:
    """Whether the share of the window in which data stopped is at least half of the share of the
    ceiling that is missing.

    Another finding reports the stops. Values of TCP, a CPU or a counter in such a window do not
    show a limit.
    """
    stopped_share = sample.stopped_share
    return stopped_share > 0 and stopped_share >= COSTS * sample.missing_share


def is_above(sample: StreamSample) -> bool:
    """Whether a stream's throughput is above the wire ceiling by more than errors of the clocks and
    long receive calls can explain.
    """
    ceiling = sample.highest_ceiling_bit_per_s
    if ceiling is None or sample.same_host:
        return False
    margin = above_tolerance(imported=sample.imported) + sample.resolution_share
    return sample.throughput_bit_per_s > (1 + margin) * ceiling


def is_all_known(sample: StreamSample) -> bool:
    """Whether a stream's record has all values that the rules need."""
    ends: Sequence[float | None] = (
        sample.sender.thread_share,
        sample.sender.run_queue_share,
        sample.receiver.run_queue_share,
        sample.queue_full_share,
    )
    if sample.protocol == "TCP":
        counters_known = None not in (sample.cwnd_limited_us, sample.tcp.retransmissions)
    else:
        losses = sample.losses
        counters_known = sample.lost_share is not None and None not in (
            losses.receive_queue,
            losses.local,
        )
    both_judged = sample.sender.judged and sample.receiver.judged
    has_wire = sample.ceiling_bit_per_s is not None and not sample.same_host
    return has_wire and both_judged and counters_known and sample.streams == 1 and None not in ends
