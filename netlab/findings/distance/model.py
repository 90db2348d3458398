"""What a path must be like for TCP to fill a longer one that it is a part of: the formulas. Pure.

RFC 8337 (Model-Based Metrics for Bulk Transport Capacity), sections 5.2 and 7.2: a connection that
is to carry ``rate`` over a round trip needs a window of that many packets, and between two losses
three times its square (the reference run length). Whether so few are lost is decided by a
sequential probability ratio test (Wald 1945).
"""

from __future__ import annotations

import math
from typing import Literal

from netlab.experiment.matrix import LongPath

LossVerdict = Literal["few enough", "too many", "not known"]

ERROR = 0.05
"""Of the test, both ways: how often it may take one for the other (RFC 8337, 7.2)."""
WORSE = 4
"""A path that loses so many times as often as may be is told from one that is right (there)."""
_MOST = 0.99
"""A probability is below 1 also of the smallest windows."""


def needed_bytes(target: LongPath) -> float:
    """Payload on its way at a time: rate x round trip."""
    return target.rate_bit_per_s * target.rtt_s / 8


def allowed_bit_per_s(window_bytes: float, target: LongPath) -> float:
    """What a window carries: one of it each round trip."""
    return 8 * window_bytes / target.rtt_s


def window_packets(target: LongPath, packet_bytes: int) -> int:
    """Target window size, in packets of ``packet_bytes`` of payload; 1 at least."""
    return max(1, math.ceil(needed_bytes(target) / packet_bytes))


def run_length(target: LongPath, packet_bytes: int) -> int:
    """Packets from one loss to the next that the target needs, on average: 3 x window²."""
    return 3 * window_packets(target, packet_bytes) ** 2


def judged(packets: int, lost: int, length: int) -> LossVerdict:
    """Whether a path that lost ``lost`` of ``packets`` loses one in ``length`` at most."""
    slope, distance = _lines(length)
    if lost <= slope * packets - distance:
        return "few enough"
    return "too many" if lost >= slope * packets + distance else "not known"


def packets_needed(lost: int, length: int) -> int:
    """How many packets show that the path loses few enough, where ``lost`` of them are lost."""
    slope, distance = _lines(length)
    return math.ceil((lost + distance) / slope)


def _lines(length: int) -> tuple[float, float]:
    """Losses a packet, and by how many losses the two lines of the test lie off that."""
    few, many = 1 / length, min(WORSE / length, _MOST)
    scale = math.log(many * (1 - few) / (few * (1 - many)))
    slope = math.log((1 - few) / (1 - many)) / scale
    return slope, math.log((1 - ERROR) / ERROR) / scale


def bit_per_s_at_loss(share: float, target: LongPath, packet_bytes: int) -> float:
    """The rate whose run length a loss allows: 3 x window² = 1 / share; infinite without loss."""
    if share <= 0:
        return math.inf
    return allowed_bit_per_s(packet_bytes * math.sqrt(1 / (3 * share)), target)


def loss_interval(packets: int, lost: int) -> tuple[float, float]:
    """The 95 % interval of a share lost (Wilson 1927); 0 to 1 without packets."""
    if packets < 1:
        return 0.0, 1.0
    z = 1.96
    share, spread = lost / packets, z * z / packets
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / packets + spread / (4 * packets))
    return max(0.0, middle - half) if lost else 0.0, min(1.0, middle + half)
