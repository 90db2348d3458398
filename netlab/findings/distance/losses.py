"""What a path lost of the packets that went one way over it, as far as it was the path's. Pure.

A stream that fills the path loses of its own doing: TCP until it has found the rate, datagrams at
whatever rate they leave. Such loss shows no path that is too bad; few such losses show one that is
good enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from netlab.findings.distance.model import LossVerdict, judged
from netlab.findings.finding import Kind
from netlab.findings.sample import StreamSample
from netlab.findings.streams.places import placed

GENTLE = 0.9
"""A stream offered no more than this share of the ceiling does not fill the path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathLoss:
    """Packets sent one way, and lost of them on the path, or perhaps there."""

    packets: int = 0
    lost: int = 0
    gentle_packets: int = 0
    """Of streams that did not fill the path."""
    gentle_lost: int = 0
    """Of these, shown to be lost on the path."""

    def verdict(self, run_length: int) -> LossVerdict:
        """Whether one in ``run_length`` and fewer are lost."""
        gentle = judged(self.gentle_packets, self.gentle_lost, run_length)
        every = judged(self.packets, self.lost, run_length)
        if "few enough" in (gentle, every):
            return "few enough"
        return gentle


def path_loss(
    samples: Iterable[StreamSample], segments: dict[tuple[str, int, str], int]
) -> PathLoss:
    """Of the streams one way over a path; ``segments``: (cell, trial, flow) → data segments of TCP
    sent within the window.
    """
    packets = lost = gentle_packets = gentle_lost = 0
    for each in samples:
        if each.protocol == "TCP":
            sent, again = segments.get((each.cell, each.trial, each.flow)), each.tcp.retransmissions
            if sent is not None and again is not None and each.streams == 1:
                packets, lost = packets + sent, lost + again
            continue
        sent, gone = each.losses.sent, each.losses.lost
        if sent is None or gone is None or each.packets_a_message != 1:
            continue
        packets, lost = packets + sent, lost + gone
        if is_gentle(each):
            place = placed(each)
            on_path = place is not None and place.kind is Kind.LOST_ON_PATH
            if on_path or not gone:
                gentle_packets, gentle_lost = gentle_packets + sent, gentle_lost + gone
    return PathLoss(
        packets=packets, lost=lost, gentle_packets=gentle_packets, gentle_lost=gentle_lost
    )


def is_gentle(sample: StreamSample) -> bool:
    """Whether a stream was offered less than fills the path."""
    offered, ceiling = sample.offered_bit_per_s, sample.ceiling_bit_per_s
    return offered is not None and ceiling is not None and offered <= GENTLE * ceiling
