"""Makes a veth link behave like Ethernet of a given rate: computes the numbers, and runs tc.

The kernel's token bucket (tbf) counts the 14 bytes of Ethernet header and no other framing. Its
size table (stab) adds the rest: FCS 4, preamble and start 8, gap 12, and the minimum frame size.
This is exact only if no super-packet (GSO) reaches the queue: tbf splits super-packets itself and
counts the segments without the table. ``gso_max_segs 1`` keeps TCP from producing super-packets;
disabling the offloads with ethtool is not enough. A router forwards super-packets unchanged, so the
hosts' ends of its cables must not produce any either.
"""

from __future__ import annotations

from dataclasses import dataclass

from netlab.lab.plan import Cable, CableEnd
from netlab.lab.programs import run

HEADER_BYTES = 14
OVERHEAD_BYTES = 24
"""Framing that the kernel does not count: FCS 4, preamble and start of frame 8, gap 12."""
LEAST_FRAME_BYTES = 84
"""Minimum number of bytes that a frame takes on the wire: 64, plus 20 for preamble, start of frame
and gap."""
LEAST_TABLE_SLOTS = 2048
MOST_TABLE_SLOTS = 16384
"""Maximum number of slots in the size table: tc sends 16 bits per slot, and the netlink message
with all slots has at most 64 KiB."""
BURST_S = 256e-6
"""Depth of the bucket as a time: two full frames at 100 Mbit/s. The timer that refills it is late
by tens of microseconds, so a fixed number of bytes would reduce the rate of a fast cable."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers that limit the rate of one end of a cable."""

    rate_bit_per_s: int
    burst_bytes: int
    limit_bytes: int
    """Length of the queue: the number of full frames times their bytes on the wire. A short frame
    takes only its own bytes."""
    table_mtu_bytes: int
    table_slots: int


def wire_frame_bytes(mtu: int) -> int:
    """Bytes that a full frame takes on the wire: 1538 for MTU 1500."""
    return mtu + HEADER_BYTES + OVERHEAD_BYTES


def shape_of(rate: float, mtu: int, queue_frames: int) -> Shape:
    """The numbers for a cable of ``rate`` bit/s and ``mtu`` bytes.

    They are exact to the byte up to MTU 16,000; for a larger MTU, the length of a frame is rounded
    up to a multiple of 2, 4 or 8 bytes. A burst below two frames reduces the rate (one frame: by
    5 %).
    """
    frame_bytes = wire_frame_bytes(mtu)
    longest = LEAST_TABLE_SLOTS
    while longest <= frame_bytes + 4:  # 4 bytes for a VLAN tag
        longest *= 2
    return Shape(
        rate_bit_per_s=round(rate),
        burst_bytes=max(2 * frame_bytes + 124, round(rate / 8 * BURST_S)),
        limit_bytes=queue_frames * frame_bytes,
        table_mtu_bytes=longest - 1,
        table_slots=min(longest, MOST_TABLE_SLOTS),
    )


def shape(cable: Cable) -> None:
    """Give each end of a cable with a rate its queue, and set checksums as requested."""
    shapes = [cable.shape_at(end) for end in cable.ends]
    for end, (rate, queue_frames) in zip(cable.ends, shapes, strict=True):
        if any(any_rate is not None for any_rate, _ in shapes):
            _send_single_frames(end)
        if rate is not None:
            _shape_end(end, shape_of(rate, cable.mtu, queue_frames))
        if cable.software_checksums:
            _inside(end, "ethtool", "-K", end.interface, "tx", "off", "rx", "off")


def _send_single_frames(end: CableEnd) -> None:
    run("ip", "-n", end.namespace, "link", "set", "dev", end.interface, "gso_max_segs", "1")
    offloads = ("tso", "off", "gso", "off", "gro", "off", "tx-udp-segmentation", "off")
    _inside(end, "ethtool", "-K", end.interface, *offloads)


def _shape_end(end: CableEnd, numbers: Shape) -> None:
    # fmt: off
    run(
        "tc", "-n", end.namespace, "qdisc", "replace", "dev", end.interface, "root", "handle", "1:",
        "stab", "overhead", str(OVERHEAD_BYTES), "linklayer", "ethernet",
        "mpu", str(LEAST_FRAME_BYTES),
        "mtu", str(numbers.table_mtu_bytes), "tsize", str(numbers.table_slots),
        "tbf", "rate", f"{numbers.rate_bit_per_s}bit",
        "burst", str(numbers.burst_bytes), "limit", str(numbers.limit_bytes),
    )
    # fmt: on


def _inside(end: CableEnd, *argv: str) -> None:
    run("ip", "netns", "exec", end.namespace, *argv)
