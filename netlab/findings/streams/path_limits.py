"""Rules for limits that TCP's own counters, or loss, show.

Each rule judges one stream; it is false if a value that it needs is not known. limits.py applies
the rules only to streams below the wire ceiling (the highest payload rate that the link's framing
allows).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from netlab.findings.finding import Kind
from netlab.findings.sample import StreamSample
from netlab.findings.streams.host_limits import (
    CLOSED,
    COSTS,
    COVERED,
    DELIVERED,
    FRAME_BYTES,
    loses,
    loses_most,
    receiver_behind,
    share_lost_in_receive_queue,
)
from netlab.findings.streams.places import placed

LIMITED = 0.5
"""Minimum share of the measured time in which the send buffer, or the congestion window, held TCP
back."""

WINDOW_FITS = 1.25
"""The receive window is a limit if one window per round trip is at most this many times the
throughput."""

STANDING_FRAMES, STANDING_RTT = 16, 2
"""Two minimums for a standing queue: the number of full frames in it, computed from the growth of
the round trip, and the ratio of the round trip to the shortest one. With such a queue,
retransmissions cost TCP no throughput."""

SAME_RATE, SIZES, SPAN = 0.05, 3, 4
"""Frame rates are the same if they differ by at most ``SAME_RATE`` (a share), over at least
``SIZES`` message sizes, of which the largest is at least ``SPAN`` times the smallest."""

BELOW = 0.95
"""Streams with equal frame rates count only below this share of their wire ceiling."""


# ---- TCP's account -------------------------------------------------------------------------------


def window_limited(sample: StreamSample) -> bool:
    """Whether the receive window held TCP back, and is too small for this round trip.

    A receiver that reads too slowly also closes its window: then the window is not the cause.
    """
    limit = sample.window_limit_bit_per_s
    return (
        _one_stream(sample)
        and (sample.tcp_share(sample.tcp.rwnd_limited_us) or 0) >= CLOSED
        and limit is not None
        and limit <= WINDOW_FITS * sample.throughput_bit_per_s
        and not receiver_behind(sample)
    )


def send_buffer_limited(sample: StreamSample) -> bool:
    """Whether the send buffer held TCP back: all data that it can hold was in flight."""
    share = sample.tcp_share(sample.tcp.sndbuf_limited_us)
    return _one_stream(sample) and (share or 0) >= LIMITED


def congested(sample: StreamSample) -> bool:
    """Whether the congestion window held TCP back, and segments were retransmitted.

    False if other traffic probably used at least half of the missing throughput (``is_shared``).
    """
    return (
        _one_stream(sample)
        and not is_shared(sample)
        and (sample.tcp_share(sample.cwnd_limited_us) or 0) >= LIMITED
        and (sample.tcp.retransmissions or 0) > 0
    )


def stood_in_queue(sample: StreamSample) -> bool:
    """Whether TCP kept a queue filled all the time: the link behind it was never idle."""
    rtt_us, least_us = sample.tcp.rtt_us, sample.tcp.min_rtt_us
    if rtt_us is None or least_us is None or rtt_us < STANDING_RTT * least_us:
        return False
    standing_bytes = (rtt_us - least_us) / 1e6 * sample.throughput_bit_per_s / 8
    return standing_bytes >= STANDING_FRAMES * FRAME_BYTES


def _one_stream(sample: StreamSample) -> bool:
    """Whether TCP's account (the times and counters of tcp_info) covers all data: it is recorded
    for the first stream only.
    """
    return sample.streams == 1 and sample.sender.judged


# ---- other traffic ------------------------------------------------------------------------------


def is_shared(sample: StreamSample) -> bool:
    """Whether other traffic probably used at least half of the missing throughput."""
    others_share = sample.likely_others_share
    return others_share > 0 and others_share >= COSTS * sample.missing_share


def crowded_out(sample: StreamSample) -> bool:
    """Whether the stream filled the link together with other traffic, and drops at the hosts are
    not the limit.
    """
    return sample.filled_by_others is not None and not (
        receive_queue_drops(sample) or host_drops(sample)
    )


# ---- what was lost -------------------------------------------------------------------------------


def receive_queue_drops(sample: StreamSample) -> bool:
    """Whether loss is the limit, and the receiving socket had no room for most lost messages.

    If the hosts dropped most of the lost messages in several places, the socket must have dropped
    more than any other place.
    """
    share = share_lost_in_receive_queue(sample)
    most = (share is not None and share >= COVERED) or _place(sample) is Kind.LOSS_SOCKET
    return loses(sample) and most


def host_drops(sample: StreamSample) -> bool:
    """Whether loss is the limit, and one of the two hosts dropped most of it outside a socket."""
    return loses_most(sample) and _place(sample) in _IN_HOSTS


def path_loss(sample: StreamSample) -> bool:
    """Whether loss is the limit, and the hosts' counters show that the path lost the messages."""
    return loses_most(sample) and _place(sample) is Kind.LOSS_PATH


def unplaced_loss(sample: StreamSample) -> bool:
    """Whether loss is the limit, and the hosts' counters do not show its place."""
    return loses_most(sample) and _place(sample) is Kind.LOSS_UNKNOWN


_IN_HOSTS = frozenset({Kind.LOSS_BACKLOG, Kind.LOSS_INTERFACE, Kind.LOSS_QUEUE})


def _place(sample: StreamSample) -> Kind | None:
    loss = placed(sample)
    return None if loss is None else loss.kind


def sender_queue_drops(sample: StreamSample) -> bool:
    """Whether the sender's own system dropped messages that it should have sent."""
    local, sent_messages = sample.losses.local, sample.losses.sent
    return (
        sample.protocol == "UDP"
        and local is not None
        and sent_messages is not None
        and local > (1 - DELIVERED) * (sent_messages + local)
    )


# ---- frames a second -----------------------------------------------------------------------------


def packet_bound(samples: Iterable[StreamSample]) -> frozenset[tuple[str, str]]:
    """(cell, flow) of the streams whose frame rate equals the frame rate of streams with other
    message sizes. A cell is one combination of settings, a flow one direction of data.

    Only UDP streams with messages of one frame count. Longer messages give frames of one size, and
    TCP cuts its own segments, so a limit in bit/s would look the same.
    """
    alike: dict[tuple[str, str, str], dict[int, list[StreamSample]]] = {}
    for sample in samples:
        if _shows_frames(sample):
            key = (sample.pairing, sample.flow, sample.conditions)
            alike.setdefault(key, {}).setdefault(sample.message_bytes, []).append(sample)
    bound: set[tuple[str, str]] = set()
    for sizes in alike.values():
        for size in _same_rate(sizes):
            bound |= {(sample.cell, sample.flow) for sample in sizes[size]}
    return frozenset(bound)


def frames_per_s(sample: StreamSample) -> float:
    """Messages that arrived per second; each is one frame."""
    return sample.throughput_bit_per_s / (8 * sample.message_bytes)


def _shows_frames(sample: StreamSample) -> bool:
    share = sample.ceiling_share
    # Nothing is recorded about the send calls of another tool. If nearly all that it sent arrived,
    # its sender may be what limits the frames.
    if sample.engine and (sample.lost_share or 0.0) <= 1 - DELIVERED:
        return False
    return (
        sample.packets_a_message == 1
        and not sample.imported
        and not sample.same_host
        and not sample.paced
        and share is not None
        and share < BELOW
    )


def _same_rate(sizes: dict[int, list[StreamSample]]) -> Sequence[int]:
    """The longest run of neighbouring sizes that share a rate; empty if there is none."""
    order = sorted(sizes)
    rates = [median(frames_per_s(sample) for sample in sizes[size]) for size in order]
    runs = [
        order[start:end]
        for start in range(len(order))
        for end in range(start + SIZES, len(order) + 1)
        if order[end - 1] >= SPAN * order[start]
        and max(rates[start:end]) <= (1 + SAME_RATE) * min(rates[start:end])
    ]
    return max(runs, key=len, default=[])
