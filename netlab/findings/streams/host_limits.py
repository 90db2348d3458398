"""Whether one of a stream's two hosts limited it: its CPU, what took it away, its calls. Pure.

Each rule says yes or no to one stream, and no where a figure that it needs is not known. They are
asked below the wire ceiling only: limits.py.
"""

from __future__ import annotations

from netlab.findings.sample import StreamEnd, StreamSample

ON_CPU = 0.95
"""Share of the window on a CPU from which on a thread is CPU-bound."""

WAITED = 0.02
"""Share of the window that a CPU-bound thread may wait for its CPU, and for anything else."""

STARVED = 0.05
"""Share of the window without a CPU though ready to run, of CPU time given to other machines, or
of the periods of a quota with throttling, above which it is that which limits."""

OTHERS_WAIT = 3
"""A thread that waited for a CPU more than so many times as long as the hypervisor had it, of all
CPUs, waited for other programs: two or three CPUs may all have lost theirs where it was."""

SATURATED = 0.97
"""Share of the window that a core must be busy to be saturated."""

WORK_PER_S, FRAME_BYTES = 10_000, 1500
"""Least messages or full frames a second that may fill a core: 100 µs each."""

CLOSED = 0.5
"""Share of the window that the receiver's window must have held TCP back."""

LOST_MUCH = 0.2
"""Share of the messages whose loss limits throughput whatever else is missing."""

COVERED = 0.5
"""Share of what was lost from which on one place accounts for it."""

COSTS = 0.5
"""Share of what throughput lacks to the ceiling that a wait for a CPU must cost to be the limit
by itself."""

QUEUE_LOOKS, QUEUE_FULL = 8, 0.5
"""Least looks at a receive queue, and the share of them above which it is full most of the time."""

USEFUL, HURRIES = 0.95, 0.8
"""Share of the receive calls that found something from which on the receiver never waits; and the
share of the window that it must be on a CPU then: one that sleeps long finds something as well."""

IN_CALLS = 0.8
"""Share of the window that send calls must fill."""

IN_ORDINARY_CALLS = 0.5
"""Share of the window that all but the longest calls must fill."""

ROOM = 0.9
"""Share of the send calls that must have found room in the socket: these wait for no queue."""

LOOKS = 8
"""How often it must have been looked for room."""

OF_BUFFER = 8
"""Least messages that fit the send buffer: with fewer, each call may wait for the queue."""

DELIVERED = 0.95
"""Least share of what was sent that must arrive for the sender to be the limit."""

SENT_ENOUGH = 0.98
"""Share of the ceiling, or of the offered rate, from which on a sender is not the limit."""


def throttled(end: StreamEnd) -> bool:
    """Its CPU quota made it wait."""
    return end.judged and (end.throttled_share or 0) > STARVED


def starved(end: StreamEnd) -> bool:
    """Other programs had the CPU that it was ready to run on."""
    return end.judged and (end.run_queue_share or 0) > STARVED


def robbed(end: StreamEnd) -> bool:
    """The hypervisor gave its CPUs to other machines, and its own programs took them no longer."""
    steal, waited = end.steal_share or 0, end.run_queue_share or 0
    return end.judged and steal > STARVED and waited <= OTHERS_WAIT * steal


def wants_cpu(end: StreamEnd) -> bool:
    """It was on a CPU, or ready to run, nearly all the time: there was nothing else to wait for."""
    return (end.thread_share or 0) + (end.run_queue_share or 0) >= ON_CPU


def costs(sample: StreamSample, end: StreamEnd, best_bit_per_s: float | None = None) -> bool:
    """Whether the time without a CPU is half of what throughput lacks, or more: to the ceiling, or
    to the best that trials of the cell without such waits came to, where that is known. What these
    were hardly faster than, waits did not cost.

    A sixteenth of the time costs no nine tenths of the throughput.
    """
    if _as_fast_as(sample, best_bit_per_s):
        return False
    return end.waited_share >= COSTS * _missing(sample, best_bit_per_s)


def takes(sample: StreamSample, end: StreamEnd, best_bit_per_s: float | None = None) -> bool:
    """Whether it had no CPU for as long as accounts for what is missing: by its share of the time,
    or because it waited for nothing else, so that the rest is what its CPU does.
    """
    if _as_fast_as(sample, best_bit_per_s):
        return False
    busy = (end.thread_share or 0) + end.waited_share >= ON_CPU
    return (busy and not end.spins) or costs(sample, end, best_bit_per_s)


def _as_fast_as(sample: StreamSample, best_bit_per_s: float | None) -> bool:
    """Whether trials without waits were hardly faster."""
    return best_bit_per_s is not None and (
        sample.throughput_bit_per_s > (1 - WAITED) * best_bit_per_s
    )


def _missing(sample: StreamSample, best_bit_per_s: float | None) -> float:
    """Share of what it might have come to; 1 where nothing says what that is."""
    throughput = sample.throughput_bit_per_s
    known = (sample.ceiling_bit_per_s, sample.offered_bit_per_s)
    wanted = min((each for each in known if each), default=None)
    lacks = 1.0 if wanted is None else 1 - throughput / wanted
    if best_bit_per_s is None or best_bit_per_s <= throughput:
        return lacks
    return min(lacks, 1 - throughput / best_bit_per_s)


def receiver_held_up(sample: StreamSample, best_bit_per_s: float | None = None) -> bool:
    """The receiver fell behind, and its waits account for what is missing: a wait for its CPU
    alone costs nothing while its queue has room.
    """
    closed = (sample.tcp_share(sample.tcp.rwnd_limited_us) or 0) >= CLOSED
    drops = loses(sample) and (share_lost_in_receive_queue(sample) or 0) >= COVERED
    hurries = not sample.receiver.spins and wants_cpu(sample.receiver)
    # What its socket dropped is what the receiver lacks, whatever the wire might carry.
    costly = drops or takes(sample, sample.receiver, best_bit_per_s)
    return hurries or receiver_behind(sample) or ((closed or drops) and costly)


def receiver_shut(sample: StreamSample, best_bit_per_s: float | None = None) -> bool:
    """The receiver's waits are half of what is missing, and so is the time in which its window, or
    its queue, was shut.
    """
    shut = _shut_share(sample)
    return (
        shut is not None
        and shut >= COSTS * _missing(sample, best_bit_per_s)
        and costs(sample, sample.receiver, best_bit_per_s)
    )


def receiver_costs(sample: StreamSample, best_bit_per_s: float | None = None) -> bool:
    """The receiver's waits are half of what is missing, and whether its window was shut is
    not recorded. UDP waits for nobody: what a receiver does not take in time is lost.
    """
    unknown = sample.protocol == "TCP" and _shut_share(sample) is None
    return unknown and costs(sample, sample.receiver, best_bit_per_s)


def _shut_share(sample: StreamSample) -> float | None:
    """Share of the window in which TCP could hand the receiver nothing; ``None``: not known."""
    shut = sample.tcp_share(sample.tcp.rwnd_limited_us)
    if sample.protocol != "TCP" or shut is None or sample.streams > 1:
        return None
    return max(shut, sample.queue_full_share or 0)


def sender_on_cpu(sample: StreamSample) -> bool:
    """The sender's one thread was on a CPU all the time: it waited for nothing."""
    end = sample.sender
    share, waiting = end.thread_share, end.run_queue_share
    if not _may_be_the_senders(sample) or sample.streams != 1 or share is None or share < ON_CPU:
        return False
    if waiting is None:  # nor what it waited for: both together
        return 1 - share < 2 * WAITED
    return waiting < WAITED and 1 - share - waiting < WAITED


def receiver_behind(sample: StreamSample) -> bool:
    """The receive queue was full most of the time: the receiver did not keep up."""
    full = sample.queue_full_share
    return (
        sample.receiver.judged
        and (sample.queue_looks or 0) >= QUEUE_LOOKS
        and full is not None
        and full > QUEUE_FULL
    )


def receiver_on_cpu(sample: StreamSample) -> bool:
    """The receiver did not keep up: its queue was full, or hardly a call found nothing in it and
    its thread was on a CPU for most of the window.
    """
    useful, on_cpu = sample.useful_share, sample.receiver.thread_share
    hurries = useful is not None and useful >= USEFUL and (on_cpu or 0) >= HURRIES
    return receiver_behind(sample) or (sample.receiver.judged and hurries)


def core_saturated(sample: StreamSample) -> bool:
    """One core did all that it could, and not because a thread of ours keeps it busy by itself.

    Nor other programs: these would have kept our threads waiting, and few frames fill no core.
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
            # Two hosts of a lab share their cores.
            and not any(_may_occupy(other, end.busiest_core) for other in ends)
            for end in ends
        )
    )


def sender_in_calls(sample: StreamSample) -> bool:
    """Send calls fill the window, and what they wait for is not the queue.

    That calls take equally long shows nothing: a call that waits for room in a full buffer may
    take as long as a message is on the wire, every time. So the socket is asked. It has room
    for a small message only: of a large one a call may wait half way.
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
    """It sent as fast as it could, which was less than the wire carries, and what it sent arrived.

    TCP loses nothing; only the windows of its two ends are not quite the same.
    """
    if sample.paced or not sample.sender.judged:
        return False
    delivered = sample.delivered_share
    return sample.protocol == "TCP" or (
        delivered is not None and delivered >= DELIVERED and not sent_enough(sample)
    )


def sent_enough(sample: StreamSample) -> bool:
    """Whether a sender over UDP sent what the wire carries, or all that it was offered."""
    sent, ceiling, offered = (
        sample.sent_bit_per_s,
        sample.ceiling_bit_per_s,
        sample.offered_bit_per_s,
    )
    wanted = min((each for each in (ceiling, offered) if each), default=None)
    return sent is not None and wanted is not None and sent >= SENT_ENOUGH * wanted


def loses(sample: StreamSample) -> bool:
    """Whether loss is the limit: any, where enough was sent; else more than a sender may lack."""
    share = sample.lost_share
    if sample.protocol != "UDP" or share is None:
        return False
    return share > (0 if sent_enough(sample) else 1 - DELIVERED)


def loses_most(sample: StreamSample) -> bool:
    """Whether loss is the limit and half of what is missing to the ceiling, or a fifth of all."""
    share = sample.lost_share or 0
    most = share >= min(LOST_MUCH, COSTS * _missing(sample, None))
    return loses(sample) and (most or sent_enough(sample))


def share_lost_in_receive_queue(sample: StreamSample) -> float | None:
    """Of the messages lost, those for which the receiving socket had no room."""
    dropped, lost = sample.losses.receive_queue, sample.losses.lost
    return None if dropped is None or not lost else dropped / lost


def _may_occupy(end: StreamEnd, core: int) -> bool:
    busy = end.spins or (end.thread_share or 0) >= ON_CPU
    return busy and end.cpu in (None, core)
