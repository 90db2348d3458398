"""Packets that were lost in one direction, and how many of them the path lost.

A stream that fills the path causes loss itself: TCP until it has found the rate, UDP if its sending
rate is too high. Such loss does not show that the path is bad. But if such loss is small, it shows
that the path is good enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from netlab.findings.distance.model import LossVerdict, judged
from netlab.findings.finding import Kind
from netlab.findings.sample import StreamSample
from netlab.findings.streams.places import placed

GENTLE = 0.9
"""A stream does not fill the path (is gentle) if its offered rate is at most this share of the wire
ceiling (the highest payload rate of the link)."""


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
        if "few enough" in (gentle, every):
            return "few enough"
        return gentle


def path_loss(
    samples: Iterable[StreamSample], segments: dict[tuple[str, int, str], int]
) -> PathLoss:
    """The loss of the streams in one direction of a path.

    ``segments``: (cell, trial, flow) → number of data segments that TCP sent within the measured
    time.
    """
    packets = lost_packets = gentle_packets = gentle_lost = 0
    for sample in samples:
        if sample.protocol == "TCP":
            sent_packets, resent = (
                segments.get((sample.cell, sample.trial, sample.flow)),
                sample.tcp.retransmissions,
            )
            if sent_packets is not None and resent is not None and sample.streams == 1:
                packets, lost_packets = packets + sent_packets, lost_packets + resent
            continue
        sent_packets, lost_messages = sample.losses.sent, sample.losses.lost
        if sent_packets is None or lost_messages is None or sample.packets_a_message != 1:
            continue
        packets, lost_packets = packets + sent_packets, lost_packets + lost_messages
        if is_gentle(sample):
            place = placed(sample)
            on_path = place is not None and place.kind is Kind.LOSS_PATH
            if on_path or not lost_messages:
                gentle_packets, gentle_lost = (
                    gentle_packets + sent_packets,
                    gentle_lost + lost_messages,
                )
    return PathLoss(
        packets=packets, lost=lost_packets, gentle_packets=gentle_packets, gentle_lost=gentle_lost
    )


def is_gentle(sample: StreamSample) -> bool:
    """Whether a stream's offered rate does not fill the path."""
    offered_rate, ceiling = sample.offered_bit_per_s, sample.ceiling_bit_per_s
    return offered_rate is not None and ceiling is not None and offered_rate <= GENTLE * ceiling
