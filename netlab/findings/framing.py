"""Framing: how many bytes a link, or another bottleneck, counts for a stream's payload."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from netlab.ethernet import (
    FCS_BYTES,
    HEADER_BYTES,
    MIN_FRAME_BYTES,
    TAG_BYTES,
    packet_wire_bytes,
)


class Accounting(Enum):
    """The bytes that a bottleneck counts for each IP packet."""

    WIRE = "wire"
    """The frame with preamble and gap (all its byte times on the wire), as on a link."""
    FRAME = "frame"
    """The frame from its header to the FCS, at least 64 bytes, as in a policer of a switch."""
    HEADED = "headed"
    """The Ethernet header and the packet, without FCS and padding, as in Linux's tbf and htb."""
    PACKET = "packet"
    """The IP packet, as in a policer of a router."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """The framing of one message over UDP, or of one full TCP segment, on the link that the matrix
    describes.
    """

    payload_bytes: int
    packets: tuple[int, ...]
    """Sizes of the message's IP packets, headers included."""
    vlan: bool
    link_rate_bit_per_s: float

    def counted_bytes(self, accounting: Accounting) -> int:
        """The bytes that a bottleneck with this accounting counts for the message."""
        tag = TAG_BYTES if self.vlan else 0
        if accounting is Accounting.WIRE:
            return sum(packet_wire_bytes(size, vlan=self.vlan) for size in self.packets)
        if accounting is Accounting.PACKET:
            return sum(self.packets)
        headed = [size + HEADER_BYTES + tag for size in self.packets]
        if accounting is Accounting.HEADED:
            return sum(headed)
        return sum(max(size + FCS_BYTES, MIN_FRAME_BYTES) for size in headed)

    def rate_bit_per_s(self, throughput_bit_per_s: float, accounting: Accounting) -> float:
        """The rate that a bottleneck with this accounting counts for a payload throughput, in
        bit/s.
        """
        return throughput_bit_per_s * self.counted_bytes(accounting) / self.payload_bytes

    @property
    def ceiling_share(self) -> float:
        """The wire ceiling (highest payload rate) of such messages as a share of the link's rate, 0
        to 1.
        """
        return self.payload_bytes / self.counted_bytes(Accounting.WIRE)


STEPS_BIT_PER_S = tuple(
    mbit * 1e6
    for mbit in (10, 100, 1000, 2500, 5000, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000)
)
"""Rates that links negotiate (IEEE 802.3)."""

STEP_BELOW, STEP_ABOVE = 0.02, 0.005
"""Shares by which a measured rate may be below, and above, a rate that links negotiate."""

UNLIKE_STATED = 0.9
"""A rate counts as lower than the stated rate if it is at most this share of the stated rate."""


def step_of(rate_bit_per_s: float, stated_bit_per_s: float) -> float | None:
    """The rate of ``STEPS_BIT_PER_S`` that a measured rate on the wire matches.

    Only rates that are lower than the stated rate (``UNLIKE_STATED``) are compared. ``None`` if
    none of them matches.
    """
    return next(
        (
            step
            for step in STEPS_BIT_PER_S
            if step <= UNLIKE_STATED * stated_bit_per_s
            and (1 - STEP_BELOW) * step <= rate_bit_per_s <= (1 + STEP_ABOVE) * step
        ),
        None,
    )
