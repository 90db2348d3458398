"""Whether TCP's own account, or what was lost, shows what limited a stream. Pure.

Each rule says yes or no to one stream, and no where a figure that it needs is not known. They are
asked below the wire ceiling only: limits.py.
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
"""Share of the window that TCP must have been held back by its buffer, or by congestion."""

WINDOW_FITS = 1.25
"""The receiver's window a round trip may allow so many times the throughput, and not more."""

STANDING_FRAMES, STANDING_RTT = 16, 2
"""Least full frames that stood in a queue by what the round trip grew, and how many times the
shortest it is: TCP that was held back by so much lost nothing by what it sent again."""

SAME_RATE, SIZES, SPAN = 0.05, 3, 4
"""Frames a second are the same within 5 %, over three sizes that lie a factor of four apart."""

BELOW = 0.95
"""Each of them below so much of its ceiling."""


# ---- TCP's account -------------------------------------------------------------------------------


def window_limited(sample: StreamSample) -> bool:
    """The receiver's window held TCP back, and it is too small for this round trip.

    A receiver that does not read closes its window as well: then the window is not the cause.
    """
    fits = sample.window_limit_bit_per_s
    return (
        _one_stream(sample)
        and (sample.tcp_share(sample.tcp.rwnd_limited_us) or 0) >= CLOSED
        and fits is not None
        and fits <= WINDOW_FITS * sample.throughput_bit_per_s
        and not receiver_behind(sample)
    )


def send_buffer_limited(sample: StreamSample) -> bool:
    """The send buffer held TCP back: what it may hold was all on its way."""
    share = sample.tcp_share(sample.tcp.sndbuf_limited_us)
    return _one_stream(sample) and (share or 0) >= LIMITED


def congested(sample: StreamSample) -> bool:
    """The congestion window held TCP back, and segments had to be sent again; not where others are
    likely to have left it no more of the link.
    """
    return (
        _one_stream(sample)
        and not is_shared(sample)
        and (sample.tcp_share(sample.cwnd_limited_us) or 0) >= LIMITED
        and (sample.tcp.retransmissions or 0) > 0
    )


def stood_in_queue(sample: StreamSample) -> bool:
    """TCP kept a queue filled all the while: the link behind it was never idle."""
    rtt_us, least_us = sample.tcp.rtt_us, sample.tcp.min_rtt_us
    if rtt_us is None or least_us is None or rtt_us < STANDING_RTT * least_us:
        return False
    standing_bytes = (rtt_us - least_us) / 1e6 * sample.throughput_bit_per_s / 8
    return standing_bytes >= STANDING_FRAMES * FRAME_BYTES


def _one_stream(sample: StreamSample) -> bool:
    """TCP's account is that of the first stream; of several it is not all."""
    return sample.streams == 1 and sample.sender.judged


# ---- other traffic ------------------------------------------------------------------------------


def is_shared(sample: StreamSample) -> bool:
    """Whether others may have used half of what is missing, of a link or before it."""
    others = sample.likely_others_share
    return others > 0 and others >= COSTS * sample.missing_share


def crowded_out(sample: StreamSample) -> bool:
    """Others and it filled the link, and no host lost what the link had carried."""
    return sample.filled_by_others is not None and not (
        receive_queue_drops(sample) or host_drops(sample)
    )


# ---- what was lost -------------------------------------------------------------------------------


def receive_queue_drops(sample: StreamSample) -> bool:
    """Loss is the limit, and the receiving socket had no room for most of it; or for more of it
    than any other place, where the hosts dropped most of it in several.
    """
    share = share_lost_in_receive_queue(sample)
    most = (share is not None and share >= COVERED) or _place(sample) is Kind.LOST_IN_SOCKET
    return loses(sample) and most


def host_drops(sample: StreamSample) -> bool:
    """Loss is the limit, and one of the two hosts dropped most of it outside of a socket."""
    return loses_most(sample) and _place(sample) in _IN_HOSTS


def path_loss(sample: StreamSample) -> bool:
    """Loss is the limit, and both hosts are known to have dropped nothing."""
    return loses_most(sample) and _place(sample) is Kind.LOST_ON_PATH


def unplaced_loss(sample: StreamSample) -> bool:
    """Loss is the limit, and what the hosts count does not show where it was."""
    return loses_most(sample) and _place(sample) is Kind.LOSS_NOT_PLACED


_IN_HOSTS = frozenset({Kind.LOST_IN_BACKLOG, Kind.LOST_AT_INTERFACE, Kind.LOST_IN_QUEUE})


def _place(sample: StreamSample) -> Kind | None:
    found = placed(sample)
    return None if found is None else found.kind


def sender_queue_drops(sample: StreamSample) -> bool:
    """The sender's own system dropped what it was to send."""
    local, sent = sample.losses.local, sample.losses.sent
    return (
        sample.protocol == "UDP"
        and local is not None
        and sent is not None
        and local > (1 - DELIVERED) * (sent + local)
    )


# ---- frames a second -----------------------------------------------------------------------------


def packet_bound(samples: Iterable[StreamSample]) -> frozenset[tuple[str, str]]:
    """(cell, flow) of the streams that run at the same frames a second as others of other sizes.

    Over UDP, and in messages of one frame: those of several have frames of one size, and TCP cuts
    its own, so that a limit in bit/s would look the same.
    """
    alike: dict[tuple[str, str, str], dict[int, list[StreamSample]]] = {}
    for each in samples:
        if _shows_frames(each):
            key = (each.pairing, each.flow, each.conditions)
            alike.setdefault(key, {}).setdefault(each.message_bytes, []).append(each)
    found: set[tuple[str, str]] = set()
    for sizes in alike.values():
        for size in _same_rate(sizes):
            found |= {(each.cell, each.flow) for each in sizes[size]}
    return frozenset(found)


def frames_per_s(sample: StreamSample) -> float:
    """Messages that arrived a second; of one frame each."""
    return sample.throughput_bit_per_s / (8 * sample.message_bytes)


def _shows_frames(sample: StreamSample) -> bool:
    share = sample.ceiling_share
    return (
        sample.packets_a_message == 1
        and not sample.imported
        and not sample.same_host
        and not sample.paced
        and share is not None
        and share < BELOW
    )


def _same_rate(sizes: dict[int, list[StreamSample]]) -> Sequence[int]:
    """The longest run of neighbouring sizes that share a rate; empty where there is none."""
    order = sorted(sizes)
    rates = [median(frames_per_s(each) for each in sizes[size]) for size in order]
    runs = [
        order[start:end]
        for start in range(len(order))
        for end in range(start + SIZES, len(order) + 1)
        if order[end - 1] >= SPAN * order[start]
        and max(rates[start:end]) <= (1 + SAME_RATE) * min(rates[start:end])
    ]
    return max(runs, key=len, default=[])
