"""The conditions of each limit that the hosts of a stream, its path, or lost messages cause.

A condition judges one stream below the wire ceiling; without a value that it needs it is false.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import median

from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Group, Kind, finding, in_trials
from netlab.findings.stream_end import StreamEnd
from netlab.findings.traffic import way
from netlab.messages import Message, _
from netlab.trial.record import grouped

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
"""Minimum share of the measured time in which a window, or the send buffer, held TCP back."""

HELD, NO_QUEUE = 0.1, 1.25
"""Minimum share of the time in which a send buffer held TCP back, and maximum ratio of the round
trip to the shortest one, if that is as long as what is missing."""

FEW = 2
"""If there are such reports, so many more may be missing: those of the window's last segments."""

LOST_MUCH = 0.2
"""With at least this share of lost messages, loss limits throughput, even if much more throughput
is missing."""

COVERED, NAMED = 0.5, 0.1
"""Minimum shares of the lost messages: of those that counted drops must cover to explain the loss,
and of those that were lost in one of several places, for the place to be named."""

UNREPORTED = 0.1
"""Maximum share of the segments that TCP sent again for which a report that they arrived twice may
be missing: it was lost, or it came after the window."""

COSTS = 0.5
"""A wait for a CPU is a limit if it cost at least this share of the gap between throughput and the
ceiling."""
SENDS = 0.75
"""The same share where a host sends over UDP: a wait costs it no more than the time that it took.
"""

LOOKS, QUEUE_FULL = 8, 0.5
"""Minimum number of samples of a receive queue, or of the room in a socket, and the share of
samples with a full queue above which the queue counts as mostly full."""

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
    """Whether the end was on a CPU, or ready to run, nearly all the time."""
    return (end.thread_share or 0) + (end.run_queue_share or 0) >= ON_CPU


def costs(sample: StreamSample, end: StreamEnd, best_bit_per_s: float | None = None) -> bool:
    """Whether the end's share of time without a CPU is at least half of the missing throughput.

    The missing throughput is the difference to the ceiling or to the offered rate, whichever is
    lower. ``best_bit_per_s`` is the median throughput of the trials with the same settings that did
    not wait (``None``: not known). If this median is lower still, the missing throughput is the
    difference to the median. If those trials were hardly faster, the waits cost nothing.
    """
    is_flood = sample.protocol == "UDP" and end is sample.sender
    stops_cost_more = is_flood and end.stalled_share > end.waited_share
    if stops_cost_more or _as_fast_as(sample, best_bit_per_s) or _sent_all(sample, end):
        return False
    return end.waited_share >= (SENDS if is_flood else COSTS) * _missing(sample, best_bit_per_s)


def takes(sample: StreamSample, end: StreamEnd, best_bit_per_s: float | None = None) -> bool:
    """Whether the time without a CPU explains the missing throughput.

    It does if its share of the window is large enough (``costs``), or if the end was waiting for a
    CPU whenever it was not on one.
    """
    if _as_fast_as(sample, best_bit_per_s) or _sent_all(sample, end):
        return False
    busy = (end.thread_share or 0) + end.waited_share >= ON_CPU
    return (busy and not end.spins) or costs(sample, end, best_bit_per_s)


def _as_fast_as(sample: StreamSample, best_bit_per_s: float | None) -> bool:
    return best_bit_per_s is not None and (
        sample.throughput_bit_per_s > (1 - WAITED) * best_bit_per_s
    )


def _sent_all(sample: StreamSample, end: StreamEnd) -> bool:
    """Whether the end sent all messages that it could: what is missing was lost behind it."""
    sent_rate, target = sample.sent_bit_per_s or 0.0, target_of(sample)
    is_flood = sample.protocol == "UDP" and end is sample.sender
    return is_flood and target is not None and sent_rate >= (1 - WAITED) * target


def _missing(sample: StreamSample, best_bit_per_s: float | None) -> float:
    """Missing throughput, as a share of the possible throughput; 1 if that is not known."""
    throughput = sample.throughput_bit_per_s
    target = target_of(sample)
    missing_share = 1.0 if target is None else 1 - throughput / target
    if best_bit_per_s is None or best_bit_per_s <= throughput:
        return missing_share
    return min(missing_share, 1 - throughput / best_bit_per_s)


def target_of(sample: StreamSample) -> float | None:
    """The ceiling or the offered rate, whichever is lower."""
    rates = (sample.ceiling_bit_per_s, sample.offered_bit_per_s)
    return min((rate for rate in rates if rate), default=None)


def receiver_held_up(sample: StreamSample, best_bit_per_s: float | None = None) -> bool:
    """Whether the receiver fell behind, so that a lack of CPU time there costs throughput.

    While the receive queue has room, the receiver's waits for a CPU cost nothing.
    """
    is_closed = (sample.rwnd_limited_share or 0) >= CLOSED
    drops = receive_queue_drops(sample)
    never_idle = not sample.receiver.spins and wants_cpu(sample.receiver)
    # Messages that the receiving socket dropped are missing, whatever the wire could carry.
    costly = drops or takes(sample, sample.receiver, best_bit_per_s)
    return never_idle or receiver_behind(sample) or ((is_closed or drops) and costly)


def receiver_shut(sample: StreamSample, best_bit_per_s: float | None = None) -> bool:
    """Whether two shares of time are each at least half of the missing throughput: the receiver's
    waits for a CPU, and the time in which its receive window was closed or its queue was full.
    """
    shut = _shut_share(sample)
    if shut is None or shut < COSTS * _missing(sample, best_bit_per_s):
        return False
    return costs(sample, sample.receiver, best_bit_per_s)


def receiver_costs(sample: StreamSample, best_bit_per_s: float | None = None) -> bool:
    """Whether the receiver's waits are at least half of the missing throughput, and the record does
    not show whether its receive window was closed.

    False for UDP: over UDP, a late receiver loses messages instead.
    """
    unknown = sample.protocol == "TCP" and _shut_share(sample) is None
    return unknown and costs(sample, sample.receiver, best_bit_per_s)


def _shut_share(sample: StreamSample) -> float | None:
    """Share of the window in which TCP could not give the receiver data; ``None``: not known."""
    shut = sample.rwnd_limited_share
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


def host_on_cpu(sample: StreamSample) -> bool:
    """Whether the threads of both ends, which are on one host, used its CPUs all the time; over
    TCP, as then each waits for nothing but the other.
    """
    shares = [end.thread_share for end in sample.ends if end.judged]
    known = [share for share in shares if share is not None]
    is_free = sample.same_host and not sample.paced and sample.protocol == "TCP"
    return is_free and sample.streams == 1 and len(known) == 2 and sum(known) >= ON_CPU


def receiver_behind(sample: StreamSample) -> bool:
    """Whether the receive queue was full most of the time: the receiver did not keep up."""
    sampled = sample.receiver.judged and (sample.queue_looks or 0) >= LOOKS
    return sampled and (sample.queue_full_share or 0) > QUEUE_FULL


def receiver_on_cpu(sample: StreamSample) -> bool:
    """Whether the receiver did not keep up: its queue was full, or nearly every receive call found
    data and its thread was on a CPU for most of the window.
    """
    receiver = sample.receiver
    hurries = receiver.judged and (receiver.thread_share or 0) >= HURRIES
    return receiver_behind(sample) or (hurries and (sample.useful_share or 0) >= USEFUL)


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
            and not any(
                (occupant.spins or (occupant.thread_share or 0) >= ON_CPU)
                and occupant.cpu in (None, end.busiest_core)
                for occupant in ends
            )
            for end in ends
        )
    )


def sender_in_calls(sample: StreamSample) -> bool:
    """Whether the sender spends the window in send calls, and these do not wait for the queue.

    The duration of the calls proves nothing: a call that waits for room in a full buffer may always
    take as long as a message is on the wire. So the room in the socket is sampled. This works for
    small messages only: a call may wait in the middle of a large message.
    """
    small = OF_BUFFER * sample.message_bytes <= (sample.send_buffer_bytes or 0)
    has_room = (sample.room_looks or 0) >= LOOKS and (sample.room_share or 0) >= ROOM
    return (
        _may_be_the_senders(sample)
        and small
        and has_room
        and (sample.in_calls_share or 0) >= IN_CALLS
        and (sample.in_ordinary_calls_share or 0) >= IN_ORDINARY_CALLS
    )


def _may_be_the_senders(sample: StreamSample) -> bool:
    """Whether the sender may be the limit. It must have sent as fast as it could. Over UDP, it must
    also have sent less than the wire carries, and its messages must have arrived.

    TCP loses nothing, so these two conditions are not checked for TCP.
    """
    if sample.paced or not sample.sender.judged:
        return False
    delivered = (sample.delivered_share or 0) >= DELIVERED
    return sample.protocol == "TCP" or (delivered and not sent_enough(sample))


def sent_enough(sample: StreamSample) -> bool:
    """Whether a sender over UDP sent what the wire carries, or the whole offered rate."""
    sent_rate, target = sample.sent_bit_per_s, target_of(sample)
    return sent_rate is not None and target is not None and sent_rate >= SENT_ENOUGH * target


def loses(sample: StreamSample) -> bool:
    """Whether loss is the limit: any loss, if the sender sent enough; otherwise more than 5 %."""
    share = (sample.lost_share or 0) if sample.protocol == "UDP" else 0
    return share > (0 if sent_enough(sample) else 1 - DELIVERED)


_PLACES: Mapping[str, tuple[Kind, str]] = {
    "damaged": (Kind.LOSS_DAMAGED, "receiver"),
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

_IN_WORDS: Mapping[Kind, Message] = {
    Kind.LOSS_BACKLOG: _("in the backlog of its CPUs"),
    Kind.LOSS_INTERFACE: _("at its interface"),
    Kind.LOSS_QUEUE: _("in the queue in front of its interface"),
    Kind.LOSS_DAMAGED: _("because their checksum was wrong"),
    Kind.LOSS_PATH: _("on the path"),
}


@dataclass(frozen=True, slots=True)
class PlacedLoss:
    """What one stream lost in one place."""

    kind: Kind
    host: str
    """The host of that place; if the place is unknown, the host that does not count all drops."""
    lost: int
    """Messages lost there; over TCP, retransmitted segments."""
    dropped: int
    """Frames dropped there; of the path, and of an unknown place, what no named place dropped."""
    beside: int = 0
    """Messages that the stream lost in other places."""


def lost_segments(sample: StreamSample) -> int:
    """Segments that TCP sent again, without those that arrived twice; 0 over UDP."""
    return max(0, (sample.tcp.retransmissions or 0) - (sample.duplicate_packets or 0))


def placed(sample: StreamSample) -> tuple[PlacedLoss, ...]:
    """The places where a stream lost messages (over TCP: segments), the largest loss first; empty
    if it lost none.
    """
    losses, again = sample.losses.lost or lost_segments(sample), sample.tcp.retransmissions or 0
    unreported = UNREPORTED * again + (FEW if sample.duplicate_packets else 0)
    if losses <= unreported or sample.imported:
        return ()
    counts, other_way = _counts(sample), sample.losses.other_way
    unhandled = int(UNHANDLED_PER_S * sample.drops.between_s)
    ours = {
        place: max(0, (count or 0) - (unhandled if place.endswith("interface") else 0))
        for place, count in counts.items()
    }
    certain = dict(ours)
    for place in ours.keys() - {"damaged", "socket"}:  # the others count both directions
        others = ours[place] if other_way is None else other_way * (sample.packets_a_message or 1)
        certain[place] = max(0, ours[place] - others)
    # The interface may also count a frame for which the backlog had no room, so only the larger one
    # of the two counts is used.
    in_backlog = certain["backlog"] >= certain["receiver_interface"]
    once = {**certain, "receiver_interface" if in_backlog else "backlog": 0}
    # Only a datagram of one packet is lost with the packet that a place drops.
    single = sample.packets_a_message == 1
    places = [
        PlacedLoss(
            kind,
            getattr(sample, role).host,
            min(losses, once[place]) if single else losses,
            once[place],
        )
        for place, (kind, role) in _PLACES.items()
        if once[place] >= (NAMED if single else COVERED) * losses
    ]
    rest = losses - sum(certain.values()) if single else losses
    if not places or (single and rest >= NAMED * losses):
        doubtful = sum(ours.values()) - (sum(certain.values()) if single else 0)
        dropped = sum(count or 0 for count in counts.values()) - sum(it.dropped for it in places)
        unknown = [_PLACES[place][1] for place, count in counts.items() if count is None]
        if sample.drops.sender_backlog is None:
            unknown.append("sender")
        is_path = not unknown and _is_of_path(sample, rest, dropped, doubtful)
        kind = Kind.LOSS_PATH if is_path else Kind.LOSS_UNKNOWN
        host = getattr(sample, unknown[0]).host if unknown else ""
        places.append(PlacedLoss(kind, host, rest, dropped))
    if not single:
        places = [max(places, key=lambda place: place.dropped)]
    total = sum(place.lost for place in places)
    apart = (replace(place, beside=total - place.lost) for place in places)
    return tuple(sorted(apart, key=lambda place: -place.lost))


def _is_of_path(sample: StreamSample, lost: int, dropped: int, doubtful: int) -> bool:
    """Whether the path lost messages that no drop of a host explains. ``doubtful``: drops of hosts
    that may be of this stream's messages.
    """
    # Frames that cannot be distinguished from foreign ones may include a few lost messages. If the
    # receiver's interface received extra frames, these may be ours (the host lost them afterwards),
    # unless the sender's interface sent such frames.
    others_share = 0.0 if sample.others_are_sent_here else sample.likely_others_share
    may_be_ours = others_share >= COVERED * (sample.lost_share or 1.0)
    whole = (
        sample.packets_a_message == 1 or sample.protocol == "TCP" or sample.drops.reassembly == 0
    )
    few = dropped < COVERED * lost and not doubtful
    return few and whole and not may_be_ours and not sample.same_host


def lost(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """One finding per group, kind and host, over all trials with loss in that place; and one for
    the messages that the sender's own queue refused.
    """
    losses: list[tuple[StreamSample, PlacedLoss]] = []
    for sample in samples:
        refused = sample.losses.local
        losses += ((sample, loss) for loss in placed(sample))
        if sample.protocol == "UDP" and refused and not sample.imported:
            # The send calls reported an error, and nothing was sent.
            unsent = PlacedLoss(Kind.LOSS_UNSENT, sample.sender.host, refused, refused)
            losses.append((sample, unsent))
    groups = grouped(losses, lambda pair: (pair[1].kind, pair[0].group, pair[1].host))
    for (kind, group, host), there in groups.items():
        cells = tuple(dict.fromkeys(sample.cell for sample, _loss in there))
        drops = sum(loss.dropped for _sample, loss in there) or None
        words = {"at_host": host} if host else {}
        over_tcp = group.protocol == "TCP"
        count = "sent_again" if over_tcp else "lost_messages"
        figures: dict[str, float | None] = {"trials": len(there)}
        figures[count] = sum(loss.lost for _sample, loss in there)
        if not over_tcp:
            sent_counts = [sample.losses.sent or 0 for sample, _loss in there]
            figures["sent_messages"] = sum(sent_counts) if all(sent_counts) else None
            figures["dropped_frames"] = drops
            figures["other_messages"] = sum(loss.beside for _sample, loss in there) or None
            if kind is Kind.LOSS_DAMAGED:  # the host counts those of others, too
                checked = sum(sample.losses.checked for sample, _loss in there)
                damaged = sum(min(loss.dropped, loss.lost) for _sample, loss in there)
                figures["damaged_share"] = damaged / checked if checked else None
            if kind is Kind.LOSS_UNSENT and all(sent_counts):
                refused = sum(loss.lost for _sample, loss in there)
                figures["lost_share"] = refused / (refused + sum(sent_counts))
        elif kind in _IN_WORDS:
            words["place"] = _IN_WORDS[kind]
            figures["dropped_here"] = drops
        yield finding(Kind.SENT_AGAIN if over_tcp else kind, group, cells, figures, words)


def _counts(sample: StreamSample) -> dict[str, int | None]:
    """Place → frames dropped there; ``None``: not known. Over TCP, no socket drops anything."""
    drops, losses, queue = sample.drops, sample.losses, sample.drops.sender_queue
    # Messages whose drop the send calls reported were never sent, so they are not lost.
    local = losses.local if sample.protocol == "UDP" else 0
    return {
        "damaged": drops.damaged or 0,  # few systems count these
        "socket": losses.receive_queue if sample.protocol == "UDP" else 0,
        "backlog": drops.receiver_backlog,
        "receiver_interface": drops.receiver_interface,
        "sender_interface": drops.sender_interface,
        "sender_queue": None if queue is None or local is None else max(0, queue - local),
    }


WINDOW_FITS = 1.25
"""The receive window is a limit if one window per round trip is at most this many times the
throughput."""

PACED_FITS = 1.1
"""The same for a congestion control that paces at its own estimate of the rate."""

STANDING_FRAMES, STANDING_RTT = 16, 2
"""Two minimums for a standing queue: the number of full frames in it, computed from the growth of
the round trip, and the ratio of the round trip to the shortest one. With such a queue,
retransmissions cost TCP no throughput."""


# ---- TCP's account -------------------------------------------------------------------------------


def window_limited(sample: StreamSample) -> bool:
    """Whether the receive window held TCP back, and is too small for this round trip.

    A receiver that reads too slowly also closes its window: then the window is not the cause.
    """
    limit = sample.window_limit_bit_per_s
    if limit is None or limit > WINDOW_FITS * sample.throughput_bit_per_s:
        return False
    is_closed = (sample.rwnd_limited_share or 0) >= CLOSED or _paces_at(sample, limit)
    return _one_stream(sample) and is_closed and not receiver_behind(sample)


def _paces_at(sample: StreamSample, limit_bit_per_s: float) -> bool:
    """Whether BBR, which never waits for a window, sends at the rate that one window allows."""
    is_bbr = (sample.congestion or "").startswith("bbr")
    return is_bbr and limit_bit_per_s <= PACED_FITS * sample.throughput_bit_per_s


def window_unscaled(sample: StreamSample) -> bool:
    """Whether the receive window is too small because TCP does not scale it. A congestion control
    that paces at the rate of a window never waits for the window.
    """
    limit, throughput = sample.window_limit_bit_per_s, sample.throughput_bit_per_s
    is_rate = limit is not None and WINDOW_FITS * throughput >= limit >= throughput / WINDOW_FITS
    return sample.is_unscaled and _one_stream(sample) and (is_rate or window_limited(sample))


def send_buffer_limited(sample: StreamSample) -> bool:
    """Whether the send buffer held TCP back: all data that it can hold was in flight, for half of
    the time, or for as long as the throughput misses and without a queue.
    """
    share, rtt_us, least_us = (
        sample.sndbuf_limited_share or 0,
        sample.tcp.rtt_us,
        sample.tcp.min_rtt_us,
    )
    no_queue = rtt_us is not None and least_us is not None and rtt_us <= NO_QUEUE * least_us
    enough = share >= max(HELD, sample.missing_share) and no_queue and sample.ceiling_bit_per_s
    return _one_stream(sample) and (share >= CLOSED or bool(enough))


def congested(sample: StreamSample) -> bool:
    """Whether the congestion window held TCP back, and segments sent again had been lost.

    False if other traffic probably used at least half of the missing throughput (``is_shared``),
    and within one host, which has no path.
    """
    return (
        _one_stream(sample)
        and not is_shared(sample)
        and not sample.same_host
        and (sample.cwnd_limited_share or 0) >= CLOSED
        and lost_segments(sample) > UNREPORTED * (sample.tcp.retransmissions or 0)
    )


def stood_in_queue(sample: StreamSample) -> bool:
    """Whether TCP kept a queue filled all the time: the link behind it was never idle."""
    rtt_us, least_us = sample.tcp.rtt_us, sample.tcp.min_rtt_us
    if rtt_us is None or least_us is None or rtt_us < STANDING_RTT * least_us:
        return False
    standing_bytes = (rtt_us - least_us) / 1e6 * sample.throughput_bit_per_s / 8
    return standing_bytes >= STANDING_FRAMES * FRAME_BYTES


def _one_stream(sample: StreamSample) -> bool:
    """Whether TCP's account covers all data: it is recorded for the first stream only."""
    return sample.streams == 1 and sample.sender.judged


# ---- other traffic ------------------------------------------------------------------------------


def is_shared(sample: StreamSample) -> bool:
    """Whether other traffic probably used at least half of the missing throughput."""
    others_share = sample.likely_others_share
    return others_share > 0 and others_share >= COSTS * sample.missing_share


def crowded_out(sample: StreamSample) -> bool:
    """Whether the stream and others filled the link, and hosts dropped little."""
    is_filled = sample.filled_by_others is not None
    return (
        is_filled and not receive_queue_drops(sample) and not lost_at(sample, Kind.LOSS_LIMIT_HOST)
    )


# ---- what was lost -------------------------------------------------------------------------------


def receive_queue_drops(sample: StreamSample) -> bool:
    """Whether loss is the limit, and the receiving socket had no room for half of the messages, or
    dropped more of them than any other place.
    """
    places, drops = placed(sample) if loses(sample) else (), sample.losses.receive_queue or 0
    most = bool(places) and places[0].kind is Kind.LOSS_SOCKET
    return most or (bool(places) and drops >= COVERED * (sample.losses.lost or 0))


def lost_at(sample: StreamSample, limit: Kind) -> bool:
    """Whether loss in the places of this limit is the limit, and large enough: at least half of the
    throughput that is missing to the ceiling, or a fifth of all messages, or any loss if the sender
    sent enough.
    """
    places = placed(sample) if loses(sample) else ()
    most = (sample.lost_share or 0) >= min(LOST_MUCH, COSTS * _missing(sample, None))
    is_there = bool(places) and OF_LOSSES[places[0].kind] is limit
    return is_there and (most or sent_enough(sample))


OF_LOSSES: Mapping[Kind, Kind] = {
    Kind.LOSS_SOCKET: Kind.LOSS_LIMIT_SOCKET,
    **dict.fromkeys(
        (Kind.LOSS_BACKLOG, Kind.LOSS_INTERFACE, Kind.LOSS_QUEUE), Kind.LOSS_LIMIT_HOST
    ),
    Kind.LOSS_DAMAGED: Kind.LOSS_LIMIT_DAMAGED,
    Kind.LOSS_PATH: Kind.LOSS_LIMIT_PATH,
    Kind.LOSS_UNKNOWN: Kind.LOSS_LIMIT_UNKNOWN,
}
"""Place of a loss → the limit that it is."""


def lost_share_at(sample: StreamSample, limit: Kind) -> float:
    """Share of the messages sent over UDP that were lost in the places of this limit."""
    there = sum(place.lost for place in placed(sample) if OF_LOSSES[place.kind] is limit)
    return there / sample.losses.sent if sample.losses.sent else 0.0


def sender_queue_drops(sample: StreamSample) -> bool:
    """Whether the sender's own system dropped messages that it should have sent."""
    local, sent_messages = sample.losses.local, sample.losses.sent
    if sample.protocol != "UDP" or local is None or sent_messages is None:
        return False
    return local > (1 - DELIVERED) * (sent_messages + local)


def partial_traffic(
    samples: Iterable[StreamSample], limited: Iterable[Finding]
) -> Iterator[Finding]:
    """One finding per host and direction: the number of affected trials, and the median rate.

    Cells in which other traffic is the bottleneck, according to ``limited``, are left out.
    """
    filled = {cell for limit in limited if limit.kind is Kind.OTHER_TRAFFIC for cell in limit.cells}
    of_host: dict[str, set[tuple[str, int]]] = {}
    rates: dict[tuple[str, bool], dict[tuple[str, int], float]] = {}
    for sample in samples:
        trial = sample.cell, sample.trial
        for end in sample.ends:
            of_host.setdefault(end.host, set()).add(trial)
        if sample.cell in filled or sample.filled_by_others is not None:
            continue
        for traffic in sample.others:
            rates.setdefault((traffic.host, traffic.receiving), {})[trial] = traffic.bit_per_s
    for (host, receiving), trials in rates.items():
        yield finding(
            Kind.OTHER_TRAFFIC_BESIDE,
            Group(host=host),
            (),
            {"other_bit_per_s": median(trials.values()), "trials": len(trials)},
            {"way": way(receiving=receiving)} | in_trials(len(trials), len(of_host.get(host, ()))),
            tuple(trials),
        )
