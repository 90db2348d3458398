"""Rules for limits that a stream's two hosts cause: CPU, waits for a CPU, send calls.

Each rule judges one stream; it is false if a value that it needs is not known. limits.py applies
the rules only to streams below the wire ceiling (the highest payload rate that the link's framing
allows).
"""

from __future__ import annotations

from netlab.findings.sample import StreamEnd, StreamSample

ON_CPU = 0.95
"""Minimum share of the window that a CPU-bound thread is on a CPU."""

WAITED = 0.02
"""Maximum share of the window that a CPU-bound thread waits for its CPU; also the maximum share
that it waits for anything else."""

STARVED = 0.05
"""Share above which each of these is a limit: time ready to run without a CPU, CPU time given to
other machines, periods of a quota with throttling."""

OTHERS_WAIT = 3
"""The hypervisor counts as the cause of a thread's wait for its CPU if the wait is at most this
many times the steal share of all CPUs: the steal of two or three CPUs may all have hit the thread's
CPU. A thread that waited longer waited for other programs."""

SATURATED = 0.97
"""Minimum share of the window that a saturated core is busy."""

WORK_PER_S, FRAME_BYTES = 10_000, 1500
"""Minimum number of messages, or of full frames, per second that can saturate a core: 100 µs
each."""

CLOSED = 0.5
"""Minimum share of the measured time in which TCP's receive window held TCP back."""

LOST_MUCH = 0.2
"""With at least this share of lost messages, loss limits throughput, even if much more throughput
is missing."""

COVERED = 0.5
"""Minimum share of the lost messages that counted drops must cover to explain the loss."""

COSTS = 0.5
"""A wait for a CPU is a limit if it cost at least this share of the gap between throughput and the
ceiling."""

QUEUE_LOOKS, QUEUE_FULL = 8, 0.5
"""Minimum number of samples of a receive queue, and the share of samples with a full queue above
which the queue counts as mostly full."""

USEFUL, HURRIES = 0.95, 0.8
"""A receiver that never waits has at least the first share of receive calls that found data, and is
on a CPU for at least the second share of the window. The second condition is needed because a
receiver that sleeps long also finds data in its calls."""

IN_CALLS = 0.8
"""Minimum share of the window inside send calls, for the calls to be the limit."""

IN_ORDINARY_CALLS = 0.5
"""Minimum share of the window inside send calls, without the longest ones."""

ROOM = 0.9
"""Minimum share of the samples that show room in the socket for the next message: with room, send
calls do not wait for the queue."""

LOOKS = 8
"""Minimum number of samples of the room in the socket."""

OF_BUFFER = 8
"""Minimum number of messages that fit in the send buffer: with fewer, each call may wait for the
queue."""

DELIVERED = 0.95
"""Minimum share of the sent data that must arrive for the sender to be the limit."""

SENT_ENOUGH = 0.98
"""A sender that sends this share of the ceiling, or of the offered rate, is not the limit."""


def throttled(end: StreamEnd) -> bool:
    """Whether the end's CPU quota made it wait."""
    return end.judged and (end.throttled_share or 0) > STARVED


def starved(end: StreamEnd) -> bool:
    """Whether the end was ready to run while other programs had the CPU."""
    return end.judged and (end.run_queue_share or 0) > STARVED


def robbed(end: StreamEnd) -> bool:
    """Whether the hypervisor gave the end's CPUs to other machines, which explains its waits."""
    steal, waited = end.steal_share or 0, end.run_queue_share or 0
    return end.judged and steal > STARVED and waited <= OTHERS_WAIT * steal


def wants_cpu(end: StreamEnd) -> bool:
    """Whether the end was on a CPU, or ready to run, nearly all the time: it waited for nothing
    else.
    """
    return (end.thread_share or 0) + (end.run_queue_share or 0) >= ON_CPU


def costs(sample: StreamSample, end: StreamEnd, best_bit_per_s: float | None = None) -> bool:
    """Whether the end's share of time without a CPU is at least half of the missing throughput.

    The missing throughput is the difference to the ceiling or to the offered rate, whichever is
    lower. ``best_bit_per_s`` is the median throughput of the trials with the same settings that did
    not wait (``None``: not known). If this median is lower still, the missing throughput is the
    difference to the median. If those trials were hardly faster, the waits cost nothing.
    """
    if _as_fast_as(sample, best_bit_per_s):
        return False
    return end.waited_share >= COSTS * _missing(sample, best_bit_per_s)


def takes(sample: StreamSample, end: StreamEnd, best_bit_per_s: float | None = None) -> bool:
    """Whether the time without a CPU explains the missing throughput.

    It does if its share of the window is large enough (``costs``), or if the end was waiting for a
    CPU whenever it was not on one.
    """
    if _as_fast_as(sample, best_bit_per_s):
        return False
    busy = (end.thread_share or 0) + end.waited_share >= ON_CPU
    return (busy and not end.spins) or costs(sample, end, best_bit_per_s)


def _as_fast_as(sample: StreamSample, best_bit_per_s: float | None) -> bool:
    """Whether the trials without waits were hardly faster than this stream."""
    return best_bit_per_s is not None and (
        sample.throughput_bit_per_s > (1 - WAITED) * best_bit_per_s
    )


def _missing(sample: StreamSample, best_bit_per_s: float | None) -> float:
    """Missing throughput, as a share of the possible throughput; 1 if that is not known."""
    throughput = sample.throughput_bit_per_s
    targets = (sample.ceiling_bit_per_s, sample.offered_bit_per_s)
    target = min((rate for rate in targets if rate), default=None)
    missing_share = 1.0 if target is None else 1 - throughput / target
    if best_bit_per_s is None or best_bit_per_s <= throughput:
        return missing_share
    return min(missing_share, 1 - throughput / best_bit_per_s)


def receiver_held_up(sample: StreamSample, best_bit_per_s: float | None = None) -> bool:
    """Whether the receiver fell behind, so that a lack of CPU time there costs throughput.

    While the receive queue has room, the receiver's waits for a CPU cost nothing.
    """
    is_closed = (sample.tcp_share(sample.tcp.rwnd_limited_us) or 0) >= CLOSED
    drops = loses(sample) and (share_lost_in_receive_queue(sample) or 0) >= COVERED
    never_idle = not sample.receiver.spins and wants_cpu(sample.receiver)
    # Messages that the receiving socket dropped are missing, whatever the wire could carry.
    costly = drops or takes(sample, sample.receiver, best_bit_per_s)
    return never_idle or receiver_behind(sample) or ((is_closed or drops) and costly)


def receiver_shut(sample: StreamSample, best_bit_per_s: float | None = None) -> bool:
    """Whether two shares of time are each at least half of the missing throughput: the receiver's
    waits for a CPU, and the time in which its receive window was closed or its queue was full.
    """
    shut = _shut_share(sample)
    return (
        shut is not None
        and shut >= COSTS * _missing(sample, best_bit_per_s)
        and costs(sample, sample.receiver, best_bit_per_s)
    )


def receiver_costs(sample: StreamSample, best_bit_per_s: float | None = None) -> bool:
    """Whether the receiver's waits are at least half of the missing throughput, and the record does
    not show whether its receive window was closed.

    False for UDP: over UDP, a late receiver loses messages instead.
    """
    unknown = sample.protocol == "TCP" and _shut_share(sample) is None
    return unknown and costs(sample, sample.receiver, best_bit_per_s)


def _shut_share(sample: StreamSample) -> float | None:
    """Share of the window in which TCP could not give the receiver data; ``None``: not known."""
    shut = sample.tcp_share(sample.tcp.rwnd_limited_us)
    if sample.protocol != "TCP" or shut is None or sample.streams > 1:
        return None
    return max(shut, sample.queue_full_share or 0)


def sender_on_cpu(sample: StreamSample) -> bool:
    """Whether the sender's only thread was on a CPU all the time: it waited for nothing."""
    end = sample.sender
    share, queue_share = end.thread_share, end.run_queue_share
    if not _may_be_the_senders(sample) or sample.streams != 1 or share is None or share < ON_CPU:
        return False
    if queue_share is None:  # then the rest of the window contains both kinds of waits
        return 1 - share < 2 * WAITED
    return queue_share < WAITED and 1 - share - queue_share < WAITED


def receiver_behind(sample: StreamSample) -> bool:
    """Whether the receive queue was full most of the time: the receiver did not keep up."""
    full = sample.queue_full_share
    return (
        sample.receiver.judged
        and (sample.queue_looks or 0) >= QUEUE_LOOKS
        and full is not None
        and full > QUEUE_FULL
    )


def receiver_on_cpu(sample: StreamSample) -> bool:
    """Whether the receiver did not keep up.

    Its queue was full, or nearly every receive call found data and its thread was on a CPU for
    most of the window.
    """
    useful, on_cpu = sample.useful_share, sample.receiver.thread_share
    never_idle = useful is not None and useful >= USEFUL and (on_cpu or 0) >= HURRIES
    return receiver_behind(sample) or (sample.receiver.judged and never_idle)


def core_saturated(sample: StreamSample) -> bool:
    """Whether one core was saturated, but not by one of our own threads.

    Other programs are excluded too: if they saturate a core, our threads wait. Few frames cannot
    saturate a core.
    """
    ends = sample.ends
    frames_per_s = sample.throughput_bit_per_s / (8 * FRAME_BYTES)
    enough = max(sample.calls_per_s or 0, frames_per_s) >= WORK_PER_S
    return (
        enough
        and not any(map(starved, ends))
        and any(
            end.judged
            and end.busiest_core is not None
            and (end.busiest_core_share or 0) >= SATURATED
            # Both ends: two hosts of a lab may share their cores.
            and not any(_may_occupy(occupant, end.busiest_core) for occupant in ends)
            for end in ends
        )
    )


def sender_in_calls(sample: StreamSample) -> bool:
    """Whether the sender spends the window in send calls, and these do not wait for the queue.

    The duration of the calls proves nothing: a call that waits for room in a full buffer may always
    take as long as a message is on the wire. So the room in the socket is sampled. This works for
    small messages only: a call may wait in the middle of a large message.
    """
    buffer_bytes = sample.send_buffer_bytes
    if (
        not _may_be_the_senders(sample)
        or buffer_bytes is None
        or OF_BUFFER * sample.message_bytes > buffer_bytes
        or (sample.room_looks or 0) < LOOKS
        or (sample.room_share or 0) < ROOM
    ):
        return False
    inside, ordinary = sample.in_calls_share, sample.in_ordinary_calls_share
    return (
        inside is not None
        and ordinary is not None
        and inside >= IN_CALLS
        and ordinary >= IN_ORDINARY_CALLS
    )


def _may_be_the_senders(sample: StreamSample) -> bool:
    """Whether the sender may be the limit. It must have sent as fast as it could. Over UDP, it must
    also have sent less than the wire carries, and its messages must have arrived.

    TCP loses nothing, so these two conditions are not checked for TCP.
    """
    if sample.paced or not sample.sender.judged:
        return False
    delivered = sample.delivered_share
    return sample.protocol == "TCP" or (
        delivered is not None and delivered >= DELIVERED and not sent_enough(sample)
    )


def sent_enough(sample: StreamSample) -> bool:
    """Whether a sender over UDP sent what the wire carries, or the whole offered rate."""
    sent_rate, ceiling, offered_rate = (
        sample.sent_bit_per_s,
        sample.ceiling_bit_per_s,
        sample.offered_bit_per_s,
    )
    target = min((rate for rate in (ceiling, offered_rate) if rate), default=None)
    return sent_rate is not None and target is not None and sent_rate >= SENT_ENOUGH * target


def loses(sample: StreamSample) -> bool:
    """Whether loss is the limit: any loss, if the sender sent enough; otherwise more than 5 %."""
    share = sample.lost_share
    if sample.protocol != "UDP" or share is None:
        return False
    return share > (0 if sent_enough(sample) else 1 - DELIVERED)


def loses_most(sample: StreamSample) -> bool:
    """Whether loss is the limit, and large enough: at least half of the throughput that is missing
    to the ceiling, or a fifth of all messages, or any loss if the sender sent enough.
    """
    share = sample.lost_share or 0
    most = share >= min(LOST_MUCH, COSTS * _missing(sample, None))
    return loses(sample) and (most or sent_enough(sample))


def share_lost_in_receive_queue(sample: StreamSample) -> float | None:
    """Share of the lost messages for which the receiving socket had no room."""
    drops, lost_messages = sample.losses.receive_queue, sample.losses.lost
    return None if drops is None or not lost_messages else drops / lost_messages


def _may_occupy(end: StreamEnd, core: int) -> bool:
    busy = end.spins or (end.thread_share or 0) >= ON_CPU
    return busy and end.cpu in (None, core)
