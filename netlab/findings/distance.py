"""Whether TCP would reach the target over the long path that the matrix states."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal

from netlab.ethernet import Link, mss_of
from netlab.experiment.matrix import LongPath
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Facts, Finding, Group, Kind, finding
from netlab.findings.stream_limits import trials_of
from netlab.findings.stream_rules import OF_LOSSES, lost_segments, placed
from netlab.messages import Message, _, joined
from netlab.trial.record import as_whole, grouped
from netlab.units import format_bytes, format_rate

LossVerdict = Literal["few enough", "too many", "not known"]

ERROR = 0.05
"""Probability that the test calls a good path bad, and that it calls a bad path good (RFC 8337,
7.2)."""
WORSE = 4
"""The test distinguishes a good path from a path that loses packets this many times as often (same
section)."""
_MOST = 0.99
"""Upper limit of the loss probability of a bad path in the test: with the smallest windows,
``WORSE`` times the allowed loss would exceed 1."""


def needed_bytes(target: LongPath) -> float:
    """Payload that must be in flight for the target, in bytes: rate x round trip."""
    return target.rate_bit_per_s * target.rtt_s / 8


def allowed_bit_per_s(window_bytes: float, target: LongPath) -> float:
    """The rate in bit/s that a window carries: one window per round trip."""
    return 8 * window_bytes / target.rtt_s


def window_packets(target: LongPath, packet_bytes: int) -> int:
    """Target window size in packets of ``packet_bytes`` payload; at least 1."""
    return max(1, math.ceil(needed_bytes(target) / packet_bytes))


def run_length(target: LongPath, packet_bytes: int) -> int:
    """The number of packets between two losses, on average, that the target needs: 3 x window²."""
    return 3 * window_packets(target, packet_bytes) ** 2


def judged(packets: int, lost_packets: int, length: int) -> LossVerdict:
    """Whether a path that lost ``lost_packets`` of ``packets`` loses at most one in ``length``."""
    slope, distance = _lines(length)
    if lost_packets <= slope * packets - distance:
        return "few enough"
    return "too many" if lost_packets >= slope * packets + distance else "not known"


def packets_needed(lost_packets: int, length: int) -> int:
    """Number of packets needed to show that the loss is low enough, if ``lost_packets`` of them are
    lost.
    """
    slope, distance = _lines(length)
    return math.ceil((lost_packets + distance) / slope)


def _lines(length: int) -> tuple[float, float]:
    """The two parallel lines of the test, which limit the number of losses for each number of
    packets: their slope, in losses per packet, and half of their distance, in losses.
    """
    few, many = 1 / length, min(WORSE / length, _MOST)
    scale = math.log(many * (1 - few) / (few * (1 - many)))
    slope = math.log((1 - few) / (1 - many)) / scale
    return slope, math.log((1 - ERROR) / ERROR) / scale


def bit_per_s_at_loss(share: float, target: LongPath, packet_bytes: int) -> float:
    """The rate in bit/s that a share of lost packets allows: the rate of the window for which 3 x
    window² = 1 / share. Infinite without loss.
    """
    if share <= 0:
        return math.inf
    return allowed_bit_per_s(packet_bytes * math.sqrt(1 / (3 * share)), target)


def loss_interval(packets: int, lost_packets: int) -> tuple[float, float]:
    """The 95 % interval of the share of packets lost (Wilson 1927); 0 to 1 without packets.

    A damaged record may state more lost packets than packets: then all are lost.
    """
    lost_packets = min(lost_packets, packets)
    if packets < 1:
        return 0.0, 1.0
    z = 1.96
    share, spread = lost_packets / packets, z * z / packets
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / packets + spread / (4 * packets))
    return max(0.0, middle - half) if lost_packets else 0.0, min(1.0, middle + half)


UNSCALED_BYTES = 65_535
"""The largest receive window without TCP's window scaling (RFC 7323, section 2)."""

RECEIVE_SHARE = 0.5
"""Minimum share of a receive buffer that Linux announces as the receive window
(``tcp_adv_win_scale`` of 1). Linux announces more if segments fill their structures."""
SENT_SHARE, SENT_LEAST, SENT_MOST = 0.45, 0.4, 0.63
"""Likely, minimum and maximum share of a Linux send buffer that is in flight, if each segment has
its own structure, as on cards without segmentation offload. A full segment takes 2304 bytes of the
buffer, of which 1448 are payload, and a program resumes writing only when a third of the buffer is
free. At round trips of 20 and 50 ms and effective buffers of 128 and 512 KiB, 0.42 to 0.47 were
measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """Bytes of payload that a buffer allows in flight."""

    least: float
    most: float
    """Infinite if nothing is known."""
    likely: float | None = None
    """Between the two bounds; ``None``: only the bounds are known."""

    @property
    def estimate(self) -> float:
        """The likely value if it is known, otherwise the upper bound."""
        return self.most if self.likely is None else self.likely


UNKNOWN = InFlight(least=0, most=math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuffersInEffect:
    """What is known about the two buffers of a connection; ``None``: not known."""

    auto_tuning: bool
    """Whether the systems choose the sizes, because no size was requested."""
    send_bytes: int | None = None
    receive_bytes: int | None = None
    announced_bytes: int | None = None
    """The largest receive window that the sender saw; also ``None`` if a full receive queue may
    have closed the window."""
    window_scaling: bool | None = None
    """Whether both ends scale their windows."""


def by_receiver(buffers: BuffersInEffect, facts: Mapping[str, Any]) -> InFlight:
    """The bounds of the receive window; ``facts`` are the facts of the receiver's host."""
    size, announced = buffers.receive_bytes, buffers.announced_bytes
    if buffers.auto_tuning:
        most, seen = largest_of(facts.get("tcp_rmem")), announced or 0
        in_flight = InFlight(least=seen, most=math.inf)
        if most is not None:
            in_flight = InFlight(least=max(seen, RECEIVE_SHARE * most), most=max(seen, most))
    elif size is None:
        in_flight = UNKNOWN
    elif announced is None or not RECEIVE_SHARE * size <= announced <= size:
        in_flight = InFlight(least=min(announced or size, RECEIVE_SHARE * size), most=size)
    else:
        in_flight = InFlight(least=RECEIVE_SHARE * size, most=size, likely=announced)
    cap = UNSCALED_BYTES if buffers.window_scaling is False else math.inf
    likely = None if in_flight.likely is None else min(in_flight.likely, cap)
    return InFlight(least=min(in_flight.least, cap), most=min(in_flight.most, cap), likely=likely)


def by_sender(buffers: BuffersInEffect, facts: Mapping[str, Any]) -> InFlight:
    """The bounds of the data in flight that the send buffer allows; known for Linux only.

    ``facts`` are the facts of the sender's host.
    """
    limit = largest_of(facts.get("tcp_wmem"))
    size = limit if buffers.auto_tuning else buffers.send_bytes
    if limit is None or size is None:
        return UNKNOWN
    # Without these offloads, a host cuts its data into segments before they reach its interface.
    offloads = facts.get("interface_offloads")
    if isinstance(offloads, str) and not {"tso", "gso"} & set(offloads.split(",")):
        likely = None if buffers.auto_tuning else SENT_SHARE * size
        return InFlight(least=SENT_LEAST * size, most=SENT_MOST * size, likely=likely)
    return InFlight(least=SENT_LEAST * size, most=size)


def largest_of(sizes: object) -> int | None:
    """The largest of the three sizes of ``tcp_rmem`` or ``tcp_wmem``: auto-tuning's limit."""
    words = sizes.split() if isinstance(sizes, str) else []
    return int(words[2]) if len(words) == 3 and words[2].isdecimal() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWay:
    """The trials of TCP from one host to another with one socket buffer size, with evidence."""

    samples: tuple[StreamSample, ...]
    asked_bytes: int | None
    """The requested socket buffer; ``None``: none was requested, and the systems choose it."""
    buffers: BuffersInEffect
    segment_bytes: int | None
    """Payload per packet; the smallest value of all trials."""
    loss: PathLoss

    @property
    def best_bit_per_s(self) -> float:
        """The highest throughput of the trials."""
        return max(sample.throughput_bit_per_s for sample in self.samples)


def one_ways(samples: Sequence[StreamSample]) -> Iterator[OneWay]:
    """Every combination of pairing, direction and socket buffer size, over a cable.

    Only trials with one TCP stream that is neither paced nor imported count. The loss, however, is
    counted over all streams of the pairing in that direction, including UDP.
    """
    cabled = (s for s in samples if not s.imported and not s.same_host)
    ways = grouped(cabled, lambda s: (s.pairing, s.flow, s.sender.host, s.receiver.host))
    for of_way in ways.values():
        loss = path_loss(of_way)
        tcp = (s for s in of_way if s.protocol == "TCP" and s.streams == 1 and not s.paced)
        by_size = grouped(tcp, lambda s: as_whole(s.record.settings.get("socket_buffer_bytes")))
        for size, of_size in by_size.items():
            yield OneWay(
                samples=tuple(of_size),
                asked_bytes=size,
                buffers=_buffers(size, of_size),
                segment_bytes=_least(s.measured.whole("sender_tcp_end_snd_mss") for s in of_size),
                loss=loss,
            )


def _buffers(size: int | None, samples: Sequence[StreamSample]) -> BuffersInEffect:
    windows = (s.tcp.window_bytes for s in samples if not s.queue_full_share)
    texts = filter(None, (s.measured.text("sender_tcp_end_options") for s in samples))
    options = [text.split(",") for text in texts]
    return BuffersInEffect(
        auto_tuning=size is None,
        send_bytes=_least(sample.send_buffer_bytes for sample in samples),
        receive_bytes=_least(s.measured.whole("receiver_receive_buffer_bytes") for s in samples),
        announced_bytes=max((window for window in windows if window is not None), default=None),
        window_scaling=all("wscale" in names for names in options) if options else None,
    )


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


GENTLE = 0.9
"""A stream does not fill the path (is gentle) if its offered rate is at most this share of the wire
ceiling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathLoss:
    """Numbers of packets that were sent in one direction, and of packets that were lost.

    Only ``gentle_lost`` is the number of packets that were certainly lost on the path.
    """

    packets: int = 0
    lost: int = 0
    gentle_packets: int = 0
    """Packets of streams that did not fill the path."""
    gentle_lost: int = 0
    """How many of ``gentle_packets`` were certainly lost on the path."""

    def verdict(self, run_length: int) -> LossVerdict:
        """Whether at most one in ``run_length`` packets is lost.

        Only streams that did not fill the path can show that the loss is too high.
        """
        gentle = judged(self.gentle_packets, self.gentle_lost, run_length)
        every = judged(self.packets, self.lost, run_length)
        return every if every == "few enough" else gentle


def path_loss(samples: Iterable[StreamSample]) -> PathLoss:
    """The loss of the streams in one direction of a path."""
    counts: Counter[str] = Counter()
    for sample in samples:
        if sample.protocol == "TCP":
            segments, known = sample.sent_segments, sample.tcp.retransmissions is not None
            if segments is not None and known and sample.streams == 1:
                counts.update(packets=segments, lost=lost_segments(sample))
            continue
        sent, lost = sample.losses.sent, sample.losses.lost
        if sent is None or lost is None or sample.packets_a_message != 1:
            continue
        counts.update(packets=sent, lost=lost)
        if is_gentle(sample):
            places = placed(sample)
            if all(place.kind is not Kind.LOSS_UNKNOWN for place in places):
                on_path = (Kind.LOSS_LIMIT_PATH, Kind.LOSS_LIMIT_DAMAGED)
                of_path = (p.lost for p in places if OF_LOSSES[p.kind] in on_path)
                counts.update(gentle_packets=sent, gentle_lost=sum(of_path))
    return PathLoss(**counts)


def is_gentle(sample: StreamSample) -> bool:
    """Whether a stream's offered rate does not fill the path."""
    offered_rate, ceiling = sample.offered_bit_per_s, sample.ceiling_bit_per_s
    return offered_rate is not None and ceiling is not None and offered_rate <= GENTLE * ceiling


FILLS = 0.98
"""A stream reaches the target, or the link's wire ceiling, if the throughput is at least this share
of that rate."""

FORMULAS = {
    "formula_of_buffers": "rate = 8 x bytes on their way / round trip",
    "formula_of_loss": "one loss in 3 x window^2 packets, "
    "window = rate x round trip / (8 x payload of a packet), rounded up",
}


def at_a_distance(
    samples: Sequence[StreamSample], facts: Facts, link: Link | None, target: LongPath | None
) -> Iterator[Finding]:
    """One finding per pairing, direction and socket buffer size, if the matrix has a target."""
    if target is None:
        return
    candidates = [_Candidate(way, target, link, facts) for way in one_ways(samples)]
    levels = Counter(candidate.group_key for candidate in candidates)
    for candidate in candidates:
        yield candidate.finding(names_buffer=levels[candidate.group_key] > 1)


class _Candidate:
    def __init__(self, way: OneWay, target: LongPath, link: Link | None, facts: Facts) -> None:
        self.way, self.target = way, target
        first = way.samples[0]
        self.sender, self.receiver = first.sender.host, first.receiver.host
        self.group_key = (first.pairing, first.flow, self.sender, self.receiver)
        # The last recorded facts of each host.
        of_receiver, of_sender = (
            (facts.get(host) or [{}])[-1] for host in (self.receiver, self.sender)
        )
        self.buffers = (
            ("receive_buffer", self.receiver, by_receiver(way.buffers, of_receiver)),
            ("send_buffer", self.sender, by_sender(way.buffers, of_sender)),
        )
        self.needed_bytes = needed_bytes(target)
        ceilings = (sample.highest_ceiling_bit_per_s for sample in way.samples)
        self.ceiling = max((known for known in ceilings if known is not None), default=None)
        packet = way.segment_bytes or (None if link is None else mss_of(link.mtu_bytes))
        # The needed packets between two losses, the verdict about the loss, and the rate that it
        # allows: known only with the size of a packet, and if packets were counted.
        self.length = self.loss = self.loss_allows = None
        if packet is not None:
            self.length = run_length(target, packet)
            if way.loss.packets:
                self.loss = way.loss.verdict(self.length)
            if way.loss.gentle_lost:
                share = way.loss.gentle_lost / way.loss.gentle_packets
                self.loss_allows = bit_per_s_at_loss(share, target, packet)

    def finding(self, *, names_buffer: bool) -> Finding:
        """The finding about this direction and buffer size."""
        first = self.way.samples[0]
        level = (("socket_buffer_bytes", self.way.asked_bytes),) if names_buffer else ()
        group = Group(first.pairing, "TCP", None, first.flow, level)
        bounds, doubts = sorted(self._bounds(), key=itemgetter(0)), self._doubts()
        kind = Kind.TARGET_PASSES
        words: dict[str, str] = {"sender": self.sender, "receiver": self.receiver, **FORMULAS}
        if bounds:
            kind, words["bounds"] = Kind.TARGET_FAILS, joined("; ", [text for _, text in bounds])
        elif doubts:
            kind, words["doubts"] = Kind.TARGET_UNDECIDED, joined("; ", doubts)
        return finding(kind, group, (), self._figures(), words, trials_of(self.way.samples))

    def _bounds(self) -> Iterator[tuple[float, Message]]:
        """Everything that is shown to limit throughput to less than the target: the upper bound in
        payload bit/s, and a text that explains it.
        """
        target = self.target.rate_bit_per_s
        for name, host, in_flight in self.buffers:
            if in_flight.most < self.needed_bytes:
                at_most, likely, *_rest = _BUFFERS[name]
                rate = allowed_bit_per_s(in_flight.estimate, self.target)
                size = format_bytes(round(in_flight.estimate))
                template = at_most if in_flight.likely is None else likely
                yield rate, _(template.id, host=host, rate=_rate(rate), bytes=size)
        if self.loss == "too many":
            loss, rate = self.way.loss, self.loss_allows or 0.0
            text = _(
                "the loss of {lost} of {packets} packets allows {rate}, by the model of RFC 8337",
                lost=f"{loss.gentle_lost:,}",
                packets=f"{loss.gentle_packets:,}",
                rate=_rate(rate),
            )
            yield rate, text
        best, ceiling = self.way.best_bit_per_s, self.ceiling
        if ceiling is not None and ceiling < target:
            yield ceiling, _("the link carries {rate}", rate=_rate(ceiling))
            if best >= FILLS * ceiling:
                return
        if best < FILLS * target:
            yield best, _("the measured throughput is {rate}", rate=_rate(best))

    def _doubts(self) -> list[Message]:
        """The reasons why it is unknown whether the target would be reached."""
        doubts = []
        for name, host, in_flight in self.buffers:
            *_rest, between, unknown = _BUFFERS[name]
            if in_flight.least < self.needed_bytes and math.isinf(in_flight.most):
                doubts.append(_(unknown.id, host=host))
            elif in_flight.least < self.needed_bytes:
                bounds = (in_flight.least, in_flight.most)
                least, most = (_rate(allowed_bit_per_s(size, self.target)) for size in bounds)
                doubts.append(_(between.id, host=host, least=least, most=most))
        losses = self.way.loss
        if self.loss is None:
            doubts.append(_("the number of lost packets is not recorded"))
        elif self.loss != "few enough":
            text = _(
                "{lost} of {packets} packets were lost: the loss is at most one packet in {seen}, "
                "but the model of RFC 8337 allows only one in {length} ({needed} packets without "
                "loss would show such a low loss)",
                lost=f"{losses.lost:,}",
                packets=f"{losses.packets:,}",
                seen=f"{1 / loss_interval(losses.packets, losses.lost)[1]:,.0f}",
                length=f"{self.length or 0:,}",
                needed=f"{packets_needed(0, self.length or 1):,}",
            )
            doubts.append(text)
        return doubts

    def _figures(self) -> dict[str, float | None]:
        losses, buffers, best = self.way.loss, self.way.buffers, self.way.best_bit_per_s
        rates: dict[str, float | None] = {}
        predicted = [best * 1.0, *(r for r in (self.ceiling, self.loss_allows) if r is not None)]
        for name, _host, in_flight in self.buffers:
            least, likely, most = in_flight.least, in_flight.estimate, in_flight.most
            predicted.append(allowed_bit_per_s(likely, self.target))
            for bound, size in (("", likely), ("at_least_", least), ("at_most_", most)):
                rate = allowed_bit_per_s(size, self.target)
                rates[f"{name}_allows_{bound}bit_per_s"] = rate if math.isfinite(rate) else None
        return {
            "target_bit_per_s": self.target.rate_bit_per_s,
            "target_rtt_ns": self.target.rtt_s * 1e9,
            "predicted_bit_per_s": min(predicted),
            "needed_window_bytes": self.needed_bytes,
            "window_bytes": buffers.announced_bytes,
            "receive_buffer_bytes": None if buffers.auto_tuning else buffers.receive_bytes,
            "send_buffer_bytes": None if buffers.auto_tuning else buffers.send_bytes,
            **rates,
            "packets": losses.packets,
            "lost_packets": losses.lost,
            "most_lost_share": loss_interval(losses.packets, losses.lost)[1],
            "run_length_packets": self.length,
            "loss_allows_bit_per_s": self.loss_allows,
            "ceiling_bit_per_s": self.ceiling,
            "best_bit_per_s": best,
        }


def _rate(bit_per_s: float) -> str:
    return format_rate(float(f"{bit_per_s:.3g}"))


_BUFFERS = {
    "receive_buffer": (
        _("the receive buffer of {host} allows at most {rate}, {bytes} per round trip"),
        _("the receive buffer of {host} allows {rate}, a window of {bytes} per round trip"),
        _("the receive buffer of {host} allows {least} to {most}"),
        _("the window that {host} would announce is not recorded"),
    ),
    "send_buffer": (
        _("the send buffer of {host} allows at most {rate}, {bytes} per round trip"),
        _("the send buffer of {host} allows {rate}, {bytes} per round trip"),
        _("the send buffer of {host} allows {least} to {most}"),
        _("how much data {host} keeps in flight is not recorded"),
    ),
}
"""Buffer → texts for what it allows: at most, probably, between two rates, and nothing known."""
