"""What limited a stream, as far as its records show it. Pure.

Where the evidence does not show it there is no finding. The rules stand in ``_RULES``, what each
of them looks at in host_limits.py and path_limits.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.sample import StreamSample
from netlab.findings.streams.figures import evidence, words
from netlab.findings.streams.host_limits import (
    core_saturated,
    costs,
    receiver_behind,
    receiver_held_up,
    robbed,
    sender_in_calls,
    sender_on_cpu,
    starved,
    throttled,
    wants_cpu,
)
from netlab.findings.streams.path_limits import (
    congested,
    crowded_out,
    host_drops,
    packet_bound,
    path_loss,
    receive_queue_drops,
    send_buffer_limited,
    sender_queue_drops,
    unplaced_loss,
    window_limited,
)

FILLED, FILLED_BOTH_WAYS = 0.98, 0.96
"""Share of the wire ceiling from which on the wire is the limit; with data both ways the ceiling
is an upper bound, since acknowledgements take room."""

OFFERED = 0.98
"""Share of the offered rate from which on it is the limit."""

_Rule = Callable[[StreamSample], bool]

_RULES: Sequence[tuple[Kind, _Rule]] = (
    # What takes the CPU away, before what that leads to: a receiver without one closes its window
    # and drops, a sender without one calls more seldom.
    (Kind.RECEIVER_CPU_QUOTA, lambda each: throttled(each.receiver) and receiver_held_up(each)),
    (Kind.SENDER_CPU_QUOTA, lambda each: throttled(each.sender)),
    (Kind.STOLEN_CPU, lambda each: robbed(each.receiver) and receiver_held_up(each)),
    (Kind.STOLEN_CPU, lambda each: robbed(each.sender) and wants_cpu(each.sender)),
    (Kind.RECEIVER_WINDOW, window_limited),  # for this round trip, and nothing waits in its queue
    (Kind.RECEIVER_STARVED, lambda each: starved(each.receiver) and receiver_held_up(each)),
    (Kind.SENDER_STARVED, lambda each: starved(each.sender) and wants_cpu(each.sender)),
    # A thread that is on its CPU all the time may well be so inside its send calls.
    (Kind.SENDER_CPU, sender_on_cpu),
    (Kind.RECEIVER_CPU, receiver_behind),
    (Kind.SENDER_CALL_RATE, sender_in_calls),
    # A link that others fill leaves no more, whatever TCP waits for then.
    (Kind.OTHER_TRAFFIC, crowded_out),
    (Kind.SENDER_BUFFER, send_buffer_limited),
    (Kind.RECEIVE_QUEUE_DROPS, receive_queue_drops),
    (Kind.HOST_DROPS, host_drops),
    (Kind.SENDER_QUEUE_DROPS, sender_queue_drops),
    (Kind.SATURATED_CORE, core_saturated),
    # What the path does shows where the hosts are not to blame.
    (Kind.CONGESTION, congested),
    (Kind.PATH_LOSS, path_loss),
    (Kind.UNPLACED_LOSS, unplaced_loss),
    # Nothing says what these led to: then they must cost half of what is missing at least.
    (Kind.RECEIVER_CPU_QUOTA, lambda each: throttled(each.receiver) and costs(each, each.receiver)),
    (Kind.STOLEN_CPU, lambda each: any(robbed(end) and costs(each, end) for end in each.ends)),
    (Kind.RECEIVER_STARVED, lambda each: starved(each.receiver) and costs(each, each.receiver)),
    (Kind.SENDER_STARVED, lambda each: starved(each.sender) and costs(each, each.sender)),
)
"""The first that is shown is the limit."""


def limit_of(sample: StreamSample) -> Kind | None:
    """What limited it; ``None`` where too little is recorded to say even that nothing shows it."""
    if fills_the_wire(sample):
        return Kind.WIRE_CEILING
    if sample.imported or not (sample.same_host or sample.ceiling_bit_per_s):
        return None
    offered = sample.offered_bit_per_s
    if offered is not None and sample.throughput_bit_per_s >= OFFERED * offered:
        return Kind.PACING
    shown = next((kind for kind, rule in _RULES if rule(sample)), None)
    return Kind.NOT_DETERMINED if shown is None and _is_all_known(sample) else shown


def limits(samples: Iterable[StreamSample]) -> tuple[Finding, ...]:
    """One finding a group and kind, in the readings' order; a cell has at most one.

    A cell is counted where more than half of its trials show the same.
    """
    given = tuple(samples)
    bound = packet_bound(given)

    def limit(sample: StreamSample) -> Kind | None:
        """A rate in packets is seen over several cells, and only where nothing else is shown."""
        kind = limit_of(sample)
        if kind in _LESS_THAN_PACKETS and (sample.cell, sample.flow) in bound:
            return Kind.PACKET_RATE
        return kind

    return tuple(findings_of(given, limit))


_LESS_THAN_PACKETS = frozenset({None, Kind.PATH_LOSS, Kind.UNPLACED_LOSS, Kind.NOT_DETERMINED})


def findings_of(
    samples: Iterable[StreamSample], kind_of: Callable[[StreamSample], Kind | None]
) -> Iterator[Finding]:
    """One finding a group and kind, over the cells where more than half of the trials show it."""
    groups: dict[Group, dict[str, list[StreamSample]]] = {}
    for each in samples:
        groups.setdefault(each.group, {}).setdefault(each.cell, []).append(each)
    for group, cells in groups.items():
        shown: dict[Kind, dict[str, list[StreamSample]]] = {}
        for cell, trials in cells.items():
            kinds = [kind_of(trial) for trial in trials]
            most = max(kinds, key=kinds.count)
            if most is not None and 2 * kinds.count(most) > len(kinds):
                its = [trial for trial, kind in zip(trials, kinds, strict=True) if kind is most]
                shown.setdefault(most, {})[cell] = its
        for kind, those in shown.items():
            trials = [trial for its in those.values() for trial in its]
            yield finding(kind, group, tuple(those), evidence(kind, trials), words(kind, trials))


def fills_the_wire(sample: StreamSample) -> bool:
    """Whether the wire carries no more of it."""
    share = sample.ceiling_share
    if share is None or sample.same_host:
        return False
    return share >= (FILLED_BOTH_WAYS if sample.flow else FILLED)


def _is_all_known(sample: StreamSample) -> bool:
    """Whether its records would have shown what limited it, were it one of what the rules know."""
    ends: Sequence[float | None] = (
        sample.sender.thread_share,
        sample.sender.run_queue_share,
        sample.receiver.run_queue_share,
        sample.queue_full_share,
    )
    if sample.protocol == "TCP":
        known = None not in (sample.cwnd_limited_us, sample.tcp.retransmissions)
    else:
        losses = sample.losses
        known = sample.lost_share is not None and None not in (losses.receive_queue, losses.local)
    judged = sample.sender.judged and sample.receiver.judged
    wire = sample.ceiling_bit_per_s is not None and not sample.same_host
    return wire and judged and known and sample.streams == 1 and None not in ends
