"""Whether TCP would reach a target over a longer path, as far as the records show.

A target, stated in the matrix, is a rate that TCP should reach over a round trip longer than the
measured one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netlab.ethernet import mss_of
from netlab.experiment.matrix import Link, LongPath
from netlab.findings.distance import model
from netlab.findings.distance.connections import OneWay, one_ways
from netlab.findings.distance.windows import InFlight, by_receiver, by_sender
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.sample import StreamSample
from netlab.messages import Message, _, joined
from netlab.units import format_bytes, format_rate

if TYPE_CHECKING:
    from netlab.results.run import Run

FILLS = 0.98
"""A stream reaches the target, or the link's wire ceiling (its highest payload rate), if the
throughput is at least this share of that rate."""

FORMULAS = {
    "formula_of_buffers": "rate = 8 x bytes on their way / round trip",
    "formula_of_loss": "one loss in 3 x window^2 packets, "
    "window = rate x round trip / (8 x payload of a packet), rounded up",
}

FactsNoted = Mapping[str, Sequence[Mapping[str, Any]]]


def at_a_distance(
    run: Run,
    samples: Sequence[StreamSample],
    facts: FactsNoted,
    link: Link | None,
    target: LongPath | None,
) -> Iterator[Finding]:
    """One finding per pairing, direction and socket buffer size, if the matrix has a target."""
    if target is None:
        return
    candidates = [_Candidate(way, target, link, facts) for way in one_ways(samples, run.latest)]
    levels = Counter(candidate.group_key for candidate in candidates)
    for candidate in candidates:
        yield candidate.finding(names_buffer=levels[candidate.group_key] > 1)


@dataclass(frozen=True)
class _Bound:
    """An upper bound of the throughput, in payload bit/s, and the text that explains it."""

    bit_per_s: float
    words: Message


class _Candidate:
    """One direction with one socket buffer size, compared with the target."""

    def __init__(self, way: OneWay, target: LongPath, link: Link | None, facts: FactsNoted) -> None:
        self.way, self.target, self.link = way, target, link
        first = way.samples[0]
        self.sender, self.receiver = first.sender.host, first.receiver.host
        self.group_key = (first.pairing, first.flow, self.sender, self.receiver)
        self.received = by_receiver(way.buffers, _latest(facts, self.receiver))
        self.sent = by_sender(way.buffers, _latest(facts, self.sender))
        self.needed_bytes = model.needed_bytes(target)
        self.packet_bytes = way.segment_bytes or (None if link is None else mss_of(link.mtu_bytes))

    def finding(self, *, names_buffer: bool) -> Finding:
        """The finding about this direction and buffer size."""
        first = self.way.samples[0]
        level = (("socket_buffer_bytes", self.way.asked_bytes),) if names_buffer else ()
        group = Group(first.pairing, "TCP", None, first.flow, level)
        bounds, doubts = sorted(self._bounds(), key=lambda bound: bound.bit_per_s), self._doubts()
        kind = Kind.TARGET_PASSES
        words: dict[str, str] = {"sender": self.sender, "receiver": self.receiver, **FORMULAS}
        if bounds:
            kind, words["bounds"] = (
                Kind.TARGET_FAILS,
                joined("; ", [bound.words for bound in bounds]),
            )
        elif doubts:
            kind, words["doubts"] = Kind.TARGET_UNDECIDED, joined("; ", doubts)
        return finding(kind, group, self.way.cells, self._figures(), words, self.way.trials)

    # ---- why the target is not reached -----------------------------------------------------------

    def _bounds(self) -> Iterator[_Bound]:
        """Everything that is shown to limit throughput to less than the target."""
        target = self.target.rate_bit_per_s
        for in_flight, text_of in ((self.received, _of_receiver), (self.sent, _of_sender)):
            if in_flight.most < self.needed_bytes:
                host = self.receiver if text_of is _of_receiver else self.sender
                rate = model.allowed_bit_per_s(in_flight.estimate, self.target)
                yield _Bound(rate, text_of(host, in_flight, rate))
        if self._loss() == "too many":
            loss, rate = self.way.loss, self._loss_allows() or 0.0
            text = _(
                "the loss of {lost} of {packets} packets allows {rate}, by the model of RFC 8337",
                lost=f"{loss.gentle_lost:,}",
                packets=f"{loss.gentle_packets:,}",
                rate=_rate(rate),
            )
            yield _Bound(rate, text)
        best, ceiling = self.way.best_bit_per_s, self._ceiling()
        if ceiling is not None and ceiling < target:
            yield _Bound(ceiling, _("the link carries {rate}", rate=_rate(ceiling)))
            if best >= FILLS * ceiling:
                return
        if best < FILLS * target:
            yield _Bound(best, _("the measured throughput is {rate}", rate=_rate(best)))

    def _doubts(self) -> list[Message]:
        """The reasons why it is unknown whether the target would be reached."""
        doubts = []
        for in_flight, text_of in ((self.received, _receiver_unsure), (self.sent, _sender_unsure)):
            if in_flight.least < self.needed_bytes:
                host = self.receiver if text_of is _receiver_unsure else self.sender
                doubts.append(text_of(host, in_flight, self.target))
        loss = self._loss()
        if loss is None:
            doubts.append(_("the number of lost packets is not recorded"))
        elif loss != "few enough":
            doubts.append(self._too_few_packets())
        return doubts

    def _too_few_packets(self) -> Message:
        losses = self.way.loss
        return _(
            "{lost} of {packets} packets were lost: the loss is at most one packet in {seen}, but "
            "the model of RFC 8337 allows only one in {length} ({needed} packets without loss "
            "would show such a low loss)",
            lost=f"{losses.lost:,}",
            packets=f"{losses.packets:,}",
            seen=f"{1 / model.loss_interval(losses.packets, losses.lost)[1]:,.0f}",
            length=f"{self._length() or 0:,}",
            needed=f"{model.packets_needed(0, self._length() or 1):,}",
        )

    def _length(self) -> int | None:
        packet = self.packet_bytes
        return None if packet is None else model.run_length(self.target, packet)

    def _loss(self) -> model.LossVerdict | None:
        """The verdict about the loss; ``None`` if no packet was counted."""
        length = self._length()
        return (
            None if length is None or not self.way.loss.packets else self.way.loss.verdict(length)
        )

    def _loss_allows(self) -> float | None:
        losses, packet = self.way.loss, self.packet_bytes
        if packet is None or not losses.gentle_lost:
            return None
        share = losses.gentle_lost / losses.gentle_packets
        return model.bit_per_s_at_loss(share, self.target, packet)

    def _ceiling(self) -> float | None:
        ceilings = [sample.highest_ceiling_bit_per_s for sample in self.way.samples]
        return max((ceiling for ceiling in ceilings if ceiling is not None), default=None)

    def _figures(self) -> dict[str, float | None]:
        losses, buffers, length = self.way.loss, self.way.buffers, self._length()
        ceiling, best = self._ceiling(), self.way.best_bit_per_s
        buffer_rates = {
            f"{name}_allows_{bound}bit_per_s": _finite(model.allowed_bit_per_s(value, self.target))
            for name, in_flight in (("receive_buffer", self.received), ("send_buffer", self.sent))
            for bound, value in (
                *(
                    ("", in_flight.estimate),
                    ("at_least_", in_flight.least),
                    ("at_most_", in_flight.most),
                ),
            )
        }
        by_buffers = [
            buffer_rates[f"{name}_allows_bit_per_s"] for name in ("receive_buffer", "send_buffer")
        ]
        return {
            "target_bit_per_s": self.target.rate_bit_per_s,
            "target_rtt_ns": self.target.rtt_s * 1e9,
            "predicted_bit_per_s": min(
                rate
                for rate in (*by_buffers, ceiling, self._loss_allows(), best * 1.0)
                if rate is not None
            ),
            "needed_window_bytes": self.needed_bytes,
            "window_bytes": buffers.announced_bytes,
            "receive_buffer_bytes": None if buffers.auto_tuning else buffers.receive_bytes,
            "send_buffer_bytes": None if buffers.auto_tuning else buffers.send_bytes,
            **buffer_rates,
            "packets": losses.packets,
            "lost_packets": losses.lost,
            "most_lost_share": model.loss_interval(losses.packets, losses.lost)[1],
            "run_length_packets": length,
            "loss_allows_bit_per_s": self._loss_allows(),
            "ceiling_bit_per_s": ceiling,
            "best_bit_per_s": best,
        }


def _latest(facts: FactsNoted, host: str) -> Mapping[str, Any]:
    """The last recorded facts of a host."""
    readings = facts.get(host)
    return readings[-1] if readings else {}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _rate(bit_per_s: float) -> str:
    return format_rate(float(f"{bit_per_s:.3g}"))


def _of_receiver(host: str, in_flight: InFlight, rate: float) -> Message:
    values = {"host": host, "rate": _rate(rate), "bytes": format_bytes(round(in_flight.estimate))}
    if in_flight.likely is None:
        return _(
            "the receive buffer of {host} allows at most {rate}, {bytes} per round trip", **values
        )
    return _(
        "the receive buffer of {host} allows {rate}, a window of {bytes} per round trip", **values
    )


def _of_sender(host: str, in_flight: InFlight, rate: float) -> Message:
    values = {"host": host, "rate": _rate(rate), "bytes": format_bytes(round(in_flight.estimate))}
    if in_flight.likely is None:
        return _(
            "the send buffer of {host} allows at most {rate}, {bytes} per round trip", **values
        )
    return _("the send buffer of {host} allows {rate}, {bytes} per round trip", **values)


def _receiver_unsure(host: str, in_flight: InFlight, target: LongPath) -> Message:
    if math.isinf(in_flight.most):
        return _("the window that {host} would announce is not recorded", host=host)
    return _(
        "the receive buffer of {host} allows {least} to {most}", **_between(host, in_flight, target)
    )


def _sender_unsure(host: str, in_flight: InFlight, target: LongPath) -> Message:
    if math.isinf(in_flight.most):
        return _("how much data {host} keeps in flight is not recorded", host=host)
    return _(
        "the send buffer of {host} allows {least} to {most}", **_between(host, in_flight, target)
    )


def _between(host: str, in_flight: InFlight, target: LongPath) -> dict[str, str]:
    least, most = (
        _rate(model.allowed_bit_per_s(window, target))
        for window in (in_flight.least, in_flight.most)
    )
    return {"host": host, "least": least, "most": most}
