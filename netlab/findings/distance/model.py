"""Formulas: what TCP requires of a short path in order to fill a longer path that contains it.

The source is RFC 8337 (Model-Based Metrics for Bulk Transport Capacity), sections 5.2 and 7.2. To
carry a rate over a round trip, a connection needs a window of rate x round trip, in packets.
Between two losses, 3 x window² packets must arrive (the reference run length). A sequential
probability ratio test (Wald 1945) decides whether the loss is that low.
"""

from __future__ import annotations

import math
from typing import Literal

from netlab.experiment.matrix import LongPath

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
