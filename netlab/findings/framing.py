"""Framing: how many bytes a stream's payload is to a link, and to what counts less. Pure."""

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
    """What a bottleneck counts of each IP packet."""

    WIRE = "wire"
    """All that keeps the wire busy, preamble and gap included: a link."""
    FRAME = "frame"
    """The frame, header to FCS, 64 bytes at least: a policer of a switch."""
    HEADED = "headed"
    """Header and packet, no FCS, not padded: a shaper of Linux (tbf, htb)."""
    PACKET = "packet"
    """The IP packet: a policer of a router."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """What one message over UDP, or one full segment of TCP, comes to on the stated link."""

    payload_bytes: int
    packets: tuple[int, ...]
    """Sizes of its IP packets, headers included."""
    vlan: bool
    link_rate_bit_per_s: float

    def counted_bytes(self, accounting: Accounting) -> int:
        """What that accounting makes of it."""
        tag = TAG_BYTES if self.vlan else 0
        if accounting is Accounting.WIRE:
            return sum(packet_wire_bytes(each, vlan=self.vlan) for each in self.packets)
        if accounting is Accounting.PACKET:
            return sum(self.packets)
        headed = [each + HEADER_BYTES + tag for each in self.packets]
        if accounting is Accounting.HEADED:
            return sum(headed)
        return sum(max(each + FCS_BYTES, MIN_FRAME_BYTES) for each in headed)

    def rate_bit_per_s(self, throughput_bit_per_s: float, accounting: Accounting) -> float:
        """A throughput of payload as that accounting counts it."""
        return throughput_bit_per_s * self.counted_bytes(accounting) / self.payload_bytes

    @property
    def ceiling_share(self) -> float:
        """The wire ceiling of such messages as a share of the link's rate, 0 to 1."""
        return self.payload_bytes / self.counted_bytes(Accounting.WIRE)


STEPS_BIT_PER_S = tuple(
    mbit * 1e6
    for mbit in (10, 100, 1000, 2500, 5000, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000)
)
"""Rates that links negotiate (IEEE 802.3)."""

STEP_BELOW, STEP_ABOVE = 0.02, 0.005
"""By what share a rate may lie below such a step, and above it, to be taken for it."""

UNLIKE_STATED = 0.9
"""Most of the stated rate that a step may be to be another one."""


def step_of(rate_bit_per_s: float, stated_bit_per_s: float) -> float | None:
    """The step that a rate on the wire is all of, below the stated one; ``None``: it is none."""
    return next(
        (
            step
            for step in STEPS_BIT_PER_S
            if step <= UNLIKE_STATED * stated_bit_per_s
            and (1 - STEP_BELOW) * step <= rate_bit_per_s <= (1 + STEP_ABOVE) * step
        ),
        None,
    )
