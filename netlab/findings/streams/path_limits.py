"""Limits that TCP's own counters, or loss, show; and where a stream lost messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from netlab.findings.finding import Conditions, Finding, Group, Kind, finding
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
from netlab.messages import Message, _

_PLACES: Mapping[str, tuple[Kind, str]] = {
    "socket": (Kind.LOSS_SOCKET, "receiver"),
    "backlog": (Kind.LOSS_BACKLOG, "receiver"),
    "receiver_interface": (Kind.LOSS_INTERFACE, "receiver"),
    "sender_interface": (Kind.LOSS_INTERFACE, "sender"),
    "sender_queue": (Kind.LOSS_QUEUE, "sender"),
}
"""Place of a drop → the kind of finding, and the end to whose host the place belongs. If two places
counted equally many frames, the finding names the place that comes first here."""

UNHANDLED_PER_S = 2
"""Foreign frames per second that Linux may count as dropped by an interface: frames of protocols
without a handler, such as a switch's own (STP, LLDP)."""

_SUMS = ("lost", "dropped")
_IN_HOSTS: Mapping[Kind, Message] = {
    Kind.LOSS_BACKLOG: _("in the backlog of its CPUs"),
    Kind.LOSS_INTERFACE: _("at its interface"),
    Kind.LOSS_QUEUE: _("in the queue in front of its interface"),
}
_IN_WORDS: Mapping[Kind, Message] = {**_IN_HOSTS, Kind.LOSS_PATH: _("on the path")}


@dataclass(frozen=True, slots=True)
class PlacedLoss:
    """The place of one stream's loss."""

    kind: Kind
    host: str
    """The host of that place; if the place is unknown, the host that does not count all drops."""
    lost: int
    """Lost messages; over TCP, retransmitted segments."""
    dropped: int
    """Frames dropped there; if the place is unknown, all that both hosts dropped."""


def placed(sample: StreamSample) -> PlacedLoss | None:
    """Where a stream lost messages (over TCP: segments); ``None`` if it lost none."""
    losses = lost_of(sample)
    if not losses or sample.imported:
        return None
    counts = _counts(sample)
    certain = {
        place: max(0, count - _doubt(place, sample)) for place, count in counts.items() if count
    }
    # The interface may also count a frame for which the backlog had no room, so only the larger one
    # of the two counts is used.
    earlier_drops = max(certain.get("backlog", 0), certain.get("receiver_interface", 0))
    other_drops = sum(
        certain.get(place, 0) for place in ("socket", "sender_interface", "sender_queue")
    )
    if earlier_drops + other_drops >= COVERED * losses:
        place = max(_PLACES, key=lambda name: certain.get(name, 0))
        kind, end = _PLACES[place]
        host = sample.receiver.host if end == "receiver" else sample.sender.host
        return PlacedLoss(kind, host, losses, certain[place])
    drops = sum(count or 0 for count in counts.values())
    ours = sum(max(0, (count or 0) - _unhandled(place, sample)) for place, count in counts.items())
    unknown = next((place for place, count in counts.items() if count is None), None)
    # Frames that cannot be distinguished from foreign ones may include a few lost messages. If the
    # receiver's interface received extra frames, these may be ours: the host lost them afterwards.
    may_be_ours = sample.likely_others_share >= COVERED * (sample.lost_share or 1.0)
    clean = ours == 0 and drops < COVERED * losses and _is_put_together(sample) and not may_be_ours
    all_read = unknown is None and sample.drops.sender_backlog is not None
    if clean and all_read and not sample.same_host:
        return PlacedLoss(Kind.LOSS_PATH, "", losses, drops)
    host = "" if all_read else sample.sender.host
    if unknown is not None:
        host = sample.receiver.host if _PLACES[unknown][1] == "receiver" else sample.sender.host
    return PlacedLoss(Kind.LOSS_UNKNOWN, host, losses, drops)


def lost_of(sample: StreamSample) -> int | None:
    """Messages that never arrived; over TCP, retransmitted segments."""
    return sample.losses.lost if sample.protocol == "UDP" else sample.tcp.retransmissions


def lost(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """One finding per group, kind and host, over all trials with loss in that place; and one for
    the messages that the sender's own queue refused.
    """
    groups: dict[tuple[Kind, Group, str], list[tuple[StreamSample, PlacedLoss]]] = {}
    for sample in samples:
        for loss in (placed(sample), _refused(sample)):
            if loss is not None:
                groups.setdefault((loss.kind, sample.group, loss.host), []).append((sample, loss))
    for (kind, group, host), losses_there in groups.items():
        cells = tuple(dict.fromkeys(sample.cell for sample, _loss in losses_there))
        figures: dict[str, float | None] = {"trials": len(losses_there)}
        lost_there, drops = (
            sum(getattr(loss, name) for _sample, loss in losses_there) for name in _SUMS
        )
        if group.protocol == "TCP":
            words: dict[str, str] = {"place": _IN_WORDS[kind]} if kind in _IN_WORDS else {}
            if kind in _IN_HOSTS:
                words["at_host"] = host
            if kind in _IN_WORDS:
                figures["dropped_here"] = drops or None
            yield finding(
                Kind.SENT_AGAIN, group, cells, figures | {"sent_again": lost_there}, words
            )
            continue
        sent_counts = [sample.losses.sent or 0 for sample, _loss in losses_there]
        figures |= {
            "lost_messages": lost_there,
            "sent_messages": sum(sent_counts) if all(sent_counts) else None,
        }
        figures["dropped_frames"] = drops or None
        yield finding(kind, group, cells, figures, {"at_host": host} if host else {})


def _refused(sample: StreamSample) -> PlacedLoss | None:
    """Messages that the sender's system refused: the send calls reported an error, and nothing was
    sent. ``None`` if there are none.
    """
    local = sample.losses.local
    if sample.protocol != "UDP" or not local or sample.imported:
        return None
    return PlacedLoss(Kind.LOSS_UNSENT, sample.sender.host, local, local)


def _counts(sample: StreamSample) -> dict[str, int | None]:
    """Place → frames dropped there; ``None``: not known. Over TCP, no socket drops anything."""
    drops, losses = sample.drops, sample.losses
    queue = drops.sender_queue
    if queue is not None and sample.protocol == "UDP":
        # Messages whose drop the send calls reported were never sent, so they are not lost.
        queue = None if losses.local is None else max(0, queue - losses.local)
    return {
        "socket": losses.receive_queue if sample.protocol == "UDP" else 0,
        "backlog": drops.receiver_backlog,
        "receiver_interface": drops.receiver_interface,
        "sender_interface": drops.sender_interface,
        "sender_queue": queue,
    }


def _doubt(place: str, sample: StreamSample) -> int:
    """How many of the frames dropped in a place may not be messages of this direction.

    They may belong to the other direction, or to other protocols. The result is the number of all
    dropped frames if the loss of the other direction is not known.
    """
    if place == "socket":
        return 0
    other_way = sample.losses.other_way
    if other_way is None:
        return _counts(sample)[place] or 0
    return other_way * (sample.packets_a_message or 1) + _unhandled(place, sample)


def _unhandled(place: str, sample: StreamSample) -> int:
    """How many of the dropped frames may belong to protocols without a handler."""
    counted_as_drops = place in ("receiver_interface", "sender_interface")
    return int(UNHANDLED_PER_S * sample.drops.between_s) if counted_as_drops else 0


def _is_put_together(sample: StreamSample) -> bool:
    """Whether the receiver's system reassembled every message from its fragments."""
    has_no_fragments = sample.packets_a_message == 1 or sample.protocol == "TCP"
    return has_no_fragments or sample.drops.reassembly == 0


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
    alike: dict[tuple[str, str, Conditions], dict[int, list[StreamSample]]] = {}
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
